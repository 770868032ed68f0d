"""Geometry you can see: the family in the simplex, the likelihood over θ, and the way EM takes on it."""

from askance.geometry.em import em_paths as em_paths
from askance.geometry.likelihood import likelihood_picture as likelihood_picture
from askance.geometry.picture import Picture as Picture
from askance.geometry.simplex import simplex_picture as simplex_picture
