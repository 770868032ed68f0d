"""Pictures that the tests of the geometry share, and their numbers by computations of their own."""

from __future__ import annotations

from functools import cache

import numpy as np

from askance import Enumerated, MatrixChannel, RandomizedResponse, Tally
from askance._arrays import FloatArray
from askance.geometry import Picture, likelihood_picture, simplex_picture

FIGURE_S = MatrixChannel([["1/3", "1/6", "1/4"], ["1/3", "1/6", "1/2"], ["1/3", "2/3", "1/4"]])
CURVE = Enumerated([[5, -1, 0]])
STEPS = Enumerated([[2, 1, 0]])
# S p_θ at θ = −1.1, in a million reports.
TWO_MAXIMA = Tally(FIGURE_S, [237_182, 410_351, 352_468])


def log_likelihood(model: Enumerated, tally: Tally, theta: FloatArray) -> FloatArray:
    """The average log-likelihood at many θ (t, d), from its definition."""
    weights = np.exp(theta @ model.table + model.log_base_measure)
    predicted = weights @ tally.channel.matrix.T / weights.sum(axis=1, keepdims=True)
    seen = tally.counts > 0
    return np.asarray(np.log(predicted[:, seen]) @ tally.frequencies[seen])


def slope(model: Enumerated, tally: Tally, theta: FloatArray) -> FloatArray:
    """d/dθ of Σ q̂ log (S p_θ), shape (t,), by the quotient rule on S exp(θφ) / Σ exp(θφ); one statistic."""
    phi, S = model.table[0], tally.channel.matrix
    weights = np.exp(np.outer(theta, phi) + model.log_base_measure)
    inner = (weights * phi) @ S.T / (weights @ S.T)
    return np.asarray(inner @ tally.frequencies - weights @ phi / weights.sum(axis=1))


def down_crossings(model: Enumerated, tally: Tally, grid: FloatArray) -> FloatArray:
    """The θ after which the slope turns from up to down."""
    values = slope(model, tally, grid)
    return np.asarray(grid[:-1][(values[:-1] > 0) & (values[1:] <= 0)])


@cache
def simplex_example() -> Picture:
    return simplex_picture(CURVE, FIGURE_S, Tally(FIGURE_S, [280, 320, 400]), theta=[0.1])


@cache
def outside_example() -> Picture:
    return simplex_picture(CURVE, FIGURE_S, Tally(FIGURE_S, [441, 502, 57]), theta=[0.1])


@cache
def curve_example() -> Picture:
    return likelihood_picture(STEPS, FIGURE_S, TWO_MAXIMA, theta=[-1.1], em_starts=[-3, 0, 3], em_steps=20, points=101)


@cache
def surface_example() -> Picture:
    channel = RandomizedResponse("1/2", outputs=4)
    model = Enumerated([[0, 0, 1, 1], [0, 1, 0, 1]], parameter_names=["first", "second"])
    tally = Tally(channel, [160, 110, 230, 100])
    starts = [[2.0, -3.0], [-3.0, 2.0]]
    return likelihood_picture(model, channel, tally, theta=[1, -0.8], em_starts=starts, em_steps=20, points=21)


@cache
def nine_outputs() -> tuple[Enumerated, Tally, FloatArray]:
    """Two independent copies of the figure: the likelihood is a sum, and its maxima are all pairs of maxima."""
    phi = STEPS.table[0]
    model = Enumerated([np.repeat(phi, 3), np.tile(phi, 3)])
    channel = MatrixChannel(np.kron(FIGURE_S.matrix, FIGURE_S.matrix).astype(np.float64))
    one = Tally(FIGURE_S, [237, 410, 352])
    tally = Tally(channel, np.outer(one.counts, one.counts).ravel())
    places = down_crossings(STEPS, one, np.linspace(-6, 6, 200_001))
    return model, tally, places
