"""Commands that collect answers."""
