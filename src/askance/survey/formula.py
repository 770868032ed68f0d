"""R-style formulas: `answer ~ age + I(age**2) + C(region)`.

Left of `~` stands the column of reports; right of it the terms, as formulaic reads them:

- `a + b`, `a:b` (interaction), `a*b` (both), `- 1` or `0 +` (no intercept), `.` (all other columns);
- `C(x)` for categories, `C(x, Treatment("north"))` to choose the reference; texts are categories by themselves;
- `I(…)` for calculations in Python (`I(age**2)`, `I(age > 30)`), and log, log2, log10, log1p, exp, expm1, sqrt, abs;
- `center`, `scale`, `poly`, `bs`, `cr`, `cc`, which remember what they saw, and `np.…`;
- backticks around names that are no Python names: `` `hours per week` ``.

Terms are named as formulaic writes them: `Intercept`, `age`, `I(age ** 2)` (with blanks around operators),
`C(region)[T.south]`, `age:C(region)[T.south]`; whole numbers among categories are written without ".0". Terms come in
the order of the formula, interactions after single columns, as in R.

A formula is code: it is evaluated when a caller typed it, never from a file.
"""

from __future__ import annotations

import ast
import builtins
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from askance._arrays import AnyArray
from askance._checks import shorten
from askance.errors import InputError, LabelError, MissingValueError, NotIdentifiedError
from askance.models.softmax import Covariates
from askance.survey.habits import check_habits, needs_backticks, refusal, unknown_function, way_out
from askance.survey.tables import Columns, Table, complete_rows, first_line, unknown_column

if TYPE_CHECKING:
    import pandas as pd

# A matrix with more columns than this, most of them 0, is kept sparse.
_WIDE = 100
_SPARSE_SHARE = 0.1
# What Python, NumPy and formulaic raise for a calculation that does not suit its columns.
_UNSUITABLE = (SyntaxError, ValueError, TypeError, KeyError, IndexError, AttributeError, NameError, ArithmeticError)


@dataclass(frozen=True)
class ParsedFormula:
    """A formula that fits a table.

    Attributes:
        text: as typed.
        answer: the column of reports.
        terms: formulaic's reading of the right side.
        uses: for every column that the right side uses, the names and calculations in which it stands.
    """

    text: str
    answer: str
    terms: Any
    uses: Mapping[str, tuple[str, ...]]

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the right side uses."""
        return tuple(self.uses)


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
    from formulaic import Formula
    from formulaic.errors import FormulaicError
    from formulaic.parser.algos.tokenize import tokenize

    if not isinstance(text, str) or not text.strip():
        raise InputError(f"formula is {text!r}.", remedy="Write, for example: answer ~ age + C(region).")
    try:
        tokens = list(tokenize(text))
        check_habits(text, tokens, table.names)
        answer, right = _split(text, tokens, table, leave_out)
        terms = Formula(right)
    except (FormulaicError, SyntaxError) as error:
        problem = re.sub(r"`| \((tip|<unknown>).*", "", first_line(error)).rstrip(".")
        raise needs_backticks(text, table.names) or refusal(text, problem, way_out(problem)) from None
    if not hasattr(terms, "required_variables") or len(terms) == 0:
        raise refusal(text, "no term stands behind ~", "Write 1 for the intercept alone: answer ~ 1.")
    uses = _columns_used(text, terms, table)
    if answer in uses:
        raise refusal(text, f"{answer} stands on both sides of ~", "Take it out of the right side.")
    return ParsedFormula(text, answer, terms, uses)


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
            "Name the column of reports, and say which one is yes by positive= (--positive).",
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


def functions() -> dict[str, Any]:
    """What formulas may call beside Python's own functions and formulaic's."""
    return {
        "sqrt": np.sqrt,
        "abs": np.abs,
        "log1p": np.log1p,
        "expm1": np.expm1,
        "sin": np.sin,
        "cos": np.cos,
        "exp10": lambda x: np.power(10.0, x),
    }


def _columns_used(text: str, terms: Any, table: Columns) -> dict[str, tuple[str, ...]]:
    """The columns of a formula, each with where it stands; refuses unknown names."""
    used: dict[str, tuple[str, ...]] = {}
    for factor in (factor for term in terms for factor in term.factors):
        if factor.eval_method.value == "lookup":
            if factor.expr not in table:
                raise needs_backticks(text, table.names) or unknown_column(factor.expr, table.names)
            used[factor.expr] = (*used.get(factor.expr, ()), factor.expr)
        elif factor.eval_method.value == "python":
            for name in dict.fromkeys(_columns_of_code(text, factor.expr, table)):
                used[name] = (*used.get(name, ()), factor.expr)
    for name in used:
        _check_kind(table, name)
    return used


def _columns_of_code(text: str, code: str, table: Columns) -> Iterator[str]:
    """The columns that a calculation uses; refuses names that are neither column nor function."""
    from formulaic.transforms import TRANSFORMS

    known = {*TRANSFORMS, *functions()}
    quoted: list[str] = []

    def stand_in(found: re.Match[str]) -> str:
        quoted.append(found[1])
        return f"_quoted_{len(quoted) - 1}_"

    nodes = list(ast.walk(ast.parse(re.sub(r"`([^`]*)`", stand_in, code), mode="eval")))
    called = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
    own = {node.arg for node in nodes if isinstance(node, ast.arg)}
    own |= {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    for node in nodes:
        if not isinstance(node, ast.Name) or node.id in own:
            continue
        name = quoted[int(node.id[8:-1])] if re.fullmatch(r"_quoted_\d+_", node.id) else node.id
        is_function = id(node) in called and (name in known or hasattr(builtins, name))
        if name in table and not is_function:
            yield name
        elif id(node) in called and not is_function:
            raise unknown_function(text, name, sorted(known))
        elif name not in known and not hasattr(builtins, name):
            raise needs_backticks(text, table.names) or unknown_column(name, table.names)


def _check_kind(table: Columns, name: str) -> None:
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


class FormulaDesign:
    """A formula with all it learned from its table: levels of categories, means, knots. It codes new data alike.

    Attributes:
        formula: as typed.
        answer: the column of reports.
        terms: names of the columns of x.
        columns: the columns of a table that x is made of.
        respondents: these columns, and others to form groups by, of the rows that it learned from.

    >>> table = Columns.of({"answer": [1, 0, 1], "age": [30, 40, 50], "region": ["north", "south", "south"]})
    >>> design, x = FormulaDesign.learn(parse_formula("answer ~ center(age) + region", table), table)
    >>> design.terms
    ('Intercept', 'center(age)', 'region[T.south]')
    >>> design.matrix({"age": [40], "region": ["south"]})
    array([[1., 0., 1.]])
    """

    def __init__(
        self, parsed: ParsedFormula, spec: Any, levels: dict[str, tuple[Any, ...]], respondents: Columns
    ) -> None:
        self.formula, self.answer, self.columns = parsed.text, parsed.answer, parsed.columns
        self.terms = tuple(_plain_name(str(name)) for name in spec.column_names)
        self.respondents = respondents
        self._spec, self._levels = spec, levels

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
        output = "sparse" if _is_wide(parsed.terms, frame) else "numpy"
        made = _evaluate(parsed.text, parsed.terms, frame, output=output, na_action="ignore")
        spec = made.model_spec
        categorical = {
            str(variable)
            for factor, (kind, _) in spec.encoder_state.items()
            if str(getattr(kind, "value", kind)) == "categorical"
            for variable in spec.factor_variables.get(factor, ())
        }
        levels = {name: tuple(table[name].take(rows).distinct()) for name in parsed.columns if name in categorical}
        design = cls(parsed, spec, levels, table.part(dict.fromkeys([*parsed.columns, *others]), rows))
        if not design.terms:
            raise refusal(parsed.text, "no column comes out of it", "Write 1 for the intercept alone: answer ~ 1.")
        _refuse_vanished(spec, levels)
        return design, design._checked(made)

    def matrix(self, data: Table) -> Covariates:
        """X for new data, coded as at the fit, shape (n, p).

        Raises:
            LabelError: a category that the fit never saw.
            MissingValueError: a missing value in a column of the formula.
        """
        table = Columns.of(data).trimmed()
        complete_rows(table, self.columns, "error", "Fill them in, or leave these rows out.")
        for name, seen in self._levels.items():
            new = [value for value in table[name].distinct() if value not in seen]
            if new:
                raise LabelError(
                    f"column {name!r} holds {_listed(new)}, unseen at the fit; known: {_listed(seen)}.",
                    remedy="Leave these rows out, or fit again with data that hold them.",
                )
        made = _evaluate(self.formula, self._spec, table.to_pandas(self.columns))
        return self._checked(made)

    def _checked(self, made: Any) -> Covariates:
        x = made.__wrapped__
        if hasattr(x, "tocsr"):
            x = x.tocsr().astype(np.float64)
            bad = np.bincount(x.indices[~np.isfinite(x.data)], minlength=x.shape[1])
        else:
            x = np.ascontiguousarray(x, dtype=np.float64)
            bad = (~np.isfinite(x)).sum(axis=0)
        if bad.any():
            worst = int(np.argmax(bad > 0))
            raise MissingValueError(
                f"{self.terms[worst]} is not a finite number in {int(bad[worst])} of {x.shape[0]} rows.",
                remedy="A logarithm of 0 or a division by 0? Change the term, or leave these rows out.",
            )
        return x

    def __repr__(self) -> str:
        return f"FormulaDesign({self.formula!r})"


def _refuse_vanished(spec: Any, levels: Mapping[str, tuple[Any, ...]]) -> None:
    """Refuse a term of which no column is left: a category with one level, which the intercept holds already."""
    for term in (term for term, places in spec.term_indices.items() if not places):
        alone = [name for name in map(str, spec.term_variables[term]) if len(levels.get(name, ())) == 1]
        value = _listed(levels[alone[0]]) if alone else "the same"
        raise NotIdentifiedError(
            f"{alone[0] if alone else term} is {value} in every row: its effect cannot be told.",
            remedy="Leave it out, or check the rows kept.",
        )


def _evaluate(text: str, what: Any, frame: pd.DataFrame, **options: Any) -> Any:
    """The model matrix; what goes wrong inside becomes one line."""
    from formulaic.errors import FormulaicError

    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")  # what they warn of (log of 0, unseen levels) is checked and refused
            return what.get_model_matrix(frame, context=functions(), **options)
    except (FormulaicError, *_UNSUITABLE) as error:
        reason = first_line(error)
        found = re.search(r"Unable to evaluate factor `(.*)`\. \[\w+: (.*)\]$", reason)
        problem = f"{found[1]} cannot be computed ({found[2].rstrip('.')})" if found else reason
        raise refusal(text, problem.replace("`", ""), way_out(problem)) from None


def _is_wide(terms: Any, frame: pd.DataFrame) -> bool:
    """Whether x would have many columns that are mostly 0."""
    widths = []
    for term in terms:
        width = 1
        for factor in term.factors:
            if factor.expr in frame.columns and frame[factor.expr].dtype.kind == "O":
                width *= frame[factor.expr].nunique()
            elif re.match(r"C\(", factor.expr):
                width *= max((frame[name].nunique() for name in frame.columns if name in factor.expr), default=1)
        widths.append(width)
    return sum(widths) > _WIDE and len(widths) < _SPARSE_SHARE * sum(widths)


def _listed(values: Sequence[Any]) -> str:
    return shorten([int(v) if isinstance(v, float) and v.is_integer() else v for v in values])


def _plain_name(name: str) -> str:
    """`C(region)[T.2.0]` as `C(region)[T.2]`."""
    return re.sub(r"\[(T\.)?(-?\d+)\.0\]", r"[\1\2]", name)
