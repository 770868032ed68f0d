"""Guesses on the command line: numbers, a saved fit, a file of several, or shares of answers."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import askance as lib
from askance._checks import as_fraction
from askance.cli.shared.errors import the_one
from askance.cli.shared.options import FILE, NUMBERS, Decorator, Read, option, options
from askance.errors import InputError, ProbabilityError

if TYPE_CHECKING:
    from askance._arrays import FloatArray

# How far shares may be from a sum of 1; and how far without a word.
_SUM, _SUM_UNSAID = Fraction(1, 100), Fraction(1, 10**6)


#: --theta, --fit and --prior.
guess_options = options(
    option("--theta X,X,…", "guess: one number per parameter, as in 5,-1", NUMBERS),
    option("--fit FILE", "guess: the fit of a pilot (`askance estimate --save`), with what it leaves open", FILE),
    option(
        "--prior FILE",
        "guess: a CSV file of what may be true, a column per parameter; errors are averaged over rows",
        FILE,
    ),
)


def read_guess(model: lib.Enumerated, flags: dict[str, Any]) -> dict[str, Any]:
    """The one guess that was given, by the name that Python has for it: of --theta, --fit, --prior (and --minimax)."""
    from askance.survey.number_tables import read_points

    guesses: dict[str, Any] = {name: flags[name] for name in ("theta", "fit", "prior", "minimax") if name in flags}
    name = the_one("guesses", guesses, "Write --theta 5,-1.")
    if name == "theta":
        return {"theta": guesses["theta"]}
    if name == "fit":
        return {"fit": _read_fit(model, guesses["fit"])}
    return {name: read_points(guesses[name], model.parameter_names, f"--{name}")}


def _read_fit(model: lib.Enumerated, path: Path) -> Any:
    """The fit of a pilot; that of another question is refused."""
    from askance.design.optimum.prior import HasEstimate
    from askance.planning.guesses import require_fit_of

    fit = lib.load(path)
    if not isinstance(fit, HasEstimate):
        raise InputError(
            f"--fit {path} is no fit, but a state of reports.", remedy="Save one with `askance fit … --save`."
        )
    require_fit_of(model, fit, dimension=model.dimension, name=f"--fit {path}")
    return fit


def _read_share(text: str) -> tuple[str, Fraction]:
    """LABEL=P, where P is a decimal, a fraction or a percentage."""
    label, _, number = text.rpartition("=")
    percent = number.strip().endswith("%")
    try:
        share = as_fraction(number.strip().removesuffix("%").strip(), label) / (100 if percent else 1)
    except InputError:
        share = Fraction(0)
    if not label or not 0 < share < 1:
        raise ValueError(text)
    return label, share


_SHARE = Read(
    _read_share,
    "LABEL=P with P above 0 and below 1",
    "Write --share yes=0.1, --share yes=10% or --share yes=1/10.",
)


def shares_option(help: str, **more: Any) -> Decorator:
    """--share."""
    return option("--share LABEL=P", help, _SHARE, name="shares", multiple=True, **more)


def guess_of_shares(pairs: tuple[tuple[str, Fraction], ...]) -> tuple[lib.Enumerated, FloatArray, dict[str, float]]:
    """Every distribution over the answers of --share; its parameters at the guess; and the guessed shares.

    These are scaled to sum to 1; a note says so where that is needed.
    """
    import numpy as np

    typed = dict(pairs)
    if len(typed) < len(pairs):
        labels = [label for label, _ in pairs]
        raise InputError(f"--share gives {max(labels, key=labels.count)!r} twice.", remedy="Give every answer once.")
    total = sum(typed.values(), Fraction(0))
    if len(typed) < 2 or abs(total - 1) > _SUM:
        raise ProbabilityError(
            f"the shares of {len(typed)} answers sum to {float(total):g}; allowed: at least two that sum to 1.",
            remedy="Give the shares of all answers.",
        )
    if abs(total - 1) > _SUM_UNSAID:
        click.echo(f"askance: note: the shares sum to {float(total):g}; they are scaled to sum to 1.", err=True)
    shares = {label: float(share / total) for label, share in typed.items()}
    p = np.array(list(shares.values()))
    return lib.Enumerated.saturated(list(shares)), np.log(p[1:] / p[0]), shares
