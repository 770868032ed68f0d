"""Every channel knows its question: what is for one purpose never meets what is for another."""

from __future__ import annotations

import copy
import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from askance import (
    Direct,
    Enumerated,
    PerValue,
    RandomizedResponse,
    Softmax,
    Tally,
    Warner,
    estimate,
    load,
    save,
)
from askance.channels import AnyChannel, Reports, build_channel
from askance.channels.purposes import purpose_of_columns
from askance.errors import FormatError, IncompatibleEvidenceError, InputError
from askance.estimation import TwoStage, combine_means, estimate_mean
from askance.evidence import Responses, pool
from askance.formats import aggregate, channel_to_toml, read_channel, read_reports, write_reports
from askance.survey.record_tables import read_ids
from askance.survey.tables import Column

from .report_examples import EXAMPLES, every_channel, evidence_of, some_reports
from .test_cli import assert_one_line, call, parsed

SMOKES, DRINKS = (Warner("2/3").for_purpose(question) for question in ("smokes", "drinks"))
ONE_OF_EACH = {name: channel for name, channel in EXAMPLES.items() if name.endswith("-0")}
YES_NO = Enumerated.saturated(["no", "yes"])


# -- channels ----------------------------------------------------------------------------------------------------------


@every_channel
def test_a_purpose_is_a_part_of_every_channel(channel: AnyChannel, tmp_path: Path) -> None:
    named, other = channel.for_purpose("smokes"), channel.for_purpose("drinks")
    assert channel.purpose == ""
    assert len({channel.fingerprint, named.fingerprint, other.fingerprint}) == 3
    assert len({channel, named, other, channel.for_purpose("smokes")}) == 3
    assert named.parameters() == channel.parameters()
    assert named.specification() == {**channel.specification(), "purpose": "smokes"}
    assert repr(named) == f"{channel!r}.for_purpose('smokes')"
    assert named.for_purpose("") == channel
    (tmp_path / "channel.toml").write_text(channel_to_toml(named), encoding="utf-8")
    copies = [pickle.loads(pickle.dumps(named)), copy.copy(named), copy.deepcopy(named)]
    built: list[Any] = [build_channel(named.specification()), read_channel(tmp_path / "channel.toml")]
    for again in [*copies, *built]:
        assert again == named
        assert again.purpose == "smokes"
        assert again.privacy_level == channel.privacy_level


def test_the_fingerprint_of_a_purpose_stays() -> None:
    assert Warner("2/3").fingerprint.startswith("c5a985cdfbd99c05")  # as in version 0.1
    assert SMOKES.fingerprint.startswith("3c7eebd65b0ce72e")
    regression = PerValue(3, 2).for_purpose("regression:0123456789abcdef")  # statistics had purposes in version 0.1
    assert regression.fingerprint.startswith("94c83951590a0394")


@pytest.mark.parametrize("wrong", ["a\nb", "a\x85b", "a\u2028b", "\ud800", " a", "a ", "a" * 201, None, 3])
def test_no_purpose(wrong: Any) -> None:
    with pytest.raises(InputError, match="one line of at most 200 characters"):
        Warner("2/3").for_purpose(wrong)
    with pytest.raises(InputError, match="purpose is"):
        build_channel({"kind": "warner", "question": "2/3", "purpose": wrong})


def test_names_of_columns_and_their_order() -> None:
    assert purpose_of_columns(["smokes"]) == "smokes"
    assert purpose_of_columns(["a", "b"]) == "a,b" != purpose_of_columns(["b", "a"])
    awkward = [["a,b"], ["a", "b,c"], ["a,b", "c"], ["a\nb"], [" a"], ["a", " b"], [f"column {i}" for i in range(99)]]
    purposes = [purpose_of_columns(names) for names in awkward]
    assert all(purpose.startswith("columns:") and len(purpose) == 24 for purpose in purposes)
    assert len(set(purposes)) == len(awkward)


# -- evidence ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("channel", ONE_OF_EACH.values(), ids=ONE_OF_EACH.keys())
def test_two_purposes_refuse_each_other(channel: AnyChannel, tmp_path: Path) -> None:
    paths, states = {}, {}
    for i, (purpose, suffix) in enumerate((("smokes", "jsonl"), ("drinks", "parquet"), ("", "parquet"))):
        named = channel.for_purpose(purpose)
        paths[purpose], states[purpose] = tmp_path / f"{i}.{suffix}", tmp_path / f"{i}.state"
        reports = some_reports(channel, 5 + i)
        reports = reports.for_purpose(purpose) if isinstance(reports, Reports) else reports
        write_reports(paths[purpose], reports, channel=named)
        evidence = aggregate(paths[purpose]).evidence
        assert evidence.channel == named
        save(evidence_of(named, reports), states[purpose])
        assert load(states[purpose]) == evidence
    for one, other in (("smokes", "drinks"), ("smokes", ""), ("", "smokes")):
        for second in (paths, states):
            with pytest.raises((FormatError, IncompatibleEvidenceError), match="They differ in purpose"):
                aggregate([states[one], second[other]])
        with pytest.raises(IncompatibleEvidenceError, match="They differ in purpose"):
            load(states[one]).merge(load(states[other]))  # type: ignore[union-attr, arg-type]
    for first, second in ((paths, paths), (paths, states), (states, paths)):
        for one, other in (("smokes", ""), ("", "smokes")):
            both = aggregate([first[one], second[other]], purpose_of_unnamed="smokes").evidence
            assert (both.channel.purpose, both.n_observations) == ("smokes", 12)
        with pytest.raises((FormatError, IncompatibleEvidenceError), match="purpose"):
            aggregate([first["smokes"], second[""]], purpose_of_unnamed="drinks")
    renamed: Any = load(states[""]).for_purpose("smokes")  # type: ignore[union-attr]
    assert (renamed + load(states["smokes"])).n_observations == 12


def test_what_has_a_purpose_keeps_it() -> None:
    tally = Tally(SMOKES, [1, 2])
    assert tally.for_purpose("smokes") == tally
    with pytest.raises(IncompatibleEvidenceError, match="the purpose is 'smokes' already"):
        tally.for_purpose("drinks")
    channel = PerValue(2, 1)
    reports = channel.simulate(np.eye(2), np.random.default_rng(0))
    assert reports.for_purpose("a,b").channel == channel.for_purpose("a,b")
    with pytest.raises(IncompatibleEvidenceError, match="'a,b' already"):
        reports.for_purpose("a,b").for_purpose("b,a")


def test_swapped_columns_do_not_merge(tmp_path: Path) -> None:
    (tmp_path / "here.csv").write_text("tall,heavy\n1,0\n0,0\n")
    (tmp_path / "there.csv").write_text("heavy,tall\n1,0\n0,0\n")
    for place in ("here", "there"):
        table, reports = str(tmp_path / f"{place}.csv"), str(tmp_path / f"{place}.jsonl")
        parsed(
            call(
                "randomize",
                "per-value",
                "--dim",
                "2",
                "--privacy-level",
                "2",
                "--input",
                table,
                "-o",
                reports,
                "--json",
            )
        )
    files, state = [str(tmp_path / f"{place}.jsonl") for place in ("here", "there")], str(tmp_path / "all.state")
    assert_one_line(call("aggregate", *files, "-o", state), ("'heavy,tall'", "'tall,heavy'"))
    assert not Path(state).exists()


def test_pooled_tallies_answer_one_question() -> None:
    level = RandomizedResponse("1/2", outputs=["no", "yes"])
    with pytest.raises(
        IncompatibleEvidenceError, match=r"tallies\[0\] is for the purpose 'smokes', tallies\[1\] for None"
    ):
        pool([Tally(SMOKES, [5, 4]), Tally(level, [3, 2])])
    with pytest.raises(IncompatibleEvidenceError, match="apart"):
        pool([Tally(SMOKES, [5, 4]), Tally(level.for_purpose("drinks"), [3, 2])])
    both = pool([Tally(SMOKES, [5, 4]), Tally(level, [3, 2]).for_purpose("smokes")])
    assert both.channel.purpose == "smokes"
    assert both.channel.specification()["purpose"] == "smokes"
    unnamed = pool([Tally(Warner("2/3"), [5, 4]), Tally(level, [3, 2])])
    assert unnamed.for_purpose("smokes") == both
    again = pool([unnamed.for_purpose("smokes"), Tally(SMOKES, [1, 1])])
    assert again == pool([Tally(SMOKES, [6, 5]), Tally(level.for_purpose("smokes"), [3, 2])])


def test_combined_means_answer_one_question() -> None:
    means = [estimate_mean(Tally(PerValue(2, level).for_purpose("a,b"), [600, 500], 1000)) for level in (1, 2)]
    assert combine_means(means).channel["purpose"] == "a,b"
    swapped = estimate_mean(Tally(PerValue(2, 2).for_purpose("b,a"), [600, 500], 1000))
    with pytest.raises(IncompatibleEvidenceError, match=r"'a,b', means\[1\] for 'b,a'"):
        combine_means([means[0], swapped])


def test_responses_of_two_questions_do_not_merge() -> None:
    one, other = (Responses(channel).add([[1.0], [2.0]], ["no", "yes"]) for channel in (SMOKES, DRINKS))
    with pytest.raises(IncompatibleEvidenceError, match="They differ in purpose"):
        one.merge(other)


def test_what_was_told_directly_stays_so() -> None:
    plain = Tally(Direct(["no", "yes"]), [30, 10])
    named = plain.for_purpose("smokes")
    fits = [estimate(YES_NO, tally, "supervised") for tally in (plain, named)]
    assert fits[0].theta == fits[1].theta
    assert fits[1].channel["purpose"] == "smokes"
    model, x, y = Softmax(["no", "yes"], ["age"]), [[0.0], [1.0], [2.0], [3.0]], ["no", "yes", "no", "yes"]
    rows = [Responses(tally.channel).add(x, y) for tally in (plain, named)]
    assert len({float(estimate(model, some, "supervised").theta[0]) for some in rows}) == 1


def test_both_stages_answer_one_question() -> None:
    stages = TwoStage(YES_NO, 1)
    pilot = Tally(stages.pilot_channel.for_purpose("smokes"), [60, 40])
    second = stages.second_channel(pilot)
    assert second.purpose == "smokes"
    assert stages.estimate(pilot, Tally(second, [500, 400])).channel["purpose"] == "smokes"
    with pytest.raises(IncompatibleEvidenceError, match="purpose"):
        stages.estimate(pilot, Tally(second.for_purpose("drinks"), [500, 400]))
    named = TwoStage(YES_NO, 1, pilot_channel=stages.pilot_channel.for_purpose("drinks"))
    with pytest.raises(IncompatibleEvidenceError, match="pilot channel"):
        named.second_channel(pilot)


# -- the command line --------------------------------------------------------------------------------------------------


def test_randomize_names_a_purpose(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("smokes,drinks\nno,yes\nyes,yes\n")
    chosen = ("warner", "--question", "2/3", "--input", str(tmp_path / "people.csv"), "--columns")
    for column in ("smokes", "drinks"):
        told = parsed(call("randomize", *chosen, column, "-o", str(tmp_path / f"{column}.jsonl"), "--json"))
        assert told["channel"]["purpose"] == column
        assert told["fingerprint"] == {"smokes": SMOKES, "drinks": DRINKS}[column].fingerprint
    both, state = [str(tmp_path / f"{column}.jsonl") for column in ("smokes", "drinks")], str(tmp_path / "all.state")
    assert_one_line(call("aggregate", *both, "-o", state), ("purpose ('drinks', not 'smokes')", "apart"))
    told = parsed(call("randomize", *chosen, "smokes", "--purpose", "Q1", "-o", str(tmp_path / "q.jsonl"), "--json"))
    assert told["channel"]["purpose"] == "Q1"
    assert "Q1" in call("aggregate", str(tmp_path / "q.jsonl"), "-o", state).out
    assert read_reports(tmp_path / "q.jsonl") is not None


def test_a_header_without_a_purpose_says_so() -> None:
    outcome = call("randomize", "warner", "--question", "2/3", "--header")
    assert outcome.code == 0
    assert "no --purpose" in outcome.err
    named = call("randomize", "warner", "--question", "2/3", "--purpose", "smokes", "--header")
    assert (named.code, named.err) == (0, "")
    assert json.loads(named.out)["fingerprint"] == SMOKES.fingerprint


def test_devices_that_do_not_name_the_purpose(tmp_path: Path) -> None:
    path, warner = tmp_path / "collected.jsonl", ("randomize", "warner", "--question", "2/3")
    header = call(*warner, "--purpose", "smokes", "--header").out
    path.write_text(header + call(*warner, "--record", "yes").out)
    outcome = call("aggregate", str(path), "-o", str(tmp_path / "all.state"))
    assert_one_line(outcome, ("line 2", "without a purpose", SMOKES.fingerprint[:16]))


def test_purposes_of_files_and_flags(tmp_path: Path) -> None:
    path = str(tmp_path / "channel.toml")
    Path(path).write_text(channel_to_toml(SMOKES))
    assert parsed(call("certify", "file", path, "--json"))["fingerprint"] == SMOKES.fingerprint
    assert "smokes" in call("certify", "file", path, "--purpose", "smokes").out
    assert_one_line(call("certify", "file", path, "--purpose", "drinks"), ("--purpose is 'drinks'", "'smokes'"))
    assert_one_line(call("certify", "warner", "--question", "2/3", "--purpose", "a\nb"), ("--purpose", "one line"))
    assert parsed(call("certify", "warner", "--question", "2/3", "--purpose", "drinks", "--json"))["fingerprint"] == (
        DRINKS.fingerprint
    )
    audit = call("audit", "file", path, "--trials", "1000", "--json")
    assert parsed(audit)["channel"]["purpose"] == "smokes"


def test_the_purpose_of_unnamed_states(tmp_path: Path) -> None:
    old, new = str(tmp_path / "old.state"), str(tmp_path / "new.state")
    save(Tally(RandomizedResponse("1/2", outputs=["no", "yes"]), [60, 40]), old)
    save(Tally(SMOKES, [60, 40]), new)
    states = (old, new)
    assert_one_line(call("estimate", *states), ("'smokes'", "None", "--purpose-of-unnamed smokes"))
    told = parsed(call("estimate", *states, "--purpose-of-unnamed", "smokes", "--json"))
    assert (told["n"], told["channel"]["purpose"]) == (200, "smokes")
    assert_one_line(call("estimate", *states, "--purpose-of-unnamed", "drinks"), ("'smokes'", "'drinks'"))
    sums = [str(tmp_path / f"{i}.sums") for i in range(2)]
    for path, channel in zip(sums, (PerValue(2, 1), PerValue(2, 1).for_purpose("a,b")), strict=True):
        save(Tally(channel, [5, 4], 10), path)
    states = (sums[0], sums[1])
    assert_one_line(call("estimate", *states), ("another channel", "--purpose-of-unnamed a,b"))
    assert parsed(call("estimate", *states, "--purpose-of-unnamed", "a,b", "--json"))["n"] == 20


def test_the_channel_after_a_pilot_has_its_purpose(tmp_path: Path) -> None:
    model, fit, state, out = (str(tmp_path / name) for name in ("m.json", "p.fit", "p.state", "c.toml"))
    Path(model).write_text('{"kind": "saturated", "outputs": ["no", "yes"]}')
    save(Tally(SMOKES, [600, 400]), state)
    assert call("estimate", state, "--save", fit).code == 0
    guess = ("optimal", model, "--fit", fit, "--privacy-level", "1", "-o", out)
    assert call(*guess).code == 0
    assert read_channel(out).purpose == "smokes"
    assert call(*guess, "--purpose", "drinks").code == 0
    assert read_channel(out).purpose == "drinks"


# -- columns and purposes ----------------------------------------------------------------------------------------------


def test_a_purpose_that_contradicts_the_columns(tmp_path: Path) -> None:
    table, output, state = (str(tmp_path / name) for name in ("swapped.csv", "r.jsonl", "s.state"))
    Path(table).write_text("b,a\n" + "1,0\n" * 5)
    flags = ("randomize", "per-value", "--dim", "2", "--privacy-level", "1", "--input", table, "-o", output)
    found = call(*flags, "--purpose", "a,b")
    assert_one_line(found, ("the columns are 'b', 'a', and the purpose is 'a,b'", "--columns a,b"))
    assert not Path(output).exists()
    assert call(*flags, "--purpose", "a,b", "--columns", "a,b").code == 0
    assert call("aggregate", output, "-o", state).code == 0
    told = parsed(call("estimate", state, "--json"))
    assert [row["name"] for row in told["statistics"]] == ["a", "b"]
    assert told["alarm"] is None
    assert_one_line(call("estimate", state, "--names", "b,a"), ("the reports are of the columns a,b",))
    assert "purpose: a,b" in call("estimate", state).out


@pytest.mark.parametrize("first", ["hiv", "none"])
def test_an_answer_is_no_name(first: str, tmp_path: Path) -> None:
    table, output = tmp_path / "t.csv", tmp_path / "r.jsonl"
    table.write_text(f"{first}\nnone\nflu\n")
    flags = ("--outputs", "none,flu,hiv", "--privacy-level", "1", "--input", str(table), "-o", str(output))
    found = call("randomize", "subset-selection", *flags)
    assert_one_line(found, ("holds an answer; allowed: names of columns",))
    assert "hiv" not in found.err.replace(str(table), "")
    assert not output.exists()


@pytest.mark.parametrize("line", ["0.731337,nan", "true,false", "1,NA"])
def test_a_first_line_of_values_holds_no_names(line: str, tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    table.write_text(f"{line}\n1,0\n0,1\n")
    flags = ("--dim", "2", "--privacy-level", "1", "--input", str(table), "-o", str(tmp_path / "r.jsonl"))
    found = call("randomize", "hypercube", *flags)
    assert_one_line(found, ("holds numbers only",))
    assert "731337" not in found.err


@pytest.mark.parametrize(
    ("lines", "flags"),
    [
        ("hiv,hiv", ()),
        ("hiv,7f3a", ()),
        ("7f3a,hiv", ("--id-column", "id")),
        ("7f3a,hiv", ("--id-column", "id", "--columns", "illness")),
    ],
)
def test_an_answer_in_the_first_line_is_not_shown(lines: str, flags: tuple[str, ...], tmp_path: Path) -> None:
    table, output = tmp_path / "t.csv", tmp_path / "r.jsonl"
    table.write_text(f"{lines}\nnone,flu\n")
    of_channel = ("--outputs", "none,flu,hiv", "--privacy-level", "1", "--input", str(table), "-o", str(output))
    found = call("randomize", "subset-selection", *of_channel, *flags)
    assert_one_line(found, ("the first line of", "names of columns"))
    assert "hiv" not in found.err
    assert "7f3a" not in found.err
    assert not output.exists()


@pytest.mark.parametrize("lines", ["0.7313,0.7313", "7f3a,0.7313", "7f3a,0.7313,0.25"])
def test_a_number_in_the_first_line_is_not_shown(lines: str, tmp_path: Path) -> None:
    table, output = tmp_path / "t.csv", tmp_path / "r.jsonl"
    table.write_text(f"{lines}\n{lines}\n")
    given = ("--dim", "2", "--privacy-level", "1", "--input", str(table), "-o", str(output))
    for flags in [("--id-column", "id"), ("--columns", "a,b"), () if lines.count(",") > 1 else ("--id-column", "id")]:
        found = call("randomize", "hypercube", *given, *flags)
        assert_one_line(found, ("the first line of", "names of columns"))
        assert "7313" not in found.err


def test_columns_called_by_numbers_are_taken(tmp_path: Path) -> None:
    table, output = tmp_path / "t.csv", tmp_path / "r.jsonl"
    table.write_text("id,0,1\na,0.5,1\nb,0,0.25\n")
    given = ("--dim", "2", "--privacy-level", "1", "--input", str(table), "-o", str(output))
    assert call("randomize", "hypercube", *given, "--id-column", "id").code == 0
    output.unlink()
    assert call("randomize", "hypercube", *given, "--columns", "1,0").code == 0


def test_a_record_in_the_first_line_is_not_shown(tmp_path: Path) -> None:
    people, channel, table, output = (tmp_path / name for name in ("a b.toml", "c d.toml", "t.csv", "r.jsonl"))
    people.write_text('cliques = [["ill", "age"]]\n[variables]\nill = ["none", "hiv"]\nage = ["young", "old"]\n')
    planned = call("plan", "field", str(people), "--privacy-level", "2", "-o", str(channel))
    assert f"records '{channel}' --variables '{people}' --input" in planned.out
    table.write_text("hiv,old\nnone,young\n")
    found = call(
        "randomize", "records", str(channel), "--variables", str(people), "--input", str(table), "-o", str(output)
    )
    assert_one_line(found, ("holds an answer; allowed: names of columns",))
    assert "hiv" not in found.err
    assert not output.exists()


def test_rows_are_those_of_the_table_though_some_are_dropped(tmp_path: Path) -> None:
    column = Column("id", "text", np.array(["a", "b", "d", "d"], dtype=object), np.zeros(4, dtype=bool))
    with pytest.raises(InputError, match="row 4: column 'id' is that of row 3"):
        read_ids(column, tmp_path / "t.csv", [0, 2, 3])
    assert read_ids(column, tmp_path / "t.csv", [0, 1, 3]) == ["a", "b", "d"]
