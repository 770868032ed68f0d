"""Optimal designs: the channel, or the mixture of channels, that leaves an estimate the least error."""

from askance.design.optimum.channel import OptimalChannel, optimal_channel
from askance.design.optimum.prior import Prior

__all__ = ["OptimalChannel", "Prior", "optimal_channel"]
