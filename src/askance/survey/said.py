"""What was said row by row, as evidence, and what a fit to it is told with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from askance._arrays import AnyArray
from askance.channels.finite import FiniteChannel
from askance.evidence.responses import Responses
from askance.models.softmax import Covariates
from askance.survey.answers import read_reports
from askance.survey.arms import read_armed_reports
from askance.survey.drawn_columns import on_drawn, read_replicates, read_strata
from askance.survey.survey_rows import SurveyRows
from askance.survey.tables import Column

#: One way of asking, or one for every arm.
Ways: TypeAlias = FiniteChannel | Mapping[Any, FiniteChannel]


@dataclass(frozen=True, eq=False)
class Said:
    """Reports of rows.

    Attributes:
        channel: that they came through.
        labels: of the channel of every row, shape (n,).
        which: the arm of every row, as its place among all, shape (n,); None where there is one way of asking.
        readings: how values were read.
    """

    channel: Ways
    labels: AnyArray
    which: AnyArray | None
    readings: list[str]

    @classmethod
    def read(cls, column: Column, channel: Ways, which: AnyArray | None, positive: Any) -> Said:
        """A column of reports."""
        if which is not None and isinstance(channel, Mapping):
            labels, readings = read_armed_reports(column, channel, which, positive)
            return cls(channel, labels, which, readings)
        assert isinstance(channel, FiniteChannel)
        labels, reading = read_reports(column, channel, positive)
        return cls(channel, labels, None, [reading])

    def evidence(self, rows: SurveyRows, x: Covariates) -> Responses[Any]:
        """The reports with x, (n, p), and how respondents were drawn; the design of the rows goes arm by arm, too."""
        drawn, groups, strata, arm = rows.drawn, None, None, None
        if drawn.strata is not None:
            groups, strata = read_strata(rows, drawn.strata)
        elif drawn.cluster is not None:
            groups = rows.groups(drawn.cluster)
        empty: Responses[Any] = Responses(self.channel, strata=strata)
        order = np.arange(len(rows))
        if self.which is not None:
            names: AnyArray = np.array(list(empty.arms), dtype=object)
            arm, order = names[self.which], np.argsort(self.which, kind="stable")
            rows.coded[0].sort_respondents(order)
        weights = None if drawn.weights is None else rows.weights(drawn.weights)
        evidence = empty.add(x, self.labels, weights=weights, clusters=groups, arm=arm)
        if drawn.replicates is None:
            return evidence
        table, replication = read_replicates(rows)
        return evidence.replicated(table[order], replication)

    def told(self, fit: Any, rows: SurveyRows, before: Iterable[str] = (), after: Iterable[str] = ()) -> Any:
        """The fit to these reports with its formula, and with what a reader should know of rows and errors."""
        messages = [
            *rows.written.notes,
            rows.on_dropped,
            *self.readings,
            *before,
            *rows.on_blanks,
            *on_drawn(rows.drawn, fit, fit.evidence),
            *fit.diagnostics.messages,
            *after,
        ]
        diagnostics = replace(fit.diagnostics, messages=tuple(filter(None, messages)))
        return replace(fit, diagnostics=diagnostics, design=rows.coded[0])
