"""Tests that fits of lists are printed with: their figures by hand, and what they say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from askance import HiddenFit, ListExperiment, Responses, estimate, load, regress, save
from askance.errors import InputError
from askance.estimation.checks.design_effect import _mixture, _orthant, design_effect_test
from askance.estimation.problems.hidden_problem import HiddenProblem
from askance.survey.list_checks import _converted, list_checks

from .test_list_methods import ITEMS, exact_fit, hidden_shares


def test_cells_follow_from_the_two_distributions() -> None:
    """Where counts are as frequent as items and answer say, the cells are their products."""
    test = design_effect_test([200, 300, 300, 200], [180, 290, 300, 210, 20])
    expected = np.concatenate([0.1 * np.array(ITEMS), 0.9 * np.array(ITEMS)])
    np.testing.assert_allclose(test.shares, expected, atol=1e-12)
    assert test.errors[0] == pytest.approx(np.sqrt((0.2 * 0.8 + 0.18 * 0.82) / 1000))
    assert (test.p_value, test.p_all) == (1.0, 1.0)
    assert "no design effect is seen" in test.message
    assert len(test.table().rows) == 8


def test_one_cell_is_tested_by_welch() -> None:
    from scipy.stats import ttest_ind

    control, treated = [10, 190, 300], [40, 160, 250, 50]
    test = design_effect_test(control, treated)
    said = [np.repeat(np.arange(len(counts)), counts) <= 0 for counts in (control, treated)]
    expected = ttest_ind(*said, equal_var=False, alternative="less").pvalue
    assert test.shares[0] == pytest.approx(-0.06)
    assert test.p_value == pytest.approx(2 * expected, rel=1e-9)  # the other cells are selected away
    assert test.rejected
    assert test.p_value < test.p_all < 0.05
    assert "changes other answers" in test.message


def test_counts_that_nobody_says() -> None:
    """A cell twice is one cell; cells that follow from others are tested one by one; one person tells nothing."""
    from scipy.stats import ttest_ind

    assert 0 < design_effect_test([20, 50, 0, 30], [15, 50, 0, 30, 5]).p_value <= 1
    once, twice = (
        design_effect_test(*c) for c in (([8, 67, 25], [16, 62, 17, 5]), ([8, 67, 0, 25], [16, 62, 0, 17, 5]))
    )
    assert 0.01 < once.p_all < 0.9
    assert twice.p_all == pytest.approx(once.p_all, rel=1e-9)
    follows = design_effect_test([0, 5, 0, 5], [5, 0, 5, 0, 0])  # the second cell is the sum of the others, and 1
    first = ttest_ind([0] * 10, [0, 1] * 5, equal_var=False, alternative="less").pvalue
    assert follows.p_all == pytest.approx(2 * 3 * first, rel=1e-9)
    alone = design_effect_test([0, 0, 1], [50, 50, 0, 0])
    assert (alone.p_value, alone.p_all) == (1.0, 1.0)
    data = {"n": [0, 1, 3, 0, 1, 4] * 40, "treated": [0, 0, 0, 1, 1, 1] * 40}
    fit = regress("n ~ 1", data, ListExperiment(3), arm="treated", method="linear")
    assert any("design-effect test" in message for message in fit.messages)


def test_mixtures_of_chi_squares() -> None:
    """Of independent cells each is above 0 half of the time; of others the orthants add up to 1."""
    for d in (1, 2, 3, 4):
        binomial = np.array([1, 1]) / 2
        for _ in range(d - 1):
            binomial = np.convolve(binomial, [0.5, 0.5])
        np.testing.assert_allclose(_mixture(np.eye(d)), binomial, atol=1e-4 if d > 3 else 1e-12)
    correlated = np.array([[2.0, 0.5, 0.3, 0.1], [0.5, 1.0, 0.2, 0.2], [0.3, 0.2, 1.5, 0.4], [0.1, 0.2, 0.4, 1.0]])
    assert _mixture(correlated[:3, :3]).sum() == pytest.approx(1, abs=1e-12)
    assert _mixture(correlated).sum() == pytest.approx(1, abs=1e-4)
    assert _orthant(np.array([[1.0, 0.5], [0.5, 1.0]])) == pytest.approx(1 / 3)


def test_under_independence_the_likelihood_agrees_and_is_more_precise() -> None:
    """Where the law holds exactly, the variance of the difference is the difference of the variances."""
    design = ListExperiment(3)
    fit = exact_fit(design, hidden_shares(design, trait=[0.7, 0.3], items=ITEMS))
    checks = list_checks(fit, design)
    assert checks.hausman is not None
    test = checks.hausman.test
    assert test.statistic == pytest.approx(0, abs=1e-12)
    assert checks.hausman.likelihood == pytest.approx((0.3,), abs=1e-9)
    assert checks.hausman.means == pytest.approx((0.3,), abs=1e-9)
    linear = estimate(design.model(["Intercept"], "linear"), fit.evidence)  # type: ignore[arg-type]
    gain = linear.standard_errors[0] ** 2 - fit.shares("trait").standard_error[1] ** 2
    assert test.covariance[0, 0] == pytest.approx(gain, rel=1e-3)  # means have the correction for leverage
    assert "they agree" in checks.messages[-1]


def test_dependent_items_are_found() -> None:
    """Carriers with more items: the difference in means is right, independence is not, and no cell is below 0."""
    design = ListExperiment(2)
    p = np.concatenate([0.8 * np.array([0.5, 0.3, 0.2]), 0.2 * np.array([0.1, 0.3, 0.6])])
    fit = exact_fit(design, p)
    checks = list_checks(fit, design)
    assert checks.hausman is not None
    assert checks.hausman.means == pytest.approx((0.2,), abs=1e-9)
    assert checks.hausman.test.p_value < 1e-6
    assert "speaks for the first" in checks.messages[-1]
    free = ListExperiment(2, dependent=True)
    assert fit.evidence is not None
    whole: HiddenFit = estimate(free.model(["Intercept"]), fit.evidence)
    assert whole.shares("trait").estimate[1] == pytest.approx(0.2, abs=1e-7)
    assert "both are the same" in list_checks(whole, free).messages[-1]


def test_the_law_of_the_items() -> None:
    """Twice the difference of two fits, from either side."""
    rng = np.random.default_rng(3)
    n = 600
    old, treated = rng.integers(0, 2, n), rng.integers(0, 2, n)
    count = rng.choice(4, n, p=[0.1, 0.2, 0.2, 0.5]) + treated * (rng.random(n) < 0.3)
    data = {"n": count, "old": old, "treated": treated}
    fits: dict[str, Any] = {}
    for law in ("multinomial", "binomial"):
        fits[law] = regress("n ~ old", data, ListExperiment(3, control_law=law), arm="treated")
        found = list_checks(fits[law], ListExperiment(3, control_law=law)).law
        assert found is not None
        fits[f"{law} test"] = found
    ours = fits["multinomial test"]
    assert ours.statistic == pytest.approx(2 * (fits["multinomial"].log_likelihood - fits["binomial"].log_likelihood))
    assert fits["binomial test"].statistic == pytest.approx(ours.statistic, abs=1e-7)
    assert ours.degrees_of_freedom == 4
    notes = fits["multinomial"].summary().replace("\n      ", " ")
    assert "a binomial law of the items is rejected" in notes
    assert "is independent of the answer given the covariates" in notes
    model = ListExperiment(3).model(["Intercept", "old"])
    embedded = _converted(fits["binomial"], model, True)
    evidence: Responses[Any] = fits["binomial"].evidence
    assert HiddenProblem(model, evidence).log_likelihood(embedded) == pytest.approx(fits["binomial"].log_likelihood)


@pytest.mark.filterwarnings("ignore:marginal")
def test_on_the_boundary_there_is_no_chi_square(tmp_path: Any) -> None:
    design = ListExperiment(2)
    data = {"n": [0, 1, 2, 0, 1, 1] * 40, "treated": [0, 0, 0, 1, 1, 1] * 40}
    fit = regress("n ~ 1", data, design, arm="treated")
    assert fit.repaired
    checks = list_checks(fit, design)
    assert checks.hausman is None
    assert any("no Hausman test" in message for message in fit.messages)
    save(fit, tmp_path / "a.fit")
    again = load(tmp_path / "a.fit")
    assert isinstance(again, HiddenFit)
    with pytest.raises(InputError, match="no evidence"):
        list_checks(again, design)


def test_means_are_printed_with_the_design_effect_alone() -> None:
    data = {"n": [0, 1, 2, 0, 1, 3] * 40, "treated": [0, 0, 0, 1, 1, 1] * 40, "person": [*range(120)] * 2}
    fit = regress("n ~ 1", data, ListExperiment(2), arm="treated", method="linear")
    assert [message.split(":")[0] for message in fit.messages] == [
        "no law is assumed",
        "design-effect test (trait)",
        "the method marginal has a Hausman test of the likelihood against these means",
    ]
    data["village"] = [*range(12)] * 20
    clustered = regress("n ~ 1", data, ListExperiment(2), arm="treated", cluster="village")
    assert "no design-effect test: 12 clusters say too little of how cells vary together" in clustered.messages
    assert any("the law of the items is not tested" in message for message in clustered.messages)
    assert any(message.startswith("Hausman") for message in clustered.messages)
    assert any("F = " in message or "both are the same" in message for message in clustered.messages)


def counted(control: list[int], treated: list[int], times: int = 1) -> dict[str, Any]:
    counts = np.repeat(np.concatenate([np.arange(len(control)), np.arange(len(treated))]), [*control, *treated])
    group = np.repeat([0, 1], [sum(control), sum(treated)])
    return {"n": np.repeat(counts, times), "treated": np.repeat(group, times), "w": np.ones(len(counts) * times)}


def test_weights_and_clusters_have_a_design_effect_test() -> None:
    """Equal weights and everybody once: the same covariance; everybody twice in clusters of two: nearly that, too."""
    design, single = ListExperiment(2), counted([25, 50, 35], [40, 47, 28, 3])
    (plain,) = list_checks(regress("n ~ 1", single, design, arm="treated", method="linear"), design).design_effect
    weighted = regress("n ~ 1", single, design, arm="treated", method="linear", weights="w")
    (same,) = list_checks(weighted, design).design_effect
    np.testing.assert_allclose(same.shares, plain.shares, atol=1e-12)
    np.testing.assert_allclose(same.errors, plain.errors, rtol=1e-9)
    assert same.p_all == pytest.approx(plain.p_all, rel=1e-6)
    double = counted([25, 50, 35], [40, 47, 28, 3], 2)
    double["pair"] = np.arange(len(double["n"])) // 2
    pairs = regress("n ~ 1", double, design, arm="treated", method="linear", cluster="pair")
    (few,) = list_checks(pairs, design).design_effect
    np.testing.assert_allclose(few.errors, plain.errors * np.sqrt(228 / 227), rtol=1e-9)
    # Whole weights are repetitions, in shares and not in errors.
    single["w"] = np.where(single["n"] == 1, 2.0, 1.0)
    heavy = regress("n ~ 1", single, design, arm="treated", method="linear", weights="w")
    (test,) = list_checks(heavy, design).design_effect
    np.testing.assert_allclose(test.shares, design_effect_test([25, 100, 35], [40, 94, 28, 3]).shares, atol=1e-12)
    F, w = np.array([25, 125, 160]) / 160, np.repeat([1.0, 2.0, 1.0], [25, 50, 35])
    below = np.repeat([0, 1, 2], [25, 50, 35]) <= 0
    control = (w**2 * (below - F[0]) ** 2).sum() / 160**2
    G, v = 40 / 165, np.repeat([1.0, 2.0, 1.0, 1.0], [40, 47, 28, 3])
    treated = (v**2 * ((np.repeat([0, 1, 2, 3], [40, 47, 28, 3]) <= 0) - G) ** 2).sum() / 165**2
    assert test.errors[0] == pytest.approx(np.sqrt(control + treated), rel=1e-9)


def test_a_direct_question_leaves_the_test_of_counts() -> None:
    design, data = ListExperiment(2, direct="asked"), counted([25, 50, 35], [40, 47, 28, 3])
    data["asked"] = np.where((np.arange(len(data["n"])) % 5 == 0) & (data["n"] > 0), "yes", "no")
    fit = regress("n ~ 1", data, design, arm="treated", method="moments")
    (test,) = list_checks(fit, design).design_effect
    alone = design_effect_test([25, 50, 35], [40, 47, 28, 3])
    np.testing.assert_allclose(test.shares, alone.shares, atol=1e-12)
    assert test.p_value == pytest.approx(alone.p_value, rel=1e-9)
