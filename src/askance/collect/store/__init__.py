"""Where answers are kept: SQLite or PostgreSQL behind one writer. Acknowledged means durable."""

from askance.collect.store.entry import ID_BYTES, Entry, Spending, Verdict, spending, token_hash
from askance.collect.store.protocol import BusyError, Store, StoreUnavailableError, Sums, SumsOf, TokenCount

__all__ = [
    "ID_BYTES",
    "BusyError",
    "Entry",
    "Spending",
    "Store",
    "StoreUnavailableError",
    "Sums",
    "SumsOf",
    "TokenCount",
    "Verdict",
    "spending",
    "token_hash",
]
