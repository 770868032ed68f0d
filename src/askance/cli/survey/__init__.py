"""Commands for a researcher's table and for states."""
