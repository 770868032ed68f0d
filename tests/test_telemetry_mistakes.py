"""What a collector's operator may get wrong on the command line, and must not lose data or labels over."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet as pq

from askance import Enumerated, PerValue, Tally, certify, estimate, recommend
from askance.channels import BallRelease, CoordinateRelease, entries
from askance.errors import FormatError, InputError
from askance.formats import aggregate, report_header, report_line, write_reports
from askance.formats.report_schema import ReportSchema, json_line

from .test_cli import assert_one_line, call, parsed

CHANNEL = PerValue(3, 4)


@pytest.fixture
def reports(tmp_path: Path) -> Path:
    write_reports(tmp_path / "a.jsonl", CHANNEL.randomize(np.eye(3)))
    return tmp_path / "a.jsonl"


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_a_state_never_replaces_reports(reports: Path, suffix: str) -> None:
    kept = reports.with_name(f"kept.{suffix}")
    write_reports(kept, CHANNEL.randomize(np.eye(3)))
    before = kept.read_bytes()
    for output in (reports, kept):
        assert_one_line(call("aggregate", str(reports), "-o", str(output)), ("file of reports", "another name"))
    assert kept.read_bytes() == before
    state = reports.with_name("a.state")
    for _ in range(2):  # a state may replace a state
        assert call("aggregate", str(reports), "-o", str(state)).code == 0


def test_nothing_is_written_when_every_report_was_refused(reports: Path) -> None:
    bad, state = reports.with_name("bad.jsonl"), reports.with_name("a.state")
    bad.write_text(json_line(ReportSchema(CHANNEL).header()) + "{}\n{}\n")
    assert_one_line(call("aggregate", str(bad), "--skip-bad", "-o", str(state)), ("all 2 reports", "No state"))
    assert not state.exists()


def test_what_is_no_file_of_reports_is_told_apart(reports: Path) -> None:
    lines = reports.read_text().splitlines(keepends=True)
    for content, words in (
        ("".join(lines[1:]).encode(), ("without the header", "--header")),
        (b"", ("is empty",)),
        (b"\x1f\x8b\x08abc", ("cannot be unpacked", "again")),
    ):
        odd = reports.with_name("odd.jsonl")
        odd.write_bytes(content)
        assert_one_line(call("aggregate", str(odd), "-o", str(reports.with_name("a.state"))), words)


def test_packed_reports_are_read_as_they_are(reports: Path) -> None:
    packed = reports.with_name("packed.jsonl.gz")
    packed.write_bytes(gzip.compress(reports.read_bytes()))
    assert aggregate(packed).evidence == aggregate(reports).evidence
    packed.write_bytes(packed.read_bytes()[:-20])
    with pytest.raises(FormatError, match="cannot be unpacked"):
        aggregate(packed)


def test_reports_of_another_level_are_told_what_differs(tmp_path: Path) -> None:
    for name, level in (("one", 1), ("two", 2)):
        channel = PerValue(3, level)
        write_reports(tmp_path / f"{name}.jsonl", channel.randomize(np.eye(3)))
    with pytest.raises(FormatError, match=r"They differ in privacy_level \('2', not '1'\)"):
        aggregate([tmp_path / "one.jsonl", tmp_path / "two.jsonl"])


def test_an_empty_line_of_a_single_column_is_a_gap(tmp_path: Path) -> None:
    table, flags = tmp_path / "v.csv", ("randomize", "warner", "--question", "2/3", "--input")
    table.write_text("v\nyes\n\nno\n")
    assert_one_line(call(*flags, str(table), "-o", str(tmp_path / "v.jsonl")), ("row 2", "missing"))
    table.write_text("v\nyes\nno\n\n\n")  # at the end it is nothing
    found = parsed(call(*flags, str(table), "-o", str(tmp_path / "v.jsonl"), "--json"))
    assert (found["reports"], found["columns"]) == (2, ["v"])


def test_labels_written_as_a_list_are_no_labels() -> None:
    flags = ("certify", "randomized-response", "--privacy-level", "1", "--outputs")
    assert_one_line(call(*flags, '["no", "yes"]'), ("written like a list", "no,yes"))
    assert_one_line(call(*flags, "a"), ("at least 2", "as no,yes"))


def test_labels_that_look_like_numbers_stay_texts(tmp_path: Path) -> None:
    """At level 30 with one label a report, what is sent is the truth (all but certainly)."""
    table, out = tmp_path / "v.csv", tmp_path / "v.jsonl"
    labels = ["1.1", "1.2", "1.10", "007", "7", "NA"]
    table.write_text("v\n" + "\n".join(labels) + "\n")
    flags = ("--outputs", ",".join(labels), "--privacy-level", "30", "--subset-size", "1")
    assert call("randomize", "subset-selection", *flags, "--input", str(table), "-o", str(out)).code == 0
    found = aggregate(out).evidence
    assert isinstance(found, Tally)
    assert found.sums.tolist() == [1] * 6


def test_a_first_line_of_numbers_is_no_header(tmp_path: Path) -> None:
    table = tmp_path / "u.csv"
    table.write_text("1,0,0.5\n0,1,0\n")
    flags = ("randomize", "per-value", "--dim", "3", "--privacy-level", "4", "--input", str(table))
    assert_one_line(call(*flags, "-o", str(tmp_path / "u.jsonl")), ("first line", "names"))
    table.write_text("a,b,c\n1,0,0\n")
    assert_one_line(call(*flags, "--columns", "a,b,b", "-o", str(tmp_path / "u.jsonl")), ("'b' twice",))
    assert not (tmp_path / "u.jsonl").exists()


def test_lines_of_single_devices_add_up(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    lines = [report_line(CHANNEL, row, id=str(i)) for i, row in enumerate(np.eye(3).tolist())]
    path.write_text("\n".join([report_header(CHANNEL), *lines]) + "\n")
    assert aggregate(path).evidence.n_observations == 3


def test_statistics_get_names_on_request(reports: Path) -> None:
    state = reports.with_name("a.state")
    call("aggregate", str(reports), "-o", str(state))
    named = parsed(call("estimate", str(state), "--names", "a, b,c", "--json"))
    assert [row["name"] for row in named["statistics"]] == ["a", "b", "c"]
    assert_one_line(call("estimate", str(state), "--names", "a,b"), ("2 names", "3"))
    assert_one_line(call("estimate", "--names", "a,b"), ("STATE", "missing"))


@pytest.mark.parametrize("entry", entries("statistics"), ids=lambda entry: entry.kind)
def test_certificates_print_the_thresholds_a_device_needs(entry: object) -> None:
    channel = entry.build(entry.examples[0])  # type: ignore[attr-defined]
    assert json.loads(json.dumps(channel.thresholds())) == channel.thresholds() != {}


def test_thresholds_are_those_of_the_sampler() -> None:
    asked = ("certify", "coordinate-release", "--dim", "2", "--privacy-level", "1", "--json")
    printed = parsed(call(*asked))
    channel = CoordinateRelease(2, 1)
    assert printed["of"] == 2**62
    assert printed["thresholds"] == {
        "release": [2**61, 2**61],
        "keep": channel.flips.keep,
        "raised": channel.flips.raised,
    }
    ball = BallRelease(3, 1)
    assert ball.thresholds() == {"candidates": ball.candidates, "top": ball.choice.top, "keep": ball.choice.keep}


def test_examples_of_worst_observations_are_called_so() -> None:
    assert certify(PerValue(4, 1)).complete
    assert not certify(PerValue(40, 1, l1_norm=1)).complete
    wide = ("certify", "per-value", "--dim", "40", "--l1-norm", "1", "--privacy-level", "1")
    assert "for example" in call(*wide).out
    assert parsed(call(*wide, "--json"))["worst_observations_complete"] is False


def test_one_hot_codes_fit_a_model_of_all_shares() -> None:
    """Five z-scores below 5.5: false alarm below 1e-6."""
    rng = np.random.default_rng(4)
    model, channel = Enumerated.saturated(6), PerValue(6, 2, l1_norm=1)
    theta = np.array([0.5, 0.0, -0.5, 0.2, 0.1])
    y = model.sample(theta, 100_000, rng)
    fit = estimate(model, Tally(channel).add(channel.simulate(np.eye(6)[y], rng)))
    assert (np.abs(fit.theta - theta) < 5.5 * fit.standard_errors).all()
    ranked = {row.name: row.trace for row in recommend(Enumerated.saturated(20), 1).channels}
    assert ranked["per-value, one-hot"] < ranked["per-value"] / 5


def test_files_of_parquet_that_were_joined_are_refused(tmp_path: Path) -> None:
    """Readers go by the end of the last file, and would take its pages from the first: a part of the reports."""
    paths = [tmp_path / f"{number}.parquet" for number in range(3)]
    table = pa.table({"bits": [b"\x05"] * 50, "seen": [*range(50)]})
    for path, indexed in zip(paths, (False, True, True), strict=True):
        pq.write_table(table, path, row_group_size=20, write_page_index=indexed)
        assert aggregate(path, channel=CHANNEL).evidence.n_observations == 50
    joined = tmp_path / "all.parquet"
    for order in (paths[:2], paths[1::-1], paths):
        joined.write_bytes(b"".join(path.read_bytes() for path in order))
        with pytest.raises(FormatError, match=r"all\.parquet is several files .* a folder that holds them"):
            aggregate(joined, channel=CHANNEL)


def test_the_name_of_a_file_is_no_channel(reports: Path) -> None:
    with pytest.raises(InputError, match=r"channel is 'facts\.toml'; allowed: a channel\. .*read_channel\(path\)"):
        aggregate(reports, channel="facts.toml")  # type: ignore[arg-type]
