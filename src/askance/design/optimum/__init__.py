"""Optimal designs: the channel, or the mixture of channels, that leaves an estimate the least error."""

from askance.design.optimum.channel import OptimalChannel as OptimalChannel
from askance.design.optimum.channel import optimal_channel as optimal_channel
from askance.design.optimum.cliques import OptimalCliques as OptimalCliques
from askance.design.optimum.cliques import optimal_cliques as optimal_cliques
from askance.design.optimum.prior import Prior as Prior
from askance.design.optimum.release import optimal_release as optimal_release
