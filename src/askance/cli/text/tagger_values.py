"""Values of a tagger on the command line: numbers of classes and rates of miscounts, read and shown."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

from askance.cli.shared.numbers import read_number
from askance.errors import InputError

if TYPE_CHECKING:
    from askance.text.counts.miscounts import Miscounts
    from askance.text.tagger.tagger import CountTagger


def read_miscounts(text: str | None) -> Miscounts | Literal["estimate"] | None:
    """`--miscounts`: two probabilities, `estimate`, or nothing."""
    from askance.text.counts.miscounts import Miscounts

    if text is None:
        return None
    if text == "estimate":
        return "estimate"
    try:
        missed, extra = map(read_number, text.split(","))
        return Miscounts(missed, extra)
    except InputError as error:
        raise InputError(f"--miscounts is {text!r}: {error.message}", remedy=error.remedy) from None
    except ValueError:
        raise InputError(
            f"--miscounts is {text!r}; allowed: two probabilities such as 0.05,0.02, or 'estimate'.",
            remedy="Give how often a token is missed, and how often one is counted too many.",
        ) from None


def read_classes(text: str | None, bare: bool) -> tuple[int, ...]:
    """`--classes`: numbers, `none`, or nothing, which is the usual ones where there is bare text."""
    from askance.text.corpus.word_classes import WORD_CLASSES

    if text is None or text == "none":
        return WORD_CLASSES if bare and text is None else ()
    try:
        return tuple(int(size) for size in text.split(","))
    except ValueError:
        raise InputError(
            f"--classes is {text!r}; allowed: whole numbers such as 10 or 40,150, or 'none'.", remedy="Leave it out."
        ) from None


def rates_of(tagger: CountTagger) -> dict[str, Miscounts]:
    """Miscounts by annotator, "" for all."""
    from askance.text.counts.miscounts import Miscounts

    used = tagger.miscounts_used
    return {} if used is None else {"": used} if isinstance(used, Miscounts) else dict(sorted(used.items()))


def percent(rates: Miscounts, name: str) -> str:
    """A rate in per cent, with half the width of its 95 % interval where it was estimated.

    >>> from askance.text.counts.miscount_errors import EstimatedMiscounts
    >>> percent(EstimatedMiscounts(0.125, 0.0, 0.02), "missed"), percent(EstimatedMiscounts(0.125, 0.0), "extra")
    ('12.5 ± 3.9 %', '0.0 %')
    """
    half = 1.96 * getattr(rates, f"{name}_error", math.nan)
    known = "" if math.isnan(half) else f" ± {100 * half:.1f}" if math.isfinite(half) else " ± ?"
    return f"{100 * getattr(rates, name):.1f}{known} %"


def rate_fields(rates: Miscounts) -> dict[str, float | None]:
    """Rates, and their standard errors where they were estimated; None: not known."""
    fields: dict[str, float | None] = {"missed": rates.missed, "extra": rates.extra}
    for name in ("missed_error", "extra_error"):
        if hasattr(rates, name):
            error = float(getattr(rates, name))
            fields[name] = error if math.isfinite(error) else None
    return fields
