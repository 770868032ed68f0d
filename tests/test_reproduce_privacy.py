"""The experiment on private regression: shapes, numbers by hand, seeds, labels and pictures."""

from __future__ import annotations

import hashlib
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from askance._arrays import FloatArray
from askance.errors import InputError
from askance.estimation.linear import estimate_linear, fit_exact
from askance.estimation.regression_plan import plan_regression
from askance.experiments.privacy import PRIVACY, r_squared, run_surveys
from askance.experiments.privacy_data import DATA_SETS, ChosenSurvey, PaperSurvey, Sample, describe, generate
from askance.experiments.privacy_drawing import SCHEMES
from askance.experiments.seeds import trial_seed
from askance.models.linear import GaussianField

LEVELS = [1.0, 4.0]
TRIALS = 2


def small_config(seed: int = 0) -> dict[str, Any]:
    """The quick config with few people, few trials and two levels."""
    config = PRIVACY.config(quick=True, seed=seed)
    config |= {"levels": list(LEVELS), "trials": TRIALS, "most_level": {"songs-many": 1.0}}
    for entry in config["data_sets"]:
        entry |= {"train": min(entry["train"], 400), "test": 200}
        if not DATA_SETS[entry["key"]].fitted_to:
            table = _table(entry)
            entry["fingerprint"] = hashlib.sha256(table.tobytes()).hexdigest()
    return config


def _table(entry: dict[str, Any]) -> FloatArray:
    return np.ascontiguousarray(generate(DATA_SETS[entry["key"]], entry["train"] + entry["test"]))


@pytest.fixture(scope="module")
def config() -> dict[str, Any]:
    return small_config()


@pytest.fixture(scope="module")
def outcomes(config: dict[str, Any]) -> dict[str, Any]:
    return {trial.key: trial.run() for trial in PRIVACY.trials(config)}


@pytest.fixture(scope="module")
def result(config: dict[str, Any], outcomes: dict[str, Any]) -> dict[str, Any]:
    """As it comes back from a file."""
    loaded: dict[str, Any] = json.loads(json.dumps(PRIVACY.collect(config, outcomes), allow_nan=False))
    return loaded


def test_every_data_set_has_every_scheme_at_every_level(config: dict[str, Any], result: dict[str, Any]) -> None:
    assert [each["key"] for each in result["data_sets"]] == list(DATA_SETS)
    for each in result["data_sets"]:
        assert set(each["schemes"]) == set(SCHEMES)
        for name, rows in each["schemes"].items():
            assert len(rows) == len(LEVELS)
            if each["key"] == "songs-many" and name == "askance":
                assert rows[1] is None, "above the highest level of its largest survey"
                rows = rows[:1]
            for row in rows:
                for kind in ("centred", "uncentred"):
                    assert row[kind]["low"] <= row[kind]["median"] <= row[kind]["high"]
                assert row["centred"]["median"] <= row["uncentred"]["median"]


def test_trials_are_named_once_and_are_plain(config: dict[str, Any]) -> None:
    trials = PRIVACY.trials(config)
    assert len({trial.key for trial in trials}) == len(trials) == TRIALS * len(DATA_SETS)
    assert json.loads(json.dumps(config)) == config
    for trial in trials:
        assert trial.function is run_surveys
        json.dumps(dict(trial.arguments), allow_nan=False)


def test_as_printed_half_of_the_level_is_spent_and_otherwise_all(result: dict[str, Any]) -> None:
    for each in result["data_sets"]:
        for i, level in enumerate(LEVELS):
            assert each["schemes"]["printed"][i]["spent"] == pytest.approx(level / 2, rel=1e-6)
            for name in ("exact", "repaired", "askance"):
                if each["schemes"][name][i] is not None:
                    assert each["schemes"][name][i]["spent"] == pytest.approx(level, rel=1e-4)
                    assert each["schemes"][name][i]["spent"] <= level * (1 + 1e-9)


# -- numbers by hand ---------------------------------------------------------------------------------------------------


def test_r_squared_of_both_kinds() -> None:
    y, predicted = np.array([1.0, 2.0, 6.0]), np.array([1.0, 3.0, 4.0])
    assert r_squared(y, predicted) == pytest.approx({"centred": 1 - 5 / 14, "uncentred": 1 - 5 / 41})


def people_of(config: dict[str, Any], key: str) -> tuple[dict[str, Any], FloatArray, FloatArray]:
    """Entry, training and test part of the first trial, split by hand."""
    entry = next(each for each in config["data_sets"] if each["key"] == key)
    seed = trial_seed(trial_seed(config["seed"], f"{key}-00"), "people")
    table = _table(entry)
    order = np.random.default_rng(seed).permutation(len(table))
    return entry, table[order[: entry["train"]]], table[order[entry["train"] :]]


def test_per_value_release_as_printed_by_hand(config: dict[str, Any], outcomes: dict[str, Any]) -> None:
    """From the channel's own bits: β averaged by NumPy, A⁻¹b, prediction and R², on the standard scale."""
    _, train, test = people_of(config, "california")
    centres, deviations = train.mean(axis=0), train.std(axis=0)
    z, held_out = (((table - centres) / deviations).clip(-3, 3) for table in (train, test))
    first, second = np.triu_indices(8)
    rows = np.column_stack([z[:, first] * z[:, second], z[:, :8] * z[:, 8:]])
    lower = np.where(np.concatenate([first == second, np.zeros(8, bool)]), 0.0, -9.0)

    field = GaussianField(8, scales=(centres, deviations))
    survey = PaperSurvey(field, 4.0, "paper", triple=False)
    channel = survey._tally.channel
    seed = trial_seed(trial_seed(config["seed"], "california-00"), "paper 4")
    words = channel.simulate(rows, np.random.default_rng(seed)).columns["bits"]
    bits = np.unpackbits(words.view(np.uint8), axis=1, bitorder="little")[:, :44].astype(np.float64)
    keep = np.exp(4 / 88) / (1 + np.exp(4 / 88))  # q of the paper at α/δ̄ with δ̄ = 44
    moments = lower + (9.0 - lower) * ((bits - 1 + keep) / (2 * keep - 1)).mean(axis=0)
    design = np.empty((8, 8))
    design[first, second] = design[second, first] = moments[:36]
    slopes = np.linalg.solve(design, moments[36:])
    predicted = centres[-1] + deviations[-1] * held_out[:, :8] @ slopes
    found = outcomes["california-00"]["schemes"]["printed"][LEVELS.index(4.0)]
    expected = r_squared(test[:, -1], predicted)
    assert found["centred"] == pytest.approx(expected["centred"], rel=1e-5)
    assert found["uncentred"] == pytest.approx(expected["uncentred"], rel=1e-5)


def test_lines_without_noise_and_of_the_mean_by_hand(config: dict[str, Any], outcomes: dict[str, Any]) -> None:
    _, train, test = people_of(config, "boston")
    centres, deviations = train.mean(axis=0), train.std(axis=0)
    fit = fit_exact(GaussianField(13, scales=(centres, deviations)), train[:, :-1], train[:, -1])
    expected = r_squared(test[:, -1], fit.predict(test[:, :-1]))
    assert outcomes["boston-00"]["no_noise"] == pytest.approx(expected)
    mean = np.full(len(test), train[:, -1].mean())
    assert outcomes["boston-00"]["mean_only"] == pytest.approx(r_squared(test[:, -1], mean))


def test_the_triple_with_hardly_any_noise_is_least_squares() -> None:
    """Many people, a very high level: both halves of the coin together give the coefficients, in the data's units."""
    rng = np.random.default_rng(3)
    x = rng.uniform(-1.5, 1.5, (400_000, 2))
    y = x @ [1.0, -0.5] + rng.uniform(-0.5, 0.5, len(x))
    field = GaussianField(2, scales=([0.0, 0.0, 0.0], [1.0, 1.0, 1.0]))
    survey = PaperSurvey(field, 30.0, "exact", triple=True)
    survey.add(field.standardise(x[:200_000], y[:200_000]).z, rng)
    survey.add(field.standardise(x[200_000:], y[200_000:]).z, rng)
    for theta in survey.coefficients().values():
        assert theta[0] == 0
        np.testing.assert_allclose(theta[1:], [1.0, -0.5], atol=0.1)


def test_the_chosen_survey_is_the_default_plan() -> None:
    rng = np.random.default_rng(4)
    table = rng.normal(size=(3_000, 3))
    field = GaussianField(2, scales=(np.zeros(3), np.ones(3)))
    survey = ChosenSurvey(field, 4.0, 3_000)
    survey.add(field.standardise(table[:, :2], table[:, 2]).z, np.random.default_rng(5))
    release = plan_regression(field, 4.0, n_respondents=3_000)
    with pytest.warns(match="linear regression"):
        expected = estimate_linear(release, release.simulate(table[:, :2], table[:, 2], np.random.default_rng(5)))
    with pytest.warns(match="linear regression"):
        np.testing.assert_array_equal(survey.coefficients()["askance"], expected.theta)


# -- seeds -------------------------------------------------------------------------------------------------------------


def test_the_same_seed_gives_the_same_digits_and_another_others(
    config: dict[str, Any], outcomes: dict[str, Any]
) -> None:
    again = {trial.key: trial for trial in PRIVACY.trials(config)}
    assert again["boston-01"].run() == outcomes["boston-01"] != outcomes["boston-00"]
    other = {trial.key: trial for trial in PRIVACY.trials(small_config(seed=1))}
    assert other["boston-01"].run() != outcomes["boston-01"]


def test_a_level_does_not_depend_on_the_others(config: dict[str, Any], outcomes: dict[str, Any]) -> None:
    (trial,) = (trial for trial in PRIVACY.trials(config) if trial.key == "boston-00")
    alone = run_surveys(**{**trial.arguments, "levels": [4.0]})
    for name in SCHEMES:
        assert alone["schemes"][name][0] == outcomes["boston-00"]["schemes"][name][LEVELS.index(4.0)]


# -- data --------------------------------------------------------------------------------------------------------------


def test_quick_runs_are_on_stand_ins_and_say_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _write_boston(tmp_path)
    monkeypatch.setenv("ASKANCE_DATA", str(tmp_path))
    for data in PRIVACY.data(PRIVACY.config(quick=True, seed=0)):
        assert data.source == "stand-in"
        assert "quick" in data.note
        assert len(data.fingerprint) == 64


def test_without_data_everything_is_a_stand_in_of_the_full_size(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("ASKANCE_DATA", raising=False)
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path))
    config = PRIVACY.config(quick=False, seed=0)
    assert [entry["train"] for entry in config["data_sets"]] == [16_512, 405, 5_000, 463_715]
    assert config["trials"] == 10
    for data in PRIVACY.data(config):
        assert data.source == "stand-in"
        assert "ASKANCE_DATA" in data.note


def _write_boston(folder: Path) -> Path:
    """A file of the real one's shape: 14 columns and a second version of the outcome."""
    path = folder / "boston.csv.gz"
    np.savetxt(path, np.random.default_rng(0).normal(size=(50, 15)), delimiter=",", header="columns")
    return path


def test_real_files_are_used_called_real_and_known_by_their_sha256(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = _write_boston(tmp_path)
    rng = np.random.default_rng(1)
    np.savez(
        tmp_path / "songs_uci90_7000.npz",
        X_train=rng.normal(size=(200, 90)),
        X_test=rng.normal(size=(80, 90)),
        y_train=np.arange(200.0),
        y_test=np.arange(80.0),
    )
    monkeypatch.setenv("ASKANCE_DATA", str(tmp_path))
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path))
    config = PRIVACY.config(quick=False, seed=0)
    california, boston, songs_data, many = PRIVACY.data(config)
    assert (california.source, boston.source, songs_data.source, many.source) == (
        "stand-in",
        "real",
        "real",
        "simulated",
    )
    assert boston.fingerprint == hashlib.sha256(path.read_bytes()).hexdigest()
    entry = config["data_sets"][1]
    assert (entry["train"], entry["test"]) == (40, 10)
    sample = Sample(entry, np.random.default_rng(0))
    assert sample.test.shape == (10, 14)
    with pytest.raises(InputError, match="sha256"):
        Sample({**entry, "fingerprint": "0" * 64}, np.random.default_rng(0))


def test_scikit_learn_s_copy_is_used_where_it_was_fetched_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    joblib = pytest.importorskip("joblib")
    monkeypatch.delenv("ASKANCE_DATA", raising=False)
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path))
    assert describe("california", quick=False)["origin"] == "generated"
    joblib.dump(np.random.default_rng(0).uniform(1, 2, (60, 9)), tmp_path / "cal_housing_py3.pkz")
    entry = describe("california", quick=False)
    assert (entry["origin"], entry["train"] + entry["test"]) == ("scikit-learn", 60)


def test_the_simulator_has_the_second_moments_it_was_fitted_to(config: dict[str, Any]) -> None:
    entry = {**config["data_sets"][3], "train": 120_000, "test": 10}
    sample = Sample(entry, np.random.default_rng(0))
    chunks = list(sample.chunks())
    assert sum(map(len, chunks)) == 120_000
    drawn, fitted = np.concatenate(chunks), generate(DATA_SETS["songs"], 7_000)
    scale = fitted.std(axis=0)
    np.testing.assert_allclose((drawn.mean(axis=0) - fitted.mean(axis=0)) / scale, 0, atol=0.02)
    np.testing.assert_allclose(np.corrcoef(drawn.T), np.corrcoef(fitted.T), atol=0.02)


# -- what is shown -----------------------------------------------------------------------------------------------------


def test_pictures_come_from_the_file_alone_and_are_the_same_each_time(result: dict[str, Any]) -> None:
    pictures = []
    for _ in range(2):
        figures = PRIVACY.draw(result)
        assert list(figures) == list(DATA_SETS)
        for figure in figures.values():
            assert len(figure.axes) == 2
            assert "STAND-IN" in figure.get_suptitle()
            written = io.BytesIO()
            figure.savefig(written, format="png", dpi=50)
            pictures.append(written.getvalue())
    assert pictures[:4] == pictures[4:]


def test_findings_and_tables_name_numbers_of_the_result(result: dict[str, Any]) -> None:
    findings = PRIVACY.findings(result)
    assert {finding.verdict for finding in findings} <= {"agrees", "differs", "beyond"}
    assert all(finding.why for finding in findings if finding.verdict == "differs")
    tables = PRIVACY.tables(result)
    assert [len(table.rows) for table in tables] == [len(LEVELS)] * len(DATA_SETS)
    assert all(len(row) == len(table.columns) for table in tables for row in table.rows)
    assert "not run" in tables[3].rows[1]
    assert "stand-in" in PRIVACY.main_number(result)
