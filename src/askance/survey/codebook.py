"""The codebook of a study: what was asked, in which column it is, by which design, and which rows and values count.

    codebook = 1
    title = "Exams"
    missing = [-99]                      # in every column
    weights = "wgt"

    [questions.cheated]
    column = "Q7"
    text = "Have you ever cheated in an exam?"
    labels = {1 = "yes", 2 = "no"}

    [questions.cheated.design]
    kind = "forced-response"
    truth = "2/3"
    yes = "1/6"

Planning, collecting and fitting read the same file. A question without a design was asked directly: an open column with
its labels and missing codes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from dataclasses import fields as fields_in
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from askance._arrays import AnyArray
from askance._checks import did_you_mean, shorten, shown
from askance.channels.finite import FiniteChannel
from askance.channels.registry import build_design
from askance.errors import FormatError, InputError, LabelError
from askance.formats.fields import Fields, describing, fields_of
from askance.survey.arms import SurveyDesign
from askance.survey.designs_file import arm_channel
from askance.survey.drawn import Drawn
from askance.survey.tables import Column, Columns, Table, as_written

_Design = TypeVar("_Design")
_EXAMPLE = 'Write codebook = 1, then [questions.NAME] with column = "Q7" and a design = {kind = …}.'
# The fields of a codebook, and of a question, with the types of those that are single values.
_FIELDS = ("codebook", "title", "missing", "keep", "questions", *(field.name for field in fields_in(Drawn)))
_OF_A_QUESTION = ("column", "text", "texts", "labels", "missing", "positive", "arm", "treated", "design", "designs")
# The question that a formula has on its right side.
_HIDDEN = re.compile(r"hidden\(\s*`?([^`)~,]+?)`?\s*[,)~]")


@dataclass(frozen=True)
class Question:
    """One question of a codebook.

    Attributes:
        name: what formulas call it.
        column: where its answers are.
        text: the wording.
        texts: the wording in other languages, by their codes.
        labels: what values of the column mean, by the values as they are written; empty: they speak for themselves.
        missing: values that are no answer.
        positive: the value that means yes, as for `regress`.
        arm: the column that says in which way each row was asked.
        design: how it was asked, as for `regress`; None: openly.
    """

    name: str
    column: str
    text: str = ""
    texts: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    positive: Any = None
    arm: str | None = None
    design: SurveyDesign | None = None


@dataclass(frozen=True)
class Codebook:
    """What a study asked, and what its table means; `read_codebook` reads one.

    Attributes:
        questions: by name.
        title: of the study.
        missing: values that are no answer, in any column.
        keep: rows count that have one of these values in these columns; others are left out, and counted.
        drawn: how respondents were drawn: columns of weights, clusters, strata, replicate weights.
    """

    questions: Mapping[str, Question]
    title: str = ""
    missing: tuple[str, ...] = ()
    keep: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    drawn: Drawn = field(default_factory=Drawn)

    def question(self, name: str) -> Question:
        """A question by its name."""
        if name not in self.questions:
            raise InputError(
                f"the codebook has no question {name!r}; found: {shorten(list(self.questions))}.",
                remedy=did_you_mean(name, list(self.questions), "Check the spelling, capitals included."),
            )
        return self.questions[name]

    def design(self, name: str) -> SurveyDesign:
        """How a question was asked; refuses those that were asked openly."""
        design = self.question(name).design
        if design is None:
            raise InputError(
                f"the codebook has no design of {name!r}; found: {shorten(self.hidden) or 'none'}.",
                remedy=f"Add [questions.{name}.design] and, below it, its kind and parameters.",
            )
        return design

    @property
    def hidden(self) -> list[str]:
        """The questions that were not asked openly."""
        return [question.name for question in self.questions.values() if question.design is not None]

    def channels(self, name: str) -> list[FiniteChannel]:
        """The designs of a question side by side, one for every arm, as plans compare them."""
        design = self.design(name)
        if isinstance(design, FiniteChannel):
            return [design]
        if isinstance(design, Mapping):
            return list(design.values())
        raise InputError(
            f"{name!r} has a design with groups of its own, {design!r}; allowed in a plan: a design without.",
            remedy="Plan with one of its groups, as in --design warner:question=2/3.",
        )

    def table(self, data: Table, formula: str = "") -> Columns:
        """The table as the codebook means it: questions by their names, labels for values, gaps for codes of none.

        Questions whose column is not there are left out, but those in the formula are refused.

        >>> region = Question("region", "Q2", labels={"1": "north", "2": "south"})
        >>> codebook = Codebook({"region": region}, missing=("-99",))
        >>> table = codebook.table({"Q2": [1, 2, -99], "age": [-99, 30, 40]})
        >>> table["region"].distinct(), table["age"].missing.tolist()
        (['north', 'south'], [True, False, False])
        """
        source = Columns.of(data)
        names = {question.column: question.name for question in self.questions.values() if question.column in source}
        columns = {names.get(column, column): column for column in source.names}
        for name, question in self.questions.items():
            if name not in columns and re.search(rf"(?<!\w){re.escape(name)}(?!\w)", formula):
                raise InputError(
                    f"the codebook has the question {name!r} in column {question.column!r}, which is not there; found: "
                    f"{shorten(source.names, 12)}.",
                    remedy=did_you_mean(question.column, source.names, f"Correct column of questions.{name}."),
                )
        rows, notes = self._rows(source)

        def load(name: str) -> Column:
            column = replace(source[columns[name]].take(rows), name=name)
            return _understood(column, self.questions.get(name), self.missing)

        table = Columns(list(columns), len(source) if rows is None else int(rows.sum()), load)
        table.notes = (*source.notes, *notes)
        return table

    def _rows(self, table: Columns) -> tuple[AnyArray | None, list[str]]:
        """Which rows count, None for all, and how many do not."""
        kept, notes = np.ones(len(table), dtype=bool), []
        for name, values in self.keep.items():
            column = table[name]
            others = ~_is_one_of(column, values) | column.missing
            if (count := int((others & kept).sum())) > 0:
                notes.append(f"{count} of {len(table)} rows do not count: their {name} is not {' or '.join(values)}")
            kept &= ~others
        return (None if kept.all() else kept), notes

    def asked(self, formula: str) -> tuple[SurveyDesign, Question]:
        """The design that a formula is about, or one for each of several hidden answers, and what else is known."""
        left = formula.partition("~")[0].strip().strip("`")
        inside = [name for name in _HIDDEN.findall(formula.partition("~")[2]) if name in self.questions]
        if len(inside) > 1:
            several: Any = {name: self.design(name) for name in inside}
            return several, Question("", "")
        name = inside[0] if inside else left
        return self.design(name), self.question(name)


def _code(value: Any) -> str:
    """A value as files compare it: 1 is 1.0 and "1", True is "true"."""
    return as_written(value).casefold()


def _is_one_of(column: Column, values: Sequence[str]) -> AnyArray:
    """Which values of a column are written like one of these."""
    codes = set(map(_code, values))
    meant = {value for value in column.distinct() if _code(value) in codes}
    return np.array([value in meant for value in column.values.tolist()], dtype=bool)


def _understood(column: Column, question: Question | None, missing: Sequence[str]) -> Column:
    """A column with gaps for codes of none, and labels for values."""
    codes = (*missing, *(question.missing if question else ()))
    if codes:
        column = replace(column, missing=column.missing | _is_one_of(column, codes))
    if question is None or not question.labels:
        return column
    known = {_code(code): label for code, label in question.labels.items()}
    meaning = {value: known.get(_code(value)) for value in column.distinct()}
    levels = tuple(dict.fromkeys(question.labels.values()))
    unknown = [value for value, label in meaning.items() if label is None and value not in levels]
    if unknown:
        raise LabelError(
            f"column {question.column!r} holds {shorten([as_written(value) for value in unknown])}, of which the "
            f"codebook has no label; found: {shorten(list(question.labels))}.",
            remedy=f"Add them to labels of questions.{question.name}, or to missing.",
        )
    pairs = zip(column.values.tolist(), column.missing.tolist(), strict=True)
    labels = np.array([None if gap else meaning[value] or value for value, gap in pairs], dtype=object)
    return Column(column.name, "category", labels, column.missing, levels)


# -- the file ----------------------------------------------------------------------------------------------------------


def read_codebook(path: str | Path) -> Codebook:
    """Read the codebook of a study, a TOML file; what it does not know is refused by name.

    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "study.toml"
    >>> _ = path.write_text('''codebook = 1
    ... [questions.cheated]
    ... column = "Q7"
    ... design = {kind = "warner", question = "2/3"}
    ... ''')
    >>> read_codebook(path).design("cheated")
    Warner(question='2/3', outputs=['no', 'yes'])
    """
    fields = fields_of(path, "TOML", _EXAMPLE)
    if fields.content.get("codebook") != 1:
        raise FormatError(
            f"{path} says codebook = {shown(fields.content.get('codebook'))}; allowed: 1.",
            remedy=_EXAMPLE if "codebook" not in fields.content else "Read it with a newer version of askance.",
        )
    fields.only(_FIELDS)
    tables = fields.inner("questions").content
    questions = {name: _question(name, tables[name], str(path)) for name in tables}
    twice = [
        q.column for i, q in enumerate(questions.values()) if q.column in [o.column for o in [*questions.values()][:i]]
    ]
    if twice:
        raise FormatError(f"{path}: two questions are in column {twice[0]!r}.", remedy="Give each a column of its own.")
    keep = _texts_of(fields, "keep")
    return Codebook(
        questions,
        _text_of(fields, "title") or "",
        _missing_of(fields),
        {column: _codes(values, f"keep.{column} of {path}") for column, values in keep.items()},
        _drawn_of(fields),
    )


def _question(name: str, content: Any, path: str) -> Question:
    place = f"questions.{name} of {path}"
    fields = Fields(content, place, _EXAMPLE).only(_OF_A_QUESTION)
    arms = [field for field in ("arm", "treated") if field in fields.content]
    if len(arms) == 2 or {"design", "designs"} <= set(fields.content):
        raise FormatError(
            f"{place} has both {' and '.join(arms if len(arms) == 2 else ('design', 'designs'))}.", remedy="Give one."
        )
    labels = {code: str(label) for code, label in _texts_of(fields, "labels").items()}
    return Question(
        name,
        _text_of(fields, "column") or name,
        _text_of(fields, "text") or "",
        {language: str(text) for language, text in _texts_of(fields, "texts").items()},
        labels,
        _missing_of(fields),
        fields.content.get("positive"),
        _text_of(fields, arms[0]) if arms else None,
        _design_of(fields),
    )


def _drawn_of(fields: Fields) -> Drawn:
    """How respondents were drawn: texts, but for numbers and lists."""
    names = [field.name for field in fields_in(Drawn) if field.name in fields.content]
    listed = [name for name in names if name == "replicates" and isinstance(fields.content[name], list)]
    kinds = {"replicate_scale": float, "replicate_scales": list, "fay": float} | dict.fromkeys(listed, list)
    return Drawn(**{name: fields.read(name, kinds.get(name, str)) for name in names})


def _design_of(fields: Fields) -> SurveyDesign | None:
    """One design, or one for every arm."""
    if "designs" not in fields.content:
        return _built(fields.inner("design"), build_design) if "design" in fields.content else None
    arms = fields.inner("designs")
    return {arm: _built(arms.inner(arm), arm_channel) for arm in arms.content}


def _built(fields: Fields, build: Callable[[Mapping[str, Any]], _Design]) -> _Design:
    with describing(fields.name, "a design"):
        return build(fields.content)


def _text_of(fields: Fields, name: str) -> str | None:
    return fields.read(name, str) if name in fields.content else None


def _texts_of(fields: Fields, name: str) -> dict[str, Any]:
    return fields.inner(name).content if name in fields.content else {}


def _missing_of(fields: Fields) -> tuple[str, ...]:
    return _codes(fields.content.get("missing", []), f"'missing' of {fields.name}")


def _codes(values: Any, place: str) -> tuple[str, ...]:
    """Values as they are written, of one or of a list."""
    listed = values if isinstance(values, list) else [values]
    if any(isinstance(value, list | dict) for value in listed):
        raise FormatError(f"{place} is {shown(values)}; allowed: values, such as [-99, -88].", remedy="Correct it.")
    return tuple(map(as_written, listed))
