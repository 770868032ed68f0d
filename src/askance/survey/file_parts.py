"""Parquet files as parts that are read one by one: which rows are in which block."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import add
from pathlib import Path
from typing import Any

import numpy as np

from askance._arrays import IntArray
from askance.errors import FormatError, InputError
from askance.evidence.protocols import Engine, require_engine
from askance.evidence.totals import BLOCK
from askance.formats.disk import opened
from askance.survey.tables import Columns, first_line, unknown_column

# Row groups are read together up to about this many blocks: with ten covariates, 40 megabytes.
_BLOCKS = 64
# So many of their rows at a time: with ten covariates ten megabytes, which are put side by side in the cache.
_ROWS = 16 * BLOCK
_DIGEST = 16


@dataclass(frozen=True)
class FilePart:
    """Some row groups of a file.

    Attributes:
        place: of the file.
        first: the number of the first row group.
        sizes: how many rows each of them has.
        block: the number of their first block, among all of all files.
    """

    place: str
    first: int
    sizes: tuple[int, ...]
    block: int

    def blocks(self) -> IntArray:
        """The number of the block of every row: blocks are cut inside row groups."""
        starts = np.cumsum([self.block, *map(_count, self.sizes[:-1])])
        return np.concatenate([start + np.arange(n) // BLOCK for start, n in zip(starts, self.sizes, strict=True)])

    def read(self, columns: Sequence[str]) -> Iterator[Columns]:
        """The columns of its rows, some rows at a time: what is made of them on the way is several times as large."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        groups = range(self.first, self.first + len(self.sizes))
        try:
            with opened(self.place, unpack=False) as file:
                source = pq.ParquetFile(file)
                for batch in source.iter_batches(_ROWS, row_groups=groups, columns=list(columns), use_threads=False):
                    yield Columns.of(pa.Table.from_batches([batch])).trimmed()
        except pa.ArrowException as error:
            raise FormatError(f"{self.place} cannot be read ({first_line(error)}).", remedy="Get it again.") from None


@dataclass(frozen=True)
class _File:
    """The digest of its last part, with sizes and extremes of all columns; place, columns, and rows of row groups."""

    digest: bytes
    place: str
    names: tuple[str, ...]
    sizes: tuple[int, ...]


def parts_of(places: Sequence[str | Path], engine: Engine) -> tuple[list[FilePart], tuple[str, ...]]:
    """Parts of files and the names of their columns. Files come in the order of their digests, however they are given.

    Args:
        places: of Parquet files.
        engine: opens them.
    """
    require_engine(engine)
    absolute = [str(place.absolute()) if isinstance(place, Path) else place for place in places]
    files: list[_File] = sorted(engine.fold(absolute, _described, add), key=lambda file: (file.digest, file.place))
    shared = [name for name in files[0].names if all(name in file.names for file in files)]
    return list(_cut(files)), tuple(shared)


def require_columns(names: Sequence[str], known: Sequence[str]) -> None:
    """Refuse columns that some file has not."""
    for name in names:
        if name not in known:
            raise unknown_column(name, known)


def _described(place: str) -> list[_File]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    with opened(place, unpack=False) as file:
        try:
            footer = pq.ParquetFile(file).metadata
        except pa.ArrowException:
            raise InputError(
                f"{place} is no Parquet file; allowed where rows stay in files: Parquet.",
                remedy="Read a smaller table with read_table(path), or write this one as Parquet.",
            ) from None
        file.seek(-8 - footer.serialized_size, 2)
        digest = hashlib.sha256(file.read(footer.serialized_size)).digest()[:_DIGEST]
    sizes = tuple(footer.row_group(number).num_rows for number in range(footer.num_row_groups))
    names = tuple(footer.schema.to_arrow_schema().names)
    return [_File(digest, place, names, sizes)]


def _cut(files: Sequence[_File]) -> Iterator[FilePart]:
    block = 0
    for file in files:
        first, held, start = 0, 0, block
        for number, rows in enumerate(file.sizes):
            if held and held + _count(rows) > _BLOCKS:
                yield FilePart(file.place, first, file.sizes[first:number], start)
                first, held, start = number, 0, block
            held += _count(rows)
            block += _count(rows)
        if held:
            yield FilePart(file.place, first, file.sizes[first:], start)


def _count(rows: int) -> int:
    """Blocks of so many rows."""
    return -(-rows // BLOCK)


def first_of(one: Any, other: Any) -> Any:
    """The one of two pairs with the lower place."""
    return min(one, other, key=lambda pair: pair[0])
