"""Guesses of θ: one, several that may be true, or what a pilot leaves open."""

from __future__ import annotations

from collections.abc import Sized
from typing import TypeAlias

import numpy as np

from askance._arrays import ArrayLike
from askance._checks import as_parameter, shorten, shown
from askance.design.optimum import Prior
from askance.design.optimum.prior import HasEstimate, require_one_guess
from askance.errors import IncompatibleEvidenceError, ShapeError
from askance.models.enumerated import Enumerated
from askance.models.linear import LinearModel
from askance.models.random_field import RandomField
from askance.models.softmax import Softmax

AnyModel: TypeAlias = Enumerated | Softmax | RandomField | LinearModel


def read_guesses(
    dimension: int,
    theta: ArrayLike | None,
    prior: ArrayLike | Prior | None,
    fit: HasEstimate | None,
    model: AnyModel | None = None,
) -> Prior:
    """The points at which errors are predicted; exactly one of the three.

    Args:
        dimension: d, of θ.
        theta: one guess, shape (d,).
        prior: several, shape (K, d).
        fit: of a pilot.
        model: that is planned for; a fit of another one is refused.

    >>> read_guesses(1, [0.5], None, None).points
    array([[0.5]])
    """
    require_one_guess(", fit=… of a pilot", theta=theta, prior=prior, fit=fit)
    if theta is not None:
        return Prior.of(as_parameter(theta, dimension), dimension=dimension, name="theta")
    if prior is not None:
        if not isinstance(prior, Prior) and isinstance(prior, Sized) and not len(prior):
            raise ShapeError(
                "is empty",
                argument="prior",
                allowed=f"at least one row of {dimension} numbers",
                remedy="Give prior=[[…], …], one row for every θ that may be true, or theta=[…] for a single guess.",
            )
        return Prior.of(prior, dimension=dimension)
    assert fit is not None
    require_fit_of(model, fit, dimension=dimension)
    return Prior.of(Prior.of_fit(fit), dimension=dimension, name="fit")


def require_fit_of(model: AnyModel | None, fit: HasEstimate, *, dimension: int, name: str = "fit") -> None:
    """Refuse the fit of another question: of other outputs, parameters or statistics, or of another size.

    Args:
        model: what is planned for; None where it is not known.
        fit: of a pilot. One that does not say what it is a fit of needs the right size only.
        dimension: d, of θ.
        name: what the fit is called in messages.

    >>> from askance import RandomizedResponse, Tally, estimate
    >>> smoking = Enumerated.saturated(["never", "often"])
    >>> pilot = estimate(smoking, Tally(RandomizedResponse("1/2", outputs=smoking.outputs), [60, 40]))
    >>> require_fit_of(Enumerated.saturated(["no", "yes"]), pilot, dimension=1)
    Traceback (most recent call last):
    askance.errors.IncompatibleEvidenceError: fit is about the outputs ['never', 'often'], the model about ['no', ...
    """
    other = getattr(fit, "model", getattr(fit, "field", None))
    if isinstance(model, LinearModel) and isinstance(other, LinearModel):
        _require_equal(name, "the columns", shorten(other.names), shorten(model.names), other.names == model.names)
    elif isinstance(model, RandomField) and isinstance(other, RandomField):
        same = other.purpose == model.purpose and other.cliques == model.cliques
        _require_equal(name, "the cells", shorten(other.parameter_names), shorten(model.parameter_names), same)
    elif isinstance(model, (Enumerated, Softmax)) and isinstance(other, (Enumerated, Softmax)):
        _require_same_answers(model, other, name)
    elif model is not None and isinstance(other, (Enumerated, Softmax, RandomField, LinearModel)):
        _require_equal(name, "another kind of model,", _kind(other), _kind(model), False)
    size = np.size(fit.theta) if isinstance(fit, HasEstimate) else dimension
    if isinstance(other, LinearModel):
        size += 1  # the deviation of what is left unexplained follows from the moments
    if size != dimension:
        raise ShapeError(
            f"has {size} parameters, the model {dimension}",
            argument=name,
            remedy="Give a fit of the model that is planned for.",
        )


def _require_same_answers(model: Enumerated | Softmax, other: Enumerated | Softmax, name: str) -> None:
    same = other.outputs == model.outputs
    _require_equal(name, "the outputs", other.outputs.shown(), model.outputs.shown(), same)
    theirs, ours = other.parameter_names, model.parameter_names
    _require_equal(name, "the parameters", shorten(theirs), shorten(ours), theirs == ours)
    if isinstance(model, Enumerated) and isinstance(other, Enumerated):
        same = np.array_equal(other.table, model.table)
        _require_equal(name, "the statistics", shown(other.table.tolist()), shown(model.table.tolist()), same)
        base, own = other.log_base_measure, model.log_base_measure
        same = np.array_equal(base, own)
        _require_equal(name, "log_base_measure", shown(base.tolist()), shown(own.tolist()), same)
    elif type(model) is not type(other):
        _require_equal(name, "another kind of model,", _kind(other), _kind(model), False)


def _kind(model: AnyModel) -> str:
    names = {Enumerated: "a distribution of answers", Softmax: "a regression of answers", RandomField: "a random field"}
    return names.get(type(model), "a linear regression")


def _require_equal(name: str, what: str, theirs: str, ours: str, same: bool) -> None:
    if not same:
        raise IncompatibleEvidenceError(
            f"{name} is about {what} {theirs}, the model about {ours}.",
            remedy="Give the fit of a pilot of the same question, made with the same model.",
        )
