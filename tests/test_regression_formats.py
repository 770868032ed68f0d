"""Files of regressions, and pictures of them."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from askance import (
    Direct,
    DistributionFit,
    ForcedResponse,
    RandomizedResponse,
    RegressionFit,
    Responses,
    Softmax,
    load,
    save,
)
from askance import estimate as estimate_fit
from askance.channels import FiniteChannel
from askance.errors import FormatError, InputError
from askance.estimation import Diagnostics, LocalMaximum
from askance.formats import fit_to_json
from askance.formats.container import pack
from askance.survey.plots import plot_coefficients

from .golden.contents import golden_fits


def regression(outputs: list[Any], method: str = "one-step", *, terms: int = 2, **extra: Any) -> RegressionFit:
    rng = np.random.default_rng(4)
    n = 800
    x = np.column_stack([np.ones(n), *(rng.normal(size=n).round(1) for _ in range(terms - 1))])
    model = Softmax(outputs, ["Intercept", *(f"x{j}" for j in range(1, terms))])
    shares = model.probabilities(rng.normal(size=model.dimension, scale=0.3), x)
    truth = (shares.cumsum(axis=1) < rng.random(n)[:, None]).sum(axis=1).clip(0, len(outputs) - 1)
    private = RandomizedResponse.for_privacy_level(3, outputs=outputs)
    channel: FiniteChannel = Direct(outputs) if method == "supervised" else private
    reports = channel.simulate(channel.outputs.decode(truth), rng)
    return estimate_fit(model, Responses(channel).add(x, reports, **extra), method)


def fixed() -> RegressionFit:
    """Nothing here is computed by a solver, so every machine writes the same bytes."""
    channel = ForcedResponse("2/3", "1/6")
    return RegressionFit(
        model=Softmax(["no", "yes"], ["Intercept", "C(region)[T.süd]"]),
        theta=np.array([0.1, -2.5]),
        covariance=np.array([[0.1 + 0.2, -1e-5], [-1e-5, 2.0]]),
        n_observations=2**40,
        method="marginal",
        covariance_kind="cluster-robust",
        converged=True,
        log_likelihood=-1039.2950155503859,
        raw_statistics=np.array([1 / 3, 2 / 3]),
        channel=channel.specification(),
        privacy_level=channel.privacy_level,
        diagnostics=Diagnostics(iterations=3, maxima=(LocalMaximum((0.1, -2.5), -1039.5, 8),), messages=("a note",)),
        design=object(),
    )


WRITTEN = {
    "askance": "fit/2",
    "method": "marginal",
    "n": 2**40,
    "privacy_level": 1.6094379124341005,
    "converged": True,
    "log_likelihood": -1039.2950155503859,
    "covariance_kind": "cluster-robust",
    "theta": [0.1, -2.5],
    "covariance": [[0.30000000000000004, -1e-05], [-1e-05, 2.0]],
    "raw_statistics": [0.3333333333333333, 0.6666666666666666],
    "channel": {"kind": "forced-response", "truth": "2/3", "yes": "1/6", "no": "1/6", "outputs": ["no", "yes"]},
    "model": {"kind": "softmax", "outputs": ["no", "yes"], "terms": ["Intercept", "C(region)[T.süd]"]},
    "diagnostics": {
        "iterations": 3,
        "repaired": False,
        "damped": False,
        "maxima": [{"theta": [0.1, -2.5], "log_likelihood": -1039.5, "starts": 8}],
        "escaped_starts": 0,
        "messages": ["a note"],
    },
}


def reloaded(fit: RegressionFit, path: Path) -> RegressionFit:
    save(fit, path)
    again = load(path)
    assert isinstance(again, RegressionFit)
    return again


# -- files -------------------------------------------------------------------------------------------------------------


def test_what_is_written_stays_the_same(tmp_path: Path) -> None:
    assert fit_to_json(fixed()) == WRITTEN
    save(fixed(), tmp_path / "a.fit")
    assert (tmp_path / "a.fit").read_bytes() == pack(WRITTEN)
    save(reloaded(fixed(), tmp_path / "b.fit"), tmp_path / "c.fit")
    assert (tmp_path / "c.fit").read_bytes() == pack(WRITTEN)


@pytest.mark.parametrize("method", ["one-step", "moments", "marginal", "supervised"])
@pytest.mark.parametrize("outputs", [["no", "yes"], [0, 1, 2]], ids=["texts", "codes"])
def test_round_trip(outputs: list[Any], method: str, tmp_path: Path) -> None:
    fit = regression(outputs, method)
    again = reloaded(fit, tmp_path / "a.fit")
    for field in dataclasses.fields(RegressionFit):
        if field.name not in ("model", "evidence", "design"):
            np.testing.assert_equal(getattr(again, field.name), getattr(fit, field.name), err_msg=field.name)
    assert again.model.outputs == fit.model.outputs
    assert again.model.terms == fit.model.terms
    assert again.evidence is None
    assert again.design is None
    assert again.summary() == fit.summary()


def test_no_respondent_is_written(tmp_path: Path) -> None:
    fit = regression(["no", "yes"], clusters=[f"village {i % 7}" for i in range(800)])
    save(dataclasses.replace(fit, design={"formula": "answer ~ secret"}), tmp_path / "a.fit")
    data = (tmp_path / "a.fit").read_text(encoding="utf-8")
    assert len(data) < 1500
    assert "village" not in data
    assert "secret" not in data


def test_a_loaded_fit_predicts_and_asks_for_x(tmp_path: Path) -> None:
    fit = regression(["a", "b", "c"], terms=3)
    again = reloaded(fit, tmp_path / "a.fit")
    x = np.array([[1.0, 0.3, -1.0], [1.0, 0.0, 0.5]])
    assert json.dumps(again.predict(x).to_json()) == json.dumps(fit.predict(x).to_json())
    assert json.dumps(again.posterior(x, ["a", "c"]).to_json()) == json.dumps(fit.posterior(x, ["a", "c"]).to_json())
    assert again.prevalence(x).to_json() == fit.prevalence(x).to_json()
    for ask in (again.prevalence, again.marginal_effects):
        with pytest.raises(InputError, match=r"never written.*x1.*x2"):
            ask()
    with pytest.raises(InputError, match="loaded fit"):
        again.predict({"x1": [1.0], "x2": [2.0]})


@pytest.mark.parametrize("name", list(golden_fits()))
def test_files_without_kind_are_still_read(name: str, tmp_path: Path) -> None:
    known = fit_to_json(golden_fits()[name])
    model = {field: value for field, value in known["model"].items() if field != "kind"}
    assert len(model) == len(known["model"]) - 1
    path = tmp_path / "old.fit"
    path.write_bytes(pack({**known, "model": model}))
    fit = load(path)
    assert isinstance(fit, DistributionFit)
    assert fit_to_json(fit) == known


def test_wide_fits_are_kept_without_their_empty_covariance(tmp_path: Path) -> None:
    """A covariance of 10¹⁰ NaN has no memory behind it, and nothing here may give it some."""
    d = 100_000
    fit = dataclasses.replace(
        fixed(),
        model=Softmax(["no", "yes"], ["Intercept", *(f"x{j}" for j in range(1, d))]),
        theta=np.linspace(-1, 1, d),
        covariance=np.broadcast_to(np.float64(np.nan), (d, d)),
        raw_statistics=None,
    )
    again = reloaded(fit, tmp_path / "wide.fit")
    np.testing.assert_array_equal(again.theta, fit.theta)
    assert again.covariance.shape == (d, d)
    x = csr_array(([1.0, 1.0], ([0, 1], [0, 7])), shape=(2, d))
    for table in (again.predict(x), again.prevalence(x), again.marginal_effects(x, terms=["x3"])):
        assert np.isfinite(table.estimate).all()
        assert np.isnan(table.standard_error).all()
    with pytest.raises(InputError, match="terms="):
        again.marginal_effects(x)
    with pytest.raises(InputError, match="terms="):
        plot_coefficients(again)
    text = again.summary()
    assert "and 99,900 more terms" in text
    assert len(text.split("\n")) < 150
    assert len(plot_coefficients(again, terms=["x3", "x1"]).axes[0].get_yticks()) == 2


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"model": {"kind": "forest", "outputs": 2}}, "'forest'"),
        ({"model": {"kind": "softmax", "outputs": 2}}, "terms"),
        ({"model": {"kind": "softmax", "outputs": 2, "terms": ["a", "a"]}}, "all different"),
        ({"model": {"kind": "softmax", "outputs": 2, "terms": ["a", "b", "c"]}}, "theta"),
        ({"model": {"kind": "softmax", "outputs": 2, "terms": ["a"], "formula": "y ~ x"}}, "formula"),
        ({"model": ["softmax"]}, "fit"),
        ({"theta": [0.0, "a"]}, "theta"),
        ({"covariance": [[1.0]]}, "fit"),
    ],
)
def test_strange_models_are_refused(changes: dict[str, Any], words: str, tmp_path: Path) -> None:
    path = tmp_path / "strange.fit"
    path.write_bytes(pack({**WRITTEN, **changes}))
    with pytest.raises(FormatError, match=words) as caught:
        load(path)
    assert str(path) in str(caught.value)


# -- pictures ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("outputs", "terms"), [(2, 2), (2, 31), (3, 4), (6, 3)])
def test_every_coefficient_is_drawn_where_it_is(outputs: int, terms: int, tmp_path: Path) -> None:
    labels = [f"answer {i}" for i in range(outputs)]
    fit = regression(labels, terms=3)
    model = Softmax(
        labels, ["Intercept", *(f"a rather long name of term number_{j}" * (1 + j % 3) for j in range(1, terms))]
    )
    rng = np.random.default_rng(outputs)
    fit = dataclasses.replace(
        fit, model=model, theta=rng.normal(size=model.dimension), covariance=np.eye(model.dimension) / 20
    )
    figure = plot_coefficients(fit, tmp_path / "a.png", confidence=0.9)
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    panels = [axis for axis in figure.axes if axis.get_visible()]
    assert len(panels) == outputs - 1
    lower, upper = (end.reshape(outputs - 1, terms)[:, 1:] for end in fit.confidence_interval(0.9))
    for i, axis in enumerate(panels):
        lines, points = axis.collections[0], axis.collections[1]
        ends = np.array([segment[:, 0] for segment in lines.get_segments()])  # type: ignore[attr-defined]
        np.testing.assert_allclose(ends, np.stack([lower[i], upper[i]], axis=1))
        np.testing.assert_allclose(np.asarray(points.get_offsets())[:, 0], fit.model.blocks(fit.theta)[i, 1:])
        assert axis.get_title(loc="left") == f"answer {i + 1} against answer 0"
    assert len(panels[0].get_yticks()) == terms - 1


def test_places_and_formats_that_do_not_work_are_named(tmp_path: Path) -> None:
    fit = regression(["no", "yes"])
    for name, error, named in (("missing/a.png", FormatError, "missing"), ("a.docx", InputError, ".docx")):
        with pytest.raises(error, match=named) as caught:
            plot_coefficients(fit, tmp_path / name)
        assert caught.value.remedy
    with pytest.raises(InputError, match="'x9'"):
        plot_coefficients(fit, terms=["x9"])


def test_names_that_are_cut_stay_different() -> None:
    fit = regression(["no", "yes"], terms=3)
    long = [f"{'a' * 80} {j} {'b' * 80}" for j in range(2)]
    fit = dataclasses.replace(fit, model=Softmax(["no", "yes"], ["Intercept", *long]))
    names = [label.get_text() for label in plot_coefficients(fit).axes[0].get_yticklabels()]
    assert len(set(names)) == 2


def test_the_intercept_is_shown_when_asked_for() -> None:
    fit = regression(["no", "yes"])
    shown = plot_coefficients(fit, intercept=True).axes[0].get_yticklabels()
    assert [label.get_text() for label in shown] == ["Intercept", "x1"]
    only = dataclasses.replace(
        fit, model=Softmax(["no", "yes"], ["Intercept"]), theta=fit.theta[:1], covariance=fit.covariance[:1, :1]
    )
    with pytest.raises(InputError, match="intercept=True"):
        plot_coefficients(only)
