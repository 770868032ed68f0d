"""Checks of what callers hand in: run once, at the edge, and never again inside.

Each kind of thing is read in one place: a number (`as_fraction`), a list (`as_list`), an array of numbers
(`as_floats`), a column of data (`as_column`); what they have in common is checked by `one_of`, `number`, `instance` and
`shape`. Probabilities are kept as `Fraction`. A decimal is read as written (0.1
is 1/10, not the nearest binary number) and texts such as "2/3" are understood, so that a design described as "two
sixths" is held exactly.

What is about to be noised is read with `secret=True`: a refusal then says where the value stands and what is allowed
there, never what it is, since messages end up in logs. Such refusals are raised outside of `except` blocks: an error
keeps the one it was raised from, with what that one says.
"""

from __future__ import annotations

import decimal
import difflib
import math
import re
import sys
from collections.abc import Iterable, Mapping, Sequence, Set, Sized
from fractions import Fraction
from typing import Any, TypeAlias, TypeVar

import numpy as np

from askance._arrays import AnyArray, ArrayLike, FloatArray
from askance._words import Argument, Either, words
from askance.errors import EmptyDataError, InputError, MissingValueError, ProbabilityError, ShapeError

Number: TypeAlias = int | float | Fraction | str
_Kind = TypeVar("_Kind")
_Value = TypeVar("_Value", int, float, Fraction)

#: How far given probabilities may be from summing to 1 before they are refused instead of normalised.
SUM_TOLERANCE = Fraction(1, 10**6)

# Powers of ten beyond this are refused before they are worked out: "1e999999999" would fill the memory.
_LARGEST_EXPONENT = 5_000
_EXPONENT = re.compile(r"[eE]([+-]?[0-9_]+)\s*$")
# Thresholds are integers: at levels below this they are the same for every truth.
_LEAST_LEVEL = Fraction(1, 10**24)
#: The highest level that is taken: e³⁰ is no protection any more.
HIGHEST_LEVEL = 30
_SIX_DIGITS = decimal.Context(prec=6)
_LONGEST_SHOWN = 80
_LARGEST = sys.float_info.max
_DOUBLE = np.dtype(np.float64)
_WRITE = words("Write 0.25 or {0}.", Either('"1/4"', "1/4"))


# -- words of messages -------------------------------------------------------------------------------------------------


def shown(value: object) -> str:
    """A value in a message: its repr on one line, cut when it is long.

    >>> shown("a" * 1000)[-3:]
    'aa…'
    """
    if isinstance(value, Fraction):
        return _shown_number(value)
    try:
        text = " ".join(repr(value).split())
    except ValueError:  # whole numbers of more than 4,300 digits have no repr
        return f"a very long {type(value).__name__}"
    return text if len(text) <= _LONGEST_SHOWN else f"{text[: _LONGEST_SHOWN - 1]}…"


def _shown_number(value: Fraction) -> str:
    try:
        return f"{float(value):g}"
    except OverflowError:
        digits = _SIX_DIGITS.divide(decimal.Decimal(value.numerator), decimal.Decimal(value.denominator))
        return str(digits.normalize(_SIX_DIGITS))


def shorten(items: Sequence[object], limit: int = 6) -> str:
    """Show a few of many items in a message."""
    few = ", ".join(shown(item) for item in items[:limit])
    return few if len(items) <= limit else f"{few}, … ({len(items)} in all)"


def did_you_mean(name: object, known: Iterable[str], otherwise: str, *, similarity: float = 0.6) -> str:
    """A remedy for a misspelt name: the closest known one (see `closest`), or else the given advice.

    >>> did_you_mean("warnr", ["warner", "direct"], "See the list.")
    "Did you mean 'warner'?"
    >>> did_you_mean("--by", ["--yes", "--share"], "See the list.")
    'See the list.'
    """
    meant = closest(name, known, similarity)
    return f"Did you mean {meant!r}?" if meant else otherwise


def closest(name: object, known: Iterable[str], similarity: float = 0.6) -> str:
    """The most similar of the known names; "" where none is.

    Capitals count for nothing, and neither do dashes in front: all flags have them, which makes none more alike.
    `similarity` runs from 0 to 1 (the same): twice the characters in common over all characters.
    """
    bare = {known_name.lstrip("-").lower(): known_name for known_name in known}
    close = difflib.get_close_matches(str(name)[:_LONGEST_SHOWN].lstrip("-").lower(), bare, n=1, cutoff=similarity)
    return bare[close[0]] if close else ""


# -- what checks have in common ----------------------------------------------------------------------------------------


def one_of(value: Any, allowed: Iterable[_Kind], argument: str, remedy: str = "Leave it out for the default.") -> _Kind:
    """The value, which is one of a few; the closest one is suggested in place of a misspelt one.

    >>> one_of("drop", ("error", "drop"), "missing")
    'drop'
    """
    known = list(allowed)
    for candidate in known:
        if type(value) is type(candidate) and value == candidate:
            return candidate
    names = list(map(str, known))
    raise InputError(
        argument=argument, got=shown(value), allowed=", ".join(names), remedy=did_you_mean(value, names, remedy)
    )


def number(
    value: _Value,
    argument: str,
    low: float | Fraction,
    high: float = _LARGEST,
    *,
    open: bool = False,
    allowed: str = "",
    remedy: str = "Give a number in between.",
    error: type[InputError] = InputError,
) -> _Value:
    """The number, which is finite and lies between low and high, strictly so where the range is `open`.

    >>> number(2, "radius", 0, 9)
    2
    """
    if low < value < high if open else low <= value <= high:
        return value
    limits = ("above {:g}, below {:g}", "above {:g}, finite") if open else ("{:g} to {:g}", "{:g} or more, finite")
    allowed = allowed or limits[high == _LARGEST].format(float(low), float(high))
    raise error(argument=argument, got=shown(value), allowed=allowed, remedy=remedy)


def instance(
    value: object, kind: type[_Kind] | tuple[type[_Kind], ...], argument: str, allowed: str, remedy: str
) -> _Kind:
    """The value, which is of a kind; `allowed` names the kind as in "a channel"."""
    if not isinstance(value, kind):
        raise InputError(argument=argument, got=shown(value), allowed=allowed, remedy=remedy)
    return value


def shape(array: AnyArray, expected: tuple[int | str, ...], argument: str, remedy: str, note: str = "") -> None:
    """Refuse an array of another shape than the expected one.

    Args:
        array: what was given.
        expected: a size for every dimension; a word such as "n" where any size will do.
        argument: what it is called.
        remedy: the way out.
        note: what the sizes mean, as in "one row per respondent".
    """
    sizes = zip(array.shape, expected, strict=False)
    if array.ndim == len(expected) and all(isinstance(size, str) or size == length for length, size in sizes):
        return
    wanted = f"({', '.join(map(str, expected))}{',' * (len(expected) == 1)})"
    counts = (len(array), expected[0]) if array.ndim == len(expected) == 1 else None
    has = Either(f"shape {array.shape}", f"{counts[0]} numbers" if counts else f"shape {array.shape}")
    wanted = f"{wanted}, {note}" if note else wanted
    allowed = Either(wanted, str(counts[1]) if counts else wanted)
    raise ShapeError(words("has {0}", has), argument=argument, got=array.shape, allowed=allowed, remedy=remedy)


def as_many(values: Sized, wanted: int, argument: str, what: str, remedy: str) -> None:
    """Refuse more or fewer than are wanted; `what` is told after their number, as in "labels for 3 columns"."""
    if len(values) != wanted:
        raise ShapeError(f"has {len(values)} {what}", argument=argument, got=len(values), remedy=remedy)


# -- single numbers ----------------------------------------------------------------------------------------------------


def as_fraction(value: Number, name: str, *, error: type[InputError] = InputError) -> Fraction:
    """Read a number exactly; what is not finite raises `error`.

    >>> as_fraction(0.1, "p"), as_fraction("2/3", "p")
    (Fraction(1, 10), Fraction(2, 3))
    """
    if type(value) is float and math.isfinite(value):  # the short cut for large tables
        return Fraction(*decimal.Decimal(repr(value)).as_integer_ratio())
    if isinstance(value, Fraction):
        return value
    plain: Any = value
    if isinstance(plain, np.generic):
        plain = str(plain) if isinstance(plain, np.floating) else plain.item()
    if not _is_finite(plain):
        raise error(argument=name, got=value, allowed="a finite number", remedy=_WRITE)
    if _is_extreme(plain):
        limit = f"exponents of at most {_LARGEST_EXPONENT}"
        raise error(argument=name, got=shown(value), allowed=limit, remedy=_WRITE)
    if not isinstance(plain, (bool, bytes)):
        try:
            return Fraction(repr(plain) if isinstance(plain, float) else plain)
        except (TypeError, ValueError, ZeroDivisionError):
            pass
    got = shown(value)
    raise InputError(f"is {got}, which is not a number", argument=name, got=got, remedy=_WRITE)


def as_float(value: Number, name: str) -> float:
    """Read a number as the nearest float; refused is what no float can hold.

    >>> as_float("1/4", "x")
    0.25
    """
    exact = as_fraction(value, name)
    try:
        return float(exact)
    except OverflowError:
        raise InputError(argument=name, got=shown(exact), allowed="at most 1.7e308", remedy=_WRITE) from None


def _is_finite(value: object) -> bool:
    if isinstance(value, decimal.Decimal):
        return value.is_finite()
    if isinstance(value, str):
        return value.strip().lower().lstrip("+-") not in ("nan", "inf", "infinity")
    return not isinstance(value, float) or math.isfinite(value)


def _is_extreme(value: object) -> bool:
    """Whether a number's power of ten is too large to be worked out."""
    if isinstance(value, decimal.Decimal):
        return abs(value.adjusted()) > _LARGEST_EXPONENT
    written = _EXPONENT.search(value[-_LONGEST_SHOWN:]) if isinstance(value, str) else None
    return written is not None and abs(int(written[1].replace("_", ""))) > _LARGEST_EXPONENT


def as_probability(value: Number, name: str) -> Fraction:
    """Read a probability in [0, 1]."""
    probability = as_fraction(value, name, error=ProbabilityError)
    remedy = "Give a probability, not a percentage." if probability > 0 else "Give a probability of at least 0."
    return number(probability, name, 0, 1, remedy=remedy, error=ProbabilityError)


def as_positive_level(value: Number, name: str = "privacy_level") -> Fraction:
    """Read a privacy level: finite and above 0."""
    level = as_fraction(value, name)
    if 0 < level < _LEAST_LEVEL:
        raise InputError(
            f"is {shown(level)}, at which no report of any channel tells anything",
            argument=name,
            got=shown(level),
            allowed="1e-24 at least",
            remedy="Levels between 0.5 and 4 are usual.",
        )
    remedy = words("Levels between 0.5 and 4 are usual; {0} has no privacy at all.", Either("Direct", "direct"))
    return number(level, name, _LEAST_LEVEL, HIGHEST_LEVEL, allowed=f"above 0, at most {HIGHEST_LEVEL}", remedy=remedy)


def as_count(value: object, name: str, *, minimum: int = 0, maximum: int = 2**48) -> int:
    """Read a whole number; booleans are none.

    >>> as_count(3, "size")
    3
    """
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or not minimum <= value <= maximum:
        raise InputError(
            argument=name,
            got=shown(value),
            allowed=f"a whole number, at least {minimum} and at most {maximum:,}",
            remedy=words("Give {0} as a number such as {1}.", Argument(name), max(minimum, min(100, maximum))),
        )
    return int(value)


# -- lists and arrays of numbers ---------------------------------------------------------------------------------------


def as_list(values: object, name: str, example: str, *, empty: bool = True) -> list[Any]:
    """Read a list: anything with an order that can be gone through, but no text, set or mapping.

    `empty` says whether there may be nothing in it.
    """
    refused = isinstance(values, (str, bytes, Mapping, Set)) or not isinstance(values, Iterable)
    if refused or (isinstance(values, np.ndarray) and values.ndim == 0):
        raise InputError(argument=name, got=shown(values), allowed="a list", remedy=f"Give a list such as {example}.")
    is_plain = isinstance(values, np.ndarray) and values.dtype.kind in "iu" + "f" * (values.dtype == np.float64)
    listed: list[Any] = values.tolist() if is_plain else list(values)  # type: ignore[attr-defined,call-overload]
    if not listed and not empty:
        remedy = f"Give a list such as {example}."
        raise EmptyDataError("is empty", argument=name, allowed="at least one", remedy=remedy)
    return listed


def as_distribution(values: Iterable[Number], name: str) -> list[Fraction]:
    """Read probabilities that sum to 1; sums off by rounding (at most 1e-6) are normalised away."""
    listed = as_list(values, name, '[0.5, "1/4", "1/4"]')
    return normalised([as_probability(value, f"{name}[{i}]") for i, value in enumerate(listed)], name)


def normalised(probabilities: list[Fraction], name: str) -> list[Fraction]:
    """The probabilities over their sum, which may differ from 1 by rounding only."""
    total = sum_of_fractions(probabilities)
    if abs(total - 1) > SUM_TOLERANCE:
        remedy = "Rescale the probabilities so that they sum to 1."
        raise ProbabilityError(f"sums to {shown(total)}", argument=name, got=shown(total), allowed="1", remedy=remedy)
    return probabilities if total == 1 else [p / total for p in probabilities]


def sum_of_fractions(values: Sequence[Fraction]) -> Fraction:
    """Σ values, with one common denominator worked out first: much quicker than adding one by one."""
    common = math.lcm(*(value.denominator for value in values))
    return Fraction(sum(value.numerator * (common // value.denominator) for value in values), common)


def as_array(values: ArrayLike, name: str) -> AnyArray:
    """Read an array of any shape; refuses masked entries, and rows of different lengths."""
    refuse_masked(values, name)
    try:
        return np.asarray(values)
    except (ValueError, TypeError):
        pass
    raise ShapeError(
        "has rows of different lengths",
        argument=name,
        allowed="a rectangular array",
        remedy="Give every row the same number of entries.",
    )


def as_floats(values: ArrayLike, name: str, *, secret: bool = False) -> FloatArray:
    """Read an array of numbers; None becomes NaN, texts and complex numbers are refused."""
    if type(values) is np.ndarray and values.dtype is _DOUBLE:  # as on a device: nothing to do
        return values
    if isinstance(values, np.ndarray) and values.dtype == np.float64:
        refuse_masked(values, name)
        return np.asarray(values)
    array = as_array(values, name)
    try:
        if array.dtype.kind in "biufO":
            return array.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        pass
    where, got = (f"{name}{_first_without_number(array)}", "") if secret else (name, shown(array.tolist()))
    remedy = "Turn texts into numbers first, with float()."
    raise InputError(f"is {got or 'no number'}", argument=where, got=got, allowed="numbers", remedy=remedy)


def _first_without_number(array: AnyArray) -> str:
    """Where the first entry stands that cannot be read as a number, such as [3][1]; empty for a single value."""
    for place in np.ndindex(array.shape):
        try:
            float(array[place])
        except (TypeError, ValueError, OverflowError):
            return "".join(f"[{i}]" for i in place)
    return "[0]" * array.ndim  # numbers written as texts


def as_parameter(theta: ArrayLike, dimension: int, name: str = "theta") -> FloatArray:
    """Read θ: a finite vector of the model's dimension."""
    vector = as_floats(theta, name)
    shape(vector, (dimension,), name, "Give one number per statistic.")
    if not np.isfinite(vector).all():
        got = vector[~np.isfinite(vector)][0]
        raise MissingValueError(f"contains {got}", argument=name, got=got, remedy="Give finite numbers.")
    return vector


def require_generator(rng: object) -> np.random.Generator:
    """Insist on an explicit NumPy generator; never a seed, never global state."""
    remedy = "Pass numpy.random.default_rng(seed); to protect real answers call randomize() instead."
    return instance(rng, np.random.Generator, "rng", "a numpy.random.Generator", remedy)


# -- columns of data ---------------------------------------------------------------------------------------------------


def as_column(values: ArrayLike, name: str, *, secret: bool = False) -> AnyArray:
    """Read a column of data, shape (n,); a single value becomes a column of one.

    Values keep their types: NumPy would turn [1, "1"] into two equal texts and a NaN among texts into "nan". Arrays
    pass as they are; a list becomes an array of numbers when all its values are of one such type, and of objects
    otherwise.

    Raises:
        ShapeError: there is more than one dimension.
        MissingValueError: an entry is masked.
        InputError: a set, a mapping or an iterator, which have no order or no length.
    """
    if isinstance(values, np.ndarray):
        refuse_masked(values, name)
        array = np.asarray(values)
    elif isinstance(values, Sequence) and not isinstance(values, (str, bytes)):
        array = _with_types_kept(list(values), name)
    else:
        array = as_array(values, name)
        if array.ndim == 0 and array.dtype.kind == "O" and isinstance(values, Iterable):
            got = f"of type {type(values).__name__}" if secret else shown(values)
            remedy = "Pass one column, with list(…)."
            raise InputError(argument=name, got=got, allowed="a list or an array", remedy=remedy)
    if array.ndim == 0:
        array = array[None]
    if array.ndim != 1:
        raise _no_column(array.shape, name)
    return array


def _no_column(got: tuple[int, ...], name: str) -> ShapeError:
    return ShapeError(f"has shape {got}", argument=name, got=got, allowed="one dimension", remedy="Pass one column.")


def _with_types_kept(values: list[Any], name: str) -> AnyArray:
    kinds = set(map(type, values))
    if any(issubclass(kind, (list, tuple, np.ndarray)) for kind in kinds) and not any(map(is_missing, values)):
        raise _no_column(as_array(values, name).shape, name)
    if len(kinds) == 1 and issubclass(kinds.pop(), (int, float, np.number, np.bool_)):
        return np.asarray(values)
    return np.fromiter(values, dtype=object, count=len(values))


def refuse_masked(values: object, name: str) -> None:
    """Refuse masked entries: the numbers below a mask are not data."""
    masked = sys.modules.get("numpy.ma")  # who has a masked array has loaded it
    if masked is None or not isinstance(values, masked.MaskedArray) or not masked.is_masked(values):
        return
    position = ", ".join(str(int(i)) for i in np.argwhere(masked.getmaskarray(values))[0])
    remedy = "Drop missing values first, and count them."
    raise MissingValueError(argument=f"{name}[{position}]", got="missing (masked)", remedy=remedy)


def is_missing(value: object) -> bool:
    """Whether a value stands for a missing one: None, NaN, NaT, NA.

    NaN differs from itself; NA, asked whether it differs from itself, answers NA.
    """
    if value is None:
        return True
    try:
        differs: object = value != value
    except ArithmeticError:  # a signalling NaN
        return True
    return bool(differs) if isinstance(differs, (bool, np.bool_)) else differs is value
