"""`askance collect page`: the page of a survey as one file."""

from __future__ import annotations

import hashlib
from pathlib import Path

from askance.cli.collect.campaign_options import campaign_argument
from askance.cli.shared.guided import command
from askance.cli.shared.options import JSON_SUMMARY, option
from askance.cli.shared.printing import Card, show
from askance.cli.shared.write_guards import OutputFile


@command(
    "page",
    "Write the page of a survey as one file, for another place than the server.",
    examples=["askance collect page exams.toml --server https://collect.example.org -o survey.html"],
)
@campaign_argument
@option("--server ADDRESS", "where answers are sent to", default="http://127.0.0.1:8000")
@option("-o, --output FILE", "the page, .html", OutputFile("text", ".html"), required=True)
@JSON_SUMMARY
def page_command(campaign: Path, server: str, output: Path) -> None:
    """Write the page of CAMPAIGN, with its texts, its style and its script inside.

    A server that hands out a page can hand out another one. Put the file where people trust it, and publish its
    SHA-256. The place must be among the `origins` of the campaign, or browsers do not let the page send.
    """
    from askance.collect.campaign_file import read_campaign
    from askance.collect.pages.survey_page import survey_file
    from askance.formats.disk import write_whole

    page = survey_file(read_campaign(campaign), server).encode()
    digest = hashlib.sha256(page).hexdigest()
    write_whole(output, page)
    rows = [("bytes", f"{len(page):,}"), ("SHA-256", digest), ("sends to", server)]
    content = {"output": str(output), "bytes": len(page), "sha256": digest, "server": server}
    show(Card(f"page written to {output}", rows, content))
