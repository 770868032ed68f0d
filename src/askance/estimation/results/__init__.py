"""Fits, and what they are asked for."""
