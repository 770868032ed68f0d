"""First wrong formulas: habits of R and of arithmetic, each answered with the line to write instead."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from askance._words import words
from askance.errors import InputError
from askance.survey.tables import close_match

_SHAPE = "Write: answer ~ term + term, for example: answer ~ age + I(age**2) + C(region)."

#: Functions of R, and what does the same here.
_R_FUNCTIONS = {
    "factor": "Write C(x).",
    "as.factor": "Write C(x).",
    "ordered": "Write C(x).",
    "relevel": 'Write C(x, Treatment("reference level")).',
    "as.numeric": "Turn the column into numbers before.",
    "as.integer": "Turn the column into numbers before.",
    "as.character": "Write C(x).",
    "ifelse": "Write I(np.where(condition, a, b)).",
    "cut": "Make the groups before, and write C(group).",
    "interaction": "Write a:b.",
    "ns": "Write cr(x, df=4).",
    "pmin": "Write I(np.minimum(a, b)).",
    "pmax": "Write I(np.maximum(a, b)).",
    "is.na": "Decide what to do with missing values before.",
    "cbind": "Name one column of reports.",
    "c": "Write a list: [a, b].",
    "offset": "Offsets are not offered: leave it out.",
    "s": "Write bs(x, df=4).",
}
#: What formulaic says of a formula, and the way out.
_WAYS_OUT = (
    ("Missing operator", "Put + between terms."),
    ("insuff?icient arguments|insuffient", "Write a term on both sides of it."),
    ("quote context|context marker", "Check the brackets and quotation marks."),
    ("provided levels", "Choose one of the values of the column."),
    ("holds no numbers", "Turn the column into numbers first, or put C() around categories."),
    ("extrapolation", 'Write bs(x, df=4, extrapolation="clip") or "extend".'),
    ("invalid syntax", "Put calculations inside I()."),
)
#: Patterns in the text (quoted parts blanked out) and what to say.
_PATTERNS: tuple[tuple[str, str, str], ...] = (
    (r"\w\$\w", "`$` picks a column in R", "Write the name of the column alone."),
    (r"<-", "`<-` is no operator here", "Write ~ between the answer and the terms."),
    (r"\b(TRUE|FALSE|NULL|NA)\b", "TRUE, FALSE, NULL and NA are R's words", "Write True or False."),
    (r"&&|\|\|", "`&&` and `||` are R's", "Write I((a > 0) & (b > 0)), with | for or."),
    (
        r"(?<![\w(])\([^()]*\|",  # I(a | b) and I((a | b) & c) are conditions
        "`(terms | group)` is a random effect",
        words("Leave it out; {cluster=group} widens errors."),
    ),
    (
        r"(?<![\w.])(np\.)?(mean|std|min|max|sum|median)\(|\.(mean|std|min|max|sum|median|rank|quantile)\(",
        "a mean or total would be another one on new data",
        "Write center(x) or scale(x), which remember it.",
    ),
)


def check_habits(formula: str, tokens: Sequence[Any], columns: Sequence[str]) -> None:
    """Refuse what means something else here than its writer thinks.

    Args:
        formula: what was typed.
        tokens: its tokens as formulaic cuts them.
        columns: the names there are.
    """
    _check_tilde(formula, tokens)
    plain = re.sub(r"'[^']*'|\"[^\"]*\"|`[^`]*`", lambda found: "_" * len(found[0]), formula)
    for match in re.finditer(r"([A-Za-z][\w.]*)\s*\(", plain):
        if match[1] in _R_FUNCTIONS:
            raise refusal(formula, f"there is no function {match[1]}()", _R_FUNCTIONS[match[1]])
    for token in tokens:
        code = re.sub(r"'[^']*'|\"[^\"]*\"", "", token.token)
        if token.kind.value == "python" and "^" in code:
            raise refusal(formula, "Python reads ^ as exclusive or", f"Write {token.token.replace('^', '**')}.")
        if token.kind.value == "python" and "%in%" in code:
            raise refusal(formula, "`%in%` is R's", "Write I(isin(x, [1, 2])).")
    for pattern, problem, remedy in _PATTERNS:
        if re.search(pattern, plain):
            raise refusal(formula, problem, remedy)
    outside = plain
    while outside != (outside := re.sub(r"\([^()]*\)", "", outside)):
        pass  # calculations inside brackets are Python's, from the innermost outwards
    shifted = re.search(r"([\w.`]*)\s*-\s*(?!1\b(?!\.))(\d[\d.]*)", outside)
    if shifted:
        raise refusal(
            formula,
            f"outside I() a minus leaves a term out, and {shifted[2]} is none",
            f"Write I({shifted[0].strip()}).",
        )
    _check_arithmetic(formula, tokens, columns)


def refusal(formula: str, problem: str, remedy: str) -> InputError:
    """The one line that a wrong formula gets."""
    return InputError(f"formula {formula!r}: {problem}.", remedy=remedy)


def way_out(problem: str) -> str:
    """What to do about a complaint of formulaic."""
    found = (remedy for pattern, remedy in _WAYS_OUT if re.search(pattern, problem))
    return next(found, "Put calculations inside I(), and C() around categories.")


def unknown_function(formula: str, name: str, known: Sequence[str]) -> InputError:
    """For a function that formulas do not have."""
    close = close_match(name, known)
    meant = f"Did you mean {close}()? " if close else ""
    return refusal(
        formula, f"there is no function {name}()", f"{meant}Allowed (NumPy's also as np.…): {', '.join(known)}."
    )


def needs_backticks(formula: str, names: Sequence[str]) -> InputError | None:
    """The error for a column such as `hours per week` that is written without backticks, if there is one."""
    outside = re.sub(r"`[^`]*`", "", formula)
    for name in sorted(names, key=len, reverse=True):
        if not re.fullmatch(r"[^\W\d]\w*", name) and name.strip() and name in outside:
            return refusal(
                formula,
                f"the name of column {name!r} would be read as a calculation",
                f"Write it in backticks: `{name}`.",
            )
    return None


def _check_tilde(formula: str, tokens: Sequence[Any]) -> None:
    tildes = [token for token in tokens if token.kind.value == "operator" and "~" in token.token]
    if not tildes:
        equals = any(token.kind.value == "operator" and token.token.startswith("=") for token in tokens)
        problem = "`=` and `==` do not say what depends on what" if equals else "there is no ~"
        raise refusal(formula, problem, _SHAPE)
    if len(tildes) > 1 or tildes[0].token.count("~") > 1:
        raise refusal(formula, "there is more than one ~", _SHAPE)
    if tokens[0] is tildes[0]:
        raise refusal(formula, "nothing stands before ~", _SHAPE)
    if tokens[-1] is tildes[0]:
        raise refusal(formula, "nothing stands behind ~", "Write 1 for the intercept alone: answer ~ 1.")
    if tildes[0].token != "~":
        rest = tildes[0].token.replace("~", "").strip()
        if rest not in ("-", "+"):
            raise refusal(
                formula, f"{rest!r} has nothing before it", "Put calculations inside I(), for example I(1 - x)."
            )


def _check_arithmetic(formula: str, tokens: Sequence[Any], columns: Sequence[str]) -> None:
    """`age^2`, `age/10`, `age > 30` outside I(): operators of formulas, not of numbers."""
    names = [token.token for token in tokens]
    for i, token in enumerate(tokens):
        if token.kind.value == "value" and token.token[:1] in "'\"":
            raise refusal(formula, f"{token.token} is a text", "Write names of columns without quotation marks.")
        if token.kind.value != "operator":
            continue
        before = tokens[i - 1] if i else None
        after = tokens[i + 1] if i + 1 < len(tokens) else None
        left, right = _text(before), _text(after)
        if token.token in ("^", "**") and before is not None and before.kind.value in ("name", "python"):
            raise refusal(
                formula,
                f"{left}{token.token}{right} outside I() is only {left}",
                f"For the power write I({left}**{right}).",
            )
        if token.token in ("/", "*") and "value" in {_kind(before), _kind(after)}:
            raise refusal(
                formula, f"{token.token} outside I() is no arithmetic", f"Write I({left}{token.token}{right})."
            )
        if token.token in ("<", ">", "<=", ">=", "==", "!=", "&"):
            raise refusal(
                formula, f"{token.token} outside I() is no comparison", f"Write I({left} {token.token} {right})."
            )
        taken_away = token.token.endswith("-") and _kind(after) in ("name", "python") and "." not in names
        if taken_away and names.count(right) == 1:
            raise needs_backticks(formula, columns) or refusal(
                formula, f"- takes {right} away, which is not there", f"Write I(-{right}), or just {right}."
            )
        if token.token == "|":
            raise refusal(formula, "| would make two formulas", "Write I(a | b) for either-or, a:b for interactions.")


def _text(token: Any) -> str:
    return "" if token is None else str(token.token)


def _kind(token: Any) -> str:
    return "" if token is None or token.token == "." else str(token.kind.value)
