"""The tables of a store, version by version.

A new store is an empty one that is upgraded: step v turns version v into v + 1, in one transaction with the number.
What is released is never changed, only followed by another step.

No table has a time, an address or a row number. In SQLite all are WITHOUT ROWID: rows lie by their keys, which are
random (entries, tokens) or public (tallies, meta). Tokens are apart from entries, and share nothing with them;
both values of `spent` take the same room in a row, so that spending a token moves nothing.
"""

from __future__ import annotations

#: {blob}: the type of bytes. {table}: what ends the definition of a table.
STEPS: tuple[tuple[str, ...], ...] = (
    (
        "CREATE TABLE meta (name TEXT PRIMARY KEY, value {blob} NOT NULL) {table}",
        'CREATE TABLE entries (id {blob} PRIMARY KEY, "window" BIGINT NOT NULL, content {blob} NOT NULL) {table}',
        'CREATE TABLE tallies (question TEXT, "window" BIGINT, n BIGINT NOT NULL, sums {blob} NOT NULL,'
        ' PRIMARY KEY (question, "window")) {table}',
        "CREATE TABLE tokens (hash {blob} PRIMARY KEY, spent SMALLINT NOT NULL) {table}",
    ),
)
#: Rows of `meta` that a store itself reads: the version of its tables, the campaign that it belongs to, whether the
#: campaign takes no more, how many entries were withdrawn, hashes of the tokens of those who count.
VERSION, FINGERPRINT, CLOSED, WITHDRAWN, PEOPLE = "schema", "fingerprint", "closed", "withdrawn", "people"
