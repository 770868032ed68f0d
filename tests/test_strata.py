"""Strata and clusters within them, beside R's `survey`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from askance import Direct, Drawn, ForcedResponse, ListExperiment, regress
from askance.cli import command
from askance.errors import InputError
from askance.survey import read_codebook

# i, g, x, z, y as in test_few_clusters.py; h <- g %% 4; w <- 1 + (i %% 5)/2; N <- c(9,12,15,30)[h+1]
# d <- svydesign(ids = ~g, strata = ~h, weights = ~w, nest = TRUE)                            (survey 4.1-1)
# svyglm(y ~ x + z, d, family = quasibinomial(), control = list(epsilon = 1e-14))
R_THETA = [-0.645225013535, 0.232991702343, 0.688913359887]
R_ERRORS = {
    "clusters": [0.2319579780881, 0.1571620537328, 0.3096116048292],
    "fpc": [0.2116557285940, 0.1387131512955, 0.2746785763627],  # fpc = ~N
    "rows": [0.2703039833458, 0.2177837604227, 0.4020964398004],  # ids = ~1
    "lonely": [0.2360064164363, 0.1617086620155, 0.3005639730516],  # h[g == 12] <- 9, survey.lonely.psu = "adjust"
}


def survey() -> dict[str, Any]:
    i, g = np.arange(120), np.repeat(np.arange(1, 13), [4] * 4 + [8] * 4 + [16] * 3 + [24])
    z = (g % 3 == 0).astype(np.float64)
    y = np.where((i * i + 3 * i + 5 * g * g) % 17 < 7 + 2 * z, "yes", "no")
    N = np.array([9.0, 12.0, 15.0, 30.0])[g % 4]
    h2 = np.where(g == 12, 9, g % 4)
    return {"y": y, "x": ((i * 7) % 13 - 6) / 4, "z": z, "g": g, "h": g % 4, "h2": h2, "w": 1 + (i % 5) / 2, "N": N}


def fitted(**options: Any) -> Any:
    drawn = Drawn(weights="w", **options)
    return regress("y ~ x + z", survey(), Direct(["no", "yes"]), method="marginal", drawn=drawn)


@pytest.mark.parametrize(
    ("case", "options", "freedom"),
    [
        ("clusters", {"strata": "h", "cluster": "g"}, 8),
        ("fpc", {"strata": "h", "cluster": "g", "fpc": "N"}, 8),
        ("rows", {"strata": "h"}, 116),
        ("lonely", {"strata": "h2", "cluster": "g", "lonely_psu": "adjust"}, 7),
    ],
)
def test_errors_are_those_of_r(case: str, options: dict[str, str], freedom: int) -> None:
    """R's own tables count df less the slopes, degf(design) + 1 − p; here they are degf(design)."""
    fit = fitted(**options)
    np.testing.assert_allclose(fit.theta, R_THETA, rtol=1e-9)
    np.testing.assert_allclose(fit.standard_errors, R_ERRORS[case], rtol=1e-7)
    assert fit.degrees_of_freedom.tolist() == [freedom] * 3
    assert fit.covariance_kind == "stratified"


def test_shares_of_the_population_vary_within_strata() -> None:
    fit, data = fitted(strata="h", cluster="g"), survey()
    x = np.column_stack([np.ones(120), data["x"], data["z"]])
    p, w = fit.model.probabilities(fit.theta, x)[:, 1], data["w"]
    own = np.array([(w * (p - np.average(p, weights=w)))[data["g"] == g].sum() for g in range(1, 13)])
    wanted = sum(1.5 * ((own[h::4] - own[h::4].mean()) ** 2).sum() for h in range(4)) / w.sum() ** 2
    added = fit.prevalence(population=True).standard_error[0, 1] ** 2 - fit.prevalence().standard_error[0, 1] ** 2
    assert added == pytest.approx(wanted, rel=1e-8)


def test_what_is_refused() -> None:
    with pytest.raises(InputError, match="stratum 9 of column 'h2' has one cluster"):
        fitted(strata="h2", cluster="g")
    with pytest.raises(InputError, match="fpc is given without strata"):
        fitted(cluster="g", fpc="N")
    with pytest.raises(InputError, match="column 'w' holds other numbers in one stratum"):
        fitted(strata="h", cluster="g", fpc="w")
    with pytest.raises(InputError, match=r"no option 'strata' of its own; .* Write drawn=Drawn\(strata=…\)"):
        regress("y ~ x", survey(), Direct(["no", "yes"]), cluster="g", strata="h")


def test_the_command_line_has_strata(tmp_path: Any) -> None:
    table = survey()
    lines = [",".join(table), *(",".join(map(str, row)) for row in zip(*table.values(), strict=True))]
    (tmp_path / "a.csv").write_text("\n".join(lines))
    arguments = ["fit", str(tmp_path / "a.csv"), "--formula", "y ~ x + z", "--design", "direct", "--outputs", "no,yes"]
    arguments += ["--weights", "w", "--cluster", "g", "--strata", "h", "--fpc", "N"]
    result = CliRunner().invoke(command.askance, arguments)
    assert "std. errors: 12 clusters by g in 4 strata by h, t with 8 degrees of freedom" in result.stdout


def test_the_noise_of_a_device_does_not_shrink_with_the_share_drawn() -> None:
    drawn = Drawn(strata="h", cluster="g", fpc="N")
    with pytest.raises(InputError, match="fpc is given where answers came through a device"):
        regress("y ~ x", survey(), ForcedResponse("2/3", "1/6"), drawn=drawn)
    data = survey() | {"N": np.where(survey()["h"] == 0, 0.5, 40.0)}
    with pytest.raises(InputError, match="shares beside numbers"):
        regress("y ~ x", data, Direct(["no", "yes"]), drawn=drawn)


def test_least_squares_of_lists_vary_within_strata() -> None:
    """The difference in means, from sums of clusters less the mean of their stratum."""
    data = survey() | {"n": (np.arange(120) ** 2 + survey()["g"]) % 4 % 3, "t": np.arange(120) % 2}
    fit = regress("n ~ 1", data, ListExperiment(3), treated="t", method="linear", drawn=Drawn(strata="h", cluster="g"))
    treated, n = data["t"] == 1, data["n"]
    moves = np.where(treated, (n - n[treated].mean()) / treated.sum(), -(n - n[~treated].mean()) / (~treated).sum())
    variance = 0.0
    for h in np.unique(data["h"]):
        own = data["h"] == h
        sums = np.array([moves[own & (data["g"] == g)].sum() for g in np.unique(data["g"][own])])
        variance += len(sums) * sums.var(ddof=1)
    assert fit.shares("trait").standard_error[1] == pytest.approx(np.sqrt(variance), rel=1e-9)
    assert fit.degrees_of_freedom.tolist() == [8.0, 8.0]
    direct = data | {"said": np.where(np.arange(120) % 5 == 0, "yes", "no")}
    with pytest.raises(InputError, match="strata are not offered"):
        regress(
            "n ~ 1", direct, ListExperiment(3, direct="said"), treated="t", method="moments", drawn=Drawn(strata="h")
        )


@pytest.mark.parametrize("outcome", ["category", "number"])
def test_a_hidden_cause_has_strata(outcome: str) -> None:
    """Through the direct question, what explains another is seen: R's errors, of a regression on it."""
    data = survey()
    direct, columns = Direct(["no", "yes"]), {"y": data["y"], "z": (data["x"] > 0) * 1.0}
    if outcome == "number":
        columns["z"] = columns["z"] + data["x"] ** 3
    data |= columns
    fit = regress("z ~ hidden(y)", data, direct, drawn=Drawn(strata="h", cluster="g", weights="w"), outcome=outcome)
    yes, w = columns["y"] == "yes", data["w"] / data["w"].mean()
    x, z = np.column_stack([np.ones(120), yes]), columns["z"]
    if outcome == "number":
        theta = np.linalg.solve(x.T @ (w[:, None] * x), x.T @ (w * z))
        mean, curve = x @ theta, np.ones(120)
    else:
        shares = np.array([(w * z * (yes == k)).sum() / (w * (yes == k)).sum() for k in (0, 1)])
        mean = shares[yes.astype(int)]
        curve, theta = mean * (1 - mean), np.array([np.log(shares[0] / (1 - shares[0])), 0.0])
        theta[1] = np.log(shares[1] / (1 - shares[1])) - theta[0]
    np.testing.assert_allclose(fit.theta[1:3], theta, atol=1e-6)
    scores, meat = x * (w * (z - mean))[:, None], np.zeros((2, 2))
    for h in np.unique(data["h"]):
        own = data["h"] == h
        sums = np.array([scores[own & (data["g"] == g)].sum(axis=0) for g in np.unique(data["g"][own])])
        meat += len(sums) * np.cov(sums.T)
    bread = np.linalg.inv(x.T @ ((w * curve)[:, None] * x))
    np.testing.assert_allclose(fit.covariance[1:3, 1:3], bread @ meat @ bread, rtol=1e-5)
    assert fit.covariance_kind == "stratified"
    assert any("in 4 strata by h, t with 8 degrees of freedom" in message for message in fit.messages)
    drawn = Drawn(strata="h", cluster="g", fpc="N")
    with pytest.raises(InputError, match="noise does not shrink"):
        regress("z ~ hidden(y)", data, ForcedResponse("2/3", "1/6"), drawn=drawn, outcome=outcome)


def test_strata_of_a_codebook_count(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(
        'codebook = 1\nstrata = "h"\ncluster = "g"\nweights = "w"\n'
        '[questions.y.design]\nkind = "direct"\noutputs = ["no", "yes"]\n'
    )
    study = regress("y ~ x + z", survey(), read_codebook(tmp_path / "study.toml"), method="marginal")
    np.testing.assert_allclose(study.standard_errors, fitted(strata="h", cluster="g").standard_errors, rtol=1e-12)
