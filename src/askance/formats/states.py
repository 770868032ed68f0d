"""Several states as one, to estimate from."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from askance.channels.differences import between_purposes, way_out
from askance.errors import IncompatibleEvidenceError, InputError
from askance.evidence.pooled import pool
from askance.evidence.tally import Tally, of_answers
from askance.formats.aggregation import Evidence
from askance.formats.files import load
from askance.formats.places import Place, RowGroups, listed_places
from askance.formats.source_digests import SeenSources


def read_states(paths: str | Path | Iterable[str | Path], *, purpose_of_unnamed: str = "") -> Evidence:
    """One state out of one or several, all for one purpose.

    Tallies of answers are pooled, whatever their channels, for all have a likelihood; sums of noised statistics are
    added where they come from one channel. States that share a file of reports are refused.

    Args:
        paths: files of `save` or `askance aggregate`.
        purpose_of_unnamed: what states without a purpose are for.

    >>> import tempfile
    >>> from askance import RandomizedResponse, save
    >>> folder = Path(tempfile.mkdtemp())
    >>> for share in ("1/2", "1/3"):
    ...     save(Tally(RandomizedResponse(share, outputs=["no", "yes"]), [3, 2]), folder / share[-1])
    >>> read_states([folder / "2", folder / "3"]).n_observations
    10
    """
    listed, sources = [file for file in listed_places(paths) if not isinstance(file, RowGroups)], SeenSources()
    states = [_read_state(path, purpose_of_unnamed) for path in listed]
    for path, state in zip(listed, states, strict=True):
        sources.add(state.sources, path, "the reports of files in it")
        sources.add_parts(state.sources.id_parts, path)
        _require_together(listed[0], states[0], path, state)
    if len(states) == 1:
        return states[0]
    return pool(states) if of_answers(states[0]) else sum(states[1:], states[0])


def _read_state(path: Place, purpose_of_unnamed: str) -> Evidence:
    state = load(path)
    if not isinstance(state, Tally):
        raise InputError(
            f"{path} holds a fit; allowed: a state of reports.", remedy="Make one with `askance aggregate REPORTS`."
        )
    return state if state.channel.purpose else state.for_purpose(purpose_of_unnamed)


def _require_together(start: Place, first: Evidence, path: Place, state: Evidence) -> None:
    """Refuse states that no estimate can be made from together, by their names."""
    one, other = first.channel, state.channel
    if of_answers(first) != of_answers(state):
        answers, sums = (start, path) if of_answers(first) else (path, start)
        raise IncompatibleEvidenceError(
            f"{answers} counts answers, {sums} holds sums of noised statistics.", remedy="Estimate from each alone."
        )
    if of_answers(first):
        if one.outputs != other.outputs:
            raise IncompatibleEvidenceError(
                f"{start} is about {one.outputs.shown()}, {path} about {other.outputs.shown()}.",
                remedy="Only reports about the same answers, in the same order, are estimated together.",
            )
        if one.purpose != other.purpose:
            raise IncompatibleEvidenceError(
                f"{start} is for the purpose {one.purpose or None!r}, {path} for {other.purpose or None!r}.",
                remedy=between_purposes(one.purpose, other.purpose),
            )
    elif one.fingerprint != other.fingerprint:
        raise IncompatibleEvidenceError(
            f"{path} comes from another channel ({other.kind}, {other.fingerprint[:12]}…) than {start} "
            f"({one.kind}, {one.fingerprint[:12]}…).",
            remedy=way_out(other, one) or "Sums of noised statistics are added only where all come from one channel.",
        )
