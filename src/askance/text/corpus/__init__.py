"""Sentences, words and regions of a text."""
