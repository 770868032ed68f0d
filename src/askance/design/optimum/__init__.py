"""Optimal designs: the channel, or the mixture of channels, that leaves an estimate the least error."""

from askance.design.optimum.channel import OptimalChannel, optimal_channel
from askance.design.optimum.cliques import OptimalCliques, optimal_cliques
from askance.design.optimum.prior import Prior
from askance.design.optimum.release import optimal_release

__all__ = ["OptimalChannel", "OptimalCliques", "Prior", "optimal_channel", "optimal_cliques", "optimal_release"]
