"""What the pictures are asked about, checked once."""

from __future__ import annotations

from askance._checks import shown
from askance.channels.finite import FiniteChannel, require_channel
from askance.errors import EmptyDataError, IncompatibleEvidenceError, InputError, ShapeError
from askance.estimation.problems.tally_problem import TallyProblem
from askance.evidence.tally import of_answers
from askance.models.enumerated import Enumerated


def require_model(model: object, statistics: tuple[int, ...], outputs: int | None = None) -> Enumerated:
    """Refuse what is no `Enumerated` model, or one with another number of statistics or outputs than can be drawn."""
    if not isinstance(model, Enumerated):
        raise InputError(
            f"model is {shown(model)}; allowed: an Enumerated model.",
            remedy="Give the model first, then the channel; build one such as Enumerated([[5, -1, 0]]).",
        )
    if outputs is not None and len(model.outputs) != outputs:
        raise ShapeError(
            f"model has {len(model.outputs)} outputs; allowed: {outputs}, the corners of the triangle.",
            remedy="Draw a model of three outputs, or its likelihood with likelihood_picture.",
        )
    if model.dimension not in statistics:
        allowed = " or ".join(map(str, statistics))
        raise ShapeError(
            f"model has {model.dimension} statistics; allowed: {allowed}.",
            remedy="Keep the statistics you want to look at: Enumerated(model.table[:1], outputs=model.outputs).",
        )
    return model


def require_pair(model: Enumerated, channel: object) -> FiniteChannel:
    """Refuse what is no channel, and a channel about other outputs."""
    known = require_channel(channel)
    known.require_outputs_of(model)
    return known


def as_problem(model: Enumerated, channel: FiniteChannel, observed: object) -> TallyProblem:
    """Model and tally as estimation sees them; refused are other channels and empty tallies."""
    if not of_answers(observed):
        raise InputError(
            f"observed is {shown(observed)}; allowed: a Tally.", remedy="Count with Tally(channel).add(reports)."
        )
    if observed.channel.fingerprint != channel.fingerprint:
        raise IncompatibleEvidenceError(
            f"observed was reported through {shown(observed.channel)}; allowed: through the channel given, "
            f"{shown(channel)}.",
            remedy="Pass observed.channel as the channel.",
        )
    if not observed.n_observations:
        raise EmptyDataError(
            "observed has 0 reports; allowed: at least 1.", remedy="Add reports first: observed.add(reports)."
        )
    return TallyProblem(model, observed)
