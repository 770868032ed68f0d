"""Fitted fields on disk, `askance estimate --field` and `askance synth`."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from askance import CliqueRelease, PerValue, Tally, save
from askance.categories import LabelSet
from askance.channels.statistics.base import StatisticsChannel
from askance.cli.devices.synth import synth_command
from askance.errors import FormatError, InputError
from askance.estimation.field import estimate_field
from askance.estimation.results.field_fit import FieldFit
from askance.formats.container import pack, unpack
from askance.formats.field_fit_file import (
    field_for,
    read_field_fit,
    write_field_tables,
)
from askance.formats.fit_file import fit_from_parts
from askance.models.random_field import RandomField

from .golden.contents import FOLDER
from .test_cli import assert_one_line, call, parsed

DESCRIPTION = """
[variables]
smokes = ["no", "yes"]
age = ["young", "middle", "old"]
ill = [false, true]
"""
CHANNEL = CliqueRelease([2, 3, 2], [[0, 1], [1, 2]], 3)


@pytest.fixture(scope="module")
def tally() -> Tally[StatisticsChannel]:
    rng = np.random.default_rng(0)
    return Tally(CHANNEL).add(CHANNEL.simulate(rng.integers(0, [2, 3, 2], (5000, 3)), rng))


@pytest.fixture
def description(tmp_path: Path) -> Path:
    (tmp_path / "people.toml").write_text(DESCRIPTION, encoding="utf-8")
    return tmp_path / "people.toml"


@pytest.fixture
def fit(tally: Tally[StatisticsChannel], description: Path) -> FieldFit:
    return estimate_field(field_for(CHANNEL, description), tally)


def run(*arguments: object) -> Result:
    return CliRunner().invoke(synth_command, list(map(str, arguments)))


# -- files -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("covariance", [True, False])
def test_a_fit_is_read_as_it_was_written(tally: Tally[StatisticsChannel], tmp_path: Path, covariance: bool) -> None:
    labels: dict[str, LabelSet] = {
        "smokes": ["no", "yes"],
        "age": ["young", "middle", "old"],
        "ill": [False, True],
    }
    field = RandomField(
        labels,
        [["smokes", "age"], ["ill"]],
        impossible=[{"smokes": "yes", "age": "young"}],
    )
    fit = estimate_field(field, tally, covariance=covariance)
    save(fit, tmp_path / "people.field")
    again = read_field_fit(tmp_path / "people.field")
    np.testing.assert_array_equal(again.theta, fit.theta)
    np.testing.assert_array_equal(again.covariance, fit.covariance)
    assert again.to_json() == fit.to_json()
    assert again.summary() == fit.summary()
    assert again.field.categories == field.categories
    assert again.field.impossible == field.impossible


def test_damaged_and_foreign_files_are_refused(fit: FieldFit, tmp_path: Path) -> None:
    path = tmp_path / "people.field"
    save(fit, path)
    good = path.read_bytes()
    for bad in (good[:-1], good + b"x", good[:-9] + bytes(9), b"", b"a,b\n"):
        path.write_bytes(bad)
        with pytest.raises(FormatError):
            read_field_fit(path)
    header, payload = unpack(good, "good")
    model = header["model"]
    changes: list[tuple[str, object]] = [
        ("askance", "fit/3"),
        ("model", {**model, "cliques": [["nobody"]]}),
        ("measured", [["smokes", "age"]]),
        ("measured", 3),
        ("raw_standard_errors", [0.1]),
        ("covariance", False),
        ("model", {**model, "variables": {"smokes": 2}}),
        ("diagnostics", {}),
        ("n", "many"),
    ]
    for name, value in changes:
        path.write_bytes(pack({**header, name: value}, payload))
        with pytest.raises(FormatError):
            read_field_fit(path)


def test_damaged_files_of_the_first_version_are_refused() -> None:
    header, payload = unpack((FOLDER / "every_diagnostic.field").read_bytes(), "good")
    changes: list[tuple[str, object]] = [
        ("cliques", [["nobody"]]),
        ("measured", [["age"]]),
        ("measured", 3),
        ("raw_cells", 11),
        ("covariance", False),
        ("variables", {"age": 2}),
        ("diagnostics", {}),
        ("n", "many"),
    ]
    for name, value in changes:
        with pytest.raises(FormatError):
            fit_from_parts({**header, name: value}, payload, "name")
    with pytest.raises(FormatError, match="not finite"):
        fit_from_parts(header, payload[:-8] + np.array([np.nan]).tobytes(), "name")


def test_tables_as_csv_and_json(fit: FieldFit, tmp_path: Path) -> None:
    write_field_tables(fit, tmp_path / "tables.csv")
    with (tmp_path / "tables.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    write_field_tables(fit, tmp_path / "tables.json")
    content = json.loads((tmp_path / "tables.json").read_text(encoding="utf-8"))
    assert len(rows) == len(content) == fit.field.dimension == 12
    assert rows[1]["variables"] == "smokes|age"
    assert rows[1]["cell"] == "no|middle"
    for row, entry, share in zip(rows, content, fit.statistics, strict=True):
        assert float(row["share"]) == entry["share"] == pytest.approx(share)
        assert float(row["unbiased"]) == entry["unbiased"]
        assert float(row["lower"]) < share < float(row["upper"])


def test_fields_from_channels_and_descriptions(description: Path, tmp_path: Path) -> None:
    assert field_for(CHANNEL).variables == ("0", "1", "2")
    assert field_for(CHANNEL, description).variables == ("smokes", "age", "ill")
    bits = PerValue(12, 1, l1_norm=2)
    with pytest.raises(InputError, match="per-value does not know"):
        field_for(bits)
    description.write_text('cliques = [["smokes", "age"], ["age", "ill"]]\n' + DESCRIPTION, encoding="utf-8")
    assert field_for(bits, description).dimension == 12
    for text in ("variables = 3", "x = 1", "[variables", "[variables]\na = 1", 'cliques = [["nobody"]]'):
        description.write_text(text, encoding="utf-8")
        with pytest.raises(FormatError):
            field_for(CHANNEL, description)


# -- commands ----------------------------------------------------------------------------------------------------------


def test_fit_prints_saves_and_writes_tables(tally: Tally[StatisticsChannel], description: Path, tmp_path: Path) -> None:
    state, saved, tables = (tmp_path / name for name in ("all.state", "people.field", "tables.csv"))
    save(tally, state)
    fields = ("estimate", str(state), "--field")
    files = ("--variables", str(description), "--save", str(saved), "--tables", str(tables))
    assert "90 % interval" in call(*fields, *files, "--confidence", "0.9").out
    assert read_field_fit(saved).method == "moments"
    assert tables.read_text(encoding="utf-8").startswith("table,variables,cell,share")
    assert parsed(call(*fields, "--method", "ridge", "--json"))["method"] == "ridge"
    assert_one_line(call(*fields, "--tables", str(tmp_path / "tables.xlsx")), (".csv or .json",))
    assert_one_line(call(*fields, "--method", "best"), ("moments",))


def test_synth_writes_labels(fit: FieldFit, tmp_path: Path) -> None:
    source, target = tmp_path / "people.field", tmp_path / "records.csv"
    save(fit, source)
    result = run(source, "-n", 2000, "--seed", 1, "-o", target, "--json")
    assert result.exit_code == 0, result.output
    content = json.loads(result.stdout)
    assert content["records"] == 2000
    assert content["privacy_level"] == pytest.approx(3)
    with target.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 2000
    assert {row["age"] for row in rows} == {"young", "middle", "old"}
    share = np.mean([row["smokes"] == "yes" for row in rows])
    # Once in two million times beyond five deviations.
    assert abs(share - fit.marginal(["smokes"]).estimate[1]) < 5 * 0.5 / np.sqrt(2000)
    first = target.read_bytes()
    assert "synthetic records written" in run(source, "-n", 2000, "--seed", 1, "-o", target).stdout
    assert target.read_bytes() == first
    assert isinstance(run(source, "-n", 2000, "--seed", 2, "-o", target).exception, InputError)
    assert target.read_bytes() == first, "synthetic records replace nothing else"
    run(source, "-n", 2000, "--seed", 2, "-o", tmp_path / "other.csv")
    assert (tmp_path / "other.csv").read_bytes() != first


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["-n", 0, "--seed", 1, "-o", "a.csv"], "--records is 0; allowed: a whole number, 1 to 10,000,000"),
        (["-n", 5, "--seed", -1, "-o", "a.csv"], "--seed is -1"),
        (["-n", 5, "--seed", 1, "-o", "a.parquet"], r"a name that ends in \.csv"),
    ],
)
def test_synth_refuses(fit: FieldFit, tmp_path: Path, options: list[object], text: str) -> None:
    save(fit, tmp_path / "people.field")
    result = run(tmp_path / "people.field", *options)
    with pytest.raises(InputError, match=text):
        raise result.exception or AssertionError(result.output)


def test_synth_refuses_what_is_no_field(tmp_path: Path, tally: Tally[StatisticsChannel]) -> None:
    from askance import save

    save(tally, tmp_path / "tally")
    result = run(tmp_path / "tally", "-n", 5, "--seed", 1, "-o", tmp_path / "a.csv")
    with pytest.raises(FormatError, match="a fitted field"):
        raise result.exception or AssertionError(result.output)


def test_a_state_becomes_a_field_and_synthetic_records(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    channel = CliqueRelease([2, 3], [[0, 1]], 2)
    state, kept, tables, made = (str(tmp_path / name) for name in ("a.state", "a.field", "t.csv", "s.csv"))
    save(Tally(channel).add(channel.simulate(rng.integers(0, [2, 3], (20_000, 2)), rng)), state)
    (tmp_path / "v.toml").write_text('[variables]\nsmokes = ["no", "yes"]\nage = ["young", "middle", "old"]\n')
    named = ("--variables", str(tmp_path / "v.toml"))
    outcome = call("estimate", state, "--field", *named, "--save", kept, "--tables", tables)
    assert (outcome.code, "smokes" in outcome.out) == (0, True)
    assert call("synth", kept, "-n", "50", "--seed", "1", "-o", made).code == 0
    assert Path(made).read_text().splitlines()[0] == "smokes,age"
    assert_one_line(call("estimate", state, *named), ("--field",))
    assert_one_line(call("estimate", "--field"), ("STATE", "missing"))
    assert_one_line(call("estimate", state, "--field", "--names", "a"), ("--names",))
