"""The sizes that docs/limits.md tells are those of the code."""

from __future__ import annotations

import re

import pytest

from askance._checks import HIGHEST_LEVEL
from askance.categories import MOST_LABELS
from askance.channels import BallRelease
from askance.channels.statistics.base import StatisticsChannel
from askance.channels.statistics.directions import LARGEST_DIM, MOST_CANDIDATES
from askance.channels.statistics.table_release import MOST_CELLS
from askance.channels.table import MOST_ENTRIES
from askance.design.optimum import channel as optimal_channels
from askance.design.optimum import cliques as optimal_tables
from askance.design.statistics_covariances import MOST_REPORTS
from askance.models.random_field import LARGEST_TABLE, MOST_OUTPUTS
from askance.planning.levels import LARGEST_LEVEL

from .pages import ROOT

_POWERS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")


def _told(row: str) -> list[float]:
    """The numbers of a row of the table, in the order they stand there."""
    text = (ROOT / "docs" / "limits.md").read_text(encoding="utf-8")
    found = re.search(rf"^\| [^|]*{re.escape(row)}[^|]*\| (.*) \|$", text, re.MULTILINE)
    assert found, row
    numbers = re.findall(r"2([⁰¹²³⁴⁵⁶⁷⁸⁹]+)|(\d[\d,]*)", found[1].replace("Σ", ""))
    return [2 ** int(power.translate(_POWERS)) if power else int(plain.replace(",", "")) for power, plain in numbers]


@pytest.mark.parametrize(
    ("row", "sizes"),
    [
        ("`optimal_channel`", [optimal_channels.MOST_OUTPUTS, 20]),
        (
            "`optimal_cliques`",
            [optimal_tables._MOST_PARAMETERS, optimal_tables._MOST_RECORDS, optimal_tables._MOST_TABLES],
        ),
        ("random fields", [LARGEST_TABLE, MOST_OUTPUTS]),
        ("tables told by `subset-selection`", [MOST_CELLS]),
        ("channels given as a matrix", [MOST_ENTRIES, MOST_LABELS]),
        ("`ball-release`, `quadratic-release`", [LARGEST_DIM, MOST_CANDIDATES]),
        ("Σ_marg of a channel on statistics", [MOST_REPORTS]),
        ("`plan`", [HIGHEST_LEVEL, LARGEST_LEVEL]),
        ("tallies", [StatisticsChannel.most_reports, BallRelease(2, 1).most_reports]),
    ],
)
def test_sizes_are_those_that_hold(row: str, sizes: list[float]) -> None:
    assert _told(row) == sizes
