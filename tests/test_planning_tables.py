"""What the table of a plan says of its designs: which are equal, which are listed, and under which names."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from askance import Direct, Enumerated, MatrixChannel, RandomizedResponse, Share, optimal_channel, plan, plan_survey
from askance.planning.plan_table import PARAMETERS, columns_of, equal_groups, rows_of, table_within
from tests.test_planning import STRONG, THETA, THREE, four_answers

YES_NO = Enumerated.saturated(["no", "yes"])


def names(rows: list[list[str]]) -> list[str]:
    return [row[0] for row in rows]


def test_groups_of_equal_designs_are_named() -> None:
    found = plan(THREE, None, [-0.7, -1.8], target="shares", privacy_level=1, n=900)
    groups = [[row.design for row in group] for group in equal_groups(found) if len(group) > 1]
    assert groups == [["optimal", "randomized-response", "subset-selection"]]  # subsets of one answer out of three
    assert "optimal, randomized-response and subset-selection tell equally much" in found.summary()
    assert "these designs tell equally much" not in found.summary()
    assert sum(map(len, equal_groups(found))) == len(found.designs)


def test_names_with_commas_are_quoted() -> None:
    designs = ["coordinate-release", "coordinate-release, tuned", "per-value, one-hot"]
    found = plan(YES_NO, designs, [-1.0], privacy_level=1, n=900)
    assert 'coordinate-release and "coordinate-release, tuned" tell equally much' in found.summary()


def test_figures_are_rough_by_the_target() -> None:
    """Shares of 64 rare answers are linear in reports of bits, and have their error for every n; log-odds are not."""
    model, guess = Enumerated.saturated(64), np.zeros(63)
    names = ["subset-selection", "per-value, one-hot symmetric", "randomized-response"]
    shares = plan(model, names, guess, privacy_level=1, target="shares", n=100_000)
    one = plan(model, names, guess, privacy_level=1, target=Share(5), n=100_000)
    parameters = plan(model, names, guess, privacy_level=1, n=100_000)
    assert [row.rough for row in shares.designs] == [row.rough for row in one.designs] == [False, False, True]
    assert all(row.rough for row in parameters.designs)
    assert "0.00597" in shares.summary()
    few = plan(model, names, guess, privacy_level=1, target="shares", n=20)
    assert all(row.rough for row in few.designs)
    # A trend over 64 answers has shares that bend with θ: nothing is linear.
    trend = plan(Enumerated([list(range(64))]), "coordinate-release", [0.3], target=Share(0), privacy_level=1, n=200)
    assert trend.designs[0].rough


def test_where_all_are_equal() -> None:
    found = plan(YES_NO, ["warner", "crosswise", "randomized-response"], [-1.0], privacy_level=1, n=900)
    assert "these designs tell equally much: they differ in how they feel" in found.summary()
    assert " and randomized-response tell" not in found.summary()


def test_levels_decide_where_they_are_sought() -> None:
    found = plan(THREE, None, [-0.7, -1.8], target="shares", n=3000, standard_error=0.05)
    assert "price" not in columns_of(found)
    assert "price" not in found.summary()
    for group in equal_groups(found):
        assert max(row.privacy_level for row in group) < 1.000001 * min(row.privacy_level for row in group)
    assert "randomized-response and subset-selection tell equally much" in found.summary()
    assert "these designs tell equally much" not in found.summary()
    assert "price" in columns_of(plan(THREE, "optimal", [-0.7, -1.8], privacy_level=1, n=3000))


@pytest.mark.parametrize("width", range(20, 140, 10))
def test_parameters_give_way_and_are_never_cut(width: int) -> None:
    found = plan(STRONG, ["optimal", "randomized-response", "per-value, one-hot"], THETA, privacy_level=1, n=900)
    whole, (lines, below) = [columns_of(found), *rows_of(found)], table_within(found, width)
    rest = len(whole[0]) - 2
    assert [(line[0], line[-rest:]) for line in lines] == [(line[0], line[-rest:]) for line in whole]
    assert (PARAMETERS in lines[0]) != bool(below)
    assert lines == whole or below == [f"{line[0]}: {line[1]}" for line in whole[1:] if line[1]]
    wide = sum(max(len(line[i]) for line in lines) + 2 for i in range(len(lines[0])))
    narrowest = sum(max(len(line[i]) for line in whole) + 2 for i in range(len(whole[0])) if whole[0][i] != PARAMETERS)
    assert wide <= max(width, narrowest)


def test_the_direct_question_is_listed_once(tmp_path: Path) -> None:
    found = plan(STRONG, Direct(4), THETA, n=900)
    assert names(rows_of(found)) == ["direct"]
    assert found.designs[0].price == pytest.approx(1)
    found = plan(STRONG, [Direct(4), four_answers()], THETA, n=900)
    assert names(rows_of(found)) == ["direct", "randomized-response"]
    assert found.summary().count("\ndirect") == 1
    found.plot(tmp_path / "plan.png")
    assert (tmp_path / "plan.png").stat().st_size


def test_a_channel_that_was_found_is_called_optimal() -> None:
    best = optimal_channel(STRONG, 1, THETA)
    assert plan(STRONG, best, THETA, n=900).designs[0].design == "optimal"
    matrix = MatrixChannel(best.matrix, outputs=best.outputs, observations=best.observations)
    assert plan(STRONG, matrix, THETA, n=900).designs[0].design == "matrix"
    # It may have been made for anything: nothing is said of what it was made for.
    assert plan(STRONG, best, THETA, target="statistic 0", n=900).others is None


def test_a_single_channel_is_a_list_of_one() -> None:
    channel = RandomizedResponse.for_privacy_level(1, outputs=["no", "yes"])
    for one, several in (
        (plan(YES_NO, channel, [-1.0], n=900), plan(YES_NO, [channel], [-1.0], n=900)),
        (
            plan(YES_NO, "warner", [-1.0], privacy_level=1, n=900),
            plan(YES_NO, ("warner",), [-1.0], privacy_level=1, n=900),
        ),
        (
            plan_survey(YES_NO, channel, [-1.0], target=Share("yes"), n=900),
            plan_survey(YES_NO, [channel], [-1.0], target=Share("yes"), n=900),
        ),
    ):
        assert one.to_json() == several.to_json()


def test_what_the_best_design_tells_of_other_shares() -> None:
    found = plan(THREE, None, [-0.7, -1.8], target=Share("yes"), privacy_level=1, n=900)
    assert found.others is not None
    assert found.others.design == found.best.design == "optimal"
    assert found.others.standard_error > found.best.standard_error
    assert "optimal and tuned designs are made for the share of 'yes' alone" in found.summary()
    more = plan(THREE, None, [-0.7, -1.8], target=Share("yes"), privacy_level=1, n=3600)
    assert more.others is not None
    assert more.others.standard_error == pytest.approx(found.others.standard_error / 2, rel=1e-9)
    prior = plan(THREE, "optimal", prior=np.array([[-0.7, -1.8]]), target="yes", privacy_level=1, n=900)
    assert prior.others is not None
