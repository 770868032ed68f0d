"""The long statistical and real-data checks, outside CI: `python -m acceptance`. Each prints its figure."""
