"""Files as they are after an accident, or a forgery: seeded, so that what fails once fails again."""

from __future__ import annotations

import copy
import gzip
import io
import json
import random
import re
import tomllib
from collections.abc import Callable
from typing import Any

from askance.formats.container import pack, unpack

#: Values that stand where others were: of every JSON type, and at every edge.
STRANGE: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    -1,
    1,
    2**31,
    2**62,
    2**63,
    -(2**63),
    10**30,
    10**400,
    -0.0,
    0.5,
    5e-324,
    1e308,
    -1.7e308,
    "",
    "é",
    "0",
    "1e999999999",
    "nan",
    "1/0",
    "\ud800",
    "\0",
    "x" * 70_000,
    [],
    [None],
    [[]],
    ["a"],
    [1, 2],
    [1e308, -1e308],
    [[1, 2], [3]],
    {},
    {"kind": ["a"]},
    {"": None},
)
# Numbers in texts and tables.
_EXTREME: tuple[bytes, ...] = (
    b"9223372036854775807",
    b"-9223372036854775808",
    b"18446744073709551616",
    b"1e308",
    b"-1e400",
    b"NaN",
)
_EXTREME += (b"Infinity", b"1e-400", b"9" * 5000, b"-0", b"00", b"1.5", b"true", b"")
_NUMBER = re.compile(rb"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
_JUNK: tuple[bytes, ...] = (
    b"\0",
    b"\xff\xfe",
    b"\x80",
    b"\r",
    b"\n",
    b"\n\n",
    b"\t",
    b'"',
    b"\\",
    b"{",
    b"[",
    b"]}",
    b",",
    b";",
    b"\x1a",
)
_JUNK += (b"\xef\xbb\xbf", b"\xed\xa0\x80", b"[" * 100_000, b'{"a":' * 50_000, b"\xe2\x80\xa8", b"# columns:", b"[[ ]]")


# -- bytes -------------------------------------------------------------------------------------------------------------


def _cut(data: bytes, rng: random.Random) -> bytes:
    return data[: rng.randrange(len(data))]


def _behead(data: bytes, rng: random.Random) -> bytes:
    return data[rng.randrange(len(data)) :]


def _flip(data: bytes, rng: random.Random) -> bytes:
    flipped = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 3, 20))):
        flipped[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return bytes(flipped)


def _block(data: bytes, rng: random.Random) -> tuple[int, int]:
    start = rng.randrange(len(data))
    return start, min(len(data), start + 1 + rng.randrange(1 + len(data) // 4))


def _zero(data: bytes, rng: random.Random) -> bytes:
    start, end = _block(data, rng)
    return data[:start] + bytes(end - start) + data[end:]


def _leave_out(data: bytes, rng: random.Random) -> bytes:
    start, end = _block(data, rng)
    return data[:start] + data[end:]


def _double(data: bytes, rng: random.Random) -> bytes:
    start, end = _block(data, rng)
    return data[:end] + data[start:end] + data[end:]


def _swap(data: bytes, rng: random.Random) -> bytes:
    a, b, c, d = sorted(rng.randrange(len(data) + 1) for _ in range(4))
    return data[:a] + data[c:d] + data[b:c] + data[a:b] + data[d:]


def _insert(data: bytes, rng: random.Random) -> bytes:
    place = rng.choice((0, len(data), rng.randrange(len(data))))
    return data[:place] + rng.choice(_JUNK) + data[place:]


def _extreme_numbers(data: bytes, rng: random.Random) -> bytes:
    places = list(_NUMBER.finditer(data))
    if not places:
        return _flip(data, rng)
    place = rng.choice(places)
    return data[: place.start()] + rng.choice(_EXTREME) + data[place.end() :]


def _other_version(data: bytes, rng: random.Random) -> bytes:
    return re.sub(rb"/1\b", rng.choice((b"/2", b"/0", b"/", b"/99999999999999999999", b"/one")), data, count=1)


def _other_lines(data: bytes, rng: random.Random) -> bytes:
    return data.replace(b"\r\n", b"\n").replace(b"\n", rng.choice((b"\r", b"\r\n", b"\n\r", b"\n\n", b"\0")))


def _other_encoding(data: bytes, rng: random.Random) -> bytes:
    text = data.decode("utf-8", errors="replace")
    return text.encode(rng.choice(("utf-16", "utf-16-le", "utf-32", "utf-8-sig", "utf-7")), errors="replace")


def _packed(data: bytes, rng: random.Random) -> bytes:
    """Packed, and whole, cut, damaged or followed by something else."""
    whole = gzip.compress(data, mtime=0)
    return rng.choice((lambda d, _: d, _cut, _flip, _zero, _insert))(whole, rng)


def _nothing(_: bytes, rng: random.Random) -> bytes:
    return rng.choice((b"", b"\n", b" ", b"\xef\xbb\xbf", b"\0" * 4096, b"null", b"[]", b"{}", b"PAR1", b"\x1f\x8b"))


#: Damage to any file.
OF_BYTES: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    _cut,
    _cut,
    _behead,
    _flip,
    _flip,
    _zero,
    _leave_out,
    _double,
    _swap,
    _insert,
    _insert,
)
OF_BYTES += (_extreme_numbers, _extreme_numbers, _other_version, _other_lines, _other_encoding, _packed, _nothing)


# -- what is written in them -------------------------------------------------------------------------------------------


def altered(content: Any, rng: random.Random) -> Any:
    """A JSON value in which one value, somewhere, is another, is missing, is there twice or has another name."""
    content = copy.deepcopy(content)
    places: list[tuple[Any, Any]] = []

    def collect(inner: Any) -> None:
        for key in inner if isinstance(inner, dict) else range(len(inner)):
            places.append((inner, key))
            if isinstance(inner[key], (dict, list)):
                collect(inner[key])

    if isinstance(content, (dict, list)):
        collect(content)
    if not places:
        return rng.choice(STRANGE)
    holder, key = rng.choice(places)
    what = rng.random()
    if what < 0.75:
        holder[key] = copy.deepcopy(rng.choice(STRANGE))
    elif what < 0.85:
        del holder[key]
    elif isinstance(holder, list):
        holder.insert(key, copy.deepcopy(holder[key]))
    else:
        holder[rng.choice((f"{key}x", "", "é", "askance", "kind", "purpose"))] = holder.pop(key)
    return content


def _as_json(content: Any, rng: random.Random) -> bytes:
    """Also with NaN, which JSON does not have, and with a key twice."""
    text = json.dumps(content, ensure_ascii=rng.random() < 0.5)
    text = re.sub(r"\bnull\b", "NaN", text, count=1) if rng.random() < 0.05 else text
    return text.encode("utf-8", errors="surrogatepass")


def of_json(data: bytes, rng: random.Random) -> bytes:
    """A file that is one JSON value."""
    return _as_json(altered(json.loads(data), rng), rng)


def of_json_lines(data: bytes, rng: random.Random) -> bytes:
    """A file of JSON values, one a line; more often the first one, which may be a header."""
    lines = data.split(b"\n")
    filled = [i for i, line in enumerate(lines) if line.strip()]
    i = rng.choice((filled[0], rng.choice(filled)))
    lines[i] = _as_json(altered(json.loads(lines[i]), rng), rng)
    return b"\n".join(lines)


def of_container(data: bytes, rng: random.Random) -> bytes:
    """A file with a checksum, which fits again: what is written in it must be checked, too."""
    header, payload = unpack(data, "the file")
    del header["payload_bytes"], header["sha256"]
    if payload and rng.random() < 0.25:
        payload = rng.choice((_cut, _flip, _zero, _double))(payload, rng)
    else:
        changed = altered(header, rng)
        header = {"askance": header["askance"]} | changed if isinstance(changed, dict) else header
    try:
        return pack(header, payload)
    except UnicodeEncodeError:  # half a character, which no file holds
        return data[:-1]


def of_toml(data: bytes, rng: random.Random) -> bytes:
    """A file of TOML."""
    content = altered(tomllib.loads(data.decode()), rng)
    return "\n".join(f"{_key(name)} = {_toml(value)}" for name, value in content.items()).encode(errors="surrogatepass")


def _key(name: str) -> str:
    return json.dumps(name)


def _toml(value: Any) -> str:
    if value is None:
        return "1979-05-27"  # TOML has dates, and no null
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_key(name)} = {_toml(inner)}" for name, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def of_cells(data: bytes, rng: random.Random) -> bytes:
    """A table as text, with another value in one cell, or a cell more or less."""
    parts = re.split(rb"([\t,; \r\n]+)", data)  # cells, and what separates them
    i = 2 * rng.randrange(1 + len(parts) // 2)
    strange = [str(value).encode(errors="surrogatepass") for value in STRANGE] + [*_EXTREME, *_JUNK, b"[[", b"]]", b"_"]
    parts[i] = rng.choice((rng.choice(strange), parts[i] + rng.choice((b"\t", b",", b";", b"\n")), b'"' + parts[i]))
    return b"".join(parts)


def of_parquet(data: bytes, rng: random.Random) -> bytes:
    """A file of reports with another header, other columns, or other types of columns."""
    import pyarrow as pa
    from pyarrow import parquet

    table = parquet.read_table(pa.BufferReader(data))
    header = json.loads(table.schema.metadata[b"askance"])
    what = rng.random()
    if what < 0.5:
        written = _as_json(altered(header, rng), rng)
        table = table.replace_schema_metadata({b"askance": written})
    elif what < 0.9:
        i = rng.randrange(table.num_columns)
        values = [rng.choice(STRANGE[:16]) for _ in range(table.num_rows)] if rng.random() < 0.3 else None
        column = pa.array([_plain(value) for value in values], type=pa.float64()) if values else table.column(i)
        kind = rng.choice((pa.int8(), pa.int64(), pa.uint64(), pa.string(), pa.float64(), pa.binary(), pa.bool_()))
        try:
            column = column.cast(kind)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            column = pa.nulls(table.num_rows, rng.choice((kind, table.schema.field(i).type)))
        table = table.set_column(i, rng.choice((table.column_names[i], "other", "id")), column)
    else:
        table = table.append_column(rng.choice(("id", "other", "")), pa.array(["a"] * table.num_rows))
    buffer = io.BytesIO()
    parquet.write_table(table, buffer, compression=rng.choice(("none", "snappy", "gzip", "zstd")))
    return buffer.getvalue()


def _plain(value: Any) -> float | None:
    return float(value) if isinstance(value, (int, float)) and abs(value) < 1e300 else None


def damaged(
    data: bytes, rng: random.Random, within: Callable[[bytes, random.Random], bytes] | None
) -> tuple[str, bytes]:
    """What was done, and what is left of a file.

    Args:
        data: the file as it should be.
        rng: decides.
        within: alters what is written in it; half of all damage.
    """
    if within is not None and rng.random() < 0.5:
        return within.__name__, within(data, rng)
    act = rng.choice(OF_BYTES)
    return act.__name__, act(data, rng)
