"""Moments, one step, marginal likelihood, supervision, projection: from a problem to θ̂."""
