"""The convex fit as reading off a curve: the mean of β on the left, θ below, and how the error is carried over."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from askance import Enumerated, RandomizedResponse, Tally, estimate


def draw() -> Figure:
    """μ(θ) of three answers scored 0, 1, 2; β = −1, 1, 3; 1,000 reports with mean 0.4."""
    model = Enumerated([[0, 1, 2]])
    channel = RandomizedResponse("1/2", outputs=3)
    tally = Tally(channel, [500, 300, 200])
    fit = estimate(model, tally, "moments")
    beta = channel.observation_function(model)
    mean = float(beta.mean(tally.frequencies)[0])
    error = float(np.sqrt(beta.covariance(tally.frequencies)[0, 0] / 1000))
    theta, reach = float(fit.theta[0]), float(fit.standard_errors[0])
    grid = np.linspace(-4, 4, 200)

    figure = Figure(figsize=(7, 3.6), layout="constrained")
    axis = figure.subplots()
    axis.axhspan(0, 2, color="#eeeeee", linewidth=0)
    axis.plot(grid, [model.mean_statistics([t])[0] for t in grid], color="#0072b2", linewidth=2)
    axis.fill_between([-4, theta], mean - error, mean + error, color="#d55e00", alpha=0.25, linewidth=0)
    axis.fill_between([theta - reach, theta + reach], -1.4, mean, color="#d55e00", alpha=0.25, linewidth=0)
    axis.plot([-4, theta, theta], [mean, mean, -1.4], color="#d55e00", linewidth=1.2)
    for value, count in zip(beta.coefficients[0], tally.counts, strict=True):
        axis.plot([-4], [value], "o", color="#777777", markersize=np.sqrt(count) / 2, clip_on=False)
    axis.text(-3.85, mean + 0.12, "mean of β: 0.4", color="#d55e00", fontsize=10)
    axis.text(theta + 0.15, -1.2, f"θ = −{-theta:.2f} ± {reach:.2f}", color="#d55e00", fontsize=10)
    axis.text(3.95, 1.4, "mean score of the model, μ(θ)", color="#0072b2", fontsize=10, ha="right")
    axis.text(3.95, 2.12, "no distribution has a mean above 2 …", color="#777777", fontsize=10, ha="right")
    axis.text(3.95, -0.3, "… or below 0", color="#777777", fontsize=10, ha="right")
    axis.text(-3.75, 2.95, "β of a report: −1, 1 or 3", color="#777777", fontsize=10, va="center")
    axis.set(xlim=(-4, 4), ylim=(-1.4, 3.2), xlabel="θ", ylabel="score")
    axis.set_yticks([-1, 0, 1, 2, 3])
    axis.spines[["top", "right"]].set_visible(False)
    return figure
