"""Whether reports can have come through their channel."""
