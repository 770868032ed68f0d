"""What travels to other processes and back: small functions, parts by name, and results as bytes."""

from __future__ import annotations

import gc
import hashlib
import pickle
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial, reduce
from importlib import import_module
from pathlib import Path
from typing import Any, Self

import numpy as np

from askance._threads import one_thread
from askance.errors import InputError

# θ and a few matrices of the size of θ are sent with every pass; what is larger holds rows.
_LARGEST = 4 << 20
_DIGEST = 16


def imported(module: str, name: str) -> Any:
    """A library that one engine needs, and nobody else."""
    try:
        return import_module(module)
    except ImportError:
        remedy = f"Install it: pip install 'askance[{name.lower()}]'."
        raise InputError(f"{name} is not installed.", remedy=remedy) from None


def packed(function: Callable[..., Any]) -> bytes:
    """A function as it is sent: it holds θ and little else. Rows that it captured, and lambdas, are refused.

    Where θ is large, as p of every word and tag is, the function says of how many bytes in `parameter_bytes`.

    >>> len(packed(np.add)) < 200
    True
    """
    try:
        sent = pickle.dumps(function, protocol=5)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise InputError(
            f"{function!r} cannot be sent to another process ({error}).",
            remedy="Give a function of a module, or a functools.partial of one.",
        ) from None
    if own_size(function, sent) > _LARGEST:
        raise InputError(
            f"a function of {len(sent):,} bytes is to be sent to other processes with every pass; allowed: "
            f"{_LARGEST:,}.",
            remedy="It has captured rows: functions hold parameters, and are given the rows where these are.",
        )
    return own_digest() + _source_digest(function) + sent


def own_size(function: Callable[..., Any], sent: bytes) -> int:
    """Of a function that was packed, without the parameters that it names, in bytes."""
    return len(sent) - int(getattr(function, "parameter_bytes", 0))


@lru_cache(maxsize=16)
def unpacked(sent: bytes) -> Callable[..., Any]:
    """What `packed` packed, in a process that has the same askance; others refuse."""
    if sent[:_DIGEST] != own_digest():
        raise InputError(
            "a worker has another askance than the process that sends it work: sums would mean other things.",
            remedy="Install the same version everywhere, and restart the workers.",
        )
    function: Callable[..., Any] = pickle.loads(sent[2 * _DIGEST :])
    if sent[_DIGEST : 2 * _DIGEST] != _source_digest(function):
        raise InputError(
            f"a worker has another version of {', '.join(sorted(_modules_of(function)))} than the process that sends "
            "it work.",
            remedy="Copy the same file to all workers, and restart them.",
        )
    return function


def _modules_of(function: Any) -> set[str]:
    """Modules, other than those of askance, of a function and of those that it was given."""
    if isinstance(function, partial):
        own = (function.func, *function.args, *function.keywords.values())
        return set().union(*(_modules_of(part) for part in own if callable(part)))
    name = getattr(function, "__module__", None) or ""
    return set() if name.partition(".")[0] in ("", "askance") else {name}


def _source_digest(function: Any) -> bytes:
    """Of the files of these modules; what they import is not looked at."""
    content = hashlib.blake2b(digest_size=_DIGEST)
    for name in sorted(_modules_of(function)):
        content.update(_source(name))
    return content.digest()


@lru_cache(maxsize=64)
def _source(module: str) -> bytes:
    """The file of a module as it was when it was first asked for; empty where it has none."""
    path = Path(getattr(sys.modules.get(module), "__file__", None) or "")
    return path.read_bytes() if path.suffix == ".py" and path.exists() else b""


@lru_cache(maxsize=1)
def own_digest() -> bytes:
    """Of the source of this package: equal where functions of the same name do the same."""
    package, content = Path(__file__).parents[1], hashlib.blake2b(digest_size=_DIGEST)
    for path in sorted(package.rglob("*.py")):
        content.update(str(path.relative_to(package)).encode() + path.read_bytes())
    return content.digest()


class Sender(ABC):
    """What engines share: `fold`, from which totals over what they hold, and `map`, follow.

    Attributes:
        largest_sent: the size of the largest function that was sent, in bytes, without its `parameter_bytes`.
    """

    largest_sent = 0

    @property
    def workers(self) -> int:
        """How many processes hold parts between passes; 0: none does, and small parts are as good as large ones."""
        return 0

    def fold(self, parts: Any, work: Callable[[Any], Any], merge: Callable[[Any, Any], Any]) -> Any:
        """`work` of every part, merged; in which order makes no difference, if `merge` is such."""
        return pickle.loads(self._fold(parts, self._packed(work), self._packed(merge)))

    def map(self, function: Callable[[Any], Any], items: Iterable[Any]) -> list[Any]:
        """`function` of every item, in the order of items, whoever is done first: a study, whose items are seeds.

        Every item is a task of its own, which takes milliseconds to send: give several small ones together. Nothing is
        returned before all are done, and an error of one of them ends the whole.

        >>> from askance.scale import Here
        >>> Here().map(abs, [3, -4, 5])
        [3, 4, 5]

        Args:
            function: of a module that workers can import, or a `functools.partial` of one; sent with every item.
            items: what can be pickled.
        """
        placed = list(enumerate(items))
        if not placed:
            return []
        results = self.fold(placed, partial(_in_place, function), _joined)
        return [results[place] for place, _ in placed]

    def hold(self, parts: Sequence[Any], load: Callable[[Any], Any]) -> Kept:
        """What `load` makes of every part (a tuple of arrays), kept for several passes, or loaded for each."""
        # Fits refer to themselves, so that rows of those that nobody knows any more would stay until Python looks.
        gc.collect()
        return Kept(self, self._held(parts, self._packed(load)))

    @abstractmethod
    def _held(self, parts: Sequence[Any], sent: bytes) -> Any:
        """Parts such as `_fold` takes, of which `load` made something."""

    @abstractmethod
    def _fold(self, parts: Any, work: bytes, merge: bytes) -> bytes:
        """`run` of every part, then `put_together`."""

    def close(self) -> None:  # noqa: B027 (whoever started nothing has nothing to leave)
        """Leave what was started."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _packed(self, function: Callable[..., Any]) -> bytes:
        sent = packed(function)
        self.largest_sent = max(self.largest_sent, own_size(function, sent))
        return sent


@dataclass(frozen=True)
class Kept:
    """Parts that an engine holds, in its own way."""

    engine: Sender
    parts: Any

    def total(self, f: Callable[[Any], Any], merge: Callable[[Any, Any], Any]) -> Any:
        """f of every part, merged: one pass."""
        return self.engine.fold(self.parts, f, merge)


@dataclass
class Room:
    """How many bytes may still be kept."""

    left: int


@dataclass
class Unread:
    """A part that is loaded when it is needed, and kept in the process that has room for it."""

    load: bytes
    part: Any
    room: Room
    kept: Any = None

    def read(self) -> Any:
        """What is held of the part."""
        if self.kept is not None:
            return self.kept
        held = load(self.part, self.load)
        size = sum(piece.nbytes for piece in held if isinstance(piece, np.ndarray)) if isinstance(held, tuple) else 0
        if size <= self.room.left:
            self.kept = held
            self.room.left -= size
        return held

    def __getstate__(self) -> dict[str, Any]:
        """Other processes load it for themselves."""
        return {"load": self.load, "part": self.part, "room": Room(0), "kept": None}


def run(part: Any, work: bytes) -> bytes:
    """A function of a part, which is given by name, or held; the result as bytes, which nobody overwrites."""
    function = unpacked(work)
    if isinstance(part, Unread):
        part = part.read()
    with one_thread:
        return pickle.dumps(function(aligned(part)), protocol=5)


def load(part: Any, sent: bytes) -> Any:
    """What is held of a part."""
    with one_thread:
        return unpacked(sent)(part)


def put_together(merge: bytes, *results: bytes) -> bytes:
    """Results of `run`, merged."""
    return pickle.dumps(reduce(unpacked(merge), map(pickle.loads, results)), protocol=5)


def _in_place(function: Callable[[Any], Any], placed: tuple[int, Any]) -> dict[int, Any]:
    """The result of an item by its place among all."""
    place, item = placed
    return {place: function(item)}


def _joined(one: dict[int, Any], other: dict[int, Any]) -> dict[int, Any]:
    """Results of both, in the first, which nobody else has: it was just unpacked."""
    one.update(other)
    return one


def aligned(part: Any) -> Any:
    """Arrays that moved between processes begin anywhere in memory: sums over them are slow, and have other bits."""
    if not isinstance(part, tuple):
        return part
    return tuple(np.require(piece, None, ["C", "A"]) if isinstance(piece, np.ndarray) else piece for piece in part)
