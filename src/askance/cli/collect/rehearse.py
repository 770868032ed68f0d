"""`askance collect rehearse`: a survey answered by simulated people."""

from __future__ import annotations

from pathlib import Path

from askance.cli.collect.campaign_options import campaign_argument
from askance.cli.shared.guided import command
from askance.cli.shared.options import JSON_SUMMARY, WholeNumber, option, seed_option
from askance.cli.shared.printing import Card, show
from askance.cli.shared.progress import progress
from askance.cli.shared.write_guards import OutputFile


@command(
    "rehearse",
    "Let simulated people answer, to try the analysis before anybody is asked.",
    examples=[
        "askance collect rehearse exams.toml -o rehearsal.csv",
        "askance collect rehearse exams.toml --people 500 --seed 3 -o rehearsal.csv",
    ],
)
@campaign_argument
@option("-o, --output FILE", "the answers, .csv or .parquet", OutputFile("text", ".csv", ".parquet"), required=True)
@option("--people N", "how many answer  [default: as many as are planned]", WholeNumber(1, 1_000_000))
@seed_option("seed of everything that is drawn")
@JSON_SUMMARY
def rehearse_command(campaign: Path, output: Path, people: int | None, seed: int) -> None:
    """Write the file that `askance collect export` would write if simulated people had answered CAMPAIGN, a survey.

    Open answers are drawn evenly; of a noised question the last answer is as common as its expected_share says, and
    nothing depends on anything else: an analysis of the file should find just that. Answers that were really collected
    are neither read nor changed.
    """
    from askance.collect.campaign_file import read_campaign
    from askance.collect.rehearsal import rehearse

    with progress("people answer"):
        done = rehearse(read_campaign(campaign), output, people=people, seed=seed)
    shares = [(f"{name}: {label}", f"{100 * share:.1f} % in truth") for name, (label, share) in done.shares.items()]
    told = {name: {"label": label, "share": share} for name, (label, share) in done.shares.items()}
    content = {"people": done.people, "output": str(done.output), "truth": told}
    rows = [("people", f"{done.people:,}"), *shares]
    show(Card(f"answers of simulated people written to {done.output}", rows, content))
