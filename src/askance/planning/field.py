"""Plans for random fields: the error of their tables, or of one cell, from noised tables or records."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from askance._arrays import FloatArray, IntArray
from askance._checks import did_you_mean, shown
from askance.channels.statistics.clique_release import CliqueRelease
from askance.channels.statistics.coordinate_release import CoordinateRelease
from askance.channels.statistics.per_value import PerValue
from askance.design.field_release import field_release
from askance.design.optimum import Prior
from askance.errors import IncompatibleEvidenceError, InputError, NotIdentifiedError
from askance.estimation.problems.field_tables import MOST_PARAMETERS, MeasuredField
from askance.models.random_field import RandomField
from askance.planning.subject import AnyDesign, Builder, Limit, Subject, require_method

#: The target of all cells of all cliques.
TABLES = "tables"
#: The tables that `optimal_cliques` finds.
OPTIMAL: Literal["optimal"] = "optimal"
# Whole records are told, and other channels than clique release enumerated, up to this many records.
_MOST_RECORDS = 1 << 11
# Directions of θ that have less than this share of the largest information count as unseen.
_SINGULAR = 1e-11
# The target may depend on unseen directions by this share of its slope: rounding.
_UNSEEN = 1e-5


class FieldSubject(Subject):
    """A random field without covariates, fitted by `estimate_field` to debiased tables (method "moments").

    In the limit the prior of the fit does not count. With J = ∂μ/∂θ of the measured cells and P the precision of one
    report (C⁺; for clique release blocks π_c V_c⁺) the cells g of the target have n Cov = J_g (JᵀPJ)⁺ J_gᵀ. Asked
    directly, records have n Var = p(1 − p) in every cell of a clique.

    Args:
        field: what is to be fitted.
        guesses: of θ.
        target: None or "tables", the name of a cell, or {variable: label, …} of any variables.
        method: "best" or "moments".

    >>> field = RandomField([2, 2], [[0, 1]])
    >>> subject = FieldSubject(field, Prior.of(np.zeros(4), dimension=4))
    >>> subject.direct().variances
    array([0.1875])
    """

    def __init__(self, field: RandomField, guesses: Prior, target: object = None, method: str = "best") -> None:
        require_method(method, ("best", "moments"))
        _refuse_unplanned(field)
        self.field, self.guesses, self.shares = field, guesses, guesses.weights
        self.is_share = True
        self._seen: dict[tuple[tuple[int, ...], ...], MeasuredField] = {}
        self._own = self._measured(field.cliques)
        self._target, self._cells, self.label = self._read_target(target)
        self._probabilities = [self._target.mean(theta)[self._cells] for theta in guesses.points]
        single = np.array([p.mean() for p in self._probabilities])
        self.value = self.mean(single) if len(self._cells) == 1 else None

    @property
    def direct_parameters(self) -> Mapping[str, Any]:
        """The sizes of the variables."""
        return {"sizes": list(self.field.sizes)}

    def _measured(self, cliques: tuple[tuple[int, ...], ...]) -> MeasuredField:
        if cliques not in self._seen:
            self._seen[cliques] = MeasuredField(self.field, cliques)
        return self._seen[cliques]

    def _read_target(self, target: object) -> tuple[MeasuredField, IntArray, str]:
        """Tables that have the target's cells, where these are, and the target in words."""
        field = self.field
        if target is None or target == TABLES:
            cells = np.arange(field.dimension)
            if len(cells) == 1:
                raise InputError("the field has a single cell.", remedy="Plan for a field whose variables vary.")
            return self._own, cells, "cell of a table, root mean square over all tables"
        if isinstance(target, str):
            if target not in field.parameter_names:
                raise InputError(
                    f"there is no cell {shown(target)}; allowed: tables, {', '.join(field.parameter_names[:6])}, ….",
                    remedy=did_you_mean(target, field.parameter_names, "Or give {variable: label, …}."),
                )
            return self._own, np.array([field.parameter_names.index(target)]), f"share of {target}"
        if not isinstance(target, Mapping) or not target or not all(name in field.variables for name in target):
            raise InputError(
                f'target is {shown(target)}; allowed: "tables", the name of a cell, or {{variable: label, …}} of '
                f"{', '.join(field.variables)}.",
                remedy='Leave it out for "tables".',
            )
        group = tuple(field.variables.index(name) for name in target)
        codes = [field.categories[name].code(label, name) for name, label in target.items()]
        cell = int(np.ravel_multi_index(codes, [field.sizes[v] for v in group]))
        words = ", ".join(f"{name} = {label}" for name, label in target.items())
        return self._measured((group,)), np.array([cell]), f"share of {words}"

    # -- errors ----------------------------------------------------------------------------------------------------

    def direct(self) -> Limit:
        """From records: J_g I⁺ J_gᵀ, which is p(1 − p) for cells of cliques."""
        spreads = [self._spread(theta, self._own.own_information(theta), "the field") for theta in self.guesses.points]
        return self._limit(spreads, "likelihood")

    def limit(self, design: AnyDesign) -> Limit:
        """From reports."""
        return self._limit(
            [self._spread(theta, self._information(theta, design), design) for theta in self.guesses.points]
        )

    def _limit(self, spreads: list[FloatArray], method: str = "moments") -> Limit:
        variances = np.array([float(spread.mean()) for spread in spreads])
        rough = []
        for spread, p in zip(spreads, self._probabilities, strict=True):
            inside = (p > 0) & (p < 1)
            rough.append(
                math.sqrt(float(np.mean(spread[inside] / (p * (1 - p))[inside] ** 2))) if inside.any() else 0.0
            )
        return Limit(variances, self.root_mean_square(rough), method)

    def _spread(self, theta: FloatArray, information: FloatArray, holder: object) -> FloatArray:
        """n Var of every cell of the target, shape (T,)."""
        slopes = self._target.jacobian(theta)[self._cells]
        scale = np.sqrt(np.maximum(np.diag(self._own.own_information(theta)), 0))
        scale = np.where(scale > 0, scale, 1.0)
        values, vectors = np.linalg.eigh(information / np.outer(scale, scale))
        seen = values > _SINGULAR * max(float(values[-1]), 0.0)
        along = (slopes / scale) @ vectors
        unseen = np.abs(along[:, ~seen]).max(initial=0.0)
        if not seen.any() or unseen > _UNSEEN * max(float(np.abs(along).max()), 1e-300):
            name = holder if isinstance(holder, str) else getattr(holder, "kind", "the channel")
            raise NotIdentifiedError(
                f"{name} says nothing about some part of {self.label}, whatever the number of respondents.",
                remedy="Ask for tables that hold all cliques of the field, as field_release does.",
            )
        return np.asarray((along[:, seen] ** 2 / values[seen]).sum(axis=1))

    def _information(self, theta: FloatArray, design: AnyDesign) -> FloatArray:
        """JᵀPJ of one report, shape (d, d)."""
        if isinstance(design, CliqueRelease):
            return self._information_of_tables(theta, design)
        if not isinstance(design, (PerValue, CoordinateRelease)):
            raise InputError(
                f"a channel is {shown(design)}; allowed for a field: CliqueRelease, PerValue and CoordinateRelease.",
                remedy="Build one with field_release.",
            )
        if design.dimension != self.field.dimension or design.truth_width != self.field.dimension:
            raise IncompatibleEvidenceError(
                f"{design.kind} has {design.dimension} statistics, the field {self.field.dimension} cells.",
                remedy=f"Build it with dim={self.field.dimension}.",
            )
        records = self.field.enumerated()
        spread = design.mean_covariance(np.ascontiguousarray(records.table.T), records.probabilities(theta))
        slopes = self._own.own_information(theta)
        return np.asarray(slopes.T @ np.linalg.pinv(spread, rcond=_SINGULAR, hermitian=True) @ slopes)

    def _information_of_tables(self, theta: FloatArray, channel: CliqueRelease) -> FloatArray:
        if channel.tables.sizes != self.field.sizes:
            raise IncompatibleEvidenceError(
                f"the channel is for variables of sizes {shown(channel.tables.sizes)}, the field has "
                f"{shown(self.field.sizes)}.",
                remedy="Build it with field_release.",
            )
        measured = self._measured(channel.tables.cliques)
        mean, slopes = measured.mean(theta), measured.jacobian(theta)
        total = np.zeros((self.field.dimension, self.field.dimension))
        parts = zip(pairwise(channel.tables.offsets), channel.releases, channel.clique_probabilities, strict=True)
        for (start, end), release, drawn in parts:
            shares = mean[start:end] / mean[start:end].sum()
            precision = np.linalg.pinv(release.covariance(shares), rcond=_SINGULAR, hermitian=True)
            total += drawn * slopes[start:end].T @ precision @ slopes[start:end]
        return total

    # -- channels --------------------------------------------------------------------------------------------------

    @property
    def _records(self) -> int:
        return math.prod(self.field.sizes)

    def families(self) -> dict[str, Builder]:
        """One table of every respondent, whole records, or the cells of all tables."""
        field = self.field
        builders: dict[str, Builder] = {"cliques": lambda level: field_release(field, level, channel="cliques")}
        if self._records <= _MOST_RECORDS:
            builders["records"] = lambda level: field_release(field, level, channel="records")
            builders["per-value"] = lambda level: PerValue(field.dimension, level, l1_norm=len(field.cliques))
            builders["coordinate-release"] = lambda level: CoordinateRelease(field.dimension, level)
        return builders

    def on_request(self) -> dict[str, Builder]:
        """The optimal tables, whose search may take a minute."""
        if self._records > _MOST_RECORDS:
            return {}
        field, centre = self.field, self.guesses.mean
        return {OPTIMAL: lambda level: field_release(field, level, channel=OPTIMAL, theta=centre)}

    def unfit(self) -> dict[str, str]:
        """Beyond a few thousand records only clique release is planned."""
        if self._records <= _MOST_RECORDS:
            return {OPTIMAL: "the search takes long, and is made only where it is asked for by name."}
        reason = f"the field has {self._records:,} records; allowed: at most {_MOST_RECORDS:,}."
        return dict.fromkeys(("records", "per-value", "coordinate-release", OPTIMAL), reason)


def _refuse_unplanned(field: RandomField) -> None:
    if field.terms:
        raise InputError(
            f"the field has covariates ({', '.join(field.terms)}); allowed: none.",
            remedy="Plan the same field without them: tables are then known at least as well.",
        )
    if field.dimension > MOST_PARAMETERS:
        raise InputError(
            f"the field has {field.dimension:,} cells; allowed: at most {MOST_PARAMETERS:,}.",
            remedy="Plan for fewer cliques; field_release chooses the channel for any field.",
        )
