"""A survey answered by simulated people, before anybody is asked: the file that its export would be."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

from askance._checks import as_count
from askance.channels.finite import FiniteChannel
from askance.collect.campaign import Asked, Campaign
from askance.collect.export import export
from askance.collect.store import Entry, open_store
from askance.collect.store.entry import ID_BYTES
from askance.collect.submission import Form
from askance.errors import InputError

#: Simulated people of one rehearsal.
MOST_PEOPLE = 1_000_000
_AT_A_TIME = 5_000


class Rehearsed(NamedTuple):
    """What was simulated.

    Attributes:
        people: how many answered.
        output: the file of their answers.
        shares: by noised question, the label whose share `expected_share` is about, and how common it was in truth.
    """

    people: int
    output: Path
    shares: dict[str, tuple[Any, float]]


def rehearse(campaign: Campaign, path: str | Path, *, people: int | None = None, seed: int = 0) -> Rehearsed:
    """Let simulated people answer a survey, and write what its export would hold. The campaign's store is not touched.

    Open answers are drawn evenly. Of a noised question the last label is as common as `expected_share` says, all others
    evenly; nothing depends on anything else, so that an analysis of the file should find just that. Answers are noised
    with a seeded generator, written and read as the lines that pages send.

    Args:
        campaign: a survey.
        path: of the answers, .csv or .parquet.
        people: how many; default: the planned n.
        seed: of everything that is drawn.
    """
    if campaign.kind != "survey":
        raise InputError(
            f"{campaign.name!r} is a campaign of {campaign.kind}; people answer surveys only.",
            remedy="Simulate devices with `channel.simulate`, and counts with `askance regions` on labelled text.",
        )
    n = as_count(campaign.planned_n if people is None else people, "people", minimum=1, maximum=MOST_PEOPLE)
    rng = np.random.default_rng(seed)
    form = Form(replace(campaign, access="open"))  # simulated people have no tokens; nothing else differs
    columns, shares = dict[str, list[Any]](), dict[str, tuple[Any, float]]()
    for question in campaign.questions:
        truths, columns[question.name] = _answers(question, n, rng)
        if isinstance(question.channel, FiniteChannel):
            last = question.channel.outputs.labels[-1]
            shares[question.name] = (last, truths.count(last) / n)
    with (
        TemporaryDirectory(prefix="askance-") as folder,
        open_store(str(Path(folder) / "rehearsal"), make=True) as store,
    ):
        for start in range(0, n, _AT_A_TIME):
            rows = zip(*(column[start : start + _AT_A_TIME] for column in columns.values()), strict=True)
            lines = [form.write(rng.bytes(ID_BYTES), dict(zip(columns, row, strict=True))) for row in rows]
            entries = [form.read(line, b"") for line in lines]
            store.take([entry for entry in entries if isinstance(entry, Entry)])
        _, (output,) = export(campaign, store, path, shape="responses")
    return Rehearsed(n, output, shares)


def _answers(question: Asked, n: int, rng: np.random.Generator) -> tuple[list[Any], list[Any]]:
    """Truths, and what is sent of them."""
    if not isinstance(question.channel, FiniteChannel):
        open_answers = [question.values[i] for i in rng.integers(len(question.values), size=n)]
        return open_answers, open_answers
    labels = question.channel.outputs.labels
    share = question.expected_share or 1 / len(labels)
    shares = [(1 - share) / (len(labels) - 1)] * (len(labels) - 1) + [share]
    truths = [labels[i] for i in rng.choice(len(labels), size=n, p=shares)]
    return truths, question.channel.simulate(truths, rng).tolist()
