"""The main numbers of an experiment, as tables for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from askance.experiments.experiment import Experiment, Plain

# Without tables of its own, an experiment shows the numbers of its answer: so many, and lists no longer than this.
_MOST_ROWS, _LONGEST_LIST = 60, 12


@dataclass(frozen=True)
class Table:
    """A few numbers with names.

    Attributes:
        title: what they are.
        columns: their names; the first column names the rows.
        rows: texts, as many in each row as there are columns.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


@runtime_checkable
class Tabulated(Protocol):
    """An experiment that says which of its numbers matter most."""

    def tables(self, result: Mapping[str, Plain]) -> Sequence[Table]:
        """The main numbers."""

    def main_number(self, result: Mapping[str, Plain]) -> str:
        """The one to remember, with its words."""


def tables_of(experiment: Experiment, result: Mapping[str, Plain]) -> Sequence[Table]:
    """The tables of an experiment; where it has none of its own, the single numbers and short lists of its answer."""
    if isinstance(experiment, Tabulated):
        return experiment.tables(result)
    rows = list(_leaves(experiment.answer(result)))
    if not rows:
        return []
    cut = f" (the first {_MOST_ROWS} of {len(rows)})" if len(rows) > _MOST_ROWS else ""
    return [Table(f"Numbers of the answer{cut}", ("what", "value"), rows[:_MOST_ROWS])]


def main_number_of(experiment: Experiment, document: Mapping[str, Plain]) -> str:
    """The number to remember; where the experiment names none, what its first finding says."""
    if isinstance(experiment, Tabulated):
        return experiment.main_number(document["result"])
    return str(document["findings"][0]["found"]) if document["findings"] else ""


def number(value: float, digits: int = 4) -> str:
    """A number with so many significant digits, thousands apart and a real minus sign.

    >>> number(0.818912), number(57210.4), number(9466.1), number(-1.1), number(2.0)
    ('0.8189', '57,210', '9,466', '−1.1', '2')
    """
    text = f"{value:,.0f}" if abs(value) >= 10 ** min(digits, 3) else f"{value:.{digits}g}"
    return text.replace("-", "−")


def _leaves(value: Plain, name: str = "") -> Iterator[tuple[str, str]]:
    """Single values and short lists of numbers with the names on the way to them."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _leaves(inner, f"{name} · {key}" if name else str(key))
    elif isinstance(value, list):
        if 0 < len(value) <= _LONGEST_LIST and all(_is_number(each) for each in value):
            yield name, ", ".join(number(each) for each in value)
    elif _is_number(value):
        yield name, number(value)
    elif isinstance(value, str):
        yield name, value


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
