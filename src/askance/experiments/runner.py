"""Run an experiment: trials in parallel, each kept on disk; the result; the figures.

    DIR/<name>/trials/<key>.json    the outcome of each trial, with a digest of what it depends on
    DIR/<name>/result.json          config, seed, version, data, every plotted number, findings: what the seed decides
    DIR/<name>/timings.json         what a clock gave, and findings about it; only where an experiment measures
    DIR/<name>/*.png, *.svg         drawn from these two alone

The same seed, code and data give the same bytes of result.json, with any number of processes (on another kind of
processor the last digits of sums may differ); timings.json differs from run to run. All files are written whole. A run
that was interrupted goes on where it stopped: outcomes whose digest fits are read, and the digest is of config, data
and the source files of askance.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Any

from askance._checks import as_count, shown
from askance._cores import processors
from askance._version import __version__
from askance.errors import FormatError, InputError
from askance.experiments.experiment import Experiment, Plain, Trial
from askance.experiments.measured import separate, together
from askance.experiments.pool import run_trials
from askance.experiments.source import source_digest
from askance.formats.disk import as_path, read_whole, write_whole
from askance.formats.figure_file import figure_bytes

#: What a result holds.
FIELDS = ("experiment", "title", "seed", "quick", "version", "config", "data", "result", "findings")
_TIMINGS = ("experiment", "result_sha256", "measured", "findings")
_FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._=+-]{0,99}")
_LARGEST_SEED = 2**32 - 1


def run_experiment(
    experiment: Experiment,
    out: str | os.PathLike[str],
    *,
    quick: bool = False,
    seed: int = 0,
    workers: int | None = None,
    progress: Callable[[str], None] = lambda step: None,
) -> dict[str, Plain]:
    """Run what has not been run yet, and write result and figures.

    Args:
        experiment: which.
        out: the folder of all results; this one's are in a folder of its name.
        quick: the small config.
        seed: of everything that is random; equal seeds give equal results.
        workers: processes (default: one for each processor; see `run_trials`). Scripts that call this need the usual
            `if __name__ == "__main__":`, because each process reads the script again; 0 is without processes.
        progress: told what is being done.

    Returns:
        what `read_result` reads: `result.json`, with what was measured in its places.
    """
    seed = as_count(seed, "seed", maximum=_LARGEST_SEED)
    workers = processors() if workers is None else as_count(workers, "workers", maximum=1024)
    folder = require_folder(Path(as_path(out)) / experiment.name)
    kept = require_folder(folder / "trials")
    progress(f"{experiment.name}: preparing")
    config = plain(experiment.config(quick=quick, seed=seed), "the config")
    data = [asdict(data_set) for data_set in experiment.data(config)]
    trials = _require_keys(experiment.trials(config))
    code = {"version": __version__, "source": source_digest()}
    depends = {"experiment": experiment.name, "config": config, "data": data, "code": code}
    outcomes = _run_or_read(experiment.name, trials, kept, depends, workers, progress)
    result = plain(experiment.collect(config, outcomes), "the result")
    decided, measured = separate(result)
    told = {True: list[Plain](), False: list[Plain]()}
    for finding in map(asdict, experiment.findings(result)):
        told[finding.pop("measured")].append(finding)
    document = {
        "experiment": experiment.name,
        "title": experiment.title,
        "seed": seed,
        "quick": quick,
        "version": __version__,
        "config": config,
        "data": data,
        "result": decided,
        "findings": told[False],
    }
    _write_result(folder, document, measured, told[True])
    document = read_result(folder / "result.json", experiment.name)
    progress(f"{experiment.name}: drawing")
    write_figures(experiment, document, folder)
    return document


def replot(experiment: Experiment, out: str | os.PathLike[str]) -> dict[str, Plain]:
    """Draw the figures again from `result.json`; nothing is run."""
    folder = Path(as_path(out)) / experiment.name
    document = read_result(folder / "result.json", experiment.name)
    write_figures(experiment, document, folder)
    return document


def read_result(path: Path, name: str) -> dict[str, Plain]:
    """What `run_experiment` wrote, with what was measured in its places, where it is at hand.

    Refused is what is missing, altered or another experiment's.
    """
    if not path.is_file():
        raise InputError(
            f"{path} is not there: {name} has not been run into this folder.",
            remedy="Run it without --replot first, or give the folder of a run with --out.",
        )
    content = read_whole(path)
    document = _require_fields(content, path, name, FIELDS)
    beside = path.with_name("timings.json")
    if not beside.is_file():
        return document  # nothing was measured, or only the result was kept, or it is from before they were apart
    timings = _require_fields(read_whole(beside), beside, name, _TIMINGS)
    if timings["result_sha256"] != hashlib.sha256(content).hexdigest():
        raise FormatError(
            f"{beside} does not belong to the {path.name} beside it.",
            remedy="Run the experiment again, or delete timings.json to do without what was measured.",
        )
    document["result"] = together(document["result"], timings["measured"])
    document["findings"] = [*document["findings"], *timings["findings"]]
    return document


def _write_result(
    folder: Path, document: Mapping[str, Plain], measured: Mapping[str, Plain], findings: Sequence[Plain]
) -> None:
    """Write result.json, and timings.json where anything was measured."""
    content, beside = _as_bytes(document), folder / "timings.json"
    if measured or findings:
        about = {"experiment": document["experiment"], "result_sha256": hashlib.sha256(content).hexdigest()}
        write_whole(beside, _as_bytes({**about, "measured": measured, "findings": findings}))
    else:
        beside.unlink(missing_ok=True)
    write_whole(folder / "result.json", content)


def render(experiment: Experiment, document: Mapping[str, Plain], endings: Sequence[str]) -> dict[str, bytes]:
    """The figures of a result as files by name; equal results give equal bytes."""
    figures = experiment.draw(document["result"])
    return {f"{name}.{ending}": figure_bytes(figure, ending) for name, figure in figures.items() for ending in endings}


def write_figures(experiment: Experiment, document: Mapping[str, Plain], folder: Path) -> None:
    """Write each figure as PNG and SVG."""
    for name, content in render(experiment, document, ("png", "svg")).items():
        write_whole(folder / name, content)


def require_folder(folder: Path) -> Path:
    """Make a folder unless it is there; refused is one that cannot be made or written to."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"cannot make the folder {folder}: {error.strerror}.",
            remedy="Choose a folder with --out that exists or can be made.",
        ) from None
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InputError(f"cannot write into {folder}.", remedy="Choose a folder with --out where you may write.")
    return folder


def plain(value: Any, what: str) -> Plain:
    """The value as JSON keeps it, so that what was just computed and what was read again are the same."""
    try:
        return json.loads(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise InputError(
            f"{what} is not plain JSON: {error}.", remedy="Use numbers, texts, lists, objects; None for infinity."
        ) from None


def _run_or_read(
    name: str,
    trials: Sequence[Trial],
    kept: Path,
    depends: Mapping[str, Plain],
    workers: int,
    progress: Callable[[str], None],
) -> dict[str, Plain]:
    """The outcomes by key, in the order of the trials."""
    digests = {trial.key: _digest({**depends, "key": trial.key}) for trial in trials}
    documents = {trial.key: _kept_outcome(kept / f"{trial.key}.json", digests[trial.key]) for trial in trials}
    outcomes = {key: outcome["outcome"] for key, outcome in documents.items() if outcome is not None}
    missing = [trial for trial in trials if trial.key not in outcomes]
    total, done = sum(trial.cost for trial in trials), sum(trial.cost for trial in trials if trial.key in outcomes)
    if missing:
        again = f", {len(outcomes)} kept from before" if outcomes else ""
        processes = min(workers, len(missing))
        where = f"{processes} process{'es' if processes > 1 else ''}" if workers else "this process"
        progress(f"{name}: {len(missing)} trial{'s' if len(missing) > 1 else ''} in {where}{again}")
    with closing(run_trials(missing, workers)) as running:
        for trial, outcome in running:
            outcomes[trial.key] = plain(outcome, f"the outcome of {trial.key}")
            document = {"key": trial.key, "digest": digests[trial.key], "outcome": outcomes[trial.key]}
            write_whole(kept / f"{trial.key}.json", _as_bytes(document))
            done += trial.cost
            progress(f"{name}: {len(outcomes)} of {len(trials)} trials, {done / total if total else 1:.0%} of the work")
    return {trial.key: outcomes[trial.key] for trial in trials}


def _kept_outcome(path: Path, digest: str) -> dict[str, Plain] | None:
    """What an earlier run kept, if it is of the same config, data and code; anything else is run again."""
    if not path.is_file():
        return None
    document = _parsed(read_whole(path))
    fits = isinstance(document, dict) and document.get("digest") == digest and "outcome" in document
    return document if fits else None


def _digest(content: Plain) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _require_fields(content: bytes, path: Path, name: str, fields: Sequence[str]) -> dict[str, Plain]:
    document = _parsed(content)
    missing = [field for field in fields if field not in document] if isinstance(document, dict) else list(fields)
    if missing or document["experiment"] != name:
        what = f"lacks {', '.join(missing)}" if missing else f"is of {shown(document['experiment'])}"
        raise FormatError(
            f"{path} is no result of {name}: it {what}.", remedy="Delete it and run the experiment again."
        )
    return dict(document)


def _parsed(data: bytes) -> Plain:
    """JSON; None where it is none."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def _as_bytes(document: Plain) -> bytes:
    return (json.dumps(document, ensure_ascii=False, allow_nan=False, indent=1) + "\n").encode()


def _require_keys(trials: Sequence[Trial]) -> Sequence[Trial]:
    """Refuse keys that are no file names, or not unique (also where upper and lower case are the same)."""
    keys = [trial.key for trial in trials]
    bad = [key for key in keys if not _FILE_NAME.fullmatch(key)]
    if bad or len({key.lower() for key in keys}) < len(keys):
        twice = sorted({key for key in keys if [other.lower() for other in keys].count(key.lower()) > 1})
        raise InputError(
            f"the keys of trials include {', '.join(map(shown, (bad or twice)[:3]))}; allowed: different names of "
            "letters, digits and . _ = + -.",
            remedy="Name each trial by what it varies.",
        )
    return trials
