"""`askance reproduce all --quick`, once, on generated data: the numbers of all five results, the report, redrawing."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from askance import __version__
from askance.experiments.catalogue import EXPERIMENTS
from askance.experiments.privacy_data import DATA_SETS, describe
from askance.experiments.report import command
from askance.experiments.runner import FIELDS
from askance.experiments.tagging_estimators import ESTIMATORS
from tests.squares import Balanced, Outcome, call, files

# A minute of simulations: `make integration`, and `make processors`.
pytestmark = pytest.mark.integration

FIGURES = {
    "efficiency": ["efficiency", "channels"],
    "simplex": ["two_equations", "moment_lines"],
    "nonconvex": ["expected", "sample"],
    "privacy": ["california", "boston", "songs", "songs-many"],
    "tagging": ["over-passes", "over-seconds"],
}
# By hand or by enumeration: ε → 0, .1, .3, .5, .7, .9, 1.
REVEAL = [1e-6, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0]
CURVES = {
    "weak": [0.8160, 0.8390, 0.8840, 0.9269, 0.9655, 0.9945, 1.0],
    "strong": [0.7286, 0.7481, 0.7839, 0.8189, 0.8567, 0.9065, 1.0],
    "none": [1.0] * 7,
}
# Final accuracy on test sentences at seed 0, for regions of 5 and 10 words and of sentences. One word is 0.0006; the
# rest of the tolerance is for linear algebra in single precision on other machines.
ACCURACY = {
    "marginal-beam": [0.894, 0.924, 0.918],
    "moments-sgd": [0.879, 0.892, 0.888],
    "moments": [0.899, 0.918, 0.919],
    "tilted": [0.894, 0.922, 0.929],
    "exact": [0.894, 0.922],
    "chain": [0.944, 0.955, 0.965],
}
A_FEW_WORDS = 0.003


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Outcome]]:
    out = tmp_path_factory.mktemp("reproduction")
    with pytest.MonkeyPatch.context() as patched:
        patched.delenv("ASKANCE_DATA", raising=False)
        yield out, call("all", "--quick", "--workers", "2", "--out", str(out))


@pytest.fixture(scope="module")
def documents(run: tuple[Path, Outcome]) -> dict[str, dict[str, Any]]:
    """result.json of every experiment, as it is on disk."""
    return {name: json.loads((run[0] / name / "result.json").read_bytes()) for name in EXPERIMENTS}


@pytest.fixture(scope="module")
def results(documents: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {name: document["result"] for name, document in documents.items()}


# -- what is there -----------------------------------------------------------------------------------------------------


def test_the_command_says_what_it_found(run: tuple[Path, Outcome]) -> None:
    out, outcome = run
    assert outcome.code == 0
    assert [line.split(" ")[0] for line in outcome.out.splitlines() if line[:1].strip()] == [
        "experiment",
        *EXPERIMENTS,
        "report",
    ]
    assert outcome.out.splitlines()[-1] == f"report  {out / 'report.html'}"
    assert "tagging: 17 trials in 2 processes" in outcome.err


@pytest.mark.parametrize("name", list(EXPERIMENTS))
def test_a_result_says_where_it_comes_from(
    name: str, run: tuple[Path, Outcome], documents: dict[str, dict[str, Any]]
) -> None:
    document, experiment = documents[name], EXPERIMENTS[name]
    assert tuple(document) == FIELDS
    head = [document[field] for field in ("experiment", "title", "seed", "quick", "version")]
    assert head == [name, experiment.title, 0, True, __version__]
    assert document["config"] == json.loads(json.dumps(experiment.config(quick=True, seed=0)))
    assert document["data"] == [asdict(each) for each in experiment.data(document["config"])]
    assert len(document["data"]) == {"privacy": 4, "tagging": 1}.get(name, 0)
    for each in document["data"]:
        assert each["source"] != "real"
        assert len(bytes.fromhex(each["fingerprint"])) == 32
    drawn = {path.name for path in (run[0] / name).iterdir() if path.suffix in (".png", ".svg")}
    assert drawn == {f"{figure}.{ending}" for figure in FIGURES[name] for ending in ("png", "svg")}
    assert set(experiment.captions) == set(FIGURES[name])


def test_what_the_seed_does_not_decide_is_in_no_result(run: tuple[Path, Outcome]) -> None:
    for name in EXPERIMENTS:
        assert b'"measured' not in (run[0] / name / "result.json").read_bytes()
        assert (run[0] / name / "timings.json").exists() == (name == "tagging")
    timings = json.loads((run[0] / "tagging" / "timings.json").read_bytes())
    for own in timings["measured"]["curves"].values():
        for key, curve in own.items():
            seconds = curve["measured_cpu_seconds"]
            assert min(seconds) >= 0
            assert key == "moments-sgd" or seconds == sorted(seconds)
    assert [finding["claim"] for finding in timings["findings"]] == [
        "Moments are favourable where computation is limited."
    ]


def test_verdicts(documents: dict[str, dict[str, Any]]) -> None:
    found = {name: Counter(each["verdict"] for each in document["findings"]) for name, document in documents.items()}
    assert found == {
        "efficiency": {"agrees": 3, "differs": 2, "beyond": 3},
        "simplex": {"agrees": 1, "differs": 2, "beyond": 1},
        "nonconvex": {"agrees": 2, "beyond": 3},
        "privacy": {"agrees": 1, "differs": 6, "beyond": 1},
        "tagging": {"agrees": 3, "differs": 1, "beyond": 4},
    }
    for document in documents.values():
        assert all(bool(each["why"]) == (each["verdict"] == "differs") for each in document["findings"])


# -- efficiency --------------------------------------------------------------------------------------------------------


def test_efficiency_has_the_known_curves(results: dict[str, dict[str, Any]]) -> None:
    result = results["efficiency"]
    for signal, known in CURVES.items():
        curve = dict(zip(result["reveal_probability"], result["curves"][signal]["efficiency"], strict=True))
        assert [round(curve[reveal], 4) for reveal in REVEAL] == known
        assert list(curve.values()) == sorted(curve.values()) or signal == "none"
    assert result["curves"]["strong"]["lemma_from_moments"] < 1e-5
    assert result["curves"]["strong"]["lemma_from_marginal"] == pytest.approx(0.1725, abs=1e-4)


def test_efficiency_of_simulated_surveys(results: dict[str, dict[str, Any]]) -> None:
    result = results["efficiency"]
    at_this_seed = {"weak": [0.8887, 0.9227], "strong": [0.7923, 0.8210]}
    for signal, rows in result["simulated"].items():
        curve = dict(zip(result["reveal_probability"], result["curves"][signal]["efficiency"], strict=True))
        assert [row["reveal_probability"] for row in rows] == [0.3, 0.7]
        assert [row["moments"]["efficiency"] for row in rows] == pytest.approx(at_this_seed[signal], abs=2e-4)
        for row in rows:
            assert row["one-step"]["efficiency"] == pytest.approx(1, abs=0.01)
            error = row["moments"]["efficiency"] - curve[row["reveal_probability"]]
            assert abs(error) < 4 * row["moments"]["standard_error"]


def test_channels_of_level_one_cost_what_is_known(results: dict[str, dict[str, Any]]) -> None:
    known = {"strong": [200125, 57210, 50263, 42021, 21908], "weak": [938, 283, 272, 224, 157]}
    for signal, costs in known.items():
        (row,) = (row for row in results["efficiency"]["channels"][signal] if row["privacy_level"] == 1)
        assert [round(value) for value in row["errors"].values()] == costs
        assert row["printed_level"] == pytest.approx(0.5)
        assert row["coordinate_release_efficiency"] == pytest.approx(1)
    (row,) = (row for row in results["efficiency"]["channels"]["weak"] if row["privacy_level"] == 1)
    assert row["errors"]["optimal channel"] == 156.827


# -- simplex and nonconvex ---------------------------------------------------------------------------------------------


def test_simplex_has_the_points_of_its_sample(results: dict[str, dict[str, Any]]) -> None:
    result = results["simplex"]
    assert result["picture"]["statistics"] == [5, -1, 0]
    points = result["picture"]["points"]
    assert [equation["value"] for equation in result["equations"]] == [0.254, 0.332]
    assert points["projection"]["probabilities"] == pytest.approx([0.368, 0.32, 0.312], abs=1e-9)
    assert points["projection"]["probabilities"] == pytest.approx(points["unconstrained"]["probabilities"], abs=1e-9)
    assert points["family_projection"]["theta"] == pytest.approx([0.0265472], abs=1e-6)
    assert points["moment_estimate"]["theta"] == pytest.approx(points["family_projection"]["theta"], abs=1e-6)
    assert points["maximum_likelihood"]["theta"] == pytest.approx([0.0162368], abs=1e-5)
    for equation in result["equations"]:
        assert len(equation["segment"]) == 2
        for end in equation["segment"]:
            assert np.dot(equation["row"], end) == pytest.approx(equation["value"], abs=1e-12)
            assert sum(end) == pytest.approx(1)


def test_simplex_has_the_known_misleading_frequencies(results: dict[str, dict[str, Any]]) -> None:
    result = results["simplex"]
    assert [row["outside"] for row in result["outside"]] == pytest.approx([0.316, 0.004, 0.0], abs=1e-3)
    assert result["misleading"]["unconstrained"] == pytest.approx([1.524, -0.768, 0.244], abs=1e-6)
    assert result["misleading"]["nearest"] == pytest.approx([1, 0, 0], abs=1e-6)
    assert result["misleading"]["argmin"] == pytest.approx([0, 0, 1], abs=1e-6)


def test_nonconvex_has_the_known_maxima(results: dict[str, dict[str, Any]]) -> None:
    result = results["nonconvex"]
    assert [each["theta"][0] for each in result["expected"]["maxima"]] == pytest.approx([-1.1, 2.26462], abs=1e-5)
    assert result["expected"]["moment_estimate"]["theta"][0] == pytest.approx(-1.1, abs=1e-9)
    ends = {path["iterates"][0][0]: path["maximum"] for path in result["expected"]["em"]}
    assert ends == {-3: 0, 0: 0, 1: 0, 2: 1, 4: 1}
    assert [each["theta"][0] for each in result["sample"]["maxima"]] == pytest.approx([-1.08083, 2.11984], abs=1e-4)
    # Two maxima between −ln 4 and −0.987, and only there.
    counts = {row["theta"]: len(row["maxima"]) for row in result["range"]}
    assert counts == {theta: 1 + (-np.log(4) < theta < -0.987) for theta in counts}
    assert sorted(counts.values()) == [1] * 6 + [2] * 5


def test_nonconvex_over_samples(results: dict[str, dict[str, Any]]) -> None:
    samples = results["nonconvex"]["samples"]
    assert (samples["samples"], samples["several_maxima"], samples["highest_is_spurious"]) == (20, 20, 0)
    assert samples["moments_error"] == pytest.approx(0.03588, abs=1e-4)
    assert samples["one_step_error"] == pytest.approx(0.01167, abs=1e-4)


# -- privacy -----------------------------------------------------------------------------------------------------------


def medians(each: dict[str, Any], scheme: str) -> list[float]:
    return [row["centred"]["median"] for row in each["schemes"][scheme] if row is not None]


def test_privacy_without_noise_and_of_the_mean(results: dict[str, dict[str, Any]]) -> None:
    sets = results["privacy"]["data_sets"]
    assert [each["key"] for each in sets] == list(DATA_SETS)
    assert {each["source"] for each in sets} == {"stand-in"}
    best = [each["no_noise"]["centred"]["median"] for each in sets]
    assert best == pytest.approx([0.6451, 0.7528, 0.2255, 0.2520], abs=1e-3)
    for each in sets:
        assert each["mean_only"]["centred"]["median"] == pytest.approx(0, abs=0.01)
    alone = [each["mean_only"]["uncentred"]["median"] for each in sets]
    assert alone == pytest.approx([0.7620, 0.8654, 0.99997, 0.99997], abs=5e-4)


def test_privacy_spends_the_level_but_for_what_is_printed(results: dict[str, dict[str, Any]]) -> None:
    levels = results["privacy"]["levels"]
    assert levels == [0.1, 1.0, 10.0]
    for each in results["privacy"]["data_sets"]:
        for name, share in (("printed", 0.5), ("exact", 1), ("repaired", 1), ("askance", 1)):
            for level, row in zip(levels, each["schemes"][name], strict=True):
                if row is not None:
                    assert row["spent"] == pytest.approx(share * level, rel=1e-4)
                    assert row["spent"] <= share * level * (1 + 1e-9)
    assert results["privacy"]["data_sets"][3]["schemes"]["askance"][2] is None


def test_privacy_of_the_chosen_channel_at_this_seed(results: dict[str, dict[str, Any]]) -> None:
    known = {
        "california": [-0.157, 0.397, 0.634],
        "boston": [-0.070, 0.308, 0.681],
        "songs": [-0.028, 0.010, 0.131],
        "songs-many": [0.000, 0.031],
    }
    for each in results["privacy"]["data_sets"]:
        chosen = medians(each, "askance")
        assert chosen == pytest.approx(known[each["key"]], abs=2e-3)
        assert chosen == sorted(chosen)
        assert chosen[-1] < each["no_noise"]["centred"]["median"]


def test_privacy_as_printed_predicts_worse_than_the_mean_and_a_repair_helps(
    results: dict[str, dict[str, Any]],
) -> None:
    for each in results["privacy"]["data_sets"]:
        printed, exact, repaired, chosen = (medians(each, name) for name in each["schemes"])
        assert max(printed + exact) < -0.1
        for raw in (printed, exact):
            assert all(np.array(repaired) > raw)
            assert all(np.array(chosen) > raw[: len(chosen)])
    california = results["privacy"]["data_sets"][0]
    assert medians(california, "printed") == pytest.approx([-3.154, -21.25, -18.18], rel=1e-2)
    assert medians(california, "exact") == pytest.approx([-20.58, -32.38, -1.372], rel=1e-2)
    assert medians(california, "repaired") == pytest.approx([-0.593, -0.499, 0.200], abs=5e-3)


def test_privacy_fingerprints_are_those_of_the_generated_tables(documents: dict[str, dict[str, Any]]) -> None:
    prints = [each["fingerprint"] for each in documents["privacy"]["data"]]
    assert prints == [describe(key, quick=True)["fingerprint"] for key in DATA_SETS]
    assert len(set(prints)) == 4


# -- tagging -----------------------------------------------------------------------------------------------------------


def test_tagging_at_this_seed(results: dict[str, dict[str, Any]]) -> None:
    curves = results["tagging"]["curves"]
    assert list(curves) == ["5", "10", "sentence"]
    for key, known in ACCURACY.items():
        found = [own[key]["final"]["test"] for own in curves.values() if key in own]
        assert found == pytest.approx(known, abs=A_FEW_WORDS), key
    for own in curves.values():
        assert set(ESTIMATORS) - set(own) <= {"exact"}
        for curve in own.values():
            assert curve["regions"] == 300
            assert len(curve["train"]) == len(curve["test"]) == len(curve["passes"])
            assert curve["final"]["train"] > curve["final"]["test"]


def test_tagging_has_the_order_of_the_paper_and_of_askance(results: dict[str, dict[str, Any]]) -> None:
    curves = results["tagging"]["curves"]
    for own in curves.values():
        final = {key: curve["final"]["test"] for key, curve in own.items()}
        assert final["chain"] > max(value for key, value in final.items() if key != "chain") + 0.02
        assert final["marginal-beam"] > final["moments-sgd"] + 0.01
        assert final["moments"] > final["moments-sgd"] + 0.01
        for key in ("marginal-beam", "moments-sgd"):
            assert own[key]["passes"] == list(range(1, 9))
            assert own[key]["test"][-1] > own[key]["test"][0]
        assert own["moments"]["passes"] == [None]
    # Moments lead at first in sentences, and never in small regions.
    for size, leads in (("5", False), ("sentence", True)):
        marginal, moment = (curves[size][key]["test"][:2] for key in ("marginal-beam", "moments-sgd"))
        assert [b > a for a, b in zip(marginal, moment, strict=True)] == [leads] * 2


# -- the report, and drawing again -------------------------------------------------------------------------------------


def test_the_report_has_everything_and_needs_nothing_else(run: tuple[Path, Outcome]) -> None:
    text = (run[0] / "report.html").read_text(encoding="utf-8")
    html = Balanced(text)
    assert not {"script", "link", "iframe", "object"} & html.tags
    for outside in ("http://", "https://", "url(", "@import", "//cdn"):
        assert outside not in text
    inner = [address for address in html.addresses if address.startswith("#")]
    assert inner == [f"#{name}" for name in EXPERIMENTS]
    images = [address for address in html.addresses if not address.startswith("#")]
    assert len(images) == sum(map(len, FIGURES.values())) == 12
    assert all(address.startswith("data:image/png;base64,") for address in images)
    for words in ("prefers-color-scheme", "width=device-width"):
        assert words in text
    for name, experiment in EXPERIMENTS.items():
        assert f'<section id="{name}">' in text
        assert html.text.count(experiment.title) >= 2
        assert f"askance reproduce {name} --quick --seed 0" in html.text
        for caption in experiment.captions.values():
            assert caption in html.text
    for heading in ("Agrees with the paper", "Does not agree, and why", "Beyond the paper"):
        assert heading in html.text
    assert html.text.count("stand-in data: not the data of the paper") == 4
    assert "Moments are favourable where computation is limited." in html.text


def test_findings_are_in_the_report_word_for_word(
    run: tuple[Path, Outcome], documents: dict[str, dict[str, Any]]
) -> None:
    html = Balanced((run[0] / "report.html").read_text(encoding="utf-8"))
    for document in documents.values():
        for finding in document["findings"]:
            assert f"{finding['claim']} {finding['found']}" in html.text
            assert finding["why"] in html.text


def test_the_command_of_the_report_gives_the_same_bytes_again(
    run: tuple[Path, Outcome], documents: dict[str, dict[str, Any]], tmp_path: Path
) -> None:
    program, verb, *arguments = command(documents["simplex"]).split()
    assert (program, verb) == ("askance", "reproduce")
    assert call(*arguments, "--out", str(tmp_path), "--workers", "1").code == 0
    again, first = files(tmp_path / "simplex"), files(run[0] / "simplex")
    assert again == first


def test_replot_draws_the_same_bytes_and_runs_nothing(
    run: tuple[Path, Outcome], results: dict[str, dict[str, Any]]
) -> None:
    """The last one: the trials are gone after it."""
    out = run[0]
    before = {name: content for name, content in files(out).items() if "/trials/" not in name}
    for path in [*out.rglob("*.png"), *out.rglob("*.svg"), *out.glob("*/trials/*.json"), out / "report.html"]:
        path.unlink()
    outcome = call("all", "--replot", "--json", "--out", str(out))
    assert outcome.code == 0
    assert "trials" not in outcome.err
    assert files(out) == before
    answers = json.loads(outcome.out)
    assert list(answers) == list(EXPERIMENTS)
    assert list(answers["efficiency"]) == ["weak", "strong"]
    for signal, curve in answers["efficiency"].items():
        assert list(curve) == ["reveal_probability", "efficiency"]
        assert curve["efficiency"] == results["efficiency"]["curves"][signal]["efficiency"]
    for name in ("simplex", "nonconvex", "privacy"):
        assert answers[name] == results[name]
    assert "measured_cpu_seconds" in answers["tagging"]["curves"]["5"]["chain"]
