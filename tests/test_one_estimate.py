"""One way from model and evidence to a fit: the table of pairs, outcomes without warnings, and who is told where."""

import sys

import numpy as np
import pytest

import askance
from askance import (
    Candidates,
    CliqueRelease,
    Crosswise,
    Direct,
    Enumerated,
    Factor,
    ForcedResponse,
    HiddenVariables,
    LinearModel,
    ListExperiment,
    PerValue,
    RandomField,
    Responses,
    ScalePilot,
    Softmax,
    Tally,
    Together,
    estimate,
    estimate_field,
    estimate_linear,
    pool,
    regression_release,
)
from askance._renamed import FORMER_CLASSES
from askance.errors import AskanceWarning, ImpossibleReportsWarning, InputError, RepairWarning
from askance.estimation.methods.marginal import fit_marginal
from askance.estimation.methods.moments import fit_moments
from askance.estimation.methods.one_step import fit_one_step
from askance.estimation.problems.field_evidence import NoisyTables
from askance.estimation.problems.pairs import PAIRS, problem_of
from askance.estimation.problems.tally_problem import TallyProblem

DESIGN = ForcedResponse("2/3", "1/6")
SHARES = Enumerated.saturated(DESIGN.outputs)
# Fewer say "yes" than the design alone brings about, by chance.
FEW = Tally(DESIGN, [170, 30])
LIST = ListExperiment(2)
FIELD = RandomField([2, 2], [[0, 1]])
CELLS = CliqueRelease(FIELD.sizes, FIELD.cliques, 2)
LINEAR = LinearModel(1, x_bounds=(-2, 2), y_bounds=(-2, 2), scales=([0, 0], [1, 1]))


def _pairs() -> list[tuple[object, object]]:
    """Model and evidence of every row of the table."""
    rng = np.random.default_rng(1)
    reports = CELLS.simulate(rng.integers(0, 2, (50, 2)), rng)
    with_x = RandomField([2, 2], [[0, 1]], covariates=["age"])
    release, pilot = regression_release(LINEAR, 2), ScalePilot(LINEAR, 2)
    x = rng.normal(size=(50, 1))
    sent = release.simulate(x, x[:, 0], rng)
    return [
        (SHARES, FEW),
        (Enumerated.saturated(["a", "b", "c"]), Tally(PerValue(3, 1, l1_norm=1), [5, 6, 7], 9)),
        (SHARES, Together(FEW, Candidates(DESIGN.outputs).add(None, [["no", "yes"]])).whole),
        (SHARES, Together(FEW, Tally(PerValue(2, 1, l1_norm=1), [5, 6], 9)).whole),
        (Softmax(["no", "yes"], ["Intercept"]), Responses(DESIGN).add(np.ones((4, 1)), ["no"] * 4)),
        (
            HiddenVariables([Factor("trait", ["no", "yes"], ["Intercept"])]),
            Responses(DESIGN).add(np.ones((4, 1)), ["no"] * 4),
        ),
        (
            LIST.model(["Intercept"], method="linear"),
            Responses(LIST.arms).add(np.ones((4, 1)), [0, 1, 1, 2], arm=[0, 0, 1, 1]),
        ),
        (FIELD, Tally(CELLS).add(reports)),
        (FIELD, reports),
        (FIELD, NoisyTables([0.4, 0.1, 0.2, 0.3], 0.01, 500)),
        (FIELD, Together(Tally(CELLS).add(reports), NoisyTables([0.4, 0.1, 0.2, 0.3], 0.01, 500))),
        (with_x, Responses(CELLS).add(x, reports)),
        (LINEAR, Tally(release.channel).add(sent)),
        (LINEAR, sent),
        (release, Tally(release.channel).add(sent)),
        (release, sent),
        (pilot, Tally(pilot.channel).add(pilot.simulate(x, x[:, 0], rng))),
    ]


def test_every_row_of_the_table_makes_its_problem() -> None:
    met = set()
    for model, evidence in _pairs():
        (row,) = (pair for pair in PAIRS if isinstance(model, pair.model) and pair.fits(evidence))
        assert type(problem_of(model, evidence)) is row.problem
        met.add(row)
    assert met == set(PAIRS)


def test_what_is_in_no_row_is_refused_with_what_is() -> None:
    for model, _ in _pairs():
        rows = [pair for pair in PAIRS if isinstance(model, pair.model)]
        for _, evidence in _pairs():
            if not any(row.fits(evidence) for row in rows):
                with pytest.raises(InputError, match=f"allowed with {rows[0].model.__name__}: {rows[0].name}"):
                    problem_of(model, evidence)
    with pytest.raises(InputError, match="Give the model first"):
        problem_of(FEW, SHARES)


@pytest.mark.parametrize("method", [fit_moments, fit_one_step, fit_marginal])
def test_methods_say_nothing_and_hand_over_what_there_is_to_say(method: object) -> None:
    outcome = method(TallyProblem(SHARES, FEW))  # type: ignore[operator]  # warnings are errors here
    assert [notice.kind for notice in outcome.notices] == [RepairWarning]
    assert outcome.diagnostics.repaired
    with pytest.warns(RepairWarning) as told:
        fit = estimate(SHARES, FEW, outcome.method)
    assert [str(each.message) for each in told] == [f"{outcome.method}: {outcome.notices[0].text}."]
    np.testing.assert_array_equal(fit.theta, outcome.theta)


def _warned_five_times() -> None:
    rng = np.random.default_rng(1)
    few = CELLS.simulate([[0, 1]] * 3, rng)
    release, pilot = regression_release(LINEAR, 1), ScalePilot(LINEAR, 1)
    x = rng.normal(size=(20, 1))
    estimate(SHARES, FEW)
    estimate_field(FIELD, few, prior_scale=0.01)
    estimate_linear(release, release.simulate(x, x[:, 0], rng))
    pilot.estimate(Tally(pilot.channel, [100, *[0] * 63], 100))
    askance.estimate_mean(Tally(PerValue(4, 1, l1_norm=1), [100] * 4, 100))


def test_warnings_name_the_line_of_the_caller() -> None:
    with pytest.warns(AskanceWarning) as told:
        _warned_five_times()
    assert {each.filename for each in told} == {__file__}
    assert len({each.lineno for each in told}) == 5
    assert issubclass(told[-1].category, ImpossibleReportsWarning)


def test_few_clusters_are_told_once() -> None:
    rng = np.random.default_rng(3)
    x = np.column_stack([np.ones(300), rng.normal(size=300), rng.normal(size=300)])
    channel = Direct(["no", "yes"])
    answers = np.where(rng.random(300) < 0.4, "yes", "no")
    evidence = Responses(channel).add(x, answers, clusters=np.arange(300) % 3)
    for method in ("one-step", "moments", "marginal"):
        with pytest.warns(AskanceWarning) as told:
            estimate(Softmax(["no", "yes"], ["Intercept", "a", "b"]), evidence, method)
        assert len(told) == 1
        assert "3 clusters for 3 parameters" in str(told[0].message)


def test_tables_of_the_caller_are_left_alone() -> None:
    tables = NoisyTables([0.4, 0.1, 0.2, 0.3], 0.01, 500)
    before = dict(vars(tables))
    estimate(FIELD, tables)
    assert vars(tables) == before


def test_the_likelihood_of_a_pooled_tally_is_that_of_its_parts() -> None:
    parts = [Tally(DESIGN, [600, 400]), Tally(Crosswise("1/4"), [320, 480]), Tally(Direct(["no", "yes"]), [30, 20])]
    for method in ("one-step", "marginal"):
        fit = estimate(SHARES, pool(parts), method)
        p = SHARES.probabilities(fit.theta)
        told = sum(float(part.counts @ np.log(part.channel.apply(p))) for part in parts)
        assert fit.log_likelihood == pytest.approx(told, rel=1e-12)
    assert fit.diagnostics.maxima[0].log_likelihood == pytest.approx(told, rel=1e-12)


@pytest.mark.parametrize("old", FORMER_CLASSES)
def test_classes_under_their_old_names_are_the_same_and_say_so(old: str) -> None:
    module, name = FORMER_CLASSES[old]
    packages = [askance, sys.modules[module.rpartition(".")[0]]]
    for package in packages:
        with pytest.warns(FutureWarning, match=f"{old} is called {name} now") as told:
            assert getattr(package, old) is getattr(sys.modules[module], name)
        assert told[0].filename == __file__
        assert old not in dir(package)
    with pytest.warns(FutureWarning, match=f"{old} is called") as told:
        exec(compile(f"from {packages[1].__name__} import {old}", "somebody.py", "exec"), {"__name__": "somebody"})
    assert {each.filename for each in told} == {"somebody.py"}


def test_functions_under_their_old_names_say_so() -> None:
    with pytest.warns(FutureWarning, match="plan_regression is called regression_release now") as told:
        old = askance.plan_regression(LINEAR, 2)
    assert told[0].filename == __file__
    assert old.specification() == regression_release(LINEAR, 2).specification()
    with pytest.warns(FutureWarning, match="plan_field is called field_release now"):
        assert askance.plan_field(FIELD, 2) == askance.field_release(FIELD, 2)
