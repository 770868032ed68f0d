"""The tagger in which neighbouring tags depend on each other."""
