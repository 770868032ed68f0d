"""What several maxima of a likelihood say of the effects of hidden variables on outcomes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from askance.estimation.outcome import LocalMaximum
from askance.models.hidden import HiddenVariables

#: Half the deviance at which a likelihood-ratio test of level 5 % rejects: the data do not settle smaller differences.
SETTLED = 1.92


def listed_maxima(model: HiddenVariables, maxima: Sequence[LocalMaximum], *, prior: bool = False) -> tuple[str, ...]:
    """Every maximum with its height and its effects of hidden variables; nothing where there is one only.

    With a prior heights include it, and are below the log-likelihood of the fit.
    """
    if len(maxima) < 2 or not model.effects:
        return ()
    parts = []
    for maximum in maxima:
        effects = ", ".join(f"{model.parameter_names[i]} {maximum.theta[i]:.4g}" for i in model.effects)
        parts.append(f"{effects} at {_height(maximum, prior)}")
    return (f"maxima of the likelihood: {'; '.join(parts)}",)


def _height(maximum: LocalMaximum, prior: bool) -> str:
    return f"log-likelihood {maximum.log_likelihood:.2f}{' with the prior' if prior else ''}"


def open_signs(model: HiddenVariables, maxima: Sequence[LocalMaximum], *, prior: bool = False) -> Iterator[str]:
    """Effects whose sign differs between maxima that the data do not tell apart."""
    near = [maximum for maximum in maxima if maximum.log_likelihood > maxima[0].log_likelihood - SETTLED]
    for place in model.effects:
        values = [maximum.theta[place] for maximum in near]
        if near and min(values) < 0 < max(values):
            yield (
                f"the sign of the effect of the hidden trait is not determined: {model.parameter_names[place]} is "
                + " or ".join(f"{m.theta[place]:.3g} ({_height(m, prior)})" for m in near)
            )
