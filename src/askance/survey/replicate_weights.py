"""Columns of replicate weights, and what their kind makes of the spread between replicates."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from askance._arrays import FloatArray
from askance._checks import number, one_of, shown
from askance._words import words
from askance.errors import InputError
from askance.estimation.results.regression_fit import RegressionFit
from askance.evidence.replication import Replication
from askance.survey.survey_rows import SurveyRows
from askance.survey.tables import Columns, Table

ReplicateKind: TypeAlias = Literal["JK1", "JKn", "BRR", "Fay", "bootstrap"]
_KINDS = ("JK1", "JKn", "BRR", "Fay", "bootstrap")
# Columns that are a combination of the others to this share of their length say nothing new, as in R.
_DEPENDENT = 1e-5


class ReplicateWeights(NamedTuple):
    """Which columns hold replicate weights, and how their spread counts; see `regress`."""

    columns: Sequence[str] | str
    kind: str | None
    scale: float | None
    scales: Sequence[float] | None
    fay: float | None

    def require_alone(self, cluster: str | None, strata: str | None, *, carried: bool) -> None:
        """Refuse clusters and strata beside replicates, which know of them; and models that do not carry them."""
        if cluster is not None or strata is not None:
            raise InputError(
                words("{replicates} are given with {cluster} or {strata}, which they stand for."),
                remedy="Leave one or the other out.",
            )
        if not carried:
            raise InputError(
                words("{replicates} are not offered where more is hidden than the answer."),
                remedy=words("Take {cluster=…}, which holds without them."),
            )

    def names(self, data: Table, weights: str | None) -> list[str]:
        """The columns, in the order of the table where a pattern names them; the weights themselves are not one."""
        if weights is None:
            raise InputError(
                words("{replicates} are given without {weights}."), remedy=words("Name the {weights=…} too.")
            )
        if not isinstance(self.columns, str):
            return list(self.columns)
        known = [name for name in Columns.of(data).names if fnmatchcase(name, self.columns) and name != weights]
        if len(known) < 2:
            raise InputError(
                f"{len(known)} columns are called {shown(self.columns)}; allowed: at least 2 replicates.",
                remedy="Write a pattern such as w_rep*, which their names have in common.",
            )
        return known

    def read(self, rows: SurveyRows, names: Sequence[str]) -> tuple[FloatArray, Replication]:
        """The replicate weights of every row, shape (n, R), and their `Replication`."""
        scale, scales = self._scaling(len(names))
        table = np.column_stack([rows.weights(name, zero=True) for name in names])
        length = np.sqrt((table * table).sum(axis=0))
        if not length.all():
            raise InputError(
                f"column {names[int(np.argmin(length))]!r} holds no weight above 0.", remedy="Leave it out."
            )
        freedom = float(np.linalg.matrix_rank(table / length, tol=_DEPENDENT)) - 1
        if freedom < 1:
            raise InputError("all replicates have the same weights.", remedy="Check the columns.")
        return table, Replication(scale, scales, freedom)

    def _scaling(self, count: int) -> tuple[float, FloatArray]:
        """Scale and scales, R's where none are given."""
        kind = one_of(self.kind, _KINDS, "replicate_kind", "The documentation of the survey says which.")
        if kind == "JKn" and self.scales is None:
            raise InputError(
                words("JKn needs {replicate_scales}: (n − 1)/n of the stratum of every replicate."),
                remedy=words("Give {replicate_scales}, one for each of the {0} replicates.", str(count)),
            )
        if (kind == "Fay") != (self.fay is not None):
            raise InputError(
                words("{fay} is {0}, and {replicate_kind} is {1}.", shown(self.fay), kind),
                remedy=words("Give {fay}, which is ρ, with replicates of the kind Fay, and only then."),
            )
        if kind in ("BRR", "Fay") and self.scale is not None:
            raise InputError(words("{0} has no {replicate_scale}.", kind), remedy="Leave it out.")
        rho = 0.0 if self.fay is None else number(self.fay, "fay", 0, 1, open=True, remedy="0.5 and 0.3 are usual.")
        usual = {"JK1": (count - 1) / count, "JKn": 1.0, "bootstrap": 1 / (count - 1)}
        scale = usual.get(kind, 1 / (count * (1 - rho) ** 2)) if self.scale is None else self.scale
        scales = np.ones(count) if self.scales is None else np.asarray(self.scales, dtype=np.float64)
        if scales.shape != (count,) or not (scales >= 0).all() or not scales.any():
            raise InputError(
                words("{replicate_scales} are {0}; allowed: {1} numbers from 0.", shown(self.scales), str(count)),
                remedy="Give one for every replicate, in their order.",
            )
        return number(scale, "replicate_scale", 0, open=True, remedy="Leave it out for R's."), scales


def on_replicates(fit: RegressionFit, kind: str | None) -> str:
    """Which errors a fit with replicate weights has, in words."""
    if fit.replicates is None or fit.freedom is None:
        return "replicate weights are not part of the posterior's spread"
    known = f"t with {fit.freedom.number:g} degrees of freedom"
    return f"std. errors: {len(fit.replicates)} replicate weights ({kind}), {known}"
