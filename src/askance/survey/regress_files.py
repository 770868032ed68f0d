"""Regression on rows that stay in files: read in passes, here or where an engine works."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from typing import Any, Literal

import numpy as np

from askance._arrays import AnyArray, IntArray
from askance._checks import one_of
from askance._words import words
from askance.categories import Label
from askance.channels.finite import FiniteChannel
from askance.errors import InputError, LabelError
from askance.estimation.results.regression_fit import RegressionFit
from askance.evidence.chunks import Chunk, collapsed
from askance.evidence.held import HeldPart, HeldResponses
from askance.evidence.protocols import Engine
from askance.evidence.strata import Strata
from askance.formats.places import Places, RowGroups, listed_places
from askance.models.softmax import Softmax
from askance.survey.answers import read_reports
from askance.survey.answers_on_the_right import refuse_answers_on_the_right
from askance.survey.arms import read_armed_reports, read_arms
from askance.survey.drawn import Drawn
from askance.survey.drawn_columns import on_drawn, read_strata
from askance.survey.file_parts import FilePart, first_of, parts_of, require_columns
from askance.survey.formula import FormulaDesign, ParsedFormula, parse_formula
from askance.survey.learned_rows import Learned, Uses, both, design_of, learned, shown_column, shown_rows
from askance.survey.saved_design import design_from_json
from askance.survey.solved import solved
from askance.survey.survey_rows import (
    SurveyRows,
    on_dropped,
    other_columns,
    read_weights,
    require_rows,
    require_varied,
)
from askance.survey.tables import Column, Columns

#: Nothing is said of how respondents were drawn.
EVERYBODY = Drawn()
# Rows that tell which columns hold texts, before the formula is read.
_HEAD = 100
# More clusters in strata than this are not sent with every part.
_MOST_CLUSTERS = 50_000
# Rows of a piece that are looked at first.
_LOOKED_AT = 64
# Passes before those over rows in blocks: which files there are, their columns, and what a formula learns.
_BEFORE = 1


@dataclass(frozen=True)
class Reading:
    """Makes rows of a part: what is held of it. It travels, and what it has of the formula is no code.

    Attributes:
        uses: what columns are for.
        design: as a file of a fit keeps it.
        codes: of every value of the column of reports, by the place of its arm.
        arms: places of arms by the value of their column; empty where there is one way of asking.
        weights: name of a column.
        cluster: name of a column.
        clusters: numbers of clusters by stratum and name, where they were drawn from strata.
        labels: name of a column of groups that shares are asked of.
    """

    uses: Uses
    design: str
    codes: Mapping[tuple[int, Any], int]
    arms: Mapping[Any, int]
    weights: str | None
    cluster: str | None
    clusters: Mapping[tuple[Any, Any], int] = field(default_factory=dict)
    labels: str | None = None

    def __call__(self, part: FilePart) -> tuple[Any, ...]:
        """A `HeldPart`."""
        also = () if self.labels is None else (self.labels,)
        read = [(kept, *self._rows(table)) for table, kept in self.uses.complete(part, also)]
        whole: list[Any] = [None if own[0] is None else np.concatenate(own) for own in zip(*read, strict=True)]
        kept, arm, x, codes, weights, clusters, labels = whole
        chunk: Chunk[Any] = Chunk(x, codes, None, weights, clusters, labels=labels)
        return tuple(_in_blocks(chunk, part.blocks()[kept], arm))

    def _rows(self, table: Columns) -> tuple[AnyArray | None, ...]:
        """Of complete rows: arms, covariates (n, p), codes of reports, weights, clusters and labels."""
        x = _design(self.design).matrix(table) if len(table) else np.zeros((0, len(_design(self.design).terms)))
        arm = np.zeros(len(table), dtype=np.int64)
        if self.uses.arm is not None:
            arm = _mapped(table[self.uses.arm].values, self.arms)
        codes = np.zeros(len(table), dtype=np.int64)
        for place in np.unique(arm).tolist():
            own = {value: code for (of, value), code in self.codes.items() if of == place}
            codes[arm == place] = _mapped(table[self.uses.answer].values[arm == place], own)
        weights = None if self.weights is None else read_weights(table[self.weights])
        clusters, labels = (None if n is None else _plain(table[n]) for n in (self.cluster, self.labels))
        if self.clusters:
            pairs = zip(*(table[name].values.tolist() for name in self.uses.drawn[:2]), strict=True)
            clusters = np.fromiter(map(self.clusters.__getitem__, pairs), dtype=np.int64, count=len(table))
        return arm, x if isinstance(x, np.ndarray) else x.toarray(), codes, weights, clusters, labels

    def empty(self, design: FormulaDesign) -> Chunk[Any]:
        """No rows, of the kind that parts have."""
        weights, clusters = (None if name is None else np.zeros(0) for name in (self.weights, self.cluster))
        return Chunk(np.zeros((0, len(design.terms))), np.zeros(0, dtype=np.int64), None, weights, clusters)


def _in_blocks(chunk: Chunk[Any], block: IntArray, arm: IntArray) -> HeldPart:
    """Rows by block and arm, equal ones of a piece folded into one where it pays."""
    keys = np.column_stack([block, arm])
    if arm.any():  # rows of one arm are in the order of their blocks already
        order = np.lexsort((arm, block))
        chunk, keys = chunk.take(order), keys[order]
    starts = np.flatnonzero(np.r_[True, (keys[1:] != keys[:-1]).any(axis=1)][: len(keys)])
    stops = np.r_[starts[1:], len(keys)][: len(starts)]
    cut = [chunk.take(slice(start, stop)) for start, stop in zip(starts.tolist(), stops.tolist(), strict=True)]
    folded = [_folded(piece) for piece in cut]
    if all(own.multiplicity is None for own in folded):
        pieces = np.column_stack([keys[starts], starts, stops])
        return HeldPart(pieces, chunk.x, chunk.codes, None, chunk.weights, chunk.clusters, chunk.labels)
    ends = np.cumsum([0, *map(len, folded)])
    pieces = np.column_stack([keys[starts], ends[:-1], ends[1:]])
    counts = [np.ones(len(own)) if own.multiplicity is None else own.multiplicity for own in folded]
    x, codes = (np.concatenate(parts) for parts in ([own.x for own in folded], [own.codes for own in folded]))
    return HeldPart(pieces, x, codes, np.concatenate(counts))


def _folded(piece: Chunk[Any]) -> Chunk[Any]:
    """Equal rows as one, where there are some among the first."""
    if piece.weights is not None or piece.clusters is not None or piece.labels is not None:
        return piece
    few = piece.x[:_LOOKED_AT]
    return piece if len(np.unique(few, axis=0)) == len(few) else collapsed((piece,))[0]


@lru_cache(maxsize=4)
def _design(text: str) -> FormulaDesign:
    return design_from_json(json.loads(text), "what was sent")


def _mapped(values: AnyArray, codes: Mapping[Any, int]) -> IntArray:
    """The code of every value, shape (n,)."""
    import pandas as pd

    place, different = pd.factorize(values)
    return np.asarray(np.array([codes[value] for value in different.tolist()], dtype=np.int64)[place])


def _plain(column: Column) -> AnyArray:
    """Labels without objects, which engines cannot measure: texts, or numbers."""
    values = column.values
    return np.array([str(value) for value in values.tolist()]) if values.dtype == object else values


def regress_files(
    formula: str,
    data: Places,
    arms: Mapping[Any, FiniteChannel] | FiniteChannel,
    engine: Engine,
    drawn: Drawn = EVERYBODY,
    *,
    arm: str | None = None,
    method: str | None = None,
    positive: Any = None,
    missing: Literal["error", "drop"] = "error",
    **options: Any,
) -> RegressionFit:
    """`regress` on rows of Parquet files, none of which is kept here: `regress` has the arguments.

    A first pass learns what the formula remembers (levels of categories, means, knots) and how reports are written;
    every sum over rows is a pass. The result does not depend on the order of files, nor on the engine.
    """
    one_of(missing, ("error", "drop"), "missing", "The default is error.")
    files = [place for place in listed_places(data) if not isinstance(place, RowGroups)]
    parts, names = parts_of(files, engine)
    if not parts:
        raise InputError("the files have no rows.", remedy="Give files that hold some.")
    _, head = engine.fold(parts[:1], partial(_head, names=names), first_of)
    table = Columns(names, len(next(iter(head.values()))), head.__getitem__)
    others = other_columns(table, drawn, arm=arm)
    require_columns(others, names)
    parsed = parse_formula(formula, table, leave_out=others)
    uses = Uses.of(parsed, others, arm, drawn, missing)
    known: Learned = engine.fold(parts, partial(learned, uses=uses), both)
    design = design_of(parsed, known)
    several: dict[Label, FiniteChannel] = {"": arms} if isinstance(arms, FiniteChannel) else dict(arms)
    try:
        places, codes, readings = _read(parsed, known, uses, several, arms, positive)
    except LabelError:
        refuse_answers_on_the_right(parsed, shown_rows(parsed, known).__getitem__, arms)
        raise
    model = Softmax(next(iter(several.values())).outputs, design.terms)
    drawn.require_offered(model, arms)
    require_rows(model, known.rows[1])
    clusters, strata = _clusters(parsed, known, uses, drawn)
    reading = Reading(uses, json.dumps(design.to_json()), codes, places, drawn.weights, drawn.cluster, clusters)
    evidence = HeldResponses(
        several if arm is not None else several[""], engine.hold(parts, reading), reading.empty(design), design.terms
    )
    evidence.strata = strata
    evidence.reading = partial(_labelled, names=names, engine=engine, parts=parts, reading=reading)
    fit, blame = solved(model, evidence, method, **options)
    messages = (
        on_dropped(*known.rows),
        *readings,
        *on_drawn(drawn, fit, evidence),
        *fit.diagnostics.messages,
        blame,
        f"the rows of {len({part.place for part in parts})} files were read in {evidence.passes[0] + _BEFORE} passes",
    )
    diagnostics = replace(fit.diagnostics, messages=tuple(filter(None, messages)))
    return replace(fit, diagnostics=diagnostics, design=design)  # type: ignore[no-any-return]


def _clusters(
    parsed: ParsedFormula, known: Learned, uses: Uses, drawn: Drawn
) -> tuple[dict[tuple[Any, Any], int], Strata | None]:
    """Numbers of clusters by stratum and name, and the strata, from one row for each."""
    if drawn.strata is None:
        return {}, None
    rows = sorted(known.clusters, key=repr)
    if len(rows) > _MOST_CLUSTERS:
        raise InputError(
            words(
                "{cluster} has {0} values in strata; allowed in files: {1}.", f"{len(rows):,}", f"{_MOST_CLUSTERS:,}"
            ),
            remedy=words("Leave {strata} out: errors are then a little too large."),
        )
    columns = {
        name: shown_column(name, known.kinds[name], list(values))
        for name, values in zip(uses.drawn, zip(*rows, strict=True), strict=True)
    }
    table = Columns(list(columns), len(rows), columns.__getitem__)
    codes, strata = read_strata(SurveyRows(parsed, table, table, None, drawn), drawn.strata)
    return {row[:2]: code for row, code in zip(rows, codes.tolist(), strict=True)}, strata


def _labelled(column: str, names: Sequence[str], engine: Engine, parts: Sequence[FilePart], reading: Reading) -> Any:
    require_columns([column], names)
    return engine.hold(parts, replace(reading, labels=column))


def _head(part: FilePart, names: Sequence[str]) -> tuple[int, dict[str, Column]]:
    """The first rows of a part."""
    table = next(part.read(names))
    return part.block, {name: table[name].take(np.arange(min(_HEAD, len(table)))) for name in names}


def _read(
    parsed: ParsedFormula,
    known: Learned,
    uses: Uses,
    arms: Mapping[Label, FiniteChannel],
    design: Any,
    positive: Any,
) -> tuple[dict[Any, int], dict[tuple[int, Any], int], list[str]]:
    """Places of arms by value, codes of reports by arm and value, and how values were read."""
    pairs = sorted(known.answers, key=repr)
    said = shown_column(uses.answer, known.kinds[uses.answer], [value for _, value in pairs])
    if uses.arm is None:
        (channel,) = arms.values()
        labels, reading = read_reports(said, channel, positive)
        require_varied(parsed, labels, known.rows[1])
        codes = channel.observations.encode(labels, "observed").tolist()
        return {}, {(0, value): code for (_, value), code in zip(pairs, codes, strict=True)}, [reading]
    groups = shown_column(uses.arm, known.kinds[uses.arm], [value for value, _ in pairs])
    which = read_arms(groups, arms, design)
    labels, readings = read_armed_reports(said, arms, which, positive)
    require_varied(parsed, labels, known.rows[1])
    own = {}
    for (_, value), place, label in zip(pairs, which.tolist(), labels.tolist(), strict=True):
        own[place, value] = int(list(arms.values())[place].observations.encode([label], "observed")[0])
    places = {value: place for (value, _), place in zip(pairs, which.tolist(), strict=True)}
    return places, own, readings
