"""What all `askance plan` commands about respondents share: goals, tables of numbers, and how plans are printed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from askance.cli.shared.options import (
    FILE,
    JSON,
    NUMBER,
    Choice,
    Decorator,
    Function,
    WholeNumber,
    confidence_option,
    option,
    options,
    seed_option,
)
from askance.cli.shared.printing import Text, print_table, show, terminal_width, wants_json
from askance.cli.shared.progress import working
from askance.cli.shared.write_guards import PICTURE
from askance.errors import InputError

if TYPE_CHECKING:
    from askance._arrays import FloatArray
    from askance.planning import Plan

#: Goals of a plan.
GOALS = ("standard_error", "interval_width", "power")
#: What says which test is planned.
OF_TESTS = ("null", "alternative", "test", "hypotheses")
#: What `plan` is told of them, and of what else options say.
_OF_PLANS = (*GOALS, "n", "privacy_level", "effect", "confidence", "method", *OF_TESTS)
#: The difference that a test is to detect, where nothing more can be said of it.
_EFFECT = "difference to detect  [default for a parameter: its guess]"


def goal_options(effect: str = _EFFECT, respondents: str = "how many are asked") -> Callable[[Function], Function]:
    """--standard-error, --width, --power, --respondents, --confidence, those of the test, --plot, --text, --json.

    Args:
        effect: the help of --effect.
        respondents: the help of --respondents.
    """
    return options(
        option("--respondents N", respondents, WholeNumber(), name="n"),
        option("--standard-error S", "goal: this standard error, as in 0.02", NUMBER),
        option("--width W", "goal: a confidence interval that wide from end to end", NUMBER, name="interval_width"),
        option("--power P", "goal: detect the effect with this probability, as in 0.8", NUMBER),
        option("--effect E", effect, NUMBER),
        option("--null V", "instead of --effect: the value that is tested  [default: 0, but of shares none]", NUMBER),
        option(
            "--alternative",
            "which side of the null counts",
            Choice(["two-sided", "greater", "less"]),
            default="two-sided",
        ),
        option(
            "--test",
            "score (errors under the null), wald (errors as estimated), or exact (binomial, for shares)  "
            "[default: score for shares, else wald]",
            Choice(["score", "wald", "exact"]),
        ),
        option("--hypotheses M", "so many tests share the false alarms", WholeNumber(1, 10**6), default=1),
        confidence_option("confidence of intervals; tests raise a false alarm in the rest"),
        option("--plot FILE", "draw the plan (.png, .svg, .pdf)", PICTURE),
        option("--text", "print a paragraph for a preregistration instead of the table, for every design"),
        JSON,
    )


def covariate_options(x: str, data: str) -> Callable[[Function], Function]:
    """--x, --data and --seed: who will be asked; with the help of the first two."""
    return options(
        option(
            "--x NAME:LAW",
            f"{x}: age:normal(40,15), educ:uniform(0,10), female:bernoulli(0.5){data} (repeatable)",
            name="covariates",
            multiple=True,
        ),
        option("--data FILE", "a table with a sample of the columns, instead of laws", FILE),
        seed_option("seed of the sample drawn from the laws of --x"),
    )


def method_option(default: str) -> Decorator:
    """--method."""
    text = "how estimates will be made: one-step, marginal (both by the likelihood), moments, or best"
    return option("--method NAME", text, default=default)


def read_covariates(flags: dict[str, Any], names: tuple[str, ...], remedy: str) -> dict[str, FloatArray]:
    """The columns of --data (those of `names`, or all), or a sample from the laws of --x."""
    import numpy as np

    from askance.planning import sample_covariates
    from askance.survey import read_table
    from askance.survey.number_tables import numeric_columns

    if flags["data"] is None:
        return sample_covariates(flags["covariates"], np.random.default_rng(flags["seed"]))
    return numeric_columns(read_table(flags["data"]), flags["data"], names, "--data", remedy)


def plan_and_show(
    subject: Any,
    channels: Sequence[Any] | str | None,
    flags: dict[str, Any],
    *,
    where: str = "",
    more: dict[str, Any] | None = None,
    **guess: Any,
) -> None:
    """Plan, draw and print.

    Args:
        subject: the model that is planned for.
        channels: to compare; None for all that fit.
        flags: the options of the command: goals, and perhaps a privacy level and a method.
        where: more words about what was guessed.
        more: fields that are put first in the JSON.
        guess: what is guessed, and what is to be learned.
    """
    from askance.planning import plan

    told = {name: flags[name] for name in _OF_PLANS if name in flags}
    with working("predicting errors through all channels"):
        planned = plan(subject, channels, **told, **guess)
    show_plan(planned, flags["plot"], where, text=flags["text"], **(more or {}))


def show_plan(plan: Plan, plot: Path | None, guess: str = "", *, text: bool = False, **more: Any) -> None:
    """Draw and print a plan.

    Args:
        plan: the plan.
        plot: where the picture goes, if anywhere.
        guess: more words about what was guessed.
        text: paragraphs instead of the table.
        more: fields that are put first in the JSON.
    """
    from askance.planning.plan_table import guess_of, notes_of, table_within, title_of

    if plot is not None:
        try:
            plan.plot(plot)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error).splitlines()[0]
            raise InputError(
                f"--plot {plot}: {reason}.", remedy="Give the path of a .png, .svg or .pdf file."
            ) from None
    picture = [] if plot is None else [f"picture  {plot}"]
    if text:
        show(Text(plan.text(), {**more, **plan.to_json(), "text": plan.text(), "warnings": []}), below=picture)
        return
    lines, below = table_within(plan, terminal_width())
    if not wants_json():
        print_table(f"{title_of(plan)}\n{guess_of(plan, guess)}", lines[0], lines[1:], whole=True)
    content = {**more, **plan.to_json(), "warnings": []}
    show(Text("\n".join([*below, *notes_of(plan), *picture]), content))
