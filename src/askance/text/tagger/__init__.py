"""Taggers from counts: training, files, evaluation."""
