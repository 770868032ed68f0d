"""The demonstration: its three stories with small configs, its page, and what the command leaves in a folder."""

from __future__ import annotations

import base64
import json
import re
import struct
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from askance.cli.experiments.demo import _for_programs
from askance.errors import FormatError, InputError
from askance.experiments import demo_regression, demo_stories, demo_tagger, survey
from askance.experiments.demo_collector import CollectorConfig, collector_tables, draw_collector, run_collector
from askance.experiments.demo_regression import RegressionConfig, draw_regression, regression_tables, run_regression
from askance.experiments.demo_report import PARTS, demo_page, narrow_name, require_places, write_demo
from askance.experiments.demo_stories import STORIES
from askance.experiments.demo_tagger import TaggerConfig, draw_tagger, run_tagger, tagger_tables
from askance.experiments.survey import SurveyConfig, draw_survey, run_survey, survey_tables
from askance.experiments.tagging_corpus import corpora
from askance.text import sample_regions
from askance.text.corpus.corpus import NO_TAG
from tests.test_cli import call, parsed

SURVEY = SurveyConfig(respondents=2_000, privacy_levels=(2.0,), methods=("moments", "one-step", "marginal"))
REGRESSION = RegressionConfig(respondents=30_000, privacy_levels=(4.0, 8.0), seed=3)
TAGGER = TaggerConfig(sentences=120, test_sentences=60, windows=(3, 6), examples=2, seed=1)
COLLECTOR = CollectorConfig(respondents=400, seed=2)


def through_json(result: dict[str, Any]) -> Any:
    return json.loads(json.dumps(result, allow_nan=False))


@pytest.fixture(scope="module")
def results() -> dict[str, Any]:
    stories = {
        "survey": run_survey(SURVEY),
        "regression": run_regression(REGRESSION),
        "tagger": run_tagger(TAGGER),
        "collector": run_collector(COLLECTOR),
    }
    return {name: through_json(result) for name, result in stories.items()}


@pytest.fixture(scope="module")
def pictures(results: dict[str, Any]) -> dict[str, bytes]:
    draws: dict[str, Callable[..., bytes]] = {
        "survey": draw_survey,
        "regression": draw_regression,
        "tagger": draw_tagger,
        "collector": draw_collector,
    }
    wide = {name: draw(results[name]) for name, draw in draws.items()}
    return wide | {narrow_name(name): draw(results[name], narrow=True) for name, draw in draws.items()}


class Outline(HTMLParser):
    """Tags that are opened and closed in order, what the page loads, and its text."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.sources: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in ("meta", "img", "source"):
            self.open.append(tag)
        self.sources += [str(value) for name, value in attrs if name in ("src", "srcset", "href")]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def outline(page: str) -> Outline:
    found = Outline()
    found.feed(page)
    found.close()
    assert found.open == []
    return found


# -- the regression ----------------------------------------------------------------------------------------------------


def test_regression_is_near_the_truth(results: dict[str, Any]) -> None:
    result = results["regression"]
    assert [level["privacy_level"] for level in result["levels"]] == [4, 8]
    for fit in (*result["levels"], result["exact"]):
        assert [row["name"] for row in fit["parameters"]] == ["Intercept", *REGRESSION.columns]
        for row, true in zip(fit["parameters"], REGRESSION.theta, strict=True):
            assert row["lower"] < row["estimate"] < row["upper"]
            assert abs(row["estimate"] - true) < 4.5 * row["std_error"] + 0.01 * abs(true), (
                row
            )  # clipping moves it a bit
    errors = [[row["std_error"] for row in fit["parameters"]] for fit in (*result["levels"], result["exact"])]
    assert (np.diff(errors, axis=0) < 0).all(), "less privacy, narrower intervals; narrowest with open records"


def test_regression_shows_one_report_as_devices_send_it(results: dict[str, Any]) -> None:
    for level in results["regression"]["levels"]:
        assert set(level["first_report"]) == {"seed", "choice"}
        assert re.fullmatch("[0-9a-f]{16}", level["first_report"]["seed"])


def test_regression_depends_on_its_config_alone(results: dict[str, Any]) -> None:
    steps: list[str] = []
    small = replace(REGRESSION, respondents=5_000, privacy_levels=(8.0,))
    first, again = run_regression(small, steps.append), run_regression(small)
    assert first == again
    assert steps == ["privacy level 8"]
    assert first["levels"] != run_regression(replace(small, seed=4))["levels"]


def test_regression_people_are_within_their_bounds() -> None:
    config = replace(REGRESSION, respondents=1_000, spread=1_000.0)
    x, y = demo_regression._people(config, np.random.default_rng(0))
    told = np.column_stack([x, y])
    assert (told >= config.lower).all()
    assert (told <= config.upper).all()


def test_regression_table_has_truth_and_intervals(results: dict[str, Any]) -> None:
    (table,) = regression_tables(results["regression"])
    names = [column.name for column in table.columns]
    assert names == ["per unit of", "truth", "open records", "level 4", "level 8"]
    assert [row[1] for row in table.rows] == ["50", "4", "−1.5", "−0.3"]
    assert all("±" in cell for row in table.rows for cell in row[2:])


# -- the tagger --------------------------------------------------------------------------------------------------------


def test_tagger_is_between_knowing_nothing_and_labels(results: dict[str, Any]) -> None:
    result = results["tagger"]
    assert [each["words"] for each in result["windows"]] == [3, 6]
    for each in result["windows"]:
        assert each["counted_words"] <= each["words"] * TAGGER.sentences
        for score in (each["counts"], each["labels_of_these_words"]):
            assert 0 <= score["lower"] <= score["accuracy"] <= score["upper"] <= 1
            assert result["majority"]["upper"] + 0.2 < score["accuracy"] < result["labels"]["accuracy"] + 0.02


def test_tagger_counts_are_those_of_the_words(results: dict[str, Any]) -> None:
    assert results["tagger"]["shown_window"] == 6
    assert len(results["tagger"]["questions"]) == TAGGER.examples
    for question in results["tagger"]["questions"]:
        assert sum(question["counts"].values()) == len(question["words"]) <= 6


def test_tagger_examples_and_their_mistakes(results: dict[str, Any]) -> None:
    shown = tagger_tables(results["tagger"])[2]
    for each, row in zip(results["tagger"]["tagged"], shown.rows, strict=True):
        wrong = sum(given != true for given, true in zip(each["given"], each["true"], strict=True))
        assert len(each["words"]) == len(each["given"]) <= 10
        assert row[1].count(" is ") == wrong
        assert (row[1] == "none") == (wrong == 0)


def test_labels_within_regions_are_those_and_no_others() -> None:
    train, _ = corpora("simulated", 0, 30, 5)
    regions = sample_regions(train, window=4, tags="all", rng=np.random.default_rng(0))
    tags = demo_tagger._labels_within(train, regions).tags
    assert tags is not None
    inside = np.zeros(train.n_tokens, dtype=bool)
    for start, end in zip(regions.start, regions.end, strict=True):
        inside[start:end] = True
    assert (tags[inside] == train.require_tags()[inside]).all()
    assert (tags[~inside] == NO_TAG).all()
    counted = np.bincount(tags[inside], minlength=len(train.tagset))
    assert demo_tagger._most_counted(regions) == counted.argmax()


def test_tagger_depends_on_its_config_alone(results: dict[str, Any]) -> None:
    assert through_json(run_tagger(TAGGER)) == results["tagger"]
    assert run_tagger(replace(TAGGER, seed=2, windows=(3,)))["windows"] != results["tagger"]["windows"][:1]


# -- the collector -----------------------------------------------------------------------------------------------------


def test_nothing_is_lost_when_the_server_is_killed(results: dict[str, Any]) -> None:
    result = results["collector"]
    n = COLLECTOR.respondents
    assert n // 2 <= result["acknowledged_before"] < n
    assert (result["acknowledged"], result["stored"], result["counted"]) == (n, n, n)
    assert (result["lost"], result["wrong"]) == (0, 0)
    assert sum(row["people"] for row in result["groups"][1:]) == result["groups"][0]["people"] == n


def test_estimates_of_the_collector_are_near_the_truth(results: dict[str, Any]) -> None:
    """Six standard errors: wrong once in 10⁸ runs."""
    for row in results["collector"]["groups"]:
        assert abs(row["estimate"] - row["truth"]) < 6 * row["standard_error"]
        assert 0 <= row["lower"] < row["upper"] <= 1


def test_devices_draw_alike_with_and_without_node(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("askance.experiments.demo_collector.shutil.which", lambda name: None)
    result = run_collector(replace(COLLECTOR, respondents=100))
    assert "Python" in result["drawn_by"]
    assert (result["stored"], result["lost"], result["wrong"]) == (100, 0, 0)


def test_stories_that_cannot_be_told_are_left_out(results: dict[str, Any], pictures: dict[str, bytes]) -> None:
    story = STORIES["collector"]._replace(needs=("starlette", "a_module_that_is_nowhere"))
    assert story.missing == ["a_module_that_is_nowhere"]
    assert STORIES["survey"].missing == []
    without = {name: result for name, result in results.items() if name != "collector"}
    page = outline(demo_page(without, pictures, ""))
    assert "killed" not in page.text
    assert "collector.json" not in page.text


# -- pictures and the page ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PARTS)
def test_pictures_come_from_the_json_alone(name: str, results: dict[str, Any], pictures: dict[str, bytes]) -> None:
    draw = STORIES[name].draw
    assert pictures[name].startswith(b"\x89PNG")
    assert draw(through_json(results[name])) == pictures[name]


def test_phones_get_narrow_pictures(results: dict[str, Any], pictures: dict[str, bytes]) -> None:
    """Width and height stand in the header of a PNG file."""
    page = demo_page(results, pictures, "")
    for name in PARTS:
        (wide, _), (narrow, high) = (struct.unpack(">II", pictures[key][16:24]) for key in (name, narrow_name(name)))
        assert narrow <= 800 < wide
        assert high >= 0.6 * narrow
        assert f'srcset="data:image/png;base64,{base64.b64encode(pictures[narrow_name(name)]).decode()}"' in page


def test_page_needs_nothing_else(results: dict[str, Any], pictures: dict[str, bytes]) -> None:
    page = demo_page(results, pictures, "askance demo --seed 1")
    found = outline(page)
    assert len(found.sources) == 2 * len(PARTS)
    assert all(source.startswith("data:image/png;base64,") for source in found.sources)
    assert not re.search(r"https?:|<script|@import|url\(", page)
    assert "prefers-color-scheme:dark" in page
    assert "askance demo --seed 1" in found.text
    for words in ("What was asked.", "What can be known."):
        assert found.text.count(words) == len(PARTS)
    tables = [
        *survey_tables(results["survey"]),
        *regression_tables(results["regression"]),
        *tagger_tables(results["tagger"]),
        *collector_tables(results["collector"]),
    ]
    for table in tables:
        assert all(cell in found.text for row in table.rows for cell in row)


def test_page_escapes_what_it_is_given(results: dict[str, Any], pictures: dict[str, bytes]) -> None:
    awkward = json.loads(json.dumps(results).replace("every year", "<b>every & all"))
    page = demo_page(awkward, pictures, "askance demo --out '<i>'")
    assert "<b>" not in page
    assert "<i>" not in page
    assert "<b>every & all" in outline(page).text


def test_page_says_how_many_intervals_hold(results: dict[str, Any], pictures: dict[str, bytes]) -> None:
    missed = through_json(results)
    for level in missed["regression"]["levels"]:
        level["parameters"][0] |= {"lower": 1e6, "upper": 2e6}
    assert re.search(r"\b[0-6] of 8 intervals hold", outline(demo_page(missed, pictures, "")).text)


def test_page_says_when_intervals_do_not_cover(results: dict[str, Any], pictures: dict[str, bytes]) -> None:
    repaired = through_json(results)
    repaired["regression"]["levels"][0] |= {"intervals_cover": False, "messages": ["the moments were lifted"]}
    page = demo_page(repaired, pictures, "")
    assert '<th scope="row">4</th><td>no</td><td>The moments were lifted.</td>' in page


# -- files -------------------------------------------------------------------------------------------------------------


def test_every_part_and_the_page_are_written(
    tmp_path: Path, results: dict[str, Any], pictures: dict[str, bytes]
) -> None:
    page = write_demo(tmp_path, results, pictures, "askance demo --seed 5")
    assert page == tmp_path / "report.html"
    assert page.read_text() == demo_page(results, pictures, "askance demo --seed 5")
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == sorted(["report.html", *(f"{part}{ending}" for part in PARTS for ending in (".json", ".png"))])
    for part in PARTS:
        assert json.loads((tmp_path / f"{part}.json").read_text()) == results[part]
        assert (tmp_path / f"{part}.png").read_bytes() == pictures[part]


def test_json_is_the_survey_with_more_keys(results: dict[str, Any]) -> None:
    printed = _for_programs(results)
    for part in PARTS[1:]:
        assert printed.pop(part) == results[part]
    assert printed == results["survey"]


@pytest.mark.parametrize("name", ["survey.json", "tagger.png", "report.html"])
def test_places_that_cannot_be_written_are_refused(name: str, tmp_path: Path) -> None:
    (tmp_path / "new" / name).mkdir(parents=True)
    with pytest.raises(FormatError, match=re.escape(name)):
        require_places(tmp_path / "new")
    require_places(tmp_path / "other" / "folder")
    assert (tmp_path / "other" / "folder").is_dir()


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("kept")
    with pytest.raises(InputError, match="file"):
        require_places(tmp_path / "file")


# -- the command -------------------------------------------------------------------------------------------------------


@pytest.fixture
def small(results: dict[str, Any], pictures: dict[str, bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    """The command with the small configs, a campaign that was run, and pictures that were drawn before."""
    few = replace(REGRESSION, respondents=5_000, privacy_levels=(8.0,))
    tiny = replace(TAGGER, sentences=60, test_sentences=30, windows=(3,))
    stories = ((survey, SURVEY), (demo_regression, few), (demo_tagger, tiny))
    for module, config in stories:
        name = module.__name__.rpartition(".")[2].removeprefix("demo_")
        wide, slim = pictures[name], pictures[narrow_name(name)]
        drawn = STORIES[name]._replace(draw=lambda result, narrow=False, both=(wide, slim): both[narrow])
        monkeypatch.setattr(demo_stories, type(config).__name__, lambda config=config: config)
        monkeypatch.setitem(STORIES, name, drawn)
    ran = STORIES["collector"]._replace(
        run=lambda *arguments: results["collector"], draw=lambda result, narrow=False: pictures["collector"]
    )
    monkeypatch.setitem(STORIES, "collector", ran)


@pytest.mark.usefixtures("small")
def test_the_command_depends_on_its_seed_alone(tmp_path: Path) -> None:
    def numbers(seed: str, folder: str) -> Any:
        return parsed(call("demo", "--out", str(tmp_path / folder), "--seed", seed, "--json"))

    first, again, other = numbers("1", "a"), numbers("1", "b"), numbers("2", "a")
    for told in (first, again, other):  # what noises answers comes from the system, and has no seed
        assert told.pop("collector")["stored"] == COLLECTOR.respondents
    assert first == again
    for seed, result in ((1, first), (2, other)):
        assert [part["config"]["seed"] for part in (result, result["regression"], result["tagger"])] == [seed] * 3
    assert first["true_shares"] != other["true_shares"]
    assert first["levels"] != other["levels"]


@pytest.mark.usefixtures("small")
def test_the_command_prints_tables(tmp_path: Path) -> None:
    outcome = call("demo", "--out", str(tmp_path / "new" / "folder"), "--respondents", "5000")
    assert (outcome.code, outcome.err) == (0, "")
    for word in ("5,000", "truth", "moments", "one-step", "marginal", "every year", "survey.png", "level 2", "counts"):
        assert word in outcome.out
    assert outcome.out.splitlines()[-1].split() == ["report", str(tmp_path / "new" / "folder" / "report.html")]
