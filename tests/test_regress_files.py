"""Regressions on rows that stay in files: the fit of a table in memory, and one set of bits for all engines."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from askance import CheatingDetection
from askance.errors import AskanceError, InputError, MissingValueError, UnmodelledGroupsWarning
from askance.scale import Here
from askance.survey import file_parts, regress
from askance.survey.arm_agreement import arm_agreement
from askance.survey.codebook import Codebook, Question
from askance.survey.drawn import Drawn
from tests.people_files import DESIGNS, people, written
from tests.test_engines import Shuffled, bytes_of

FRAME = people()
CASES: dict[str, dict[str, Any]] = {
    "said ~ age + C(region) + log(income)": {},
    "said ~ scale(age) + region": {"weights": "weight"},
    "said ~ poly(age, 2) + region:income": {"weights": "weight", "cluster": "town"},
    "said ~ bs(age, df=4)": {"cluster": "town", "method": "moments"},
}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return written(FRAME, tmp_path_factory.mktemp("people"), 12_000, 12_700, 25_000)


def fitted(formula: str, paths: list[Path], engine: Any, **options: Any) -> Any:
    return regress(formula, paths, DESIGNS, arm="arm", missing="drop", engine=engine, **options)


@pytest.mark.parametrize("formula", CASES)
def test_the_fit_is_that_of_the_table_in_memory(formula: str, files: list[Path]) -> None:
    held = fitted(formula, files, Here(), **CASES[formula])
    here = regress(formula, FRAME, DESIGNS, arm="arm", missing="drop", **CASES[formula])
    assert held.model.terms == here.model.terms
    np.testing.assert_allclose(held.theta, here.theta, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(held.standard_errors, here.standard_errors, rtol=1e-8)
    assert "2 of 30000 rows dropped for missing values" in held.messages
    assert any("passes" in message for message in held.messages)
    new = FRAME[:50].drop(index=5)
    np.testing.assert_allclose(held.predict(new).estimate, here.predict(new).estimate, rtol=1e-8)


def test_bits_do_not_depend_on_the_order_of_files_nor_on_how_they_are_divided(
    files: list[Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    formula, options = "said ~ center(age) + region", {"weights": "weight", "cluster": "town"}
    wanted = bytes_of(fitted(formula, files, Here(), **options))
    renamed = [path.rename(tmp_path / f"{9 - i}.parquet") for i, path in enumerate(map(copied, files, [tmp_path] * 4))]
    for blocks in (1, 2, 3, 100):
        monkeypatch.setattr(file_parts, "_BLOCKS", blocks)
        assert bytes_of(fitted(formula, renamed[::-1], Shuffled(), **options)) == wanted
    with Here(threads=2, room=0) as engine:
        assert bytes_of(fitted(formula, files, engine, **options)) == wanted
    assert engine.largest_sent <= 16 << 10


def copied(path: Path, folder: Path) -> Path:
    copy = folder / f"copy of {path.name}"
    copy.write_bytes(path.read_bytes())
    return copy


def test_shares_are_asked_of_any_column_in_a_last_pass(files: list[Path]) -> None:
    formula = "said ~ age + region"
    held = fitted(formula, files, Here())
    here = regress(formula, FRAME, DESIGNS, arm="arm", missing="drop")
    mine, other = held.prevalence(by="region", population=True), here.prevalence(by="region", population=True)
    assert mine.groups == other.groups
    np.testing.assert_allclose(mine.estimate, other.estimate, rtol=1e-9)
    np.testing.assert_allclose(mine.upper, other.upper, rtol=1e-7)
    with pytest.warns(UnmodelledGroupsWarning):
        assert len(held.prevalence(by="town").groups) == 40
    effects, others = held.marginal_effects(terms=["age"]), here.marginal_effects(terms=["age"])
    np.testing.assert_allclose(effects.estimate, others.estimate, rtol=1e-8)
    with pytest.raises(InputError, match="no column 'city'"):
        held.prevalence(by="city")


def test_parts_are_read_once_where_there_is_room_and_else_in_every_pass(
    files: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rows of one part at a time: what is read again was not kept."""
    read: list[int] = []
    reading = file_parts.FilePart.read

    def counting(part: file_parts.FilePart, *arguments: Any) -> Any:
        read.append(part.block)
        return reading(part, *arguments)

    monkeypatch.setattr(file_parts.FilePart, "read", counting)
    for room in (0, 1 << 29):
        read.clear()
        fit = fitted("said ~ age", files, Here(room=room))
        passes = fit.evidence.passes[0] if room == 0 else 1
        assert len(read) == 1 + len(files) * (1 + passes)  # the head, what the formula learns, and the rows


def test_equal_rows_are_folded_within_blocks(tmp_path: Path) -> None:
    paths = written(FRAME[["said", "arm", "region"]], tmp_path, 20_000)
    fit = fitted("said ~ region", paths, Here())
    assert fit.n_observations == 30_000
    assert fit.evidence.n_rows < 100
    here = regress("said ~ region", FRAME, DESIGNS, arm="arm")
    np.testing.assert_allclose(fit.theta, here.theta, rtol=1e-8, atol=1e-9)


def test_one_design_in_one_file(tmp_path: Path) -> None:
    frame = FRAME[FRAME.arm == "dice"].dropna().assign(said=lambda own: (own.said == "yes").astype(int))
    written(frame, tmp_path)
    fit = regress("said ~ age", str(tmp_path / "*.parquet"), DESIGNS["dice"])
    np.testing.assert_allclose(fit.theta, regress("said ~ age", frame, DESIGNS["dice"]).theta, rtol=1e-8, atol=1e-9)
    assert "column 'said': 0 is read as 'no', 1 is read as 'yes'" in fit.messages


def test_clusters_in_strata_are_those_of_the_table_in_memory(files: list[Path], tmp_path: Path) -> None:
    """The same name in another region is another town; with the number of towns, where everybody was asked directly."""
    drawn = Drawn(cluster="town", strata="region", weights="weight")
    held = fitted("said ~ age", files, Here(), drawn=drawn)
    here = regress("said ~ age", FRAME, DESIGNS, arm="arm", missing="drop", drawn=drawn)
    np.testing.assert_allclose(held.theta, here.theta, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(held.standard_errors, here.standard_errors, rtol=1e-8)
    np.testing.assert_array_equal(held.degrees_of_freedom, here.degrees_of_freedom)
    told = [message for message in here.messages if message.startswith("std. errors")]
    assert len(told) == 1
    assert told[0] in held.messages
    direct = FRAME[FRAME.arm == "direct"].dropna().assign(towns=100)
    counted = Drawn(cluster="town", strata="region", fpc="towns")
    paths = written(direct, tmp_path, 5_000)
    errors = [regress("said ~ age", data, DESIGNS["direct"], drawn=counted).standard_errors for data in (paths, direct)]
    np.testing.assert_allclose(errors[0], errors[1], rtol=1e-8)
    assert bytes_of(fitted("said ~ age", files[::-1], Shuffled(), drawn=drawn)) == bytes_of(held)


def test_what_no_engine_carries_is_refused_by_name(files: list[Path]) -> None:
    """In memory too, where an engine would be passed over in silence."""
    copies = Drawn(weights="weight", replicates=["age", "income"], replicate_kind="JK1")
    with pytest.raises(InputError, match=r"replicates are given with rows that stay in files.*Name cluster"):
        fitted("said ~ age", files, Here(), drawn=copies)
    with pytest.raises(InputError, match="strata is given without cluster"):
        fitted("said ~ age", files, Here(), drawn=Drawn(strata="region"))
    with pytest.raises(InputError, match=r"the formula has hidden\(said\).*read_table"):
        regress("region ~ age + hidden(said)", files, DESIGNS["dice"])
    with pytest.raises(InputError, match="a table in memory"):
        regress("region ~ age + hidden(said)", FRAME, DESIGNS["dice"], engine=Here())
    groups = CheatingDetection(["1/5", "4/5"])
    with pytest.raises(InputError, match="the design is cheating-detection, in which more is hidden"):
        regress("said ~ age", files, groups, arm="arm")
    codebook = Codebook({"said": Question("said", "said", design=DESIGNS["dice"])})
    with pytest.raises(InputError, match="a codebook is given with rows that stay in files"):
        regress("said ~ age", files, codebook)
    fit = fitted("said ~ age", files, Here())
    with pytest.raises(InputError, match=r"agreement of arms: rows in memory.*wald_test"):
        arm_agreement(fit)
    way_out = fitted("said ~ age + arm", files, Here())
    here = regress("said ~ age", FRAME, DESIGNS, arm="arm", missing="drop")
    tested = way_out.wald_test(["arm[T.direct]"])
    told = arm_agreement(here)
    np.testing.assert_allclose(tested.statistic, (told.log_odds / told.log_odds_error)[1, 1] ** 2, rtol=1e-6)


@pytest.mark.parametrize(
    ("formula", "changes", "options"),
    [
        ("said ~ age", {"weight": "a"}, {"weights": "weight"}),
        ("said ~ age", {"weight": -1.5}, {"weights": "weight"}),
        ("said ~ age", {"said": "no"}, {}),
        ("age ~ said", {}, {}),
        ("said ~ region", {"region": [f"region {i}" for i in range(300)]}, {}),
        ("said ~ region", {"region": ["4", "5"] * 149 + ["?", "4"]}, {}),
        ("said ~ region", {"region": ["north", "south", "North"] * 100}, {}),
        ("said ~ region", {"region": ["north", "south", "-99"] * 100}, {}),
        ("said ~ age + rare", {"rare": [1.0] + [0.0] * 299}, {}),
        ("said ~ age", {}, {"cluster": "town"}),
    ],
)
def test_what_is_refused_doubted_and_told_is_that_of_a_table_in_memory(
    formula: str, changes: dict[str, Any], options: dict[str, Any], tmp_path: Path
) -> None:
    frame = FRAME[FRAME.arm == "dice"].dropna().assign(town=lambda own: own.town.str[-1])[:300].assign(**changes)
    told = []
    for data in (frame, written(frame, tmp_path, 100, 130)):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                own = regress(formula, data, DESIGNS["dice"], **options).messages
            except AskanceError as error:
                own = (str(error),)
        told.append(({message for message in own if "passes" not in message}, [str(one.message) for one in caught]))
    assert _told(told[1]) == _told(told[0])
    assert any(told[0])


def _told(of: tuple[set[str], list[str]]) -> tuple[set[str], list[str]]:
    """Without the numbers of rows that one part has alone."""
    messages, caught = of
    return {re.sub(r"\(\d+ rows are", "", message) for message in messages}, caught


def test_refusals(files: list[Path], tmp_path: Path) -> None:
    with pytest.raises(MissingValueError, match="rows miss a value"):
        regress("said ~ age", files, DESIGNS, arm="arm")
    with pytest.raises(InputError, match="no column 'agee'"):
        fitted("said ~ agee", files, Here())
    with pytest.raises(InputError, match="no column 'wait'"):
        fitted("said ~ age", files, Here(), weights="wait")
    with pytest.raises(InputError, match="a table in memory"):
        regress("said ~ age", FRAME, DESIGNS, arm="arm", engine=Here())
    other = written(FRAME.assign(age=FRAME.age.astype(str))[:100], tmp_path)
    with pytest.raises(InputError, match="in some files and"):
        fitted("said ~ age", [*files, *other], Here())
    table = tmp_path / "table.csv"
    FRAME[:10].to_csv(table)
    with pytest.raises(InputError, match="no Parquet file"):
        fitted("said ~ age", [table], Here())
