"""`askance test`: whether parameters of a saved fit are 0, by a Wald or a likelihood-ratio test."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from askance.cli.shared.errors import notes_in_flags, the_one
from askance.cli.shared.guided import command
from askance.cli.shared.options import FILE, JSON, NAMES, option
from askance.cli.shared.printing import show
from askance.cli.survey.saved_fits import TABLE_OPTION, keep_table, read_fit
from askance.errors import InputError


@command(
    "test",
    "Test whether parameters of a saved fit are 0.",
    examples=[
        'askance test survey.fit --zero "age,C(region)[T.south]"',
        "askance test full.fit --against restricted.fit",
    ],
)
@click.argument("fit", type=FILE)
@option("--zero NAMES", "that all of these parameters are 0, by a Wald test; names with commas between them", NAMES)
@option("--against FIT", "that terms missing in this smaller fit have no effect, by a likelihood-ratio test", FILE)
@TABLE_OPTION
@JSON
def test_command(fit: Path, zero: list[str] | None, against: Path | None, table: Path | None) -> None:
    """Test hypotheses about the fit in the file FIT, as `askance fit --save` keeps it.

    A Wald test uses the errors of the fit, also with weights and clusters. A likelihood-ratio test compares two fits of
    the same reports with --method marginal, and is refused with weights or clusters. Files hold no respondents: that
    both are of the same ones is for you to see to.
    """
    asked = the_one("the hypothesis is", {"zero": zero, "against": against}, "Write --zero age, for example.")
    full = read_fit(fit)
    if asked == "zero":
        result = full.wald_test(zero)
    else:
        assert against is not None
        restricted = read_fit(against)
        if not hasattr(full, "likelihood_ratio_test") or type(full) is not type(restricted):
            raise InputError(
                f"{fit} and {against} are not both regressions of an answer; allowed: fits of `askance fit`.",
                remedy="Test parameters by --zero.",
            )
        result = full.likelihood_ratio_test(restricted)
        result = replace(result, notes=notes_in_flags(result.notes))
    keep_table(result, table)
    show(result)
