"""Sheets of questions for annotators."""
