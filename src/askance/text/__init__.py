"""Sentences, tags and regions: a tagger from counts."""
