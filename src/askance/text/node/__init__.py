"""The tagger that looks at one token at a time."""
