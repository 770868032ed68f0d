"""The fit of several hidden variables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from askance._arrays import FloatArray
from askance._checks import one_of
from askance.errors import InputError
from askance.estimation.problems.hidden_problem import HiddenPass, HiddenProblem
from askance.estimation.results.fit import Fit, ProbabilityTable, normal_quantile
from askance.estimation.results.share_intervals import share_interval
from askance.estimation.solvers.profile import profile_interval
from askance.evidence.responses import Responses
from askance.models.hidden import HiddenVariables
from askance.models.softmax import Covariates


@dataclass(frozen=True, eq=False, kw_only=True)
class HiddenFit(Fit):
    """A fit of `HiddenVariables`.

    Attributes:
        evidence: the reports it was fitted to; None after loading from a file.
        design: turns data into x by its `matrix(data)`, where it was fitted with a formula.
    """

    model: HiddenVariables
    evidence: Responses | None = None
    design: Any = None

    def profile_interval(self, parameter: str, confidence: float = 0.95) -> tuple[float, float]:
        """All values of a parameter that the likelihood does not reject; infinite ends where it may be infinite.

        Unlike `confidence_interval` it holds on a boundary: where nobody cheats, the log-odds of cheating are −∞.
        """
        if self.evidence is None:
            raise InputError("the fit has no evidence: it was loaded.", remedy="Fit again to the data.")
        problem = HiddenProblem(self.model, self.evidence)
        return profile_interval(problem, self.theta, self._position(parameter), normal_quantile(confidence) ** 2)

    def shares(self, variable: str, x: Covariates = None, confidence: float = 0.95) -> ProbabilityTable:
        """The share of every value of one hidden variable, averaged over x (default: those who were asked).

        Args:
            variable: name of the variable.
            x: covariates, shape (n, p).
            confidence: of the intervals.
        """
        if x is None and self.evidence is None:
            raise InputError("x is missing: the fit was loaded, without those who were asked.", remedy="Give x.")
        names = [factor.name for factor in self.model.factors]
        place = names.index(one_of(variable, names, "variable", "Name one of the hidden variables."))
        rows = [chunk.x for chunk in self.evidence.chunks] if x is None and self.evidence is not None else [x]
        labels = self.model.factors[place].outputs.labels
        belongs = self.model.values[place] == np.arange(len(labels))[:, None]
        shares, slopes, n = np.zeros(len(labels)), np.zeros((len(labels), len(self.theta))), 0
        for part in rows:
            at = HiddenPass(self.model, self.theta, part)
            n += len(at.probabilities)
            for k, own in enumerate(belongs):
                inside = at.probabilities * own
                shares[k] += inside.sum()
                slopes[k] += at.scores(inside).sum(axis=0)
        shares, slopes = shares / n, slopes / n
        errors: FloatArray = np.sqrt(np.einsum("ki,ij,kj->k", slopes, self.covariance, slopes))
        ends = share_interval(shares, errors, normal_quantile(confidence), self.n_observations)
        return ProbabilityTable(tuple(labels), shares, errors, *ends)
