"""What the golden files hold. Nothing here is computed by a solver, so every machine writes the same bytes."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from askance import (
    Enumerated,
    ForcedResponse,
    MatrixChannel,
    RandomizedResponse,
    Tally,
    save,
)
from askance.estimation import Diagnostics, DistributionFit, LocalMaximum

FOLDER = Path(__file__).parent


def golden_tallies() -> dict[str, Tally]:
    """Labels that are codes, texts, and a mixture; counts beyond 32 bits; realised and given probabilities."""
    strange = MatrixChannel(
        [["0.5", "0.1"], ["0.25", "0.2"], ["0.25", "0.7"]],
        outputs=["né", 'says "no"\n'],
        observations=[True, 2.5, "three"],
    )
    return {
        "randomized_response.tally": Tally(RandomizedResponse.for_privacy_level(1, outputs=4), [4, 3, 2, 1]),
        "forced_response.tally": Tally(ForcedResponse("2/3", "1/6"), [10**12, 0]),
        "strange_labels.tally": Tally(strange, [1, 2, 3]),
    }


def golden_fits() -> dict[str, DistributionFit]:
    """One with several maxima and every diagnostic; one without covariance and without a privacy level."""
    rated = Enumerated(
        [[0, 1, 2], [0, 1, 4]], parameter_names=["trend", "curvature"], log_base_measure=[0.0, -0.5, 1e-300]
    )
    diagnostics = Diagnostics(
        iterations=9,
        repaired=True,
        damped=True,
        maxima=(LocalMaximum((0.1, -2.5), -1042.171870512036, 8), LocalMaximum((-6.0, 1 / 3), -1102.5, 2)),
        escaped_starts=3,
        messages=("θ ran off", 'a "quoted" note'),
    )
    full = DistributionFit(
        model=rated,
        theta=np.array([0.1, -2.5]),
        covariance=np.array([[0.1 + 0.2, -1e-5], [-1e-5, 2.0]]),
        n_observations=2**40,
        method="marginal",
        covariance_kind="posterior",
        converged=True,
        log_likelihood=-1039.2950155503859,
        raw_statistics=np.array([1 / 3, 2 / 3]),
        channel={"kind": "randomized-response", "outputs": 3, "reveal_probability": "1/2"},
        privacy_level=math.log(3),
        diagnostics=diagnostics,
    )
    bare = DistributionFit(
        model=Enumerated.saturated(["a", "b", "c"]),
        theta=np.array([0.0, -0.4054651081081644]),
        covariance=np.full((2, 2), np.nan),
        n_observations=8,
        method="projection",
        covariance_kind="none",
        converged=False,
        log_likelihood=-4.5,
        raw_statistics=None,
        channel={"kind": "coarsened", "groups": [["a", "b"], ["c"]], "observations": 2},
        privacy_level=math.inf,
    )
    return {"every_diagnostic.fit": full, "no_covariance.fit": bare}


if __name__ == "__main__":  # see README.md
    for name, tally in golden_tallies().items():
        save(tally, FOLDER / name)
    for name, fit in golden_fits().items():
        save(fit, FOLDER / name)
