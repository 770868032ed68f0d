"""Where answers are kept: SQLite or PostgreSQL behind one writer. Acknowledged means durable."""

from askance.collect.store.copies import named_in_errors, open_store, restore, without_password
from askance.collect.store.entry import ID_BYTES, Entry, Verdict, token_hash
from askance.collect.store.postgres import PostgresStore
from askance.collect.store.protocol import BusyError, Store, StoreUnavailableError, Sums, SumsOf, TokenCount
from askance.collect.store.sqlite import SqliteStore
from askance.collect.store.writer import Writer

__all__ = [
    "ID_BYTES",
    "BusyError",
    "Entry",
    "PostgresStore",
    "SqliteStore",
    "Store",
    "StoreUnavailableError",
    "Sums",
    "SumsOf",
    "TokenCount",
    "Verdict",
    "Writer",
    "named_in_errors",
    "open_store",
    "restore",
    "token_hash",
    "without_password",
]
