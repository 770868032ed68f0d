"""The demo and the paper's experiments."""
