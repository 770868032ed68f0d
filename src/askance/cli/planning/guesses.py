"""Guesses on the command line: numbers, a saved fit, a file of several, or shares of answers."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from askance._checks import as_fraction
from askance.cli.shared.numbers import read_number
from askance.cli.shared.options import FILE, Decorator, option, options
from askance.errors import InputError, ProbabilityError

if TYPE_CHECKING:
    from askance._arrays import FloatArray
    from askance.models.enumerated import Enumerated

# How far shares may be from a sum of 1; and how far without a word.
_SUM, _SUM_UNSAID = Fraction(1, 100), Fraction(1, 10**6)


#: --theta, --fit and --prior.
guess_options = options(
    option("--theta X,X,…", "guess: one number per parameter, as in 5,-1"),
    option("--fit FILE", "guess: the fit of a pilot (`askance estimate --save`), with what it leaves open", FILE),
    option(
        "--prior FILE",
        "guess: a CSV file of what may be true, a column per parameter; errors are averaged over rows",
        FILE,
    ),
)


def shares_option(help: str, **more: Any) -> Decorator:
    """--share."""
    return option("--share LABEL=P", help, name="shares", multiple=True, **more)


def read_guess(model: Enumerated, given: dict[str, Any]) -> dict[str, Any]:
    """The one guess that was given, by the name that Python has for it: of --theta, --fit, --prior (and --minimax)."""
    from askance.survey.number_tables import read_points

    allowed = [name for name in ("theta", "fit", "prior", "minimax") if name in given]
    flags = [name for name in allowed if given[name] is not None]
    if len(flags) != 1:
        found = ", ".join(f"--{name}" for name in flags) or "none"
        raise InputError(
            f"guesses given: {found}; allowed: exactly one of {', '.join(f'--{name}' for name in allowed)}.",
            remedy="Write --theta 5,-1.",
        )
    if given["theta"] is not None:
        return {"theta": read_numbers(given["theta"])}
    if given["fit"] is not None:
        return {"fit": _read_fit(model, given["fit"])}
    return {flags[0]: read_points(given[flags[0]], model.parameter_names, f"--{flags[0]}")}


def read_numbers(text: str) -> list[float]:
    """The numbers of --theta."""
    try:
        return [read_number(part) for part in text.split(",")]
    except ValueError:
        raise InputError(
            f"--theta is {text!r}; allowed: numbers with commas between them.", remedy="Write --theta 5,-1."
        ) from None


def _read_fit(model: Enumerated, path: Path) -> Any:
    """The fit of a pilot; that of another question is refused."""
    from askance.design.optimum.prior import HasEstimate
    from askance.formats import load
    from askance.planning.guesses import require_fit_of

    fit = load(path)
    if not isinstance(fit, HasEstimate):
        raise InputError(
            f"--fit {path} is no fit, but a state of reports.", remedy="Save one with `askance fit … --save`."
        )
    require_fit_of(model, fit, dimension=model.dimension, name=f"--fit {path}")
    return fit


def _read_share(text: str) -> tuple[str, Fraction]:
    """LABEL=P, where P is a decimal, a fraction or a percentage."""
    label, _, number = text.rpartition("=")
    number = number.strip()
    try:
        share = as_fraction(number.removesuffix("%").strip(), label) / (100 if number.endswith("%") else 1)
    except InputError:
        share = Fraction(0)
    if not label or not 0 < share < 1:
        raise ProbabilityError(
            f"--share is {text!r}; allowed: LABEL=P with P above 0 and below 1.",
            remedy="Write --share yes=0.1, --share yes=10% or --share yes=1/10.",
        )
    return label, share


def guess_of_shares(texts: tuple[str, ...]) -> tuple[Enumerated, FloatArray, dict[str, float]]:
    """Every distribution over the answers of --share; its parameters at the guess; and the guessed shares."""
    import numpy as np

    from askance.models.enumerated import Enumerated

    shares = {label: float(share) for label, share in _read_shares(texts).items()}
    p = np.array(list(shares.values()))
    return Enumerated.saturated(list(shares)), np.log(p[1:] / p[0]), shares


def _read_shares(texts: tuple[str, ...]) -> dict[str, Fraction]:
    """Labels with shares (--share LABEL=P, repeated), scaled to sum to 1; a note says so where that is needed."""
    shares: dict[str, Fraction] = {}
    for label, share in map(_read_share, texts):
        if label in shares:
            raise InputError(f"--share gives {label!r} twice.", remedy="Give every answer once.")
        shares[label] = share
    total = sum(shares.values(), Fraction(0))
    if len(shares) < 2 or abs(total - 1) > _SUM:
        raise ProbabilityError(
            f"the shares of {len(shares)} answers sum to {float(total):g}; allowed: at least two that sum to 1.",
            remedy="Give the shares of all answers.",
        )
    if abs(total - 1) > _SUM_UNSAID:
        click.echo(f"askance: note: the shares sum to {float(total):g}; they are scaled to sum to 1.", err=True)
    return {label: share / total for label, share in shares.items()}
