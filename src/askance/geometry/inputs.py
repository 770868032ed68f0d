"""What the pictures are asked about, checked once."""

from __future__ import annotations

from askance._checks import instance, shown
from askance.channels.finite import FiniteChannel, require_channel
from askance.errors import EmptyDataError, IncompatibleEvidenceError, InputError, ShapeError
from askance.estimation.problems.tally_problem import TallyProblem
from askance.evidence.tally import of_answers
from askance.models.enumerated import Enumerated


def require_model(model: object, statistics: tuple[int, ...], outputs: int | None = None) -> Enumerated:
    """Refuse what is no `Enumerated` model, or one with another number of statistics or outputs than can be drawn."""
    remedy = "Give the model first, then the channel; build one such as Enumerated([[5, -1, 0]])."
    known = instance(model, Enumerated, "model", "an Enumerated model", remedy)
    if outputs is not None and len(known.outputs) != outputs:
        raise ShapeError(
            f"has {len(known.outputs)} outputs",
            argument="model",
            allowed=f"{outputs}, the corners of the triangle",
            remedy="Draw a model of three outputs, or its likelihood with likelihood_picture.",
        )
    if known.dimension not in statistics:
        raise ShapeError(
            f"has {known.dimension} statistics",
            argument="model",
            allowed=" or ".join(map(str, statistics)),
            remedy="Keep the statistics you want to look at: Enumerated(model.table[:1], outputs=model.outputs).",
        )
    return known


def require_pair(model: Enumerated, channel: object) -> FiniteChannel:
    """Refuse what is no channel, and a channel about other outputs."""
    known = require_channel(channel)
    known.require_outputs_of(model)
    return known


def as_problem(model: Enumerated, channel: FiniteChannel, observed: object) -> TallyProblem:
    """Model and tally as estimation sees them; refused are other channels and empty tallies."""
    if not of_answers(observed):
        remedy = "Count with Tally(channel).add(reports)."
        raise InputError(argument="observed", got=shown(observed), allowed="a Tally", remedy=remedy)
    if observed.channel.fingerprint != channel.fingerprint:
        raise IncompatibleEvidenceError(
            f"observed was reported through {shown(observed.channel)}; allowed: through the channel given, "
            f"{shown(channel)}.",
            remedy="Pass observed.channel as the channel.",
        )
    if not observed.n_observations:
        raise EmptyDataError(
            "has 0 reports",
            argument="observed",
            allowed="at least 1",
            remedy="Add reports first: observed.add(reports).",
        )
    return TallyProblem(model, observed)
