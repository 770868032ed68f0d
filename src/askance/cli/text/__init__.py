"""Commands for taggers."""
