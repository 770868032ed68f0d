"""Which tables respondents are asked for."""

from __future__ import annotations

import numpy as np
import pytest

from askance import CliqueRelease, RandomField
from askance.design.field_release import field_release, table_noise
from askance.errors import InputError

PAIRS = RandomField([3, 2, 4], [[0, 1], [1, 2], [0, 2]])
EVERYBODY = np.stack(np.unravel_index(np.arange(24), PAIRS.sizes), axis=1)


@pytest.mark.parametrize("level", [1, 3, 6])
@pytest.mark.parametrize("whole", [False, True])
def test_the_noise_of_tables_is_that_of_the_channel(level: int, whole: bool) -> None:
    channel = CliqueRelease(PAIRS.sizes, [[0, 1, 2]] if whole else PAIRS.cliques, level)
    covariance = channel.mean_covariance(EVERYBODY)
    for number, clique in enumerate(PAIRS.cliques):
        table = channel.tables.number([0, 1, 2] if whole else clique)
        part = slice(channel.tables.offsets[table], channel.tables.offsets[table + 1])
        cells = np.ravel_multi_index(EVERYBODY[:, clique].T, [PAIRS.sizes[v] for v in clique])
        summed = np.eye(cells.max() + 1)[cells].T if whole else np.eye(cells.max() + 1)
        errors = np.sqrt(np.diag(summed @ covariance[part, part] @ summed.T))
        assert table_noise(PAIRS, channel)[number] == pytest.approx(errors.sum(), rel=1e-9)


def test_records_are_told_from_some_level_on() -> None:
    told = [len(field_release(PAIRS, level).tables.cliques) for level in (0.5, 1, 2, 3, 4, 6, 8)]
    assert told == sorted(told, reverse=True)
    assert (told[0], told[-1]) == (3, 1)
    assert field_release(PAIRS, 8, channel="cliques").tables.cliques == PAIRS.cliques
    assert len(field_release(PAIRS, 0.5, channel="records").tables.cliques) == 1


def test_many_records_are_never_told() -> None:
    wide = RandomField([4] * 8, [[i, i + 1] for i in range(7)])
    assert len(field_release(wide, 30).tables.cliques) == 7


def test_what_is_refused() -> None:
    with pytest.raises(InputError, match=r"'cliqes'; allowed: auto, cliques, records, optimal\. Did you mean"):
        field_release(PAIRS, 1, channel="cliqes")  # type: ignore[arg-type]


def test_reports_of_other_variables_are_refused() -> None:
    from askance import Tally, estimate_field
    from askance.errors import IncompatibleEvidenceError

    here = RandomField({"a": ["no", "yes"], "b": ["no", "yes"]}, [["a", "b"]])
    channel = field_release(here, 4)
    tally = Tally(channel).add(channel.simulate([[0, 1], [1, 1]], np.random.default_rng(0)))
    for variables in ({"b": ["no", "yes"], "a": ["no", "yes"]}, {"a": ["yes", "no"], "b": ["no", "yes"]}):
        with pytest.raises(IncompatibleEvidenceError, match="their names, labels or order differ"):
            estimate_field(RandomField(variables, [[0, 1]]), tally)
    estimate_field(RandomField({"a": ["no", "yes"], "b": ["no", "yes"]}, [["a"], ["b"]]), tally, covariance=False)


def test_ridge_and_unbiased_tables_come_from_whole_records() -> None:
    from askance import Tally, estimate_field

    rng = np.random.default_rng(1)
    theta = rng.normal(size=PAIRS.dimension)
    records = PAIRS.sample(theta, 50_000, rng)
    channel = field_release(PAIRS, 6, channel="records")
    tally = Tally(channel).add(channel.simulate(records, rng))
    fit = estimate_field(PAIRS, tally, "ridge")
    assert np.abs(fit.statistics - PAIRS.mean_statistics(theta)).max() < 0.02
    assert np.abs(fit.unbiased(["2", "0"]) - PAIRS.marginal(theta, ["2", "0"])).max() < 0.02
    assert "        \n" not in fit.summary()


def test_variables_in_no_clique_are_asked_for_where_covariates_bear_on_them() -> None:
    field = RandomField([2, 3], [[0]], covariates=["age"])
    assert field_release(field, 1, channel="cliques").tables.cliques == ((0,), (1,))
