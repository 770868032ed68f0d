"""Columns of reports as Arrow arrays, of askance's own files and of other writers'.

| column   | as askance writes it                                                  | what else is read |
|----------|-----------------------------------------------------------------------|---|
| bits     | fixed-size binary, ⌈width/8⌉ bytes, the first bit lowest in the first | any binary; more bytes that are 0 |
| integer  | the smallest unsigned integers that hold it                           | any integers in its range |
| integers | fixed-size list of such                                               | any list of as many integers |
| seed     | uint64                                                                | int64, the same 64 bits |
| answer   | as the labels are: string, int64, double, bool; mixed: JSON text      | of any width; dictionaries |

pyarrow is loaded when the first array is read or written, and nowhere else.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from askance._arrays import AnyArray
from askance._checks import shorten, shown
from askance._kernels import bits
from askance.categories import Label
from askance.channels.reports import Column, LabelColumn, bytes_of


def arrow_type(column: Column | LabelColumn) -> Any:
    """The type that a column is written as."""
    import pyarrow as pa

    if isinstance(column, LabelColumn):
        kinds = {type(label) for label in column.labels}
        types = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}
        return types[kinds.pop()] if len(kinds) == 1 else pa.string()
    if column.kind == "bits":
        return pa.binary(bytes_of(column))
    entry = pa.from_numpy_dtype(column.dtype)
    return pa.list_(entry, column.width) if column.kind == "integers" else entry


def to_arrow(column: Column | LabelColumn, values: AnyArray) -> Any:
    """Values as they are held in memory, as an Arrow array."""
    import pyarrow as pa

    kind = arrow_type(column)
    if isinstance(column, LabelColumn):
        names = pa.array([_name(label, column) for label in column.labels], type=kind)
        return names.take(pa.array(values.astype(np.int64)))
    if column.kind == "bits":
        raw = np.ascontiguousarray(values.astype("<u8").view(np.uint8)[:, : bytes_of(column)])
        return pa.FixedSizeBinaryArray.from_buffers(kind, len(values), [None, pa.py_buffer(raw)])
    if column.kind == "integers":
        return pa.FixedSizeListArray.from_arrays(pa.array(values.reshape(-1)), column.width)
    return pa.array(values)


def _name(label: Label, column: LabelColumn) -> Label:
    """A label as it stands in its column: itself, or its JSON text among labels of several kinds."""
    mixed = len({type(other) for other in column.labels}) > 1
    return json.dumps(label, ensure_ascii=False) if mixed else label


def is_readable(column: Column | LabelColumn, kind: Any) -> bool:
    """Whether a column of that Arrow type can be read; ranges and lengths are looked at later."""
    from pyarrow import types

    kind = kind.value_type if types.is_dictionary(kind) else kind
    if isinstance(column, LabelColumn):
        families = (is_text, types.is_integer, types.is_floating, types.is_boolean)
        return any(family(kind) and family(arrow_type(column)) for family in families)
    if column.kind == "bits":
        binary = (types.is_fixed_size_binary, types.is_binary, types.is_large_binary, types.is_binary_view)
        return any(family(kind) for family in binary)
    if column.kind == "seed":
        return bool(types.is_uint64(kind) or types.is_int64(kind))
    if column.kind == "integer":
        return bool(types.is_integer(kind))
    if types.is_fixed_size_list(kind) and kind.list_size != column.width:
        return False
    lists = (types.is_fixed_size_list, types.is_list, types.is_large_list)
    return any(family(kind) for family in lists) and bool(types.is_integer(kind.value_type))


def is_text(kind: Any) -> bool:
    """Whether an Arrow type is one of texts."""
    from pyarrow import types

    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def unpacked(column: Column | LabelColumn, array: Any) -> Any:
    """An array of few types: labels as codes of a dictionary, everything else as it is; binary in one long piece."""
    import pyarrow as pa

    kind = array.type
    if isinstance(column, LabelColumn):
        return array if pa.types.is_dictionary(kind) else array.dictionary_encode()
    if pa.types.is_dictionary(kind):
        array, kind = array.dictionary_decode(), kind.value_type
    if column.kind == "bits" and kind != arrow_type(column):
        return array.cast(pa.large_binary())
    return array


def unusable(column: Column | LabelColumn, array: Any) -> dict[int, str]:
    """Rows of an unpacked array that hold no value, or one of another length, and what is wrong with them."""
    import pyarrow as pa

    faults: dict[int, str] = {}
    if array.null_count:
        gaps = array.is_null().to_numpy(zero_copy_only=False)
        faults |= dict.fromkeys(np.flatnonzero(gaps).tolist(), f"it has no value in column {column.name!r}.")
    if isinstance(column, LabelColumn):
        return faults
    if pa.types.is_large_binary(array.type):
        return _unusable_bytes(column, array) | faults
    if column.kind != "integers":
        return faults
    if not pa.types.is_fixed_size_list(array.type):
        lengths = array.value_lengths().fill_null(column.width).to_numpy()
        what = "it has {} numbers in column {!r}; allowed: {}."
        wrong = np.flatnonzero(lengths != column.width).tolist()
        faults |= {i: what.format(lengths[i], column.name, column.width) for i in wrong if i not in faults}
    if array.values.null_count:
        rows = np.arange(len(array)) if not faults else np.delete(np.arange(len(array)), list(faults))
        gaps = array.take(pa.array(rows)).flatten().is_null().to_numpy(zero_copy_only=False)
        some = rows[gaps.reshape(len(rows), column.width).any(axis=1)].tolist()
        faults |= dict.fromkeys(some, f"it has no value in column {column.name!r}.")
    return faults


def _unusable_bytes(column: Column, array: Any) -> dict[int, str]:
    """Rows of too few bytes, or with a bit in a byte that the column has not."""
    size, (bounds, letters) = bytes_of(column), _bytes_in(array)
    lengths = np.diff(bounds)
    if (lengths == size).all():
        return {}
    what = f"it has {{}} bytes in column {column.name!r}; allowed: {size}, or more that are 0."
    wrong = [i for i in np.flatnonzero(lengths > size).tolist() if letters[bounds[i] + size : bounds[i + 1]].any()]
    return {i: what.format(lengths[i]) for i in sorted([*np.flatnonzero(lengths < size).tolist(), *wrong])}


def _bytes_in(array: Any) -> tuple[AnyArray, AnyArray]:
    """Bounds (n + 1,) and bytes of an array of binary."""
    bounds = np.frombuffer(array.buffers()[1], dtype=np.int64, count=len(array) + 1, offset=8 * array.offset)
    return bounds, np.frombuffer(array.buffers()[2] or b"", dtype=np.uint8)


def from_arrow(column: Column | LabelColumn, array: Any) -> AnyArray:
    """An unpacked array of usable rows, as values are held in memory; −1 for what is no label."""
    import pyarrow as pa

    if isinstance(column, LabelColumn):
        code_of = {_name(label, column): code for code, label in enumerate(column.labels)}
        codes = np.array([code_of.get(value, -1) for value in array.dictionary.to_pylist()], dtype=np.int64)
        return np.asarray(codes[array.indices.to_numpy()]) if len(codes) else np.zeros(0, dtype=np.int64)
    if column.kind == "bits":
        size = bytes_of(column)
        if pa.types.is_large_binary(array.type):
            bounds, letters = _bytes_in(array)
            raw = letters[bounds[:-1, None] + np.arange(size)] if len(array) else np.zeros((0, size), dtype=np.uint8)
        else:
            stored = array.buffers()[1]
            raw = np.frombuffer(stored, dtype=np.uint8, count=size * len(array), offset=size * array.offset)
        padded = np.zeros((len(array), 8 * bits.words_for(column.width)), dtype=np.uint8)
        padded[:, :size] = raw.reshape(len(array), size)
        return padded.view("<u8").astype(np.uint64, copy=False)
    if column.kind == "integers":
        return np.asarray(array.flatten().to_numpy(zero_copy_only=False)).reshape(len(array), column.width)
    values = np.asarray(array.to_numpy(zero_copy_only=False))
    return values.view(np.uint64) if column.kind == "seed" else values


def no_labels(column: Column | LabelColumn, codes: AnyArray, array: Any) -> dict[int, str]:
    """Rows of an answer that is no label of the channel."""
    if not isinstance(column, LabelColumn):
        return {}
    what = "its answer is {}; allowed: {}."
    return {
        i: what.format(shown(array[i].as_py()), shorten(column.labels.labels))
        for i in np.flatnonzero(codes < 0).tolist()
    }
