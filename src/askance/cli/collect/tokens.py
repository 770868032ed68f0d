"""`askance collect tokens`: one for every respondent, or for everybody who counts."""

from __future__ import annotations

from pathlib import Path

from askance.cli.collect.campaign_options import campaign_argument, collection_of, store_option
from askance.cli.shared.guided import command
from askance.cli.shared.options import JSON_SUMMARY, WholeNumber, option
from askance.cli.shared.printing import Card, show
from askance.cli.shared.write_guards import OutputFile

_SHEET = OutputFile("file of tokens", ".csv", ".html", unless="its tokens are kept nowhere else")


@command(
    "tokens",
    "Make tokens, as a table or as a sheet to print.",
    examples=[
        "askance collect tokens exams.toml --count 500 -o tokens.csv",
        "askance collect tokens exams.toml --count 30 --link https://survey.example/ -o sheet.html",
    ],
)
@campaign_argument
@option("--count N", "how many", WholeNumber(1, 1_000_000), default=100)
@option("--link ADDRESS", "where the campaign is served", default="http://127.0.0.1:8000/")
@option("-o, --output FILE", ".csv, or .html for a sheet to print and cut", _SHEET, required=True)
@store_option
@JSON_SUMMARY
def tokens_command(campaign: Path, count: int, link: str, output: Path, store: str | None) -> None:
    """Make tokens of 128 random bits for CAMPAIGN. The store keeps their hashes only: the file is the one copy.

    In a survey a token lets one person answer once. In a counting campaign it is one person's, for all their counts.
    """
    from askance.collect.tokens import require_link, write_tokens

    require_link(link)
    collection = collection_of(campaign, store)
    with collection.opened(new=True) as opened:
        tokens = collection.issue_tokens(opened, count)
        write_tokens(output, collection.campaign, tokens, link)
    rows = [("tokens", f"{count:,}"), ("bits of each", "128"), ("kept of them", f"hashes, in {collection.place}")]
    show(Card(f"tokens written to {output}", rows, {"tokens": count, "output": str(output)}))
