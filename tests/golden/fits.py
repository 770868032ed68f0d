"""Fits of every model, as files `fit/2` hold them. Nothing here is computed by a solver."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from askance import CliqueRelease, ForcedResponse, LinearModel, RandomField, Softmax
from askance.categories import Label
from askance.estimation import ConditionalFieldFit, Diagnostics, DistributionFit, FieldFit, LinearFit, RegressionFit
from askance.estimation.problems.basis import Basis, BasisEstimate
from askance.estimation.problems.moment_repair import MomentRepair
from askance.estimation.results.field_fit import FieldDiagnostics
from askance.survey.formula import FormulaDesign, parse_formula
from askance.survey.tables import Columns
from askance.tables import Column, Table
from tests.golden.contents import golden_fields, golden_fits

AnyFit = DistributionFit | RegressionFit | FieldFit | ConditionalFieldFit | LinearFit

#: What the formula below learned from: means are exact.
RESPONDENTS: dict[str, list[Any]] = {
    "said": ["no", "yes", "yes", "no"],
    "age": [20, 30, 40, 50],
    "hours per week": [10.5, 20.0, 30.0, 40.0],
    "region": ["north", "süd", "east", "süd"],
}
FORMULA = "said ~ center(age) + I(`hours per week` / 7 + 1) + C(region, Treatment('north')) + I(age > 30)"


def _regression() -> RegressionFit:
    table, channel = Columns.of(RESPONDENTS), ForcedResponse("2/3", "1/6")
    design, _ = FormulaDesign.learn(parse_formula(FORMULA, table), table)
    size = len(design.terms)
    basis = Basis(np.array([0.0, *range(1, size)]), 0, 1.0, np.eye(size) * 0.5)
    return RegressionFit(
        model=Softmax(["no", "yes"], design.terms),
        theta=np.arange(size) / 3 - 0.5,
        covariance=np.diag(np.arange(1, size + 1) / 7),
        n_observations=1000,
        method="one-step",
        covariance_kind="expected",
        converged=True,
        log_likelihood=-650.25,
        raw_statistics=np.arange(size) / 9,
        channel=channel.specification(),
        privacy_level=channel.privacy_level,
        diagnostics=Diagnostics(iterations=3, messages=("a note",)),
        design=design,
        in_basis=BasisEstimate(basis, np.arange(size) / 5, np.diag(np.arange(1, size + 1) / 11)),
    )


def _conditional() -> ConditionalFieldFit:
    variables: dict[str, list[Label]] = {"a": ["no", "yes"], "b": [1, 2]}
    field = RandomField(variables, [["a", "b"]], covariates=["age", "né"])
    size, factor = field.dimension, np.diag(np.arange(1, field.dimension + 1) / 4)
    return ConditionalFieldFit(
        model=field,
        theta=np.arange(size) / 7 - 0.5,
        covariance=factor @ factor.T,
        factor=factor,
        method="moments",
        prior_scale=2.0,
        n_observations=300,
        converged=True,
        log_likelihood=-math.inf,
        measured=(("a", "b"),),
        raw_statistics=np.array([0.25, math.nan, -0.125, 0.5]),
        raw_standard_errors=np.array([0.25, math.nan, 0.125, 0.5]),
        channel=CliqueRelease([2, 2], [[0, 1]], 1).specification(),
        privacy_level=1.0,
        diagnostics=FieldDiagnostics(negative_cells=1, prior_pull=0.125, parameters=size, effective_parameters=3.5),
        alarm="these reports cannot be",
    )


def _linear() -> LinearFit:
    field = LinearModel(
        2, x_bounds=(0, 10), y_bounds=(-1, math.inf), scales=([5, 5, 0], [2, 2, 1]), feature_names=["age", "né"]
    )
    moments = np.eye(4) + 0.125
    return LinearFit(
        model=field,
        theta=np.array([0.5, -1.25, 1 / 3]),
        covariance=np.diag([0.25, 0.5, 1.0]),
        raw_statistics=moments,
        repaired_moments=moments + 0.25 * np.eye(4),
        repair=MomentRepair(
            acted=True,
            ridge=0.25,
            noise=0.1,
            eigenvalues=np.array([-0.1, 1.0, 2.0]),
            repaired=np.eye(3) + 0.375,
            weakest=np.array([0.0, 0.6, 0.8]),
            clear=False,
            directions=2.5,
        ),
        n_observations=5000,
        pilot_observations=1000,
        channel={"kind": "per-value", "dimension": 4},
        privacy_level=2.0,
        weighted=True,
        diagnostics=Diagnostics(repaired=True, messages=("lifted",)),
    )


def golden_fits_2() -> dict[str, AnyFit]:
    """Of every model; with a formula, with names in backticks, without all that may be missing, with large arrays."""
    old = golden_fits() | {name.replace(".field", "_field"): fit for name, fit in golden_fields().items()}
    names = ("distribution", "no_covariance_2", "field", "no_covariance_field")
    new: dict[str, Any] = {f"{name}.fit": fit for name, fit in zip(names, old.values(), strict=True)}
    kept = Table(
        (Column("group"), Column("share", "percent", digits="error"), Column("n", "count")),
        [("süd | ost", 0.25, 3), (2016, None, 4)],
        title="Share of yes",
        notes=["95 % intervals"],
    )
    new["kept_tables.fit"] = replace(_regression(), kept_tables=(kept,))
    return {**new, "regression.fit": _regression(), "conditional_field.fit": _conditional(), "linear.fit": _linear()}
