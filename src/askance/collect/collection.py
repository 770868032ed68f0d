"""A campaign and where its answers are kept: opened together, so that answers of another campaign never meet."""

from __future__ import annotations

import secrets
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path

from askance._arrays import IntArray
from askance.collect.campaign_file import read_campaign
from askance.collect.device_reports import DeviceReports
from askance.collect.store import Store, Verdict, named_in_errors, open_store, without_password
from askance.collect.store.entry import hashes_in, token_hash
from askance.collect.store.schema import CLOSED as CLOSED  # whoever closes a collection looks for it here
from askance.collect.store.schema import FINGERPRINT, PEOPLE, WITHDRAWN
from askance.collect.submission import Form
from askance.collect.tokens import new_tokens, read_token
from askance.errors import IncompatibleEvidenceError, InputError

_DAY = 86_400
#: Names under which the store remembers what belongs to the campaign.
TEXT, SALT, ADMIN = "campaign", "salt", "admin"
_SALT_BYTES = 32


class Collection:
    """A campaign and the place of its answers.

    Attributes:
        campaign: what is asked.
        text: of the campaign file.
        address: of the store: a file, or postgresql://…
        place: the same for people to read, without a password.
        came: what became of entries since this process began, by verdict.

    Args:
        path: the campaign file.
        store: the address of the store; default: a file beside the campaign, called like it.
    """

    def __init__(self, path: str | Path, store: str | Path | None = None) -> None:
        self.campaign = read_campaign(path)
        self.text = Path(path).read_bytes()
        self.address = str(store or Path(path).with_name(f"{self.campaign.name}.sqlite"))
        self.place = without_password(self.address)
        self.came: Counter[Verdict] = Counter()

    @contextmanager
    def opened(self, *, new: bool = False) -> Iterator[Store]:
        """The store, checked to be of this campaign; made where there is none and a `new` one will do."""
        if not new and "://" not in self.address and not Path(self.address).is_file():
            raise InputError(
                f"{self.place} is not there: nothing was collected.",
                remedy="Start with `askance collect serve`, or say where answers are kept with --store.",
            )
        with named_in_errors(self.place):
            store = open_store(self.address, make=new)
        with store:
            self.prepare(store, new=new)
            yield store

    def prepare(self, store: Store, *, new: bool = False) -> Store:
        """See that a store is of this campaign; what has no answers yet can be bound to it anew.

        Raises:
            IncompatibleEvidenceError: it is of another campaign, or of another wave.
        """
        known, own = store.meta(), self.campaign.fingerprint.encode()
        store.fingerprint = own
        if known.get(FINGERPRINT) == own and SALT in known:
            return store
        if FINGERPRINT in known and (store.count() or not new):
            raise IncompatibleEvidenceError(
                f"{self.place} is of another version of {self.campaign.name!r}; the two are not to be mixed.",
                remedy="A change is a new wave: give the campaign a new name, or take the change back."
                if store.count()
                else "It has no answers yet: serve this version, and the store belongs to it.",
            )
        store.set_first(SALT, secrets.token_bytes(_SALT_BYTES))  # of two who begin at once both go on with one
        store.set_meta(TEXT, self.text)
        store.set_meta(FINGERPRINT, own)
        return store

    @cached_property
    def form(self) -> Form:
        """How lines of surveys and counts are read."""
        return Form(self.campaign)

    @cached_property
    def devices(self) -> DeviceReports:
        """How reports of devices are read."""
        return DeviceReports(self.campaign)

    @property
    def sums_of(self) -> Callable[[bytes], Mapping[str, IntArray]]:
        """What an entry of a content added to the tallies."""
        return self.devices.sums_of if self.campaign.kind == "devices" else self.form.sums_of

    def window(self) -> int:
        """The number of the present window; 0 but for devices. It is the only time that is kept."""
        if self.campaign.kind != "devices":
            return 0
        return int(time.time()) // (_DAY * self.campaign.window_days)

    def withdraw(self, store: Store, ids: Iterable[bytes]) -> int:
        """Delete answers by their receipts; how many there were.

        People see what was drawn for them when it has arrived. Whoever withdraws because of it takes a report of one
        kind away: the store counts them, so that `nonresponse_bounds` can say what all of them may have been.
        """
        return store.delete(ids, self.sums_of)

    def issue_tokens(self, store: Store, count: int) -> list[str]:
        """New tokens, of which the store keeps hashes; in counting campaigns each is a person's."""
        if self.campaign.access == "open":
            raise InputError(
                f"{self.campaign.name!r} is open to everybody with the link; it has no tokens.",
                remedy="Devices need none."
                if self.campaign.kind == "devices"
                else 'Write [access] and kind = "tokens" into the campaign file first.',
            )
        tokens = new_tokens(count)
        self.admit(store, tokens)
        return tokens

    def admit(self, store: Store, tokens: Iterable[str]) -> None:
        """Let the store know tokens, by their hashes."""
        salt = store.meta()[SALT]
        hashes = [token_hash(read_token(token) or b"", salt) for token in tokens]
        if self.campaign.kind == "counting":  # who counts answers often: such tokens are never spent
            store.add_people(hashes)
        else:
            store.add_tokens(hashes)


def withdrawn_from(known: Mapping[str, bytes]) -> int:
    """How many answers were withdrawn."""
    return int(known.get(WITHDRAWN, b"0"))


def people_of(known: Mapping[str, bytes]) -> frozenset[bytes]:
    """Hashes of the tokens of those who count."""
    return hashes_in(known.get(PEOPLE, b""))
