"""`askance collect check`: a campaign before anybody is asked."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from askance.cli.collect.campaign_options import campaign_argument
from askance.cli.shared.guided import command
from askance.cli.shared.options import JSON
from askance.cli.shared.printing import Card, show
from askance.cli.shared.progress import progress

if TYPE_CHECKING:
    from askance.collect.check import Check, Learned


@command(
    "check",
    "Say what a campaign tells of people, what is sent, and what can be learned.",
    examples=["askance collect check exams.toml", "askance collect check exams.toml --json"],
)
@campaign_argument
@JSON
def check_command(campaign: Path) -> None:
    """Check CAMPAIGN, a TOML file; what is wrong is refused with its line.

    Prints the privacy level of every question and of all together, an example of what is sent, and standard errors
    at the planned number of answers.
    """
    from askance.collect.campaign_file import read_campaign
    from askance.collect.check import check
    from askance.text.sheets.questions import note_on_signs

    with progress("checking"):
        checked = check(read_campaign(campaign))
    counted = checked.campaign.counting
    note = None if counted is None else note_on_signs(counted.sentences)
    notes = [] if note is None else [f"note: {note}"]
    show(_card(checked), below=["for example, one of them sends", checked.payload, *notes])


def _card(checked: Check) -> Card:
    campaign, counted = checked.campaign, checked.campaign.counting
    limit = "" if campaign.at_most_level is None else f", at most {float(campaign.at_most_level):g}"
    rows = [
        ("kind", campaign.kind),
        ("planned", f"{campaign.planned_n:,} answers"),
        *([] if counted is not None else [("level of all questions", f"{campaign.level:.6g}{limit}")]),
        *(
            []
            if counted is None
            else [
                ("counted", f"{', '.join(counted.tags)}; {_others(counted.rest)}"),
                ("stretches", f"{len(counted.stretches):,}, each counted {_times(counted.times)}"),
            ]
        ),
        ("access", campaign.access),
        ("is sent, by everybody", f"{checked.length:,} bytes"),
        ("fingerprint", campaign.fingerprint),
    ]
    lines = [
        (
            question.name,
            "open" if question.level is None else f"{question.level:.6g}",
            *_learned(checked.learned[question.name]),
        )
        for question in campaign.questions
    ]
    columns = ("question", "level", "learned", "standard error", "asked openly")
    others = [Card("questions", lines, {}, columns)] if lines else []
    return Card(f"campaign {campaign.name}", rows, checked.to_json(), others=others)


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number} times"


def _others(rest: str) -> str:
    return f"all other words are {rest}" if rest else "every word is one of these"


def _learned(learned: Learned | None) -> tuple[str, str, str]:
    if learned is None:
        return "", "", ""
    direct = "" if learned.direct_error is None else f"{learned.direct_error:.4f}"
    return f"{learned.target}, if {learned.guess:.3g}", f"{learned.standard_error:.4f}", direct
