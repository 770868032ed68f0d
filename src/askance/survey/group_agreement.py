"""Whether several groups fit together, where more is hidden than the answer: what is left when all parameters fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from askance._arrays import FloatArray
from askance._checks import instance
from askance._threads import one_thread
from askance.channels.list_experiment import ITEMS
from askance.errors import InputError
from askance.estimation.checks.group_shares import GroupShares, group_shares
from askance.estimation.checks.hausman import HausmanTest
from askance.estimation.methods.corrected import without_outcomes
from askance.estimation.methods.marginal import fit_marginal
from askance.estimation.problems.hidden_problem import HiddenProblem
from askance.estimation.results.hidden_fit import HiddenFit
from askance.models.hidden import HiddenVariables
from askance.tables import Column, Table, Tabulated

_LEVEL = 0.05
# At the end of a share, where the fit has a prior too, so little is no chance.
_SURELY = 1e-4
_ENDS = "whether the groups fit together is not tested: a hidden variable is at its end"
_OF_GROUPS = "the design was not followed, its probabilities are others, or the groups differ"
_OF_LISTS = "items depend on the answer, their law is another, or the sensitive item changes other answers"


@dataclass(frozen=True, eq=False)
class GroupAgreement(Tabulated):
    """Shares of reports within groups, shape (k,) each.

    Attributes:
        groups: of every report, its group.
        reports: what was said.
        observed: shares that were seen.
        expected: shares that the fit expects.
        test: that both are the same but for chance; None where the parameters fit any shares, or one is at its end.
        message: what it says, in a line; empty where there is nothing to test.
    """

    groups: tuple[Any, ...]
    reports: tuple[Any, ...]
    observed: FloatArray
    expected: FloatArray
    test: HausmanTest | None
    message: str

    def table(self) -> Table:
        """Every report of every group."""
        columns = (Column("group"), Column("report"), Column("observed", "percent"), Column("expected", "percent"))
        rows = list(zip(self.groups, self.reports, self.observed.tolist(), self.expected.tolist(), strict=True))
        return Table(columns, rows, title="Reports of every group, and what the fit expects", notes=[self.message])


@one_thread
def group_agreement(fit: HiddenFit) -> GroupAgreement:
    """Compare the shares of reports with those that the fit of all groups expects; `regress` says what is found.

    With more reports than parameters not every table of shares is possible: three groups of cheating detection tell of
    two shares. Groups of one and the same design count as one.

    Args:
        fit: of a design with nuisances, of lists, or of a hidden cause with several arms; by the likelihood, or the
            corrected score. Of a hidden cause it is about its reports alone, and outcomes have no part in it.

    >>> from askance import CheatingDetection, Responses, estimate
    >>> design = CheatingDetection(["1/5", "1/2", "4/5"])
    >>> evidence = Responses(design.arms)
    >>> for group, yes in {1: 340, 2: 500, 3: 700}.items():
    ...     said = ["yes"] * yes + ["no"] * (1000 - yes)
    ...     evidence = evidence.add(np.ones((1000, 1)), said, arm=[group] * 1000)
    >>> group_agreement(estimate(design.model(["Intercept"]), evidence)).message
    'the groups fit together: χ² = 1.12 on 1 df, P = 0.291'
    """
    instance(fit, HiddenFit, "fit", "a HiddenFit", "Fit with regress(formula, data, design, arm=…).")
    if fit.evidence is None or not isinstance(fit.model, HiddenVariables):
        raise InputError("the fit was loaded, or is one of means.", remedy="Fit again to the data, by marginal.")
    problem, repaired = HiddenProblem(fit.model, fit.evidence), fit.repaired
    theta = problem.inward(fit.theta)
    if fit.model.outcomes:
        start = theta[: fit.model.blocks[len(fit.model.factors)].start]
        problem = without_outcomes(problem)
        without = fit_marginal(problem, starts=[start])
        theta, repaired = without.theta, without.diagnostics.repaired
    names = {channel.fingerprint: arm for arm, channel in reversed(fit.evidence.arms.items())}
    cells = [(names.get(c.fingerprint, ""), label) for c in problem.channels for label in c.observations.labels]
    shares = group_shares(problem, theta)
    test = None if repaired else shares.test
    reasons = _OF_LISTS if ITEMS in fit.variables else _OF_GROUPS
    said = _in_words(shares.test, repaired, reasons)
    if repaired and not (problem.has_weights or problem.has_clusters):
        said = _at_the_end(shares, reasons) or said
    return GroupAgreement(
        tuple(group for group, _ in cells), tuple(report for _, report in cells), *shares[:2], test, said
    )


def on_groups(fit: Any) -> str:
    """What `group_agreement` says of a fit; nothing where it has nothing to compare."""
    several = isinstance(fit, HiddenFit) and fit.evidence is not None and len(fit.evidence.channels) > 1
    return group_agreement(fit).message if several and isinstance(fit.model, HiddenVariables) else ""


def _at_the_end(shares: GroupShares, reasons: str) -> str:
    """What cannot be chance although parameters are at their ends, where tests have no known law."""
    from scipy.special import chdtrc

    p_value = float(chdtrc(shares.freedom, shares.pearson))
    if p_value > _SURELY:
        return ""
    worst = int(np.argmax(abs(shares.observed - shares.expected)))
    return (
        f"no shares give such reports in these groups: χ² = {shares.pearson:.1f} on at most {shares.freedom} df, P ≤ "
        f"{p_value:.2g} (a report of {shares.observed[worst]:.0%} is expected at {shares.expected[worst]:.0%}); "
        f"{reasons}, or the groups are the wrong way round"
    )


def _in_words(test: HausmanTest | None, repaired: bool, reasons: str) -> str:
    if test is None:
        return ""
    if repaired:
        return _ENDS
    if np.isnan(test.p_value):
        return f"whether the groups fit together is not tested: {test.text}"
    if test.p_value < _LEVEL:
        return f"the groups do not fit together: {test.text}; {reasons}"
    return f"the groups fit together: {test.text}"
