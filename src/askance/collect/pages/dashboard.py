"""The dashboard of a campaign: what `Progress` tells, as sentences, pictures, and the table behind each picture.

The page follows from what is told and from nothing else, so that it changes in blocks. The report is the same page as
one file, without what only a server can do.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from askance._version import __version__
from askance.channels.finite import FiniteChannel
from askance.collect.campaign import Asked, Campaign
from askance.collect.device_page import assets
from askance.collect.pages import pictures
from askance.collect.pages.pictures import Record, percent
from askance.collect.pages.single_file import Page, digest_of
from askance.collect.pages.templates import rendered
from askance.estimation.problems.sample import INTERCEPT_NAMES
from askance.estimation.results.fit_table import describe_channel
from askance.survey.coefficient_figure import MOST_ROWS, coefficient_figure, in_words
from askance.tables import Column, Table, interval_columns

if TYPE_CHECKING:
    from markupsafe import Markup

# Of more answers the first are drawn, and all are in the table; over time, fewer.
_MOST_DRAWN, _MOST_OVER_TIME = 12, 4
_NOUNS = {"survey": "answers", "devices": "reports", "counting": "counts"}


def dashboard(campaign: Campaign, told: Mapping[str, Any], *, closed: bool = False, report: bool = False) -> Page:
    """The page, and the policy that names its style and lets it load nothing.

    Args:
        campaign: that is collected.
        told: by `Progress`.
        closed: whether no more answers are taken.
        report: as a file to be kept: without links and forms.
    """
    from markupsafe import Markup

    style = "".join(assets()[name][0].decode() for name in ("survey.css", "dashboard.css"))
    forms = "'none'" if report else "'self'"
    policy = f"default-src 'none'; style-src '{digest_of(style)}'; form-action {forms}; base-uri 'none'"
    # Of counts those that hold: one that replaces another is one count, and so is a stretch asked tag by tag.
    there = (told.get("counting") or {}).get("counts", told["n"])
    html = rendered(
        "dashboard.html",
        campaign=campaign,
        title=campaign.text(campaign.titles),
        told=told,
        there=there,
        noun=_NOUNS[campaign.kind],
        closed=closed,
        report=report,
        policy=policy,
        style=Markup(style),
        version=__version__,
        noised=[question.name for question in campaign.questions if question.channel is not None],
        progress=Markup(pictures.progress_picture(there, told["planned_n"])),
        questions=[_question(question, campaign, told) for question in campaign.questions if question.channel],
        checks=list(_checks(told)),
        tables=[_html(table) for table in tables_in(told.get("counting"))],
        curve=_curve(told.get("counting") or {}),
        stretches=_stretches(told.get("stretches")),
    )
    return Page(html, policy)


# -- a question --------------------------------------------------------------------------------------------------------


def _question(asked: Asked, campaign: Campaign, told: Mapping[str, Any]) -> dict[str, Any]:
    """What is said and drawn of one question."""
    own = told["live"]["questions"].get(asked.name, {})
    shares, planned = own.get("shares", []), told["planned_n"]
    shown = _shown(asked, shares)
    n, confidence = own.get("n", 0), told["live"]["confidence"]
    parts = [_now(shown, shares, n, planned, confidence)] if shown else []
    parts += _over_time(asked, told, planned)
    parts += _side_by_side(asked, own.get("ways", {}), planned, confidence)
    parts += _regression(asked, own, told, confidence)
    assert asked.channel is not None
    design = {key: value for key, value in asked.channel.specification().items() if key != "purpose"}
    return {
        "name": asked.name,
        "text": campaign.text(asked.texts),
        "about": f"{describe_channel(design)}; level {asked.channel.privacy_level:.4g}",
        "sentence": _sentence(shown, n, planned, confidence, is_window=campaign.kind == "devices"),
        "parts": parts,
    }


def _shown(asked: Asked, shares: Sequence[Record]) -> Sequence[Record]:
    """Of two answers the second alone: the other one is the rest."""
    return shares[1:] if isinstance(asked.channel, FiniteChannel) and len(shares) == 2 else shares


def _sentence(shown: Sequence[Record], n: int, planned: int, confidence: float, *, is_window: bool) -> Markup:
    """What can be said now, and what at the planned n."""
    from markupsafe import Markup

    if not shown:
        return Markup("It is too early to tell: nothing is told of fewer reports than a block.")
    named = [
        Markup("of <bdi>‘{}’</bdi> is between <b>{}</b> and <b>{}</b>").format(
            pictures.short(row["name"], 60), percent(row["lower"]), percent(row["upper"])
        )
        for row in shown[:_MOST_DRAWN]
    ]
    where = " in the present window" if is_window else ""
    now = Markup("After {:,} of {:,} planned reports{} the share {}; that holds at all looks, with {:g} % confidence.")
    said = now.format(n, planned, where, Markup(", that ").join(named), 100 * confidence)
    if n >= planned:
        return said
    reach = 100 * max(row["expected_reach"] for row in shown)
    what = "it" if len(shown) == 1 else "each of them"
    return said + Markup(" At {:,} reports {} will be known to about ± {:.2g} points.").format(planned, what, reach)


def _now(
    shown: Sequence[Record], shares: Sequence[Record], n: int, planned: int, confidence: float
) -> dict[str, Markup]:
    caption = f"Shares after {n:,} reports, with intervals that hold at all looks at once"
    drawn = pictures.shares_picture(shown[:_MOST_DRAWN], planned, caption, expected=n < planned)
    caption += f"; pale: expected at {planned:,}" if n < planned else ""
    return _part(caption, drawn, _shares_table([("", shares)], planned, confidence))


def _over_time(asked: Asked, told: Mapping[str, Any], planned: int) -> Iterator[dict[str, Markup]]:
    """Block by block in a survey, window by window of devices: a picture for each answer, one table for all."""
    path, windows = (told.get(key, {}).get(asked.name, []) for key in ("path", "windows"))
    points = [point for point in path or windows if point["shares"]]
    if not points:
        return
    drawn = []
    for place, row in enumerate(_shown(asked, points[-1]["shares"])[:_MOST_OVER_TIME]):
        own = [(point, _shown(asked, point["shares"])[place]) for point in points]
        title = f"‘{pictures.short(row['name'])}’, {'block by block' if path else 'window by window'}"
        if path:
            pale = f"; pale: expected up to {planned:,}" if points[-1]["n"] < planned else ""
            drawn.append((title + pale, pictures.path_picture([(p["n"], r) for p, r in own], planned, title)))
        else:
            drawn.append((title, pictures.trend_picture([(p["begins"], r) for p, r in own], title)))
    columns: tuple[Column, ...] = (
        Column("window from", key="begins"),
        Column("reports", "count", "n"),
        Column("answer"),
    )
    rows = [
        (point.get("begins"), point["n"], *(row[key] for key in ("name", "estimate", "lower", "upper")))
        for point in points
        for row in _shown(asked, point["shares"])
    ]
    if path:  # there are no windows
        columns, rows = columns[1:], [row[1:] for row in rows]
    table = Table((*columns, Column("share", "percent"), *_ends(told["live"]["confidence"])), rows, most_rows=len(rows))
    *first, (title, last) = drawn
    for caption, picture in first:
        yield _part(caption, picture)
    yield _part(title, last, table)


def _side_by_side(
    asked: Asked, ways: Mapping[str, Any], planned: int, confidence: float
) -> Iterator[dict[str, Markup]]:
    """Ways in which a question was asked."""
    if not ways:
        return
    rows = [
        {**row, "name": f"{way}: {row['name']}"} for way, own in ways.items() for row in _shown(asked, own["shares"])
    ]
    caption = "The ways of asking, each by itself; together their intervals are as sure as the one of all"
    blocks = [(f"{way}, {own['n']:,} reports", own["shares"]) for way, own in ways.items()]
    drawn = pictures.shares_picture(rows[:_MOST_DRAWN], planned, caption, expected=False)
    yield _part(caption, drawn, _shares_table(blocks, planned, confidence))


def _regression(
    asked: Asked, own: Mapping[str, Any], told: Mapping[str, Any], confidence: float
) -> Iterator[dict[str, Markup]]:
    """Coefficients on open answers, and what holds at the planned n alone."""
    rows = own.get("coefficients", [])
    if len(rows) > 1:
        told_of = [row for row in rows if row["name"].rpartition(":")[2].lower() not in INTERCEPT_NAMES]
        known = [row for row in told_of if row["lower"] is not None][:MOST_ROWS]
        picture, caption = "", f"Explained by open answers: {100 * confidence:g} % intervals that hold at all looks"
        if known:
            names = [row["name"] for row in known]
            middle, low, high = (np.array([row[key] for row in known]) for key in ("estimate", "lower", "upper"))
            place = list(told["live"]["questions"]).index(asked.name)
            said = in_words(names, low, high)
            picture = coefficient_figure(names, middle, low, high, caption, said, id=f"coefficients-{place}")
        table = Table(
            (Column("coefficient", key="name"), Column("estimate", "number"), *interval_columns(confidence)),
            [tuple(row[key] for key in ("name", "estimate", "lower", "upper")) for row in rows],
            most_rows=len(rows),
        )
        yield _part(caption, picture, table, own.get("notes", ()))
    if own.get("if_n_was_fixed_beforehand"):
        caption = "Another statement, valid only if it was decided beforehand to stop at this number of reports"
        yield _part(caption, "", table_from(own["if_n_was_fixed_beforehand"]))


# -- tables ------------------------------------------------------------------------------------------------------------


def _ends(confidence: float) -> tuple[Column, Column]:
    return interval_columns(confidence, "percent")


def _shares_table(blocks: Sequence[tuple[str, Sequence[Record]]], planned: int, confidence: float) -> Table:
    keys = ("name", "estimate", "lower", "upper", "expected_reach")
    ahead = Column(f"± points at {planned:,}", "spread", "expected_reach", digits=1)
    columns = (Column("way", "heading"), Column("answer"), Column("share", "percent"), *_ends(confidence), ahead)
    rows = [(heading, *(row[key] for key in keys)) for heading, records in blocks for row in records]
    return Table(columns, rows, most_rows=len(rows))


def tables_in(told: Any) -> Iterator[Table]:
    """All tables within something that is told, as `Table.to_json` writes them."""
    if isinstance(told, Mapping) and {"columns", "rows"} <= told.keys():
        yield table_from(told)
    elif isinstance(told, Mapping | list | tuple):
        for part in told.values() if isinstance(told, Mapping) else told:
            yield from tables_in(part)


def table_from(told: Mapping[str, Any]) -> Table:
    """A table from what it is as JSON.

    >>> table = Table((Column("tag"), Column("share", "percent")), [("NOUN", 0.25)], title="Counted")
    >>> table_from(table.to_json()).to_html() == table.to_html()
    True
    """
    columns = [Column(column["name"], column["kind"], column["key"], column["digits"]) for column in told["columns"]]
    rows = [[row[column.data_key] for column in columns] for row in told["rows"]]
    more = {key: told.get(key, ()) for key in ("notes", "alarms")}
    return Table(columns, rows, title=told.get("title", ""), most_rows=max(len(rows), 1), **more)


def _html(table: Table) -> Markup:
    """A table for a page whose policy allows no style within elements; texts have no quotes that are not escaped."""
    from markupsafe import Markup

    html = table.to_html().replace(' style="text-align: right"', ' class="right"')
    head, foot, notes = html.replace(" %</th>", "\N{NO-BREAK SPACE}%</th>").partition("<tfoot>")
    return Markup(head + foot + re.sub("(<td[^>]*>)(.*)</td>", r"\1<p>\2</p></td>", notes))


def _part(caption: str, picture: str, table: Table | None = None, notes: Sequence[str] = ()) -> dict[str, Any]:
    from markupsafe import Markup

    html = None if table is None else _html(table)
    return {"caption": caption, "picture": Markup(picture), "table": html, "notes": notes}


# -- the campaign ------------------------------------------------------------------------------------------------------


def _checks(told: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Whether all is well: what was looked at, also where nothing was found."""
    live = told["live"]
    kinds = {finding["kind"] for finding in live["findings"]}
    reported = any(question["shares"] for question in live["questions"].values())
    if reported and "impossible" not in kinds:
        yield _check("Every report can have come through its design.")
    if any(question["ways"] for question in live["questions"].values()) and "arms" not in kinds:
        yield _check("The ways of asking do not contradict each other.")
    if told["n"] and "path" in told and "declined" not in kinds:
        yield _check("Nobody declined a noised question.")
    for finding in live["findings"]:
        text = finding["text"].removeprefix(f"{finding['question']}: ")
        yield {"alarm": finding["alarm"], "question": finding["question"], "text": text}
    if told["withdrawn"]:
        answers = "answer was" if told["withdrawn"] == 1 else "answers were"
        yield _check(
            f"{told['withdrawn']:,} {answers} withdrawn, perhaps because of what was drawn: nonresponse_bounds says "
            "what the shares of all can be."
        )
    elif told["n"] and "path" in told:
        yield _check("Nobody withdrew an answer.")


def _check(text: str) -> dict[str, Any]:
    return {"alarm": False, "question": "", "text": text}


def _curve(counting: Mapping[str, Any]) -> Markup:
    """What taggers learned from ever more counts, as a picture: its table is among the others."""
    from markupsafe import Markup

    points = []
    for row in counting.get("curve", []):
        ends = {end: row["right"] if row[end] is None else row[end] for end in ("lower", "upper")}
        points.append((f"{row['counts']:,} counts", {"estimate": row["right"], **ends}))
    return Markup(pictures.trend_picture(points, "What a tagger learns from them") if len(points) > 1 else "")


def _stretches(counted: Mapping[str, int] | None) -> dict[str, Any] | None:
    """How far the stretches of a counting campaign are."""
    from markupsafe import Markup

    if counted is None:
        return None
    picture = Markup(pictures.progress_picture(counted["enough"], counted["all"]))
    return {**counted, "picture": picture}
