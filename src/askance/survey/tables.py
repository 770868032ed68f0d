"""A researcher's table, whatever its brand: one view of its columns, with the missing values of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from askance._arrays import AnyArray
from askance._checks import did_you_mean, shorten
from askance._words import words
from askance.errors import EmptyDataError, InputError, MissingValueError, ShapeError

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import DTypeLike

#: What a column holds; "mixed" is texts among numbers and the like.
Kind: TypeAlias = Literal["number", "boolean", "text", "category", "time", "mixed"]
#: Anything `Columns.of` understands.
Table: TypeAlias = Any


@dataclass(frozen=True, eq=False)
class Column:
    """One column, brought to a common form.

    Attributes:
        name: its name in the table.
        kind: what it holds.
        values: shape (n,): float64, bool, datetime64, or objects; where a value is missing, anything.
        missing: which values are missing (NaN, None, NaT, NA, empty cells of a file), shape (n,).
        levels: of a "category", its values in their order.
    """

    name: str
    kind: Kind
    values: AnyArray
    missing: AnyArray
    levels: tuple[Any, ...] | None = None

    def __len__(self) -> int:
        return len(self.values)

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> AnyArray:
        """The values as NumPy asks for them, so that a column goes wherever labels or numbers go.

        A gap becomes NaN among numbers, NaT among times and None among others, which whoever counts then refuses.

        >>> np.asarray(Columns.of({"said": ["yes", None]})["said"]).tolist()
        ['yes', None]
        """
        values = self.values
        if self.missing.any():
            kind = values.dtype.kind
            values = values.astype(object) if kind == "b" else values.copy()
            values[self.missing] = np.nan if kind == "f" else np.array("NaT", values.dtype) if kind in "mM" else None
        return np.array(values, dtype=dtype) if copy else np.asarray(values, dtype=dtype)

    def trimmed(self) -> Column:
        """The column with texts freed of blanks at their ends; texts of blanks alone are missing.

        Nobody sees such blanks: with them, one region would be two that look the same.

        >>> column = Columns.of({"region": ["north ", "north", "  "]})["region"].trimmed()
        >>> column.distinct(), column.missing.tolist()
        (['north'], [False, False, True])
        """
        if self.kind not in ("text", "category", "mixed"):
            return self
        texts = [text for text in (*(self.levels or ()), *self.distinct()) if isinstance(text, str)]
        short = {text: text.strip() for text in texts if not text or text != text.strip()}
        if not short:
            return self
        pairs = zip(self.values.tolist(), self.missing.tolist(), strict=True)
        values = _objects([None if gap else short.get(value, value) for value, gap in pairs])
        gaps = self.missing | np.array([isinstance(value, str) and not value for value in values], dtype=bool)
        levels = self.levels and tuple(dict.fromkeys(short.get(level, level) for level in self.levels))
        return replace(self, values=values, missing=gaps, levels=levels)

    def take(self, rows: AnyArray | None) -> Column:
        """The column with the rows of a mask only; None for all."""
        if rows is None:
            return self
        return replace(self, values=self.values[rows], missing=self.missing[rows])

    def only(self, values: Sequence[Any]) -> Column:
        """The column with all others than some values missing."""
        others = np.array([value not in values for value in self.values.tolist()], dtype=bool)
        return replace(self, missing=self.missing | others)

    def distinct(self) -> list[Any]:
        """The different values that are not missing, as plain Python values, sorted where they can be."""
        present = self.values if not self.missing.any() else self.values[~self.missing]
        if present.dtype == object:
            seen = set(present.tolist())
            return [level for level in self.levels if level in seen] if self.levels else _sorted(seen)
        return list(np.unique(present).tolist())

    def to_pandas(self) -> pd.Series[Any]:
        """As pandas holds it, in one way for all brands; for columns without missing values."""
        import pandas as pd

        if self.kind == "category":
            return pd.Series(pd.Categorical(self.values, categories=self.distinct()))
        if self.kind in ("text", "mixed"):
            return pd.Series(self.values, dtype=object)
        return pd.Series(self.values.astype(bool) if self.kind == "boolean" else self.values)


class ColumnTwiceError(InputError):
    """Two columns of a table have one name, which the message shows: of a table without names, it is a value."""


class Columns:
    """The columns of a table: pandas, polars, Arrow, a NumPy structured array, or a dict of columns.

    Numbers become float64, so that results do not depend on the brand; categories keep their order where they have one.

    >>> table = Columns.of({"age": [31, None, 45], "region": ["north", "south", None]})
    >>> table.names, len(table)
    (('age', 'region'), 3)
    >>> table["age"].missing
    array([False,  True, False])
    >>> table["agee"]
    Traceback (most recent call last):
    askance.errors.InputError: there is no column 'agee'; found: 'age', 'region'. Did you mean 'age'?
    """

    def __init__(self, names: Sequence[str], n_rows: int, load: Callable[[str], Column]) -> None:
        self.names = tuple(names)
        #: How a file was read, where that is worth telling: fits repeat it.
        self.notes: tuple[str, ...] = ()
        self._n_rows = n_rows
        self._load = load
        self._loaded: dict[str, Column] = {}
        twice = [name for i, name in enumerate(self.names) if name in self.names[:i]]
        if twice:
            raise ColumnTwiceError(f"column {twice[0]!r} appears twice.", remedy="Rename one of them.")

    @classmethod
    def of(cls, data: Table) -> Columns:
        """The view of a table; a view is returned as it is."""
        if isinstance(data, Columns):
            return data
        if isinstance(data, Mapping):
            return cls._of_mapping({str(name): values for name, values in data.items()})
        if isinstance(data, np.ndarray):
            if data.dtype.names is None:
                raise InputError(
                    f"is an array of shape {data.shape} without column names",
                    argument="data",
                    remedy='Give a dict of columns such as {"age": x[:, 0], "answer": y}.',
                )
            return cls._of_mapping({name: data[name] for name in data.dtype.names})
        if isinstance(data, str) or hasattr(data, "__fspath__"):
            raise InputError(
                f"is {str(data)!r}, a path", argument="data", remedy="Pass read_table(path) from askance.survey."
            )
        return cls._of_frame(data)

    @classmethod
    def _of_mapping(cls, columns: Mapping[str, Any]) -> Columns:
        lengths = {}
        for name, values in columns.items():
            if isinstance(values, (str, bytes)) or not hasattr(values, "__len__"):
                raise InputError(
                    f"column {name!r} is {values!r}, not a column.",
                    remedy="Give one value per row, as a list or array.",
                )
            lengths[name] = len(values)
        if len(set(lengths.values())) > 1:
            raise ShapeError(f"the columns have different lengths: {lengths}.", remedy="Give one value per row.")
        return cls(list(columns), next(iter(lengths.values()), 0), lambda name: _from_any(name, columns[name]))

    @classmethod
    def _of_frame(cls, data: Any) -> Columns:
        import narwhals.stable.v2 as nw

        if hasattr(data, "collect"):  # a lazy table
            data = data.collect()
        written = [str(name) for name in getattr(data, "column_names", getattr(data, "columns", ()))]
        twice = sorted(name for name, times in Counter(written).items() if times > 1)
        if twice:
            raise ColumnTwiceError(f"column {twice[0]!r} appears twice.", remedy="Rename one of them.")
        try:
            frame = nw.from_native(data, eager_only=True)
        except TypeError:
            raise InputError(
                f"is a {type(data).__name__}",
                argument="data",
                allowed="a pandas, polars or Arrow table, a structured array, or a dict of columns",
                remedy="Convert it, or read a file with read_table(path) from askance.survey.",
            ) from None
        names = {str(name): name for name in frame.columns}
        return cls(list(names), len(frame), lambda name: _from_series(name, frame[names[name]]))

    def __len__(self) -> int:
        return self._n_rows

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def __getitem__(self, name: str) -> Column:
        if name not in self.names:
            raise unknown_column(name, self.names)
        if name not in self._loaded:
            try:
                self._loaded[name] = self._load(name)
            except (ArithmeticError, TypeError, ValueError, OSError) as error:
                if isinstance(error, InputError):
                    raise
                # Dates of other millennia, lists, bytes: what NumPy has no place for.
                raise InputError(
                    f"column {name!r} holds values that cannot be read ({type(error).__name__}); allowed: numbers, "
                    "texts and dates.",
                    remedy="Leave the column out, or convert it.",
                ) from None
        return self._loaded[name]

    def __repr__(self) -> str:
        return f"Columns({len(self)} rows of {shorten(self.names)})"

    def part(self, names: Iterable[str], rows: AnyArray | None = None) -> Columns:
        """Some columns with the rows of a mask or at some places (None for all), loaded now.

        >>> table = Columns.of({"age": [31, None, 45], "region": ["north", "south", "south"]})
        >>> table.part(["region"], ~table["age"].missing)["region"].values.tolist()
        ['north', 'south']
        """
        kept = {name: self[name].take(rows) for name in names}
        count = len(self) if rows is None else int(rows.sum()) if rows.dtype == bool else len(rows)
        return Columns(list(kept), count, kept.__getitem__)

    def trimmed(self) -> Columns:
        """The same columns, their texts without blanks at the ends; see `Column.trimmed`."""
        return Columns(self.names, len(self), lambda name: self[name].trimmed())

    def to_pandas(self, names: Iterable[str], rows: AnyArray | None = None) -> pd.DataFrame:
        """Some columns as a pandas table; rows with missing values must have been left out."""
        import pandas as pd

        count = len(self) if rows is None else int(rows.sum())
        columns = {name: self[name].take(rows).to_pandas() for name in names}
        return pd.DataFrame(columns, index=range(count))


def complete_rows(
    table: Columns,
    names: Iterable[str],
    missing: Literal["error", "drop"],
    remedy: str = words("Fill them in, or leave these rows out with {missing=drop}."),
) -> AnyArray | None:
    """Which rows have a value in all these columns, as a mask; None when all have.

    Raises:
        MissingValueError: some value is missing and `missing` is "error"; says how many in which column.
        EmptyDataError: no row is complete, or there is none at all.
    """
    if not len(table):
        raise EmptyDataError("the table has no rows.", remedy="Check the file or the filter that made it.")
    used = [table[name] for name in dict.fromkeys(names)]
    counts = {column.name: int(column.missing.sum()) for column in used}
    if not any(counts.values()):
        return None
    incomplete = np.logical_or.reduce([column.missing for column in used])
    told = ", ".join(f"{name} {count}" for name, count in counts.items() if count)
    if missing == "error":
        raise MissingValueError(
            f"{incomplete.sum()} of {len(table)} rows miss a value ({told}).",
            remedy=remedy,
        )
    if incomplete.all():
        raise EmptyDataError(
            f"all {len(table)} rows miss some value ({told}).", remedy="Leave out the column that is mostly missing."
        )
    return np.asarray(~incomplete)


def are_files(data: object) -> bool:
    """Whether data are named, not given."""
    if isinstance(data, (str, Path)):
        return True
    return isinstance(data, (list, tuple)) and bool(data) and all(isinstance(one, (str, Path)) for one in data)


def unknown_column(name: str, names: Sequence[str]) -> InputError:
    """The error for a column that is not there, with the name that was probably meant."""
    remedy = did_you_mean(name, names, "Check the spelling, capitals included.")
    return InputError(f"there is no column {name!r}; found: {shorten(names, 12) or 'none'}.", remedy=remedy)


def plain_value(value: Any) -> Any:
    """A value as people write it: 1 for 1.0."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def as_written(value: Any) -> str:
    """A value as people write it: 1 for 1.0, true for True."""
    return str(value).lower() if isinstance(value, bool) else str(plain_value(value)).strip()


def first_line(error: BaseException) -> str:
    """The first line of a message, without its final stop."""
    text = str(error).strip()
    return text.splitlines()[0].strip().rstrip(".") if text else type(error).__name__


def without_empty_texts(frame: pd.DataFrame) -> pd.DataFrame:
    """Neither Stata nor SPSS knows a missing text: an empty one stands for it."""
    return frame.replace({name: {"": None} for name in frame.columns if frame[name].dtype in ("object", "str")})


def _from_any(name: str, values: Any) -> Column:
    import narwhals.stable.v2 as nw

    if isinstance(values, Column):
        return replace(values, name=name)
    if isinstance(values, np.ma.MaskedArray):
        plain = _from_array(name, np.asarray(values.data))
        return Column(name, plain.kind, plain.values, plain.missing | np.ma.getmaskarray(values), plain.levels)
    if isinstance(values, np.ndarray):
        return _from_array(name, values)
    series = nw.from_native(values, series_only=True, pass_through=True)
    if isinstance(series, nw.Series):
        return _from_series(name, series)
    if hasattr(values, "categories"):  # a bare pandas.Categorical
        objects = _objects(list(values))
        return Column(name, "category", objects, _is_missing(objects), tuple(values.categories))
    return _from_objects(name, _objects(list(values)))


def _from_array(name: str, array: AnyArray) -> Column:
    if array.ndim != 1:
        raise ShapeError(f"column {name!r} has shape {array.shape}; allowed: (rows,).", remedy="Give one column.")
    none = np.zeros(len(array), dtype=bool)
    if array.dtype.kind == "b":
        return Column(name, "boolean", array, none)
    if array.dtype.kind in "iuf":
        numbers = array.astype(np.float64)
        return Column(name, "number", numbers, np.isnan(numbers))
    if array.dtype.kind in "mM":
        return Column(name, "time", array, np.isnat(array))
    return _from_objects(name, array.astype(object))


def _from_series(name: str, series: Any) -> Column:
    import narwhals.stable.v2 as nw

    dtype = series.dtype
    missing = series.is_null().to_numpy().astype(bool)
    if dtype in (nw.Categorical, nw.Enum):
        levels = series.cat.get_categories().to_list()
        if dtype == nw.Categorical and series.implementation.is_polars():
            levels = sorted(levels)  # polars keeps these in the order in which it met them, in any table
        return Column(name, "category", _texts(series), missing, tuple(levels))
    if dtype.is_integer():  # also those that no float is equal to
        whole = series.fill_null(0) if missing.any() else series
        numbers = np.where(missing, np.nan, np.asarray(whole.to_numpy()).astype(np.float64))
        return Column(name, "number", numbers, missing)
    if dtype.is_numeric():
        numbers = np.asarray(series.cast(nw.Float64).to_numpy(), dtype=np.float64)
        return Column(name, "number", numbers, missing | np.isnan(numbers))
    if dtype == nw.Boolean:
        values = series.to_numpy() if not missing.any() else series.fill_null(False).to_numpy()
        return Column(name, "boolean", values.astype(bool), missing)
    if dtype == nw.String:
        return Column(name, "text", _texts(series), missing)
    if dtype.is_temporal():
        return Column(name, "time", _objects(series.to_list()), missing)
    return _from_objects(name, _objects(series.to_list()))


def _from_objects(name: str, objects: AnyArray) -> Column:
    objects = _objects([value.item() if isinstance(value, np.generic) else value for value in objects])
    missing = _is_missing(objects)
    types = {type(value) for value in objects[~missing]}
    if any(kind.__hash__ is None for kind in types):
        raise TypeError(f"column {name!r} holds lists")
    if types and all(issubclass(kind, bool) for kind in types):
        return Column(name, "boolean", np.array([value is True or bool(value == 1) for value in objects]), missing)
    if all(issubclass(kind, (Real, Decimal)) for kind in types) and bool not in types:
        numbers = np.full(len(objects), np.nan)
        numbers[~missing] = [float(value) for value in objects[~missing]]
        return Column(name, "number", numbers, missing)
    if all(issubclass(kind, str) for kind in types):
        return Column(name, "text", objects, missing)
    if all(issubclass(kind, date) for kind in types):
        return Column(name, "time", objects, missing)
    return Column(name, "mixed", objects, missing)


def _objects(values: list[Any]) -> AnyArray:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def _texts(series: Any) -> AnyArray:
    """The texts of a series, None where one is missing; of Arrow's, equal ones share one object."""
    native = series.to_native()
    if not hasattr(native, "dictionary_encode") or not len(native):
        return _objects(series.to_list())
    encoded = native.dictionary_encode().combine_chunks()
    texts = _objects([*encoded.dictionary.to_pylist(), None])
    return np.asarray(texts[encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)])


def _is_missing(objects: AnyArray) -> AnyArray:
    import pandas as pd

    return np.asarray(pd.isna(objects))


def _sorted(values: set[Any]) -> list[Any]:
    try:
        return sorted(values)
    except TypeError:  # texts among numbers
        return sorted(values, key=lambda value: (type(value).__name__, str(value)))
