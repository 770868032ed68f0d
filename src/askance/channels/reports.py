"""Reports of a channel: a few named columns, one row per respondent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Literal

import numpy as np

from askance._arrays import AnyArray
from askance._checks import shown
from askance._kernels import bits
from askance._words import Place
from askance.errors import InputError, ShapeError

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    from askance.categories import Categories
    from askance.channels.finite import FiniteChannel
    from askance.channels.statistics.base import StatisticsChannel

    #: The family of the channel; that of statistics where nothing is said.
    C = TypeVar("C", bound=FiniteChannel | StatisticsChannel, default=StatisticsChannel, covariant=True)
    OneChannel = TypeVar("OneChannel", bound=FiniteChannel | StatisticsChannel)
else:  # what a type is where nothing is said is known to Python from 3.13 on
    from typing import TypeVar

    C = TypeVar("C")


@dataclass(frozen=True)
class Column:
    """One column of a report.

    Attributes:
        name: its name in files.
        kind: "bits" (packed, least significant first), "integer" (one whole number), "integers" (several) or "seed"
            (64 random bits).
        width: number of bits or integers in a report (1 for "integer" and "seed").
        limit: integers lie in 0 … limit − 1.
        description: what it says, for the published schema.
    """

    name: str
    kind: Literal["bits", "integer", "integers", "seed"]
    width: int = 1
    limit: int = 1 << 62
    description: str = ""

    @property
    def dtype(self) -> np.dtype[Any]:
        """How it is held in memory: words of bits, the smallest integers that fit, words of seeds."""
        if self.kind in ("bits", "seed"):
            return np.dtype(np.uint64)
        return np.min_scalar_type(max(self.limit - 1, 1))

    def empty(self, n: int) -> AnyArray:
        """Room for n reports: (n, words of bits), (n,), (n, width) or (n,)."""
        if self.kind == "bits":
            return np.zeros((n, bits.words_for(self.width)), dtype=np.uint64)
        return np.zeros((n, self.width) if self.kind == "integers" else n, dtype=self.dtype)

    def check(self, values: AnyArray, n: int) -> AnyArray:
        """Refuse an array of another shape, integers out of range, and bits where there are none."""
        wanted = self.empty(0).shape[1:]
        if values.dtype.kind not in ("u" if self.kind in ("bits", "seed") else "iub"):
            raise InputError(
                f"column {self.name!r} holds {values.dtype}; allowed: whole numbers"
                f"{' without sign' if self.kind in ('bits', 'seed') else ''}.",
                remedy="Take the columns as the channel gives them.",
            )
        if values.shape != (n, *wanted):
            raise ShapeError(
                f"column {self.name!r} has shape {values.shape}; allowed: {(n, *wanted)}.",
                remedy="Take the columns as the channel gives them.",
            )
        if self.kind == "bits":
            beyond = values[:, -1] & np.uint64(2**64 - 1 - bits.last_word_mask(self.width))
            if beyond.any():
                row = int(np.argmax(beyond != 0))
                raise InputError(
                    f"has bits set beyond its {self.width} in column {self.name!r}",
                    argument=Place("report", row),
                    remedy="It was cut, padded or made by another channel; leave it out.",
                )
        elif self.kind != "seed" and values.size:
            wrong = (values < 0) | (values >= self.limit)
            if wrong.any():
                row = int(np.argwhere(wrong)[0][0])
                what = f"{shown(np.atleast_1d(values[row]).tolist())} in column {self.name!r}"
                raise impossible_report(row, what, f"0 to {self.limit - 1}")
        return values.astype(self.dtype, copy=False)


@dataclass(frozen=True)
class LabelColumn:
    """The column of noised answers that have names; held in memory as codes.

    Attributes:
        labels: the observations of the channel.
        name: its name in files.
    """

    labels: Categories
    name: str = "answer"


def bytes_of(column: Column) -> int:
    """How many bytes the bits of a report take."""
    return -(-column.width // 8)


def columns_in_files(channel: FiniteChannel | StatisticsChannel) -> tuple[Column | LabelColumn, ...]:
    """The columns of a channel's reports as they stand in files: answers by their names, where they have some."""
    labels: Categories | None = getattr(channel, "observations", None)
    return channel.columns if labels is None or labels.are_codes else (LabelColumn(labels),)


class Reports(Generic[C]):
    """What n respondents sent, by column: noised statistics, or noised answers as codes of the observations.

    Reports are checked once, here. They are sequences: `len`, slices, and `Reports.join`.

    Attributes:
        channel: what made them.
        columns: {name: array}; the shapes are those of `Column.empty`.
    """

    def __init__(self, channel: C, columns: Mapping[str, AnyArray]) -> None:
        wanted = [column.name for column in channel.columns]
        if sorted(columns) != sorted(wanted):
            raise InputError(
                f"the reports have columns {shown(sorted(columns))}; allowed with {channel.kind}: {', '.join(wanted)}.",
                remedy="Take them as the channel gives them.",
            )
        arrays = {name: np.atleast_1d(np.asarray(values)) for name, values in columns.items()}
        n = len(next(iter(arrays.values())))
        self.channel = channel
        self.columns = {column.name: column.check(arrays[column.name], n) for column in channel.columns}
        channel.check_reports(self.columns)

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def __getitem__(self, rows: slice) -> Reports[C]:
        if not isinstance(rows, slice):
            raise InputError(f"the index is {shown(rows)}; allowed: a slice.", remedy="Write reports[3:4] for one.")
        return Reports(self.channel, {name: values[rows] for name, values in self.columns.items()})

    @classmethod
    def join(cls, parts: Sequence[Reports[C]]) -> Reports[C]:
        """All reports of the parts, in order; refused when they come from different channels."""
        if not parts:
            raise InputError("there are no reports to join.", remedy="Give at least one Reports.")
        first = parts[0]
        for part in parts[1:]:
            first.channel.require_same(part.channel)
        return cls(first.channel, {name: np.concatenate([p.columns[name] for p in parts]) for name in first.columns})

    @staticmethod
    def from_arrow(channel: OneChannel, data: Any) -> Reports[OneChannel]:
        """Reports out of an Arrow table, or whatever gives one (Polars, DuckDB, …); columns of other names are ignored.

        Bits are packed: bit j of a report is bit j mod 8, the lowest first, of byte j div 8; bits that are none of the
        report's are 0. Labels stand by name. `askance.channels.arrow` has the types that are read.

        >>> import pyarrow as pa
        >>> from askance import PerValue, Reports
        >>> packed = np.packbits([[0, 1, 1], [1, 0, 0]], axis=1, bitorder="little")
        >>> table = pa.table({"bits": [row.tobytes() for row in packed], "day": ["mon", "tue"]})
        >>> Reports.from_arrow(PerValue(3, 4), table).columns["bits"]
        array([[6],
               [1]], dtype=uint64)
        """
        import pyarrow as pa

        from askance.channels import arrow

        table, columns = pa.table(data), {}
        for column in columns_in_files(channel):
            kind = table.schema.field(column.name).type if table.column_names.count(column.name) == 1 else None
            if kind is None or not arrow.is_readable(column, kind):
                raise InputError(
                    f"column {column.name!r} is {kind or 'not there, or twice'}; allowed: {arrow.arrow_type(column)}.",
                    remedy="Give the columns of the channel by their names: docs/reports.md lists them.",
                )
            array = arrow.unpacked(column, table.column(column.name).combine_chunks())
            wrong = arrow.unusable(column, array)
            if not wrong:
                columns[column.name] = arrow.from_arrow(column, array)
                wrong = arrow.no_labels(column, columns[column.name], array)
            for row, what in sorted(wrong.items()):
                raise InputError(f"report {row}: {what}", remedy="It was damaged, or is no report; leave it out.")
        return Reports(channel, columns)

    def for_purpose(self, purpose: str) -> Reports[C]:
        """These reports, of that question: where nothing says of which they are; refused where they are of another."""
        return Reports(self.channel.named(purpose), self.columns)  # type: ignore[arg-type]

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Reports)
            and self.channel == other.channel
            and all(np.array_equal(values, other.columns[name]) for name, values in self.columns.items())
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Reports({len(self)} through {self.channel!r})"


def require_reports(reports: object, channel: OneChannel) -> Reports[OneChannel]:
    """Refuse what is no `Reports`, and reports of another channel."""
    if not isinstance(reports, Reports):
        raise InputError(
            f"reports is {shown(reports)}; allowed: Reports.",
            remedy="Take what randomize returned, or read a file with read_reports.",
        )
    channel.require_same(reports.channel)
    return reports


def impossible_report(row: int, what: str, allowed: str = "") -> InputError:
    """The refusal of one, by its place among those that are looked at.

    >>> print(impossible_report(3, "2 labels in column 'subset'", "exactly 1"))
    report 3 has 2 labels in column 'subset'; allowed: exactly 1. It was made by another channel, or damaged; ...
    """
    remedy = "It was made by another channel, or damaged; leave it out."
    return InputError(f"has {what}", argument=Place("report", row), allowed=allowed, remedy=remedy)
