"""Replicate weights, beside R's `survey`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from askance import Direct, Drawn, ForcedResponse, load, regress, save
from askance.cli import command
from askance.errors import InputError, NotIdentifiedError

# i, g, x, z, y, h, w as in test_strata.py, y as 0 and 1; r from 1 (jk1, jkn) or 0
# jk1 <- w*12/11*(g != r);  jkn <- w*ifelse(g == r, 0, ifelse(h == r %% 4, 3/2, 1));  s <- (g*(2*r+1) + r*r) %% 8 < 4
# fay <- w*(1 + .7*ifelse(s, 1, -1));  brr <- 2*w*s;  boot <- w*((g*g + 3*r*g + r) %% 5)/2
# d <- svrepdesign(data = d, weights = ~w, repweights = W, combined.weights = TRUE, type = …)         (survey 4.1-1)
# SE(svyglm(y ~ x + z, d, family = quasibinomial(), control = list(epsilon = 1e-14))); degf(d)
R_ERRORS: dict[str, tuple[dict[str, Any], list[float], int]] = {
    "jk1": ({"replicate_kind": "JK1"}, [0.2266504209055, 0.1528909153699, 0.3443474225750], 11),
    "jkn": (
        {"replicate_kind": "JKn", "replicate_scale": 1.0, "replicate_scales": [2 / 3] * 12},
        [0.2558654412156, 0.1603472994868, 0.3741794898357],
        8,
    ),
    "fay": ({"replicate_kind": "Fay", "fay": 0.3}, [0.32259795133931, 0.09363096165029, 0.40350746511181], 3),
    "brr": ({"replicate_kind": "BRR"}, [0.38242372378126, 0.07863782194442, 0.47643214535417], 3),
    "boot": ({"replicate_kind": "bootstrap"}, [0.19880314683898, 0.08124000011058, 0.16275596171185], 4),
}


JACKKNIFE = Drawn(weights="w", replicates="jk1_*", replicate_kind="JK1")


def survey() -> dict[str, Any]:
    i, g = np.arange(120), np.repeat(np.arange(1, 13), [4] * 4 + [8] * 4 + [16] * 3 + [24])
    z, w, h = (g % 3 == 0).astype(np.float64), 1 + (i % 5) / 2, g % 4
    y = np.where((i * i + 3 * i + 5 * g * g) % 17 < 7 + 2 * z, "yes", "no")
    table: dict[str, Any] = {"y": y, "x": ((i * 7) % 13 - 6) / 4, "z": z, "g": g, "w": w}
    for r in range(1, 13):
        table[f"jk1_{r}"] = w * 12 / 11 * (g != r)
        table[f"jkn_{r}"] = w * np.where(g == r, 0, np.where(h == r % 4, 1.5, 1))
    for r in range(8):
        half = (g * (2 * r + 1) + r * r) % 8 < 4
        table[f"fay_{r}"], table[f"brr_{r}"] = w * np.where(half, 1.7, 0.3), 2 * w * half
    return table | {f"boot_{r}": w * ((g * g + 3 * r * g + r) % 5) / 2 for r in range(10)}


def fitted(**options: Any) -> Any:
    drawn = Drawn(**{"weights": "w", **options})
    return regress("y ~ x + z", survey(), Direct(["no", "yes"]), method="marginal", drawn=drawn)


@pytest.mark.parametrize("kind", list(R_ERRORS))
def test_errors_are_those_of_r(kind: str) -> None:
    options, errors, freedom = R_ERRORS[kind]
    fit = fitted(replicates=f"{kind}_*", **options)
    np.testing.assert_allclose(fit.standard_errors, errors, rtol=1e-6)
    assert fit.degrees_of_freedom.tolist() == [freedom] * 3
    assert fit.covariance_kind == "replicates"


@pytest.mark.parametrize("method", ["marginal", "moments", "one-step"])
def test_they_are_fits_with_other_weights(method: str) -> None:
    """JK1 by hand, through a noisy channel: every replicate is a fit to the rows that it keeps."""
    table, design = survey(), ForcedResponse("3/4", "1/8")
    fit: Any = regress("y ~ x", table, design, method=method, drawn=JACKKNIFE)
    by_hand = "moments" if method == "moments" else "marginal"
    alone = []
    for r in range(1, 13):
        kept = {name: values[table["g"] != r] for name, values in table.items()}
        alone.append(regress("y ~ x", kept, design, weights="w", method=by_hand))
    for found, own in (
        (fit.covariance, np.array([one.theta for one in alone])),
        (
            np.asarray(fit.prevalence(population=True).covariance)[0, :, 0, :],
            np.array([one.prevalence().estimate[0] for one in alone]),
        ),
    ):
        np.testing.assert_allclose(found, 11 * np.cov(own.T) * 11 / 12, rtol=1e-6, atol=1e-12)


def test_arms_keep_the_weights_of_their_rows() -> None:
    table, direct = survey(), Direct(["no", "yes"])
    table["arm"] = np.where(np.arange(120) % 2, "a", "b")
    both = regress("y ~ x + z", table, {"a": direct, "b": direct}, arm="arm", method="marginal", drawn=JACKKNIFE)
    alone = fitted(replicates="jk1_*", replicate_kind="JK1")
    np.testing.assert_allclose(both.standard_errors, alone.standard_errors, rtol=1e-8)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"replicate_kind": "JK1", "cluster": "g"}, "which they stand for"),
        ({"replicate_kind": "JK1", "weights": None}, "replicates are given without weights"),
        ({"replicate_kind": "JKn"}, "JKn needs replicate_scales"),
        ({"replicate_kind": "Fay"}, "fay is None, and replicate_kind is Fay"),
        ({"replicate_kind": "BRR", "replicate_scale": 2.0}, "BRR has no replicate_scale"),
        ({"replicate_kind": "JK1", "replicate_scales": [1.0]}, "12 numbers from 0"),
        ({"replicate_kind": "jackknife"}, "JK1"),
        ({"replicate_kind": "JK1", "replicates": "nothing*"}, "0 columns are called"),
        ({"replicate_kind": "JK1", "replicates": ["jk1_1", "x"]}, "are below 0"),
        ({"replicates": None, "fay": 0.3}, "given without them"),
    ],
)
def test_what_is_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        fitted(**{"replicates": "jk1_*", **options})


def test_hidden_answers_as_causes_have_none() -> None:
    with pytest.raises(InputError, match="where more is hidden than the answer"):
        regress("x ~ hidden(y)", survey(), Direct(["no", "yes"]), drawn=JACKKNIFE)


def test_a_replicate_without_an_estimate_is_named() -> None:
    table = survey()
    table["one"] = ((table["g"] == 2) & (np.arange(120) % 2 == 0)).astype(float)
    with pytest.raises(NotIdentifiedError, match="replicate 2 "):
        regress("y ~ one", table, Direct(["no", "yes"]), method="marginal", drawn=JACKKNIFE)


def test_saved_fits_know_no_replicate_weights(tmp_path: Path) -> None:
    fit = fitted(replicates="jk1_*", replicate_kind="JK1")
    save(fit, tmp_path / "a.askance")
    loaded: Any = load(tmp_path / "a.askance")
    np.testing.assert_array_equal(loaded.standard_errors, fit.standard_errors)
    assert loaded.degrees_of_freedom.tolist() == fit.degrees_of_freedom.tolist()
    with pytest.raises(InputError, match="nor saved fits"):
        loaded.prevalence(survey(), population=True)


def test_the_command_line_has_replicates(tmp_path: Path) -> None:
    table = survey()
    lines = [",".join(table), *(",".join(map(str, row)) for row in zip(*table.values(), strict=True))]
    (tmp_path / "a.csv").write_text("\n".join(lines))
    arguments = ["fit", str(tmp_path / "a.csv"), "--formula", "y ~ x + z", "--design", "direct", "--outputs", "no,yes"]
    arguments += ["--weights", "w", "--replicates", "jkn_*", "--replicate-kind", "JKn"]
    result = CliRunner().invoke(command.askance, [*arguments, "--replicate-scales", ",".join(["2/3"] * 12)])
    assert "std. errors: 12 replicate weights (JKn), t with 8 degrees of freedom" in result.stdout
    refused = CliRunner().invoke(command.askance, arguments)
    assert isinstance(refused.exception, InputError)
    assert "JKn needs --replicate-scales" in str(refused.exception)
