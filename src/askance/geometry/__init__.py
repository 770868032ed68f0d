"""Geometry you can see: the family in the simplex, the likelihood over θ, and the way EM takes on it."""

from askance.geometry.em import em_paths
from askance.geometry.likelihood import likelihood_picture
from askance.geometry.picture import Picture
from askance.geometry.simplex import simplex_picture

__all__ = ["Picture", "em_paths", "likelihood_picture", "simplex_picture"]
