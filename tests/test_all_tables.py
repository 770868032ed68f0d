"""Every result that is shown is a table in all its forms."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from askance import (
    CliqueRelease,
    Enumerated,
    ForcedResponse,
    RandomField,
    Responses,
    Share,
    Tally,
    channel_fit_test,
    compare_fits,
    estimate,
    estimate_mean,
    plan,
    recommend,
    regress,
)
from askance.estimation import FitComparison
from askance.estimation.results.field_fit import FieldDiagnostics
from askance.estimation.results.results import Result
from askance.survey import sensitivity
from askance.tables import Table, Tabulated

DESIGN = ForcedResponse("2/3", "1/6")


def _table(n: int = 400) -> dict[str, Any]:
    rng = np.random.default_rng(3)
    return {
        "said": DESIGN.simulate(rng.choice(["no", "yes"], n, p=[0.6, 0.4]), rng),
        "age": rng.integers(20, 60, n).astype(float),
        "region": rng.choice(["north | east", "south"], n),
    }


def _of_regressions() -> Iterator[Tabulated]:
    data = _table()
    full = regress("said ~ age + C(region)", data, DESIGN, method="marginal")
    yield full
    yield full.prevalence(by="region")
    yield full.prevalence(by="region").contrasts()
    yield full.marginal_effects()
    yield full.predict(data)
    yield full.posterior({"age": [30.0], "region": ["south"]}, ["yes"])
    yield full.wald_test(["age"])
    smaller = regress("said ~ age", data, DESIGN, method="marginal")
    yield full.likelihood_ratio_test(smaller)
    yield compare_fits([full, smaller])
    assert full.evidence is not None
    yield channel_fit_test(full.evidence)
    yield sensitivity(full.model, full.evidence, shares=["0.1"])


def _of_others() -> Iterator[Tabulated]:
    tally, model = Tally(DESIGN, [600, 400]), Enumerated.saturated(DESIGN.outputs)
    fit = estimate(model, tally)
    yield fit
    yield fit.probabilities()
    yield estimate_mean(tally)
    yield plan(model, ["forced-response"], [-1.0], privacy_level=1, target=Share("yes"), n=3000)
    yield recommend(model, 1)
    field, rng = RandomField([2, 3], [[0, 1]], covariates=["x"]), np.random.default_rng(2)
    channel, x = CliqueRelease([2, 3], [[0, 1]], 3), rng.normal(size=(500, 1))
    told = np.column_stack([rng.integers(0, 2, 500), rng.integers(0, 3, 500)])
    given = estimate(field, Responses(channel).add(x, channel.simulate(told, rng)), "moments")
    yield given
    yield given.effects(given.model.variables[1])
    yield given.marginal([0, 1])


@pytest.fixture(scope="module")
def results() -> list[Tabulated]:
    return [*_of_regressions(), *_of_others()]


def test_every_result_has_every_form(results: list[Tabulated]) -> None:
    for result in results:
        table = result.table()
        assert isinstance(table, Table)
        assert table.rows
        if isinstance(result, FitComparison):  # for programs another layout than for papers
            table = result.tidy()
        keys = [column.data_key for column in table.columns]
        assert list(result.to_frame("pandas").columns) == keys
        assert len(result.to_frame("pandas")) == len(table.rows)
        assert next(csv.reader(io.StringIO(table.to_csv()))) == keys
        table = result.table()
        visible = len([column for column in table.columns if column.kind != "heading"])
        assert result.to_latex().count(r"\begin{tabular}") == 1
        assert result.to_html().count('<th scope="col"') == visible
        lines = [line for line in result.to_markdown().splitlines() if line.startswith("|")]
        cells = {line.replace(r"\|", "").count("|") for line in lines}
        assert cells == {visible + 1}
        assert result.summary()


def _kinds(kind: type) -> Iterator[type]:
    inner: list[type] = kind.__subclasses__()
    return iter([*inner, *(below for one in inner for below in _kinds(one))])


def test_no_kind_of_result_is_without_a_table() -> None:
    assert [kind for kind in _kinds(Tabulated) if kind.table is Tabulated.table] == []  # type: ignore[attr-defined]
    assert {kind for kind in _kinds(Result) if not issubclass(kind, Tabulated)} == {FieldDiagnostics}


def test_hypotheses_are_written_out() -> None:
    fit = regress("said ~ age + C(region)", _table(), DESIGN)
    rows = fit.wald_test(contrasts=[[0.0, 2.0, -1.0], [1.0, 0.0, 0.0]], value=[0.0, 0.5]).table().rows
    assert rows[0][0] == "2 age − C(region)[T.south] = 0; Intercept = 0.5"
    assert fit.wald_test("age").to_json()["hypotheses"] == ["age = 0"]
