"""Which fits run on rows that stay in files, and what to do about the others."""

from __future__ import annotations

from collections.abc import Sequence

from askance._words import words
from askance.channels.armed_design import ArmedDesign
from askance.errors import InputError
from askance.survey.codebook import Codebook
from askance.survey.drawn import Drawn
from askance.survey.hidden_terms import HiddenTerm
from askance.survey.tables import are_files

_TABLE = "Read a table into memory: read_table(path)."


def require_carried(data: object, channel: object, hidden: Sequence[HiddenTerm], drawn: Drawn) -> None:
    """Refuse what needs rows in memory: sums over blocks of rows do not tell it.

    Args:
        data: as it was given.
        channel: the design, as it was given.
        hidden: terms of the formula.
        drawn: how respondents were drawn.

    >>> require_carried("people/*.parquet", None, (), Drawn(strata="region"))
    Traceback (most recent call last):
    askance.errors.InputError: strata is given without cluster, so that every row of the files would be a cluster by \
itself. Name the column of clusters by cluster=…. Or read a table into memory: read_table(path).
    """
    if not are_files(data):
        raise InputError(
            words("{engine} is given with a table in memory; allowed: with names of Parquet files."),
            remedy=words("Leave {engine} out, or write the table to Parquet files."),
        )
    if isinstance(channel, Codebook):
        raise InputError(
            "a codebook is given with rows that stay in files, which are taken as they are.",
            remedy=f"{_TABLE} Or give the design itself, with files whose columns hold what the codebook means.",
        )
    if hidden:
        raise InputError(
            f"the formula has hidden({hidden[0].column}); allowed with rows that stay in files: the hidden answer left "
            "of ~.",
            remedy=_TABLE,
        )
    if isinstance(channel, ArmedDesign):
        raise InputError(
            f"the design is {channel.kind}, in which more is hidden than the answer; allowed with rows that stay in "
            "files: one channel, or one for every arm.",
            remedy=_TABLE,
        )
    if drawn.replicates is not None:
        raise InputError(
            words("{replicates} are given with rows that stay in files, where each would be a fit of its own."),
            remedy=words("Name {cluster=…} and {strata=…} instead. Or read a table into memory: read_table(path)."),
        )
    if drawn.strata is not None and drawn.cluster is None:
        raise InputError(
            words("{strata} is given without {cluster}, so that every row of the files would be a cluster by itself."),
            remedy=words("Name the column of clusters by {cluster=…}. Or read a table into memory: read_table(path)."),
        )
