"""Newton, descent, and coordinates in which steps have one size."""
