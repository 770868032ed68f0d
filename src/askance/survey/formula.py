"""R-style formulas: `answer ~ age + I(age**2) + C(region)`.

Left of `~` stands the column of reports; right of it the terms, as formulaic reads them:

- `a + b`, `a:b` (interaction), `a*b` (both), `- 1` or `0 +` (no intercept), `.` (all other columns);
- `C(x)` for categories, `C(x, Treatment("north"))` to choose the reference, `C(x, levels=["north", "south"])` to list
  them (other values are refused, or dropped like missing ones); texts are categories by themselves;
- `I(…)` for calculations: + - * / // % ** on floats, comparisons, & | ~ between them (`I(age**2)`, `I(age > 30)`);
- functions of numbers, by name or as `np.log`: log, log2, log10, log1p, exp, exp2, exp10, expm1, sqrt, cbrt, square,
  power, abs, sign, minimum, maximum, clip, round, floor, ceil, sin, cos, tan, arctan, tanh; also where, isin, `np.pi`;
- `center`, `scale`, `standardize`, `poly`, `bs`, `cr`, `cs`, `cc`, which remember what they saw, and `hashed`;
- backticks around names that are no Python names: `` `hours per week` ``.

Terms are named as formulaic writes them: `Intercept`, `age`, `I(age ** 2)` (with blanks around operators),
`C(region)[T.south]`, `age:C(region)[T.south]`; whole numbers among categories are written without ".0". Terms come in
the order of the formula, interactions after single columns, as in R.

A formula can do no more than this: what it holds is parsed and computed by `askance.survey.calculations`, which refuses
everything else by name. No formula is read from a file that was loaded: what a fit keeps of one (`saved_design`) is a
tree of the same calculations, its terms as lists of names, and what they learned.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from askance._arrays import AnyArray
from askance._checks import shorten, shown
from askance._words import words
from askance.errors import InputError, LabelError, MissingValueError, NotIdentifiedError
from askance.models.softmax import Covariates
from askance.survey.calculations import CALLABLE, Calculation, read_calculation
from askance.survey.expansion import check_length, check_terms
from askance.survey.formula_mistakes import check_habits, needs_backticks, refusal, unknown_function, way_out
from askance.survey.parsed_calculations import CalculationError
from askance.survey.tables import Column, Columns, Table, complete_rows, first_line, plain_value, unknown_column

if TYPE_CHECKING:
    import pandas as pd

    from askance.estimation.results.variable_effects import Change

# A matrix with more columns than this, most of them 0, is kept sparse.
_WIDE = 100
_SPARSE_SHARE = 0.1
# A fit of more columns than this would need gigabytes for the covariance alone.
_MOST_COLUMNS = 20_000
# What Python, NumPy and formulaic raise for a calculation that does not suit its columns.
_UNSUITABLE = (SyntaxError, ValueError, TypeError, KeyError, IndexError, AttributeError, NameError, ArithmeticError)


@dataclass(frozen=True)
class ParsedFormula:
    """A formula that fits a table.

    Attributes:
        text: as typed.
        answer: the column of reports.
        terms: formulaic's reading of the right side, in which calculations are looked up like columns.
        calculations: what to compute, by the name under which it is looked up.
        uses: for every column that the right side uses, the names and calculations in which it stands.
    """

    text: str
    answer: str
    terms: Any
    calculations: Mapping[str, Calculation]
    uses: Mapping[str, tuple[str, ...]]

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the right side uses."""
        return tuple(self.uses)

    def without_unlisted(self, table: Columns) -> Columns:
        """The table with values missing that C(x, levels=[…]) leaves out."""
        listed = {
            name: levels for calculation in self.calculations.values() for name, levels in calculation.listed.items()
        }

        def load(name: str) -> Column:
            return table[name].only(listed[name]) if name in listed else table[name]

        return Columns(table.names, len(table), load)


def parse_formula(text: str, table: Columns, leave_out: Sequence[str] = ()) -> ParsedFormula:
    """Read a formula and check every name in it against a table.

    Args:
        text: the formula.
        table: the columns there are.
        leave_out: columns that `.` does not stand for, beside the answer.

    >>> table = Columns.of({"answer": [1, 0], "age": [31, 45], "region": ["north", "south"]})
    >>> parse_formula("answer ~ log(age) + C(region)", table).columns
    ('age', 'region')
    >>> parse_formula("answer ~ I(age^2)", table)
    Traceback (most recent call last):
    askance.errors.InputError: formula 'answer ~ I(age^2)': Python reads ^ as exclusive or. Write I(age**2).
    """
    from formulaic import Formula, SimpleFormula
    from formulaic.errors import FormulaicError
    from formulaic.parser.algos.tokenize import tokenize

    if not isinstance(text, str) or not text.strip():
        raise InputError(argument="formula", got=shown(text), remedy="Write, for example: answer ~ age + C(region).")
    check_length(text)
    try:
        tokens = list(tokenize(text))
        check_habits(text, tokens, table.names)
        answer, right = _split(text, tokens, table, leave_out)
        # Before formulaic sees them: it evaluates some arguments while it reads.
        _read_all(text, [token.token for token in tokens if token.kind.value == "python"], table)
        check_terms(text, right)
        terms = Formula(right)
    except (FormulaicError, SyntaxError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        problem = re.sub(r"`| \((tip|<unknown>).*", "", first_line(error)).rstrip(".")
        raise needs_backticks(text, table.names) or refusal(text, problem, way_out(problem)) from None
    if not isinstance(terms, SimpleFormula) or len(terms) == 0:
        raise refusal(text, "no term stands behind ~", "Write 1 for the intercept alone: answer ~ 1.")
    factors = [factor for term in terms for factor in term.factors]
    calculated = [factor for factor in factors if factor.eval_method.value == "python"]
    calculations = _read_all(text, [factor.expr for factor in calculated], table)
    for factor in calculated:
        factor.eval_method = "lookup"  # computed here, and looked up by formulaic
    uses = _columns_used(text, factors, calculations, table)
    if answer in uses:
        raise refusal(text, f"{answer} stands on both sides of ~", "Take it out of the right side.")
    return ParsedFormula(text, answer, terms, calculations, uses)


def _read_all(text: str, codes: Iterable[str], table: Columns) -> dict[str, Calculation]:
    """The calculations of a formula, each checked."""
    try:
        return {code: read_calculation(code, table.names) for code in codes}
    except CalculationError as error:
        if error.function:
            raise unknown_function(text, error.function, CALLABLE) from None
        own = needs_backticks(text, table.names)
        if error.column:
            raise own or unknown_column(error.column, table.names) from None
        raise own or refusal(text, error.problem, error.remedy or way_out(error.problem)) from None


def _split(text: str, tokens: Sequence[Any], table: Columns, leave_out: Sequence[str]) -> tuple[str, str]:
    """The column left of ~, and the text right of it with `.` written out."""
    at = next(i for i, token in enumerate(tokens) if token.kind.value == "operator" and "~" in token.token)
    start = tokens[at].source_start + tokens[at].token.index("~")
    left = tokens[:at]
    written = text[:start].strip()
    if len(left) != 1 or left[0].kind.value != "name":
        if written in table:
            raise refusal(text, f"{written!r} would be read as a calculation", f"Write it in backticks: `{written}`.")
        raise refusal(
            text,
            f"left of ~ stands {written!r}, which is not the name of a column",
            words("Name the column of reports, and say which one is yes by {positive=…}."),
        )
    answer = str(left[0].token)
    if answer not in table:
        raise unknown_column(answer, table.names)
    right = text[start + 1 :]
    for token in reversed(tokens[at + 1 :]):
        if token.token == ".":
            others = [name for name in table.names if name != answer and name not in leave_out]
            place = token.source_start - start - 1
            right = right[:place] + "(" + " + ".join(f"`{name}`" for name in others) + ")" + right[place + 1 :]
    return answer, right


def _columns_used(
    text: str, factors: Sequence[Any], calculations: Mapping[str, Calculation], table: Columns
) -> dict[str, tuple[str, ...]]:
    """The columns of a formula, each with where it stands; refuses unknown names."""
    used: dict[str, tuple[str, ...]] = {}
    for factor in (factor for factor in factors if factor.eval_method.value == "lookup"):
        if factor.expr not in calculations and factor.expr not in table:
            raise needs_backticks(text, table.names) or unknown_column(factor.expr, table.names)
        for name in _columns_of(factor.expr, calculations):
            used[name] = (*used.get(name, ()), factor.expr)
    for name in used:
        _check_kind(table, name)
    return used


def _columns_of(factor: str, calculations: Mapping[str, Calculation]) -> tuple[str, ...]:
    """The columns behind a name that formulaic looks up: itself, or those of the calculation."""
    return calculations[factor].columns if factor in calculations else (factor,)


def _check_kind(table: Columns, name: str, *, numeric: bool = False) -> None:
    column = table[name]
    if column.kind == "mixed":
        raise InputError(
            f"column {name!r} mixes kinds of values ({shorten(column.distinct())}).",
            remedy="Make them all texts or all numbers.",
        )
    if column.kind == "time":
        raise InputError(
            f"column {name!r} holds dates or times.", remedy="Turn it into a number, such as days since a date."
        )
    if numeric and column.kind in ("text", "category"):
        raise InputError(
            f"column {name!r} holds texts ({shorten(column.distinct())}), at the fit it held numbers.",
            remedy="Turn them into numbers first.",
        )


class FormulaDesign:
    """A formula with all it learned from its table: levels of categories, means, knots. It codes new data alike.

    Attributes:
        formula: as typed.
        answer: the column of reports.
        terms: names of the columns of x.
        columns: the columns of a table that x is made of.
        respondents: these columns, and others to form groups by, of the rows that it learned from; None after loading
            from a file.

    >>> table = Columns.of({"answer": [1, 0, 1], "age": [30, 40, 50], "region": ["north", "south", "south"]})
    >>> design, x = FormulaDesign.learn(parse_formula("answer ~ center(age) + region", table), table)
    >>> design.terms
    ('Intercept', 'center(age)', 'region[T.south]')
    >>> design.matrix({"age": [40], "region": ["south"]})
    array([[1., 0., 1.]])
    """

    def __init__(
        self,
        parsed: ParsedFormula,
        terms: tuple[str, ...],
        spec: Any,
        state: dict[str, Any],
        levels: dict[str, tuple[Any, ...]],
        respondents: Columns | None,
    ) -> None:
        self.formula, self.answer, self.columns = parsed.text, parsed.answer, parsed.columns
        self.terms, self.respondents = terms, respondents
        self.spec, self.levels, self.calculations, self.state = spec, levels, parsed.calculations, state

    @classmethod
    def learn(
        cls, parsed: ParsedFormula, table: Columns, rows: AnyArray | None = None, others: Sequence[str] = ()
    ) -> tuple[FormulaDesign, Covariates]:
        """The design and its matrix.

        Args:
            parsed: the formula.
            table: what it learns from.
            rows: a mask of the rows to take; default: all.
            others: columns beside those of the formula that groups may be formed by.
        """
        table = table.trimmed()
        frame = table.to_pandas(parsed.columns, rows)
        state: dict[str, Any] = {}
        values = _computed(parsed.text, parsed.calculations, frame, state)
        widths = _widths(parsed.terms, frame, values)
        if sum(widths) > _MOST_COLUMNS:
            problem = f"it makes {sum(widths):,} columns; allowed: {_MOST_COLUMNS:,}"
            raise refusal(parsed.text, problem, "Leave out interactions, or merge categories.")
        output = "sparse" if sum(widths) > _WIDE and len(widths) < _SPARSE_SHARE * sum(widths) else "numpy"
        made = _matrix(parsed.text, parsed.terms, frame, values, output=output, na_action="ignore")
        spec = made.model_spec
        categorical = {
            name
            for factor, (kind, _) in spec.encoder_state.items()
            if str(getattr(kind, "value", kind)) == "categorical"
            for name in _columns_of(factor, parsed.calculations)
        }
        levels = {name: tuple(table[name].take(rows).distinct()) for name in parsed.columns if name in categorical}
        respondents = table.part(dict.fromkeys([*parsed.columns, *others]), rows)
        design = cls(parsed, _names_of(spec), spec, state, levels, respondents)
        if not design.terms:
            raise refusal(parsed.text, "no column comes out of it", "Write 1 for the intercept alone: answer ~ 1.")
        _refuse_vanished(spec, levels, parsed.calculations)
        return design, design._checked(made)

    def matrix(self, data: Table) -> Covariates:
        """X for new data, coded as at the fit, shape (n, p).

        Raises:
            LabelError: a category that the fit never saw.
            MissingValueError: a missing value in a column of the formula.
        """
        table = Columns.of(data).trimmed()
        complete_rows(table, self.columns, "error", "Fill them in, or leave these rows out.")
        for name in self.columns:
            _check_kind(table, name, numeric=self._is_numeric(name))
        for name, seen in self.levels.items():
            new = [value for value in table[name].distinct() if value not in seen]
            if new:
                raise LabelError(
                    f"column {name!r} holds {_listed(new)}, unseen at the fit; known: {_listed(seen)}.",
                    remedy="Leave these rows out, or fit again with data that hold them.",
                )
        frame = table.to_pandas(self.columns)
        values = _computed(self.formula, self.calculations, frame, self.state)
        made = _matrix(self.formula, self.spec, frame, values)
        if (names := _names_of(made.model_spec)) != self.terms:
            raise NotIdentifiedError(
                f"these data make the columns {shorten(names)}; the fit has {shorten(self.terms)}.",
                remedy="Give columns of the same kinds as at the fit.",
            )
        return self._checked(made)

    def changes(self, data: Table, variables: Mapping[str, float | None]) -> list[Change]:
        """How the rows of a table move with columns of the formula; see `changes_of`."""
        from askance.survey.variable_changes import changes_of

        return changes_of(self, data, variables)

    def sort_respondents(self, places: AnyArray) -> None:
        """Put the respondents into another order, such as that of evidence, whose rows stand by arm."""
        if self.respondents is not None:
            self.respondents = self.respondents.part(self.respondents.names, places)

    def to_json(self) -> dict[str, Any]:
        """What it learned, as plain JSON values; nothing of single respondents."""
        from askance.survey.saved_design import design_to_json

        return design_to_json(self)

    def _is_numeric(self, name: str) -> bool:
        """Whether a column is itself a column of x."""
        kind, _ = self.spec.encoder_state.get(name, ("", {}))
        return str(getattr(kind, "value", kind)) == "numerical"

    def _checked(self, made: Any) -> Covariates:
        x = made.__wrapped__
        if hasattr(x, "tocsr"):
            x = x.tocsr().astype(np.float64)
            bad = np.bincount(x.indices[~np.isfinite(x.data)], minlength=x.shape[1])
        else:
            x = np.ascontiguousarray(x, dtype=np.float64)
            finite = np.isfinite(x)
            bad = np.zeros(x.shape[1], dtype=np.int64) if finite.all() else (~finite).sum(axis=0)
        if bad.any():
            worst = int(np.argmax(bad > 0))
            raise MissingValueError(
                f"{self.terms[worst]} is not a finite number in {int(bad[worst])} of {x.shape[0]} rows.",
                remedy="A logarithm of 0 or a division by 0? Change the term, or leave these rows out.",
            )
        return x

    def __repr__(self) -> str:
        return f"FormulaDesign({self.formula!r})"


def _refuse_vanished(spec: Any, levels: Mapping[str, tuple[Any, ...]], calculations: Mapping[str, Calculation]) -> None:
    """Refuse a term of which no column is left: a category with one level, which the intercept holds already."""
    for term in (term for term, places in spec.term_indices.items() if not places):
        names = [name for factor in term.factors for name in _columns_of(factor.expr, calculations)]
        alone = [name for name in names if len(levels.get(name, ())) == 1]
        value = _listed(levels[alone[0]]) if alone else "the same"
        raise NotIdentifiedError(
            f"{alone[0] if alone else term} is {value} in every row: its effect cannot be told.",
            remedy="Leave it out, or check the rows kept.",
        )


@contextmanager
def _refusing(text: str, what: str = "") -> Iterator[None]:
    """What goes wrong inside becomes one line."""
    from formulaic.errors import FormulaicError

    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")  # what they warn of (log of 0, unseen levels) is checked and refused
            yield
    except CalculationError as error:
        raise refusal(text, error.problem, error.remedy) from None
    except (FormulaicError, *_UNSUITABLE) as error:
        reason = first_line(error)
        problem = f"{what} cannot be computed ({reason})" if what else reason
        raise refusal(text, problem.replace("`", ""), way_out(problem)) from None


def _computed(
    text: str, calculations: Mapping[str, Calculation], frame: pd.DataFrame, state: dict[str, Any]
) -> dict[str, Any]:
    """The values of all calculations, under the names by which formulaic looks them up."""
    values = {}
    for name, calculation in calculations.items():
        with _refusing(text, name):
            values[name] = calculation.compute(frame, state)
    return values


def _matrix(text: str, what: Any, frame: pd.DataFrame, values: Mapping[str, Any], **options: Any) -> Any:
    """The model matrix of formulaic."""
    with _refusing(text):
        return what.get_model_matrix(frame, context=values, **options)


def _widths(terms: Any, frame: pd.DataFrame, values: Mapping[str, Any]) -> list[int]:
    """How many columns each term makes, at most."""
    by_factor = {name: _width(value) for name, value in (*frame.items(), *values.items())}
    return [math.prod(by_factor.get(factor.expr, 1) for factor in term.factors) for term in terms]


def _width(value: Any) -> int:
    """How many columns a factor makes: its levels, its splines, or one."""
    import pandas as pd

    kind = getattr(getattr(value, "__formulaic_metadata__", None), "kind", None)
    plain = getattr(value, "__wrapped__", value)
    if isinstance(plain, dict):
        return len(plain)
    if np.ndim(plain) > 1:
        return int(plain.shape[1])
    series = pd.Series(plain)
    is_factor = getattr(kind, "value", "") == "categorical" or series.dtype.kind == "O"
    return int(series.nunique()) if is_factor else 1


def _listed(values: Sequence[Any]) -> str:
    return shorten([*map(plain_value, values)])


def _names_of(spec: Any) -> tuple[str, ...]:
    """Names of the columns that formulaic makes, `C(region)[T.2.0]` as `C(region)[T.2]`."""
    return tuple(re.sub(r"\[(T\.)?(-?\d+)\.0\]", r"[\1\2]", str(name)) for name in spec.column_names)
