"""Estimates that cannot be are refused, where they are made and where they are read."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from askance import MatrixChannel, Tally
from askance.errors import FormatError, IncompatibleEvidenceError, InputError
from askance.formats import aggregate, write_reports
from askance.formats.container import unpack
from askance.formats.fit_file import fit_from_json, fit_from_parts, fit_to_json
from askance.formats.state_file import state_from_parts, state_to_parts
from tests.golden.contents import FOLDER, golden_fields, golden_fits

FIT = golden_fits()["every_diagnostic.fit"]
FIELD = golden_fields()["every_diagnostic.field"]

# The field of the file, its forged value, the attribute, and what the refusal says.
FORGED: list[tuple[str, Any, str, str]] = [
    ("n", -5, "n_observations", "number of reports is -5"),
    ("privacy_level", -3.0, "privacy_level", r"privacy level is -3\.0"),
    ("covariance", [[0.3, 0.1], [0.2, 2.0]], "covariance", "not symmetric"),
    ("covariance", [[0.3, 1e-5], [0.0, 2.0]], "covariance", "not symmetric"),
    ("covariance", [[0.3, 1.0], [1.0, 2.0]], "covariance", "eigenvalue below 0"),
    ("covariance", [[-0.3, 0.0], [0.0, 2.0]], "covariance", r"variance of -0\.3"),
    ("covariance", [[0.3]], "covariance", r"shape \(1, 1\)"),
    ("raw_covariance", [[0.3, 0.1], [0.2, 2.0]], "raw_covariance", "raw_covariance is not symmetric"),
]


@pytest.mark.parametrize(("key", "value", "attribute", "words"), FORGED)
def test_forged_fits(key: str, value: Any, attribute: str, words: str) -> None:
    with pytest.raises(FormatError, match=f"a.fit does not describe a fit: .*{words}"):
        fit_from_json(fit_to_json(FIT) | {key: value}, "a.fit")
    made: Any = {attribute: np.array(value) if isinstance(value, list) else value}
    with pytest.raises(InputError, match=words):
        dataclasses.replace(FIT, **made)


def test_a_covariance_is_known_or_not() -> None:
    content = fit_to_json(FIT)
    assert np.isnan(fit_from_json(content | {"covariance": None}, "a.fit").covariance).all()
    with pytest.raises(FormatError, match="covariance has numbers that are not finite"):
        fit_from_json(content | {"covariance": [[0.3, None], [None, 2.0]]}, "a.fit")


def test_what_rounding_does_is_no_forgery() -> None:
    almost = np.array([[1.0, 1.0 + 1e-9], [1.0 - 1e-9, 1.0]])
    assert dataclasses.replace(FIT, covariance=almost).covariance is almost
    assert dataclasses.replace(FIT, covariance=np.zeros((2, 2))).standard_errors.tolist() == [0.0, 0.0]
    assert dataclasses.replace(FIT, n_observations=0, privacy_level=math.inf).n_observations == 0


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"n": -5}, "number of reports is -5"),
        ({"privacy_level": -3}, r"privacy level is -3\.0"),
        ({"prior_scale": -1}, r"prior_scale is -1\.0"),
    ],
)
def test_forged_fields(changes: dict[str, Any], words: str) -> None:
    header, payload = unpack((FOLDER / "every_diagnostic.field").read_bytes(), "a.field")
    assert fit_from_parts(header, payload, "a.field").n_observations == FIELD.n_observations
    with pytest.raises(FormatError, match=f"a.field does not describe a fit: .*{words}"):
        fit_from_parts(header | changes, payload, "a.field")


@pytest.mark.parametrize(("place", "words"), [("covariance", "not symmetric"), ("errors", "smallest error -1")])
def test_forged_numbers_of_fields(place: str, words: str) -> None:
    header, payload = unpack((FOLDER / "every_diagnostic.field").read_bytes(), "a.field")
    numbers, size, cells = np.frombuffer(payload, "<f8").copy(), len(FIELD.theta), len(FIELD.raw_statistics)
    numbers[size + 2 * cells + 1 if place == "covariance" else size + cells] = -1.0
    with pytest.raises(FormatError, match=words):
        fit_from_parts(header, numbers.tobytes(), "a.field")


def test_tallies_of_reports_that_are_never_given() -> None:
    channel = MatrixChannel([[0.9, 0.2], [0.1, 0.8], [0, 0]], observations=["a", "b", "c"])
    header, _ = state_to_parts(Tally(channel, [5, 5, 0]))
    with pytest.raises(IncompatibleEvidenceError, match="'c' was reported 7 times"):
        Tally(channel, [5, 5, 7])
    with pytest.raises(IncompatibleEvidenceError, match="'c' was reported 1 times"):
        Tally(channel).add(["a", "c"])
    with pytest.raises(FormatError, match=r"a\.tally does not describe a tally: 'c' was reported 7 times"):
        state_from_parts(header, bytes([5, 5, 7]), "a.tally")


def test_reports_that_are_never_given_are_bad_ones(tmp_path: Path) -> None:
    channel = MatrixChannel([[0.9, 0.2], [0.1, 0.8], [0, 0]], observations=["a", "b", "c"])
    write_reports(tmp_path / "a.jsonl", ["a", "c", "b"], channel=channel)
    with pytest.raises(FormatError, match="it has 'c' in column 'answer', which the channel never gives"):
        aggregate(tmp_path / "a.jsonl")
    found = aggregate(tmp_path / "a.jsonl", skip_bad=True)
    assert isinstance(found.evidence, Tally)
    assert found.evidence.counts.tolist() == [1, 1, 0]
    assert found.refused == {"malformed": 1}
