"""List experiments: means by least squares, and tables of nuisances, from exact frequencies."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from askance import ListExperiment, Responses, compare_fits, estimate, load, regress, save
from askance.errors import AskanceWarning, InputError, LabelError, NotIdentifiedError
from askance.estimation.results.hidden_fit import HiddenFit
from askance.estimation.results.means_fit import MeansFit
from askance.models.count_means import CountMeans
from askance.survey import fit_results, nonresponse_bounds, report_page

# Numbers of controls and of treated by their counts, where x is 0 and where it is 1.
CONTROL = {0: [10, 20, 30, 40], 1: [25, 25, 25, 25]}
TREATED = {0: [8, 14, 28, 38, 12], 1: [15, 25, 25, 25, 10]}


def survey(
    control: dict[int, list[int]] = CONTROL, treated: dict[int, list[int]] = TREATED, times: int = 1
) -> dict[str, Any]:
    """A table with so many respondents."""
    rows = [
        (x, group, count)
        for group, tables in enumerate((control, treated))
        for x, counts in tables.items()
        for count, number in enumerate(counts)
        for _ in range(number * times)
    ]
    x, group, count = (np.array(column) for column in zip(*rows, strict=True))
    return {"n": count, "x": x, "treated": group}


def means(counts: list[int]) -> tuple[float, float]:
    """Mean, and its squared error without a correction."""
    values = np.repeat(np.arange(len(counts)), counts)
    return float(values.mean()), float(values.var() / len(values))


def test_the_difference_in_means() -> None:
    """By hand, with HC3: every error over 1 − 1/n of its group, which is s² / (n − 1)."""
    fit = regress("n ~ 1", survey(), ListExperiment(3), arm="treated", method="moments")
    assert isinstance(fit, MeansFit)
    (y0, v0), (y1, v1) = (means([a + b for a, b in zip(*side.values(), strict=True)]) for side in (CONTROL, TREATED))
    share = fit.shares("trait")
    assert share.estimate[1] == pytest.approx(y1 - y0, abs=1e-12)
    assert share.standard_error[1] == pytest.approx(math.sqrt((v0 + v1) * (200 / 199) ** 2), rel=1e-12)
    assert fit.method == "linear"
    assert fit.log_likelihood == -math.inf


@pytest.mark.parametrize("method", ["linear", "least-squares"])
def test_with_one_binary_covariate_every_cell_has_its_difference(method: str) -> None:
    fit = regress("n ~ x", survey(), ListExperiment(3), arm="treated", method=method)
    factor = 100 / 99 if method == "linear" else 1.0
    cells = {x: (means(CONTROL[x]), means(TREATED[x])) for x in (0, 1)}
    for x, ((y0, v0), (y1, v1)) in cells.items():
        share = fit.shares("trait", np.array([[1.0, x]]))
        assert share.estimate[1] == pytest.approx(y1 - y0, abs=1e-9)
        assert share.standard_error[1] == pytest.approx(factor * math.sqrt(v0 + v1), rel=1e-8)
    if method == "least-squares":
        odds = [math.log((y1 - y0) / (1 - y1 + y0)) for (y0, _), (y1, _) in cells.values()]
        assert fit.theta[:2] == pytest.approx([odds[0], odds[1] - odds[0]], abs=1e-8)
        assert fit.theta[2] == pytest.approx(math.log(2 / 1), abs=1e-8)  # 2 of 3 items hold where x is 0


def test_weights_and_clusters() -> None:
    """Doubled rows in pairs: the errors of single rows, each over √(1 − 1/100) of its cell; weights double too."""
    design, single, double = ListExperiment(3), survey(), survey(times=2)
    n = len(single["n"])
    order = np.argsort(np.repeat(np.arange(n), 2), kind="stable")
    double = {name: np.repeat(column, 2)[order] for name, column in single.items()}
    double["pair"] = np.repeat(np.arange(n), 2)
    plain = regress("n ~ x", single, design, arm="treated", method="least-squares")
    paired = regress("n ~ x", double, design, arm="treated", method="least-squares", cluster="pair")
    np.testing.assert_allclose(paired.theta, plain.theta, atol=1e-9)
    np.testing.assert_allclose(paired.covariance, plain.covariance * 100 / 99, rtol=1e-8)
    single["w"] = np.where(single["n"] == 2, 2.0, 1.0)
    rows = np.repeat(np.arange(n), np.where(single["n"] == 2, 2, 1))
    repeated = {name: column[rows] for name, column in single.items()}
    for method in ("linear", "least-squares"):
        weighted = regress("n ~ x", single, design, arm="treated", method=method, weights="w")
        longer = regress("n ~ x", repeated, design, arm="treated", method=method)
        np.testing.assert_allclose(weighted.theta, longer.theta, atol=1e-9)


def test_means_name_no_law_and_have_bounds() -> None:
    fit = regress("n ~ x", survey(), ListExperiment(3), arm="treated", method="linear")
    law = regress("n ~ x", survey(), ListExperiment(3), arm="treated")
    for shown in (str(compare_fits([fit])), report_page(fit)):
        assert "control law" not in shown
        assert "dependent" not in shown
    assert "control law" in str(compare_fits([law]))
    share = fit.shares("trait").estimate[1]
    assert nonresponse_bounds(fit, 0).lowest[0, 1] == pytest.approx(share, rel=1e-12)


def test_means_have_results_of_their_own() -> None:
    fit = regress("n ~ x", survey(), ListExperiment(3), arm="treated", method="linear")
    results = fit_results(fit)
    assert (list(results.nuisances), list(results.prevalence), results.test) == (["trait"], [], None)
    assert [table.title for table in results.kept.kept_tables] == ["Shares of trait"]
    with pytest.raises(InputError, match=r"method=\"linear\"\), which have no law for predictions, effects"):
        fit_results(fit, effects=True)


def test_means_are_saved(tmp_path: Path) -> None:
    fit = regress("n ~ x", survey(), ListExperiment(3), arm="treated", method="least-squares")
    save(fit, tmp_path / "a.fit")
    again = load(tmp_path / "a.fit")
    assert isinstance(again, MeansFit)
    assert again.summary() == fit.summary()
    table = {"x": [0, 1]}
    np.testing.assert_array_equal(again.shares("trait", table).estimate, fit.shares("trait", table).estimate)
    with pytest.raises(InputError, match="'trait' is known by means alone"):
        _ = again.trait
    with pytest.raises(InputError, match="variable is 'items'"):
        fit.shares("items")


def test_a_share_below_0_has_no_log_odds() -> None:
    data = survey({0: [10, 20, 30, 40]}, {0: [20, 30, 40, 10, 0]})
    assert regress("n ~ 1", data, ListExperiment(3), arm="treated", method="linear").theta[0] < 0
    with pytest.warns(AskanceWarning, match="runs off to infinity"):
        fit = regress("n ~ 1", data, ListExperiment(3), arm="treated", method="least-squares")
    assert not fit.converged
    assert np.isnan(fit.covariance).all()


def test_counts_that_a_list_cannot_have_are_named() -> None:
    data = survey()
    data["n"][0] = 9  # a control
    with pytest.raises(LabelError, match=r"holds 9 in group 0, .* items has counts from 0 to 3 there"):
        regress("n ~ x", data, ListExperiment(3), arm="treated")
    data["n"][0] = -9  # a code of "no answer"
    with pytest.raises(LabelError, match=r"holds -9; .* Leave out or recode the rows with other values\."):
        regress("n ~ x", data, ListExperiment(3), arm="treated")


def test_methods_of_lists() -> None:
    with pytest.raises(InputError, match="allowed: marginal, moments, linear, least-squares"):
        regress("n ~ x", survey(), ListExperiment(3), arm="treated", method="one-step")
    with pytest.raises(InputError, match="all counts for the truth"):
        regress("n ~ x", survey(), ListExperiment(3, ceiling=True), arm="treated", method="linear")


def test_groups_of_means() -> None:
    with pytest.raises(InputError, match="one group per variable"):
        CountMeans({"trait": ["Intercept"], "items": ["Intercept"]}, [1, 3], [["items", "trait"], ["items"]])
    design = ListExperiment(3)
    only = Responses(design.arms).add(np.ones((4, 1)), [0, 1, 2, 3], arm=0)
    with pytest.raises(NotIdentifiedError, match="reports of 1 groups"):
        estimate(design.model(["Intercept"], "linear"), only)


def hidden_shares(design: ListExperiment, **shares: Any) -> Any:
    """P(combination) of independent hidden variables, shape (H,)."""
    model = design.model(["Intercept"])
    p = np.ones(len(model.outputs))
    for factor, values in zip(model.factors, model.values, strict=True):
        p *= np.asarray(shares[factor.name])[values]
    return p


def exact_fit(design: ListExperiment, p: Any, n: int = 10_000) -> HiddenFit:
    """From frequencies that are what the design says."""
    evidence = Responses(design.arms)
    for group, channel in design.arms.items():
        counts = n * channel.matrix @ p
        np.testing.assert_allclose(counts, counts.round(), atol=1e-6)
        labels = np.repeat(np.array(channel.observations.labels), counts.round().astype(int))
        evidence = evidence.add(np.ones((len(labels), 1)), labels, arm=group)
    fit = estimate(design.model(["Intercept"]), evidence)
    assert isinstance(fit, HiddenFit)
    return fit


ITEMS = [0.2, 0.3, 0.3, 0.2]


def test_floor_and_ceiling() -> None:
    """Carriers at the ends hide: found with the share, where every report is as frequent as the design says."""
    design = ListExperiment(3, ceiling=True, floor=True)
    assert design.model(["Intercept", "age"]).parameter_names[-2:] == ("ceiling:Intercept", "floor:Intercept")
    p = hidden_shares(design, trait=[0.6, 0.4], items=ITEMS, ceiling=[0.75, 0.25], floor=[0.5, 0.5])
    treated = design.arms[1].matrix @ p
    assert treated == pytest.approx([0.2 * (0.6 + 0.4 * 0.5), 0.3 * 0.6 + 0.2 * 0.4 * 0.5, 0.3, 0.26, 0.06])
    fit = exact_fit(design, p)
    for name, share in {"trait": 0.4, "ceiling": 0.25, "floor": 0.5}.items():
        assert fit.shares(name).estimate[1] == pytest.approx(share, abs=1e-6)
    np.testing.assert_allclose(fit.shares("items").estimate, ITEMS, atol=1e-6)


def test_lies_that_cannot_be_told_from_items_are_refused() -> None:
    design = ListExperiment(2, dependent=True, ceiling=True)
    evidence = Responses(design.arms)
    for group, counts in {0: [30, 40, 30], 1: [20, 40, 30, 10]}.items():
        evidence = evidence.add(np.ones((100, 1)), np.repeat(np.arange(len(counts)), counts), arm=group)
    with pytest.raises(NotIdentifiedError, match="ceiling:Intercept"):
        estimate(design.model(["Intercept"]), evidence)


def test_several_sensitive_items_share_their_controls() -> None:
    design = ListExperiment(3, groups=["control", "affirm", "race"])
    p = hidden_shares(design, affirm=[0.5, 0.5], race=[0.9, 0.1], items=ITEMS)
    fit = exact_fit(design, p)
    assert fit.shares("affirm").estimate[1] == pytest.approx(0.5, abs=1e-7)
    assert fit.shares("race").estimate[1] == pytest.approx(0.1, abs=1e-7)
    alone = exact_fit(ListExperiment(3), hidden_shares(ListExperiment(3), trait=[0.9, 0.1], items=ITEMS))
    assert fit.shares("race").standard_error[1] < alone.shares("trait").standard_error[1]
    means_ = estimate(design.model(["Intercept"], "linear"), fit.evidence)  # type: ignore[arg-type]
    assert means_.theta == pytest.approx([0.5, 0.1, 1.5], abs=1e-9)
    with pytest.raises(InputError, match="2 sensitive items"):
        ListExperiment(3, groups=["control", "affirm", "race"], dependent=True)


def test_two_lists_of_one_sensitive_item() -> None:
    """Everybody has both lists, one of them with the item: which list it was is only about the items."""
    n, table = 2000, {"a": [0.2, 0.3, 0.3, 0.2], "b": [0.1, 0.4, 0.4, 0.1]}
    rows = []
    for name, items in table.items():
        rows += [(name, 0, count, round(n * p)) for count, p in enumerate(items)]
        rows += [(name, 1, count, round(n * p)) for count, p in enumerate(np.convolve(items, [0.7, 0.3]))]
    data: dict[str, Any] = {
        key: np.repeat([row[i] for row in rows], [row[3] for row in rows])
        for i, key in enumerate(("which", "treated", "n"))
    }
    design = ListExperiment(3, only_items="which")
    for method in ("marginal", "linear", "least-squares"):
        fit = regress("n ~ which", data, design, arm="treated", method=method)
        assert fit.parameter_names[0] == "trait:Intercept"
        assert not any(name.startswith("trait") for name in fit.parameter_names[1:])
        assert fit.shares("trait").estimate[1] == pytest.approx(0.3, abs=1e-7)
    data["old"] = np.arange(len(data["n"])) % 2
    with pytest.raises(InputError, match="after all others"):
        regress("n ~ which + old", data, design, arm="treated")


@pytest.mark.parametrize("year", [0.0, 2000.0])
def test_a_row_that_fits_itself_has_no_error(year: float) -> None:
    """The only treated of a category: the mean is what it says, and HC3 would divide 0 by 0."""
    data = survey()
    old = year + np.arange(len(data["n"])) % 11
    kind = np.where(data["x"] == 1, "b", "a").astype(object)
    kind[np.flatnonzero(data["treated"] == 0)[:5]] = kind[np.flatnonzero(data["treated"])[0]] = "c"
    given = {**data, "kind": kind, "old": old}
    with pytest.raises(
        NotIdentifiedError, match=r"one row alone tells of 'trait:C\(kind\)\[T.c\]': its error"
    ) as caught:
        regress("n ~ old + C(kind)", given, ListExperiment(3), arm="treated", method="linear")
    assert "method marginal" in str(caught.value)
    kind[np.flatnonzero(data["treated"])[1]] = "c"
    fit = regress("n ~ old + C(kind)", given, ListExperiment(3), arm="treated", method="linear")
    assert np.isfinite(fit.standard_errors).all()


def test_a_row_that_fits_itself_has_no_error_by_logistic_means_either() -> None:
    """The control group of the category counts 1.5 on average, its only treated 2: a share of one half, by one row."""
    data = {name: column.tolist() for name, column in survey().items()}
    for count, treated in [(1, 0), (2, 0), (2, 1)]:
        for name, value in {"n": count, "x": 2, "treated": treated}.items():
            data[name].append(value)
    with pytest.raises(NotIdentifiedError, match=r"one row alone tells of 'trait:C\(x\)\[T.2\]': its error"):
        regress("n ~ C(x)", data, ListExperiment(3), arm="treated", method="least-squares")
    for name, value in {"n": 1, "x": 2, "treated": 1}.items():
        data[name] += [value, value + (name == "n")]
    fit = regress("n ~ C(x)", data, ListExperiment(3), arm="treated", method="least-squares")
    assert np.isfinite(fit.standard_errors).all()
