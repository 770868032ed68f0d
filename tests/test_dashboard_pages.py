"""The administration in a real browser: from the link that works once to the export, without barriers."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .browsers import started_browser, visit
from .collectors import COUNTING, DEVICES, SURVEY, Served, collection_in, line_of, served
from .test_dashboard import HOSTILE
from .test_preview import previewed, written
from .test_survey_barriers import barriers_now

pytestmark = pytest.mark.integration

PASSWORD = "correct horse battery"
# Names of questions have no quotes: files of tables are to be read again.
NAME = "<script>alert(3)</script>\u202eevil"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with started_browser() as browser:
        yield browser


class Administrator:
    """Somebody who runs a campaign, what their browser asked for, and what it complained of."""

    def __init__(self, context: Any, running: Served) -> None:
        self.address, self.asked, self.wrong = str(running.client.base_url), set[str](), list[str]()
        context.on("request", lambda request: self.asked.add(request.url.split("/")[2]))
        self.page = context.new_page()
        self.page.on("console", lambda told: self._complain(told) if told.type == "error" else None)
        self.page.on("dialog", lambda dialog: self.wrong.append(dialog.message))
        self.page.goto(f"{self.address}/admin/enter?key={running.collector.admin.key}")

    def _complain(self, told: Any) -> None:
        if "favicon.ico" not in told.location["url"]:  # every browser asks for one, and there is none
            self.wrong.append(told.text)

    def enter(self) -> None:
        self.page.locator("input[type=password]").fill(PASSWORD)
        self.page.locator("main button").click()
        self.page.locator("main.board").wait_for()

    def file(self, name: str) -> tuple[str, bytes]:
        """What a link downloads."""
        with self.page.expect_download() as download:
            self.page.get_by_role("link", name=name, exact=True).click()
        return download.value.suggested_filename, Path(download.value.path()).read_bytes()


def said(running: Served, n: int, **changed: Any) -> None:
    """Answers come in."""
    lines = (
        line_of(running.collection, age=20 + i % 40, cheated="no" if i % 3 else "yes", **changed) for i in range(n)
    )
    assert set(running.verdicts(b"".join(lines))) == {"T"}


@pytest.mark.parametrize("script", [True, False], ids=["with scripts", "without scripts"])
def test_from_the_link_that_works_once_to_the_export(browser: Any, tmp_path: Path, script: bool) -> None:
    with served(collection_in(tmp_path)) as running, visit(browser, java_script_enabled=script) as context:
        admin = Administrator(context, running)
        page = admin.page
        admin.enter()
        assert "Nothing is told before 20 are." in page.locator("main").inner_text()
        said(running, 60)
        page.get_by_role("link", name="Look again").click()
        page.locator("svg .point").first.wait_for()
        assert "60 of 2,000 planned answers are there" in page.locator("main").inner_text()
        page.locator("summary").first.click()
        assert page.locator("table").first.inner_text().startswith("answer")
        name, report = admin.file("Download the report")
        same = context.request.get(f"{admin.address}/admin/report").body()
        assert (name, report) == ("exams-report.html", same)
        name, responses = admin.file("All responses (CSV)")
        rows = list(csv.DictReader(responses.decode().splitlines()))
        assert (name, len(rows), sum(row["cheated"] == "yes" for row in rows)) == ("exams.csv", 60, 20)
        closing = page.get_by_role("button", name="Close it for good")
        assert not closing.is_visible()  # a thumb that slips does not end a campaign
        page.locator("summary", has_text="Take no more answers").click()
        closing.click()
        page.get_by_text("takes no more answers").wait_for()
        assert running.verdicts(line_of(running.collection)) == "R"
        page.get_by_role("button", name="Leave").click()
        page.locator("input[type=password]").wait_for()
        page.goto(f"{admin.address}/admin")
        page.locator("input[type=password]").fill("another password")
        page.locator("main button").click()
        page.get_by_role("alert").wait_for()
        admin.enter()
        assert admin.asked == {admin.address.split("/")[2]}
        refused = ["Failed to load resource: the server responded with a status of 403 (Forbidden)"]
        assert admin.wrong == refused  # the wrong password, and nothing against the policy of a page


def test_tables_beside_curves_are_not_cut(browser: Any, tmp_path: Path) -> None:
    """Two columns on a tablet: what answers will be known to at the end is seen without scrolling."""
    with (
        served(collection_in(tmp_path)) as running,
        visit(browser, viewport={"width": 768, "height": 1024}) as context,
    ):
        admin = Administrator(context, running)
        admin.enter()
        said(running, 300)
        admin.page.reload()
        admin.page.locator("summary").first.click()
        assert admin.page.locator("table").first.inner_text().startswith("answer")
        wide = "() => [...document.querySelectorAll('.wide')].filter(box => box.scrollWidth > box.clientWidth).length"
        assert admin.page.evaluate(wide) == 0


def test_the_report_stands_alone(browser: Any, tmp_path: Path) -> None:
    with served(collection_in(tmp_path)) as running:
        with visit(browser) as context:
            admin = Administrator(context, running)
            admin.enter()
            said(running, 60)
            admin.page.reload()
            (tmp_path / "report.html").write_bytes(admin.file("Download the report")[1])
        with visit(browser, color_scheme="dark", offline=True) as context:
            asked, wrong = list[str](), list[str]()
            context.on("request", lambda request: asked.append(request.url))
            page = context.new_page()
            page.on("console", lambda told: wrong.append(told.text))
            page.goto((tmp_path / "report.html").as_uri())
            fill = "() => getComputedStyle(document.querySelector('svg .done')).fill"
            assert page.evaluate(fill) == "rgb(111, 211, 201)"  # its own style, dark
            page.emulate_media(media="print", color_scheme="light")
            assert page.evaluate(fill) == "rgb(11, 92, 87)"
            assert (len(asked), wrong) == (1, [])


def test_hostile_texts_stay_texts(browser: Any, tmp_path: Path) -> None:
    text = SURVEY.replace('"Exams"', json.dumps(HOSTILE)).replace(
        '"Have you ever cheated in an exam?"', json.dumps(HOSTILE)
    )
    text = text.replace('"very often"', json.dumps(HOSTILE)).replace(
        "[questions.age]", f"[questions.{json.dumps(NAME)}]"
    )
    with served(collection_in(tmp_path, text)) as running, visit(browser) as context:
        admin = Administrator(context, running)
        form = running.collection.form
        lines = []
        for i in range(60):
            told = {"cheated": "no" if i % 3 else "yes", "often": HOSTILE, NAME: 20 + i % 30, "region": "north"}
            lines.append(form.write(i.to_bytes(16, "big"), told))
        assert set(running.verdicts(b"".join(lines))) == {"T"}
        admin.enter()
        page = admin.page
        assert page.locator("h1").text_content() == HOSTILE
        assert page.locator("h2", has_text="alert").first.text_content() == HOSTILE
        assert page.locator("script, img").count() == 0
        assert page.locator("svg text.name", has_text='"></svg><script>').count() == 1
        assert admin.wrong == []
        assert admin.asked == {admin.address.split("/")[2]}


# -- barriers ----------------------------------------------------------------------------------------------------------

SIZES = {"phone": 360, "200 %": 640, "400 %": 320, "desk": 1280}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_no_barriers(browser: Any, tmp_path: Path, scheme: str, size: str) -> None:
    """Every page of the administration; 1280 pixels at 200 % are 640, without scrolling sideways."""
    options = {"color_scheme": scheme, "viewport": {"width": SIZES[size], "height": 640}, "bypass_csp": True}
    found = []
    with served(collection_in(tmp_path)) as running, visit(browser, **options) as context:
        admin = Administrator(context, running)
        found.append(barriers_now(admin.page))
        admin.enter()
        found.append(barriers_now(admin.page))
        said(running, 300)
        admin.page.reload()
        found.append(barriers_now(admin.page))
        lines = b"".join(line_of(running.collection, cheated="no", region=None) for _ in range(600))
        running.verdicts(lines)  # so few say yes that the dice cannot have been rolled
        admin.page.reload()
        admin.page.get_by_role("alert").wait_for()
        found.append(barriers_now(admin.page))
        admin.page.goto(f"{admin.address}/admin/login")
        admin.page.locator("input[type=password]").fill("another password")
        admin.page.locator("main button").click()
        admin.page.get_by_role("alert").wait_for()
        found.append(barriers_now(admin.page))
    assert found == [[]] * 5


@pytest.mark.parametrize("text", [DEVICES, COUNTING], ids=["devices", "counting"])
def test_no_barriers_in_other_kinds(browser: Any, tmp_path: Path, text: str) -> None:
    with served(collection_in(tmp_path, text)) as running, visit(browser, bypass_csp=True) as context:
        admin = Administrator(context, running)
        admin.enter()
        assert barriers_now(admin.page) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_file_that_is_wrong_stands_on_the_page_until_it_is_mended(browser: Any, tmp_path: Path, scheme: str) -> None:
    path = written(tmp_path, SURVEY)
    options = {"color_scheme": scheme, "viewport": {"width": 360, "height": 640}, "bypass_csp": True}
    with previewed(path) as client, visit(browser, **options) as context:
        page = context.new_page()
        page.goto(f"{client.base_url}/preview")
        page.get_by_text("Preview: answers are thrown away.").wait_for()
        assert barriers_now(page) == []
        path.write_text(SURVEY.replace("planned_n", "planed_n"))
        page.reload()
        assert page.locator("mark").inner_text() == "planed_n = 2000"
        assert "line 6" in page.get_by_role("alert").inner_text()
        assert barriers_now(page) == []
        path.write_text(SURVEY.replace("Exams", "Mended"))
        page.get_by_role("link", name="load this page again").click()
        page.locator("h1", has_text="Mended").wait_for()
