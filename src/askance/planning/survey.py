"""How many respondents a survey needs, and what a number of respondents buys, design by design."""

from __future__ import annotations

from collections.abc import Sequence

from askance._arrays import ArrayLike
from askance._checks import Number
from askance._threads import one_thread
from askance.channels.finite import FiniteChannel
from askance.design.covariances import Weighting
from askance.errors import InputError
from askance.models.enumerated import Enumerated
from askance.models.softmax import Covariates, Softmax
from askance.planning.answers import AnswersSubject
from askance.planning.comparison import OtherArm, compared
from askance.planning.goals import read_goal, require_one_goal
from askance.planning.guessed_design import GuessedDesign
from askance.planning.guesses import read_guesses
from askance.planning.hypothesis import Alternative, Rule
from askance.planning.plan import read_channels, solve
from askance.planning.request import Request
from askance.planning.result import Plan
from askance.planning.subject import PlannedMethod
from askance.planning.targets import Share


@one_thread
def plan_survey(
    model: Softmax | Enumerated,
    channels: Sequence[FiniteChannel | GuessedDesign] | FiniteChannel | GuessedDesign,
    theta: ArrayLike,
    x: Covariates | None = None,
    *,
    target: str | Share,
    method: PlannedMethod = "one-step",
    confidence: float = 0.95,
    power: float = 0.8,
    n: int | None = None,
    standard_error: float | None = None,
    interval_width: float | None = None,
    effect: float | None = None,
    null: float | None = None,
    alternative: Alternative = "two-sided",
    test: Rule | None = None,
    hypotheses: int = 1,
    against: OtherArm | Number | None = None,
    weights: ArrayLike | None = None,
    weighting: Weighting = "best",
) -> Plan:
    """Respondents needed for a goal, or what n respondents buy, through every channel and by the direct question.

    `plan` for surveys with given designs: see there for the formulas, for other models, and for privacy levels that a
    number of respondents needs. Give at most one of `n`, `standard_error` and `interval_width`; with none of them the
    goal is `power`.

    Args:
        model: with covariates (`Softmax`, then x is needed) or without (`Enumerated`).
        channels: the designs to compare, or a single one, over the outputs of the model; designs with groups of their
            own as `GuessedDesign`.
        theta: the guess, shape (d,).
        x: a sample of the covariates, shape (rows, p): who will be asked.
        target: the name of a coefficient, or `Share(output)`: its share among those whom x is a sample of.
        method: "one-step" (and "marginal", of the same limit) or "moments".
        confidence: of intervals; tests have level 1 − confidence, all hypotheses together.
        power: probability of detecting the effect.
        n: respondents.
        standard_error: the goal, above 0.
        interval_width: the goal, from end to end, above 0.
        effect: the difference to detect: the distance of the guess from the null, instead of `null`.
        null: the value that is tested (default: as `effect` says; of coefficients and differences 0).
        alternative: "two-sided", or whether "greater" or "less" than the null counts.
        test: "score", "wald" or "exact"; see `plan`.
        hypotheses: how many tests are planned, each at the level (1 − confidence)/hypotheses.
        against: the share in another group or arm (`OtherArm` says how it is asked): the target is the difference.
        weights: how much each row of x counts.
        weighting: which β "moments" uses where several are unbiased.

    Raises:
        InputError: the goal is impossible (an effect of 0, for example).
        NotIdentifiedError: no number of respondents would do: collinear x, or a channel without information.

    >>> from askance import Enumerated, Warner
    >>> yes_no = Enumerated.saturated(["no", "yes"])
    >>> plan = plan_survey(yes_no, [Warner("3/4")], [-1.0986123], target=Share("yes"), standard_error=0.02)
    >>> plan.direct.n, plan.designs[0].n, round(plan.designs[0].price, 6)
    (469, 2344, 5.0)

    A share of 20 % against none, as R's rr plans it: by the normal approximation, and exactly.

    >>> from askance import ForcedResponse
    >>> guess, dice = [-1.3862943611198906], ForcedResponse("2/3", "1/6")
    >>> options = {"null": 0, "alternative": "greater", "confidence": 0.99, "n": 200}
    >>> row = plan_survey(yes_no, dice, guess, target=Share("yes"), **options).designs[0]
    >>> round(row.power, 6), round(row.counted.power, 6), round(row.counted.size, 6), row.counted.at_least
    (0.986887, 0.988873, 0.012833, 46)
    """
    designs = read_channels(channels)
    if designs is None:
        raise InputError(
            "is None", argument="channels", remedy="Give at least one design to compare with the direct question."
        )
    goals = {"n": n, "standard_error": standard_error, "interval_width": interval_width}
    named = [name for name, value in goals.items() if value is not None]
    require_one_goal(named)
    guesses = read_guesses(model.dimension, theta, None, None)
    subject = compared(AnswersSubject(model, guesses, x, weights, target, method, weighting), against)
    tests = {"null": null, "effect": effect, "alternative": alternative, "rule": test, "hypotheses": hypotheses}
    goal = read_goal(subject, n, standard_error, interval_width, None if named else power, confidence, **tests)
    return solve(Request(subject, goal, method, n, None), designs)
