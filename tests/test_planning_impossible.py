"""What no respondents and no privacy level can do is refused by `plan`, with the nearest that can be done."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import pytest

from askance import (
    CliqueRelease,
    Enumerated,
    LinearModel,
    MatrixChannel,
    PerValue,
    RandomField,
    RandomizedResponse,
    Share,
    Tally,
    Warner,
    estimate,
    plan,
    regression_release,
)
from askance._arrays import FloatArray
from askance.errors import AskanceError, IncompatibleEvidenceError, InputError, NotIdentifiedError
from askance.estimation.linear import fit_exact
from tests.test_planning import AGES, COEFFICIENTS, FIELD, LINEAR, SQUARE, STRONG, TABLES, THETA, THREE, four_answers


def refusal(model: Any, *arguments: Any, **given: Any) -> str:
    with pytest.raises(AskanceError) as caught:
        plan(model, *arguments, **given)
    text = str(caught.value)
    assert "\n" not in text
    return text


def test_beyond_direct_answers() -> None:
    yes_no, theta = Enumerated.saturated(["no", "yes"]), [math.log(0.3 / 0.7)]
    text = refusal(yes_no, None, theta, target=Share("yes"), n=500, standard_error=0.02)
    assert "with 500 respondents even direct answers have a standard error of 0.0205; 525 would do" in text
    text = refusal(yes_no, None, theta, target=Share("yes"), n=500, interval_width=0.05)
    assert "a 95 % interval 0.0803 wide; 1,291 would do" in text
    text = refusal(yes_no, None, theta, target=Share("yes"), n=100, power=0.9, effect=0.05)
    assert "even direct answers have power 0.225; 825 would do" in text
    assert plan(yes_no, "warner", theta, target=Share("yes"), n=526, standard_error=0.02).designs[0].privacy_level < 8


def test_a_channel_that_never_gets_there_is_left_out() -> None:
    given: dict[str, Any] = {"theta": [-0.7, -1.8], "target": Share("yes"), "n": 2000, "interval_width": 0.06}
    found = plan(THREE, ["hypercube", "randomized-response"], **given)
    assert [row.design for row in found.designs] == ["randomized-response"]
    assert "even at level 20 2,000 respondents have a 95 % interval" in found.skipped["hypercube"]
    assert "left out: hypercube" in found.summary()
    assert "no channel reaches interval_width 0.06: hypercube" in refusal(THREE, "hypercube", **given)


def test_channels_without_information() -> None:
    nothing = MatrixChannel([[0.5] * 4, [0.5] * 4])
    with pytest.raises(NotIdentifiedError, match="the channel gives no information"):
        plan(STRONG, nothing, THETA, n=100)
    chain = RandomField([2, 2, 2], [[0, 1], [1, 2]])
    with pytest.raises(NotIdentifiedError, match="clique-release says nothing"):
        plan(chain, CliqueRelease([2, 2, 2], [[0, 1]], 1), np.log(np.arange(1.0, 9)), n=100)
    with pytest.raises(NotIdentifiedError, match="combination of"):
        plan(LINEAR, "quadratic", COEFFICIENTS, SQUARE[:, [0, 0]], privacy_level=1, n=100)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"n": 10}, "privacy_level is not given"),
        ({"standard_error": 0.1}, "privacy_level is not given"),
        ({"privacy_level": 1}, "neither respondents nor a goal"),
        ({"privacy_level": 1, "n": 10, "standard_error": 0.1}, "nothing is left to work out"),
        ({"n": 10, "standard_error": 0.1, "channels": [four_answers()]}, "nothing is left to work out"),
        ({"n": 10, "privacy_level": 1, "channels": [four_answers()]}, "all channels are given"),
        ({"n": 10, "standard_error": 0.1, "interval_width": 1.0}, "one of them"),
        ({"privacy_level": 0, "n": 10}, "privacy_level"),
        ({"privacy_level": 1, "n": 0}, "at least 1"),
        ({"privacy_level": 1, "standard_error": 0}, "makes an estimate exact"),
        ({"privacy_level": 1, "standard_error": 1e-30}, "nearest that is possible"),
        ({"privacy_level": 1, "power": 0.8}, "power is about one number"),
        ({"privacy_level": 1, "n": 5, "effect": 0.8}, "power is about one number"),
        ({"privacy_level": 1, "power": 0.05, "target": "statistic 0"}, "above 0.05"),
        ({"privacy_level": 1, "power": 1, "target": "statistic 0"}, "below 1"),
        ({"privacy_level": 1, "power": 0.8, "effect": 0, "target": "statistic 0"}, "detects that"),
        ({"privacy_level": 1, "n": 9, "confidence": 1.0}, "confidence is 1"),
        ({"privacy_level": 1, "n": 9, "channels": []}, "channels is empty"),
        ({"privacy_level": 1, "n": 9, "channels": [3]}, "a channel is 3"),
        ({"privacy_level": 1, "n": 9, "channels": 3}, "a channel is 3; allowed: channels and names. A guess is given"),
        ({"privacy_level": 1, "n": 9, "channels": np.array(THETA)}, "A guess is given as theta=[…]"),
        ({"privacy_level": 1, "n": 9, "channels": Warner}, "a channel is <class"),
        ({"privacy_level": 1, "n": 9, "theta": None, "prior": []}, "prior is empty; allowed: at least one row of 2"),
        ({"privacy_level": 1, "n": 9, "theta": None, "prior": [[]]}, "prior"),
        ({"privacy_level": 1, "n": 9, "channels": "optimum"}, "Did you mean 'optimal'"),
        ({"privacy_level": 1, "n": 9, "channels": "warner"}, "there are 4 outputs"),
        ({"privacy_level": 1, "n": 9, "channels": "coarsened"}, "not built from a privacy level"),
        ({"n": 9, "channels": regression_release(LINEAR, 1)}, "on answers or statistics"),
        ({"privacy_level": 1, "n": 9, "method": "bets"}, "Did you mean 'best'"),
        ({"privacy_level": 1, "n": 9, "target": "trend"}, "no coefficient 'trend'"),
        ({"privacy_level": 1, "n": 9, "target": {"a": 1}}, "allowed: a name"),
        ({"privacy_level": 1, "n": 9, "x": AGES}, "has no covariates"),
        ({"privacy_level": 1, "n": 9, "weights": [1.0]}, "has no covariates"),
        ({"privacy_level": 1, "n": 9, "theta": None}, "given are none of theta, prior and fit"),
        ({"privacy_level": 1, "n": 9, "prior": [[0.0, 0.0]]}, "given are theta, prior"),
        ({"privacy_level": 1, "n": 9, "theta": None, "fit": 3}, "fit is 3"),
        ({"privacy_level": 1, "n": 9, "theta": [1.0]}, "theta"),
    ],
)
def test_refusals(given: dict[str, Any], message: str) -> None:
    assert message in refusal(STRONG, **{"theta": THETA, **given})


class Estimate(NamedTuple):
    """An estimate that does not say of what."""

    theta: FloatArray
    covariance: FloatArray


def test_fits_of_other_questions() -> None:
    goal: dict[str, Any] = {"privacy_level": 1, "n": 9}

    def pilot(model: Enumerated) -> Any:
        size = len(model.outputs)
        return estimate(model, Tally(RandomizedResponse("1/2", outputs=model.outputs), range(50, 50 + size)))

    base = Enumerated(STRONG.table, log_base_measure=[0, 1, 1, 0])
    renamed = Enumerated(STRONG.table, parameter_names=["a", "b"])
    other = Enumerated([[0, 0, 1, 2], [0, 1, 0, 1]])
    for model, words in (
        (THREE, "fit is about the outputs ['no', 'maybe', 'yes'], the model about 4 codes"),
        (renamed, "the parameters 'a', 'b', the model about 'statistic 0', 'statistic 1'"),
        (other, "the statistics [[0.0, 0.0, 1.0, 2.0], [0.0, 1.0, 0.0, 1.0]], the model about [[0.0, 0.0, 1.0, 1.0]"),
        (base, "log_base_measure [0.0, 1.0, 1.0, 0.0], the model about [0.0, 0.0, 0.0, 0.0]"),
    ):
        assert words in refusal(STRONG, "randomized-response", fit=pilot(model), **goal)
    same = Enumerated(STRONG.table.tolist())
    assert plan(STRONG, "randomized-response", fit=pilot(same), **goal).guesses == 5
    nameless = Estimate(np.zeros(2), np.eye(2))
    assert plan(STRONG, "randomized-response", fit=nameless, **goal).guesses == 5
    assert "fit has 3 parameters, the model 2" in refusal(STRONG, fit=Estimate(np.zeros(3), np.eye(3)), **goal)
    linear = fit_exact(LINEAR, SQUARE, SQUARE[:, 0])
    assert "another kind of model" in refusal(STRONG, fit=linear, **goal)
    narrow = LinearModel(2, x_bounds=(-3, 3), y_bounds=(-9, 9), feature_names=["a", "b"])
    assert "the columns 'x0', 'x1', 'y', the model about 'a', 'b', 'y'" in refusal(narrow, x=SQUARE, fit=linear, **goal)
    assert "direct answers leave no error" in refusal(LINEAR, "quadratic", x=SQUARE, fit=linear, **goal)
    x = np.repeat(SQUARE, 2, axis=0)
    noisy = fit_exact(LINEAR, x, x[:, 0] + np.tile([-1.0, 1.0], 4))
    assert plan(LINEAR, "quadratic", x=SQUARE, fit=noisy, **goal).guesses == 7


def test_refusals_of_fields_and_regressions() -> None:
    with pytest.raises(InputError, match="model is 3"):
        plan(3, None, [0.0], n=1)  # type: ignore[arg-type]
    field: dict[str, Any] = {"theta": TABLES, "privacy_level": 1, "n": 9}
    assert "x or weights" in refusal(FIELD, x=AGES, **field)
    assert "there is no cell" in refusal(FIELD, target="age", **field)
    assert 'allowed: "tables"' in refusal(FIELD, target={"height": 1}, **field)
    assert "age is 3" in refusal(FIELD, target={"age": 3}, **field)
    assert "method" in refusal(FIELD, method="marginal", **field)
    assert "covariates" in refusal(RandomField([2, 2], [[0, 1]], covariates=1), **(field | {"theta": np.zeros(8)}))
    assert "allowed for a field" in refusal(FIELD, Warner("2/3"), TABLES, n=9)
    with pytest.raises(IncompatibleEvidenceError):
        plan(FIELD, CliqueRelease([2, 2], [[0, 1]], 1), TABLES, n=9)
    with pytest.raises(IncompatibleEvidenceError):
        plan(FIELD, PerValue(3, 1, l1_norm=1), TABLES, n=9)
    large = RandomField([2] * 12, [[i, i + 1] for i in range(11)])
    found = plan(large, None, np.zeros(large.dimension), privacy_level=1, n=9)
    assert [row.design for row in found.designs] == ["cliques"]
    assert "4,096 records" in found.skipped["records"]
    linear: dict[str, Any] = {"theta": COEFFICIENTS, "x": SQUARE, "privacy_level": 1, "n": 9}
    assert "x is not given" in refusal(LINEAR, **(linear | {"x": None}))
    assert "no coefficient 'x7'" in refusal(LINEAR, target="x7", **linear)
    assert "residual deviation" in refusal(LINEAR, **(linear | {"theta": [0.0, 1.0, 1.0, -1.0]}))
    assert "MomentRelease" in refusal(LINEAR, Warner("2/3"), COEFFICIENTS, SQUARE, n=9)
    other = LinearModel(2, x_bounds=(-4, 4), y_bounds=(-9, 9))
    with pytest.raises(IncompatibleEvidenceError):
        plan(LINEAR, regression_release(other, 1), COEFFICIENTS, SQUARE, n=9)
