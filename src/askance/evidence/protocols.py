"""What estimators take."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, runtime_checkable

from askance._arrays import AnyArray, IntArray
from askance._checks import shown
from askance.channels.registry import AnyChannel
from askance.errors import InputError


@runtime_checkable
class Seen(Protocol):
    """What was observed, through which channels: all evidence, with covariates or without."""

    @property
    def channels(self) -> tuple[AnyChannel, ...]:
        """How outputs were seen: the different channels."""

    @property
    def n_observations(self) -> int:
        """How many reports there are."""


@runtime_checkable
class Evidence(Seen, Protocol):
    """What was observed of rows with covariates: `Responses`, `Candidates`, and whatever else is added up over rows.

    Estimators loop over rows in `total` only, so that the same fit runs here and on other machines. What they ask of a
    block is its x and what each report says about the outputs, S(o | ·), from which value and residuals (posterior −
    prior) follow. Information is asked for where a method wants it; the expected one needs S to be a law
    (`FiniteChannel.has_law`). Designs with unknown nuisances η would be problems about (θ, η): see the design.
    """

    @property
    def units(self) -> IntArray | None:
        """Which rows were seen together, shape (rows,), side by side; None: every row by itself. No block cuts one."""

    def total(
        self,
        f: Callable[[Any], Any],
        merge: Callable[[Any, Any], Any] = ...,
        by: Callable[[Any], AnyArray] | None = None,
    ) -> Any:
        """f of every block of rows, merged in one order; see `askance.evidence.totals.total`."""


class Held(Protocol):
    """Parts of data where an engine keeps them."""

    def total(self, f: Callable[[Any], Any], merge: Callable[[Any, Any], Any]) -> Any:
        """f of every part, merged."""


class Engine(Protocol):
    """Where sums over parts of data run: see `askance.scale`.

    Parts are small things that say where data are (a file and some of its rows). Functions are sent to where parts are
    read; they are small and picklable. Results are merged in any order: `merge` gives the same bits in every one, as
    sums of integers and `askance.evidence.totals.grafted` do.
    """

    def fold(self, parts: Sequence[Any], work: Callable[[Any], Any], merge: Callable[[Any, Any], Any]) -> Any:
        """`work` of every part, of which there is at least one, merged."""

    def hold(self, parts: Sequence[Any], load: Callable[[Any], Any]) -> Held:
        """What `load` makes of every part (a tuple of arrays), kept for several passes, or loaded for each."""


def require_engine(engine: Any) -> None:
    """Refuse what is no engine, such as the name of one."""
    if isinstance(engine, type) or not all(callable(getattr(engine, call, None)) for call in ("fold", "hold")):
        raise InputError(
            argument="engine",
            got=shown(engine),
            allowed="an engine of askance.scale",
            remedy='Give Here(), Dask(client) or Spark(session); engine_of("dask") takes names.',
        )
