"""What every comparison shares: environments, workers, alternation, median ratios, reports."""
