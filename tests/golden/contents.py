"""What the golden files hold. Nothing here is computed by a solver, so every machine writes the same bytes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from askance import (
    CliqueRelease,
    CoordinateRelease,
    Enumerated,
    FieldFit,
    ForcedResponse,
    MatrixChannel,
    PerValue,
    RandomField,
    RandomizedResponse,
    Tally,
    save,
)
from askance.categories import Label
from askance.channels import AnyChannel, Reports
from askance.channels.statistics.base import StatisticsChannel
from askance.estimation import Diagnostics, DistributionFit, LocalMaximum
from askance.estimation.results.field_fit import FieldDiagnostics
from askance.evidence.sources import Sources
from askance.formats import write_reports

FOLDER = Path(__file__).parent
#: A channel that knows its question.
NAMED = ForcedResponse("2/3", "1/6").for_purpose("Do you smoke? (né)")


def strange_labels() -> MatrixChannel:
    """Labels of several kinds, with quotes and line breaks."""
    return MatrixChannel(
        [["0.5", "0.1"], ["0.25", "0.2"], ["0.25", "0.7"]],
        outputs=["né", 'says "no"\n'],
        observations=[True, 2.5, "three"],
    )


def golden_tallies() -> dict[str, Tally]:
    """Labels that are codes, texts, and a mixture; counts beyond 32 bits; realised and given probabilities.

    One has a purpose and sources: `tally/2`.
    """
    return {
        "randomized_response.tally": Tally(RandomizedResponse.for_privacy_level(1, outputs=4), [4, 3, 2, 1]),
        "forced_response.tally": Tally(ForcedResponse("2/3", "1/6"), [10**12, 0]),
        "strange_labels.tally": Tally(strange_labels(), [1, 2, 3]),
        "named.tally": Tally(NAMED, [300, 4], sources=Sources(frozenset({bytes(range(16)), bytes(16)}))),
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


def golden_states() -> dict[str, Tally[StatisticsChannel]]:
    """Sums with a zero, and beyond 32 bits; with a purpose and a source (`statistics/2`)."""
    return {
        "per_value.statistics": Tally(PerValue(6, 1, max_l1_norm=2), [3, 0, 2**40, 1, 5, 9], 2**41),
        "coordinate_release.statistics": Tally(
            CoordinateRelease(3, 2, release_distribution=["1/2", "1/4", "1/4"], lower=-1, statistic_bound=3),
            [1, 2, 3, 4, 5, 6],
            21,
        ),
        "named.statistics": Tally(
            PerValue(3, 2).for_purpose("crashed,dark_mode,beta"),
            [5, 0, 260],
            300,
            sources=Sources(frozenset({bytes(range(16))})),
        ),
    }


def golden_fields() -> dict[str, FieldFit]:
    """Labels of several kinds and an impossible combination; with a covariance, and without all that may be missing."""
    variables: dict[str, list[Label]] = {"né": ["no", 'say "yes"'], "age": [True, 2.5, "old"]}
    field = RandomField(variables, [["né", "age"], ["age"]], impossible=[{"né": "no", "age": 2.5}])
    size = field.dimension
    full = FieldFit(
        model=field,
        theta=np.arange(size) / 7 - 0.5,
        covariance=np.diag(np.arange(1, size + 1) / 3),
        method="one-step",
        prior_scale=1.5,
        n_observations=2**41,
        converged=True,
        log_likelihood=-1039.2950155503859,
        measured=(("age", "né"),),
        raw_statistics=np.array([0.1, 0.2, -0.05, 0.25, 1 / 3, 0.1]),
        raw_standard_errors=np.full(6, 0.1 + 0.2),
        channel=CliqueRelease([2, 3], [[1, 0]], "3/2").specification(),
        privacy_level=1.5,
        diagnostics=FieldDiagnostics(
            negative_cells=1,
            distance=3.25,
            degrees_of_freedom=2.5,
            p_value=0.3,
            parameters=4,
            effective_parameters=3.875,
            prior_pull=0.125,
            enough_reports=17,
            iterations=42,
        ),
    )
    bare = FieldFit(
        model=RandomField([2, 2], [[0, 1]]),
        theta=np.array([0.0, -0.4054651081081644, 1e-300, 2.0]),
        covariance=np.broadcast_to(np.float64(np.nan), (4, 4)),
        method="ridge",
        prior_scale=math.inf,
        n_observations=8,
        converged=False,
        log_likelihood=-math.inf,
        measured=(("0", "1"),),
        raw_statistics=np.array([0.25, 0.25, 0.5, 0.0]),
        raw_standard_errors=np.zeros(4),
        channel={},
        privacy_level=math.inf,
    )
    return {"every_diagnostic.field": full, "no_covariance.field": bare}


@dataclass(frozen=True)
class GoldenReports:
    """What a file of reports holds."""

    channel: AnyChannel
    reports: Any
    ids: Sequence[str | None] | None = None


def golden_reports() -> dict[str, GoldenReports]:
    """Bits beyond one word, numbers, answers by code, by name, and of strange names; with and without ids."""
    wide = PerValue(70, 4, l1_norm=1)
    words = np.array([[1, 0], [2**63, 1], [0x0123456789ABCDEF, 0x3F]], dtype=np.uint64)
    few = CoordinateRelease(300, 1)
    columns = {"coordinate": np.array([0, 299, 7]), "bit": np.array([1, 0, 1])}
    return {
        "per_value": GoldenReports(wide, Reports(wide, {"bits": words}), ["a", 'né "two"\n', None]),
        "coordinate_release": GoldenReports(few, Reports(few, columns)),
        "forced_response": GoldenReports(ForcedResponse("2/3", "1/6"), ["yes", "no", "no"], ["1", "2", "3"]),
        "randomized_response": GoldenReports(RandomizedResponse.for_privacy_level(1, outputs=4), [3, 0, 1, 2]),
        "strange_labels": GoldenReports(strange_labels(), [True, "three", 2.5]),
        "named": GoldenReports(NAMED, ["no", "yes", "no"], ["a", None, "b"]),
    }


if __name__ == "__main__":  # see README.md
    for name, tally in golden_tallies().items():
        save(tally, FOLDER / name)
    from tests.golden.fits import golden_fits_2  # golden_fits and golden_fields are of fit/1 and field/1

    for name, fit in golden_fits_2().items():
        save(fit, FOLDER / name)
    for name, state in golden_states().items():
        save(state, FOLDER / name)
    for name, golden in golden_reports().items():
        for path in (FOLDER / f"{name}.jsonl", FOLDER / f"{name}.parquet"):
            if path.suffix == ".jsonl" or not path.exists():  # other versions of pyarrow write other bytes
                write_reports(path, golden.reports, channel=golden.channel, ids=golden.ids)
