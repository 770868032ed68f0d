"""The runner: what it keeps, goes on from, refuses; and how it ends."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path

import pytest

from askance.errors import AskanceError, FormatError, InputError
from askance.experiments.efficiency import efficiency_curve
from askance.experiments.experiment import Trial
from askance.experiments.pool import run_trials
from askance.experiments.runner import read_result, replot, run_experiment
from askance.experiments.source import digest_of_folder, source_digest
from tests.signals import PATIENCE, end_by, start
from tests.squares import Squares, fail, files, not_json


def test_a_run_without_its_result_goes_on_to_the_same_bytes(tmp_path: Path) -> None:
    run_experiment(Squares(), tmp_path, workers=0)
    before = files(tmp_path)
    (tmp_path / "squares" / "result.json").unlink()
    (tmp_path / "squares" / "trials" / "value-2.json").unlink()
    (tmp_path / "squares" / "trials" / "value-3.json").write_text("{", encoding="utf-8")  # half of a file
    steps: list[str] = []
    run_experiment(Squares(), tmp_path, workers=0, progress=steps.append)
    assert files(tmp_path) == before
    assert "squares: 2 trials in this process, 1 kept from before" in steps


def test_outcomes_of_another_config_or_of_other_data_are_not_used(tmp_path: Path) -> None:
    first = run_experiment(Squares(), tmp_path, seed=1, workers=0)
    assert run_experiment(Squares(), tmp_path, seed=2, workers=0)["result"] != first["result"]
    kept = tmp_path / "squares" / "trials" / "value-1.json"
    before = kept.read_bytes()
    run_experiment(Squares(fingerprint="1"), tmp_path, seed=2, workers=0)
    assert kept.read_bytes() != before


def test_outcomes_of_other_code_are_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_experiment(Squares(), tmp_path, workers=0)
    kept = tmp_path / "squares" / "trials" / "value-1.json"
    before, steps = json.loads(kept.read_bytes()), list[str]()
    monkeypatch.setattr("askance.experiments.runner.source_digest", lambda: "after an edit")
    run_experiment(Squares(), tmp_path, workers=0, progress=steps.append)
    assert "squares: 3 trials in this process" in steps
    after = json.loads(kept.read_bytes())
    assert after["outcome"] == before["outcome"]
    assert after["digest"] != before["digest"]


def test_the_digest_of_a_folder_is_that_of_its_python_files(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    for folder in (first, second):
        (folder / "inner").mkdir(parents=True)
        (folder / "a.py").write_text("one", encoding="utf-8")
        (folder / "inner" / "b.py").write_text("two", encoding="utf-8")
        (folder / "notes.txt").write_text(folder.name, encoding="utf-8")
    assert digest_of_folder(first) == digest_of_folder(second)
    (second / "inner" / "b.py").write_text("tow", encoding="utf-8")
    assert digest_of_folder(first) != digest_of_folder(second)
    (first / "inner" / "b.py").rename(first / "b.py")
    assert len({digest_of_folder(first), digest_of_folder(second), source_digest()}) == 3


# -- what is measured --------------------------------------------------------------------------------------------------


def test_what_a_clock_gave_is_beside_the_result_and_back_in_its_place(tmp_path: Path) -> None:
    folder = tmp_path / "squares"
    document = run_experiment(Squares(clock=1.5), tmp_path, workers=0)
    decided, pictures = (folder / "result.json").read_bytes(), files(folder)
    assert b"measured" not in decided
    assert document["result"]["measured_seconds"] == 1.5
    assert [finding["claim"] for finding in document["findings"]] == ["1² < 2²", "all is well", "it is fast"]
    assert read_result(folder / "result.json", "squares") == document == replot(Squares(), tmp_path)
    assert files(folder) == pictures
    run_experiment(Squares(clock=2.5), tmp_path, workers=0)
    assert (folder / "result.json").read_bytes() == decided
    assert files(folder)["timings.json"] != pictures["timings.json"]
    run_experiment(Squares(), tmp_path, workers=0)
    assert not (folder / "timings.json").exists()


def test_results_without_timings_and_those_from_before_they_were_apart_are_drawn(tmp_path: Path) -> None:
    path = tmp_path / "squares" / "result.json"
    document = run_experiment(Squares(clock=1.5), tmp_path, workers=0)
    (tmp_path / "squares" / "timings.json").unlink()
    assert "measured_seconds" not in replot(Squares(), tmp_path)["result"]
    path.write_text(json.dumps(document), encoding="utf-8")
    assert replot(Squares(), tmp_path) == document


def test_timings_of_another_result_are_refused(tmp_path: Path) -> None:
    run_experiment(Squares(clock=1.5), tmp_path / "1", seed=1, workers=0)
    run_experiment(Squares(clock=1.5), tmp_path / "2", seed=2, workers=0)
    (tmp_path / "1/squares/timings.json").replace(tmp_path / "2/squares/timings.json")
    with pytest.raises(FormatError, match=r"timings\.json does not belong to the result\.json beside it"):
        replot(Squares(), tmp_path / "2")
    (tmp_path / "2/squares/timings.json").write_text("{}", encoding="utf-8")
    with pytest.raises(FormatError, match=r"timings\.json is no result of squares: it lacks experiment"):
        replot(Squares(), tmp_path / "2")


def test_outcomes_come_in_the_order_of_the_trials_although_long_ones_run_first(tmp_path: Path) -> None:
    ran = [trial.key for trial, _ in run_trials(Squares().trials({"values": [1, 2, 3], "seed": 0}), 0)]
    assert ran == ["value-3", "value-2", "value-1"]
    assert run_experiment(Squares(), tmp_path, workers=0)["result"]["order"] == ["value-1", "value-2", "value-3"]


def test_what_was_done_before_a_trial_failed_is_kept(tmp_path: Path) -> None:
    broken = Squares(extra=[Trial("fails", fail, {"value": 9}, cost=0)])
    with pytest.raises(ArithmeticError, match="9 is too much"):
        run_experiment(broken, tmp_path, workers=0)
    kept = sorted(path.name for path in (tmp_path / "squares" / "trials").iterdir())
    assert kept == ["value-1.json", "value-2.json", "value-3.json"]


def test_a_trial_that_fails_in_another_process_says_so() -> None:
    wrong = {"statistics": [["a", "b"]], "theta": [0], "reveal_probabilities": []}
    with pytest.raises(InputError, match="'a'"):
        list(run_trials([Trial("fails", efficiency_curve, wrong)] * 2, 2))


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        (Trial("../up", not_json), r"the keys of trials include '\.\./up'"),
        (Trial("VALUE-1", not_json), "the keys of trials include"),
        (Trial("nan", not_json), "the outcome of nan is not plain JSON"),
    ],
)
def test_trials_that_cannot_be_kept_are_refused(extra: Trial, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        run_experiment(Squares(extra=[extra]), tmp_path, workers=0)


@pytest.mark.integration
@pytest.mark.skipif(sys.platform == "win32", reason="signals differ")
def test_interrupted_a_run_keeps_what_is_done_and_leaves_no_process(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        "from pathlib import Path\n"
        "from squares import Squares, Trial, wait\n"
        "from askance.experiments.runner import run_experiment\n"
        "if __name__ == '__main__':\n"
        f"    out = Path({str(tmp_path)!r})\n"
        "    slow = Trial('slow', wait, {'path': str(out / 'started'), 'seconds': 3600}, cost=9)\n"
        "    run_experiment(Squares(extra=[slow]), out, workers=2)\n",
        encoding="utf-8",
    )
    running = start(sys.executable, script, stdout=None, start_new_session=True)
    try:
        kept = tmp_path / "squares" / "trials"
        for _ in range(10 * PATIENCE):
            if (tmp_path / "started").exists() and len(list(kept.glob("value-*.json"))) == 3:
                break
            time.sleep(0.1)
        assert end_by(running, signal.SIGINT) != 0  # the parent alone: its processes must not outlive it
    finally:
        running.kill()
        running.communicate()
    assert sorted(path.name for path in kept.iterdir()) == ["value-1.json", "value-2.json", "value-3.json"]
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "started").read_text(encoding="utf-8")), 0)


def test_results_of_others_are_refused(tmp_path: Path) -> None:
    run_experiment(Squares(), tmp_path, quick=True, workers=0)
    path = tmp_path / "squares" / "result.json"
    with pytest.raises(FormatError, match="is of 'squares'"):
        read_result(path, "simplex")
    path.write_text('{"experiment": "squares"}', encoding="utf-8")
    with pytest.raises(FormatError, match="it lacks title, seed"):
        replot(Squares(), tmp_path)
    path.write_text("[", encoding="utf-8")
    with pytest.raises(AskanceError, match="is no result of squares"):
        replot(Squares(), tmp_path)
