"""Training a chain on labelled sentences: CPU seconds and wall seconds, ours and python-crfsuite's, the same features.

CoNLL-2000 (44 tags), every token with its label, features of the word alone (askance's, for both), scores of
neighbouring tags and of the first and last tag of a sentence (for crfsuite: the features BOS and EOS), penalty
λ/2 ‖θ‖² with λ = .3.

crfsuite runs first in every repetition and says what it reached: log-likelihood minus penalty. Ours starts from zero
and stops when it is there, in single precision as far as that leads and in double precision from then on; the value is
checked in double precision, off the clock. Three cases, the last of them behind `--long`:

- "observed pairs": crfsuite at its default, which gives a score only to pairs of feature and tag, and of tags, that
  appear in the file, and by its own stopping rule. Ours has a score for all.
- "all pairs, 100 steps": crfsuite is told to have a score for all too, and stops after 100 steps.
- "all pairs": the same by its own stopping rule, a few hundred steps, close to the maximum; the longest.

Both warm up with a few steps: a fit of some minutes needs no other of the same size before it.

Data are prepared before the clock starts, in the form each takes fastest; ours also learns its features on the clock.
A row in wall seconds is of the same runs as the row in CPU seconds before it: ours has as many threads as there are
processors, crfsuite has one. Needs ASKANCE_DATA.
"""

from __future__ import annotations

import atexit
import json
import math
import os
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.comparisons.tagger_node import (
    CONLL,
    CRFSUITE,
    L2,
    askance_labels,
    feature_lists,
    features,
    pairs,
    sentences,
    words_of,
)
from benchmarks.harness.comparison import Case, Comparison, Reading, Side, Subject, WrongResultError, no_warm_up

# What crfsuite is told for each model, beside the penalty.
_ALL_PAIRS = {"feature.possible_states": 1, "feature.possible_transitions": 1}
_SETTINGS: dict[str, dict[str, int]] = {
    "observed pairs": {},
    "all pairs, 100 steps": {**_ALL_PAIRS, "max_iterations": 100},
    "all pairs": _ALL_PAIRS,
}
_CLOCKS = ("CPU", "wall")
# Who does not reach this on the test file has not done the work.
_LEAST_ACCURACY = {"conll2000": 0.97, "ud.en_ewt": 0.87}
# What readers are told of a corpus.
_TOLD = {"conll2000": "CoNLL-2000, 44 tags", "ud.en_ewt": "UD English EWT, 17 tags"}
_CORPUS = {told: name for name, told in _TOLD.items()}
# Steps of a run that only warms up, and of one that never arrives.
_WARM_STEPS, _MOST_STEPS = 3, 2000
# Far from the optimum the curvature is guessed from how often features appear.
_FIRST_STEPS = 6
# What single precision may pretend, as a share of the value: it has to go so much farther.
_ROUNDING = 2e-5
# CPU and wall seconds of all runs of this process, by corpus and model.
_TAKEN: dict[tuple[str, str], list[tuple[float, float]]] = defaultdict(list)


# -- both sides --------------------------------------------------------------------------------------------------------


def check_tags(found: list[str], corpus: str = "conll2000") -> None:
    """Refuse tags of the tokens of the test file that are not good enough."""
    truth = [tag for _, tag in pairs("test", corpus)]
    accuracy = sum(a == b for a, b in zip(found, truth, strict=True)) / len(truth)
    if not accuracy >= _LEAST_ACCURACY[corpus]:
        raise WrongResultError(f"accuracy {accuracy:.4f}")


def _walls(case: Case) -> Reading:
    """Reads off what the runs of the case of the other clock have taken."""
    walls = iter([wall for _, wall in _TAKEN[_key(case)]])
    return Reading(lambda: next(walls), warm_up=no_warm_up)


def _reading(case: Case, run: Callable[[], Any], check: Callable[[Any], None], warm_up: Callable[[], Any]) -> Reading:
    """Runs, timed by both clocks."""
    taken = _TAKEN[_key(case)]

    def read() -> float:
        cpu, wall = time.process_time(), time.perf_counter()
        result = run()
        taken.append((time.process_time() - cpu, time.perf_counter() - wall))
        check(result)
        return taken[-1][0]

    return Reading(read, warm_up)


def _key(case: Case) -> tuple[str, str]:
    """Corpus and model."""
    return _CORPUS[str(case["corpus"])], str(case["model"])


def _message(corpus: str, model: str) -> Path:
    """Where crfsuite's worker leaves the objective for ours: both are children of the harness."""
    return Path(tempfile.gettempdir()) / f"chain-training-{os.getppid()}-{corpus}-{model.replace(' ', '-')}.json"


# -- ours --------------------------------------------------------------------------------------------------------------


class _Ours:
    def __init__(self, corpus: str, model: str) -> None:
        self.labels, self._corpus, self._model = askance_labels(corpus), corpus, model
        self._texts = [[word for word, _ in sentence] for sentence in sentences("test", corpus)]

    def target(self) -> float | None:
        """What crfsuite reached; None before it has run."""
        path = _message(self._corpus, self._model)
        return float(json.loads(path.read_text(encoding="utf-8"))) if path.exists() else None

    def run(self) -> Any:
        """The task, the parameters, and the objective that was to be reached."""
        import numpy as np

        from askance.text.chain.counts import DEFAULT_BUDGET
        from askance.text.chain.features import ChainFeatures
        from askance.text.chain.training import ChainOptions, ChainTask

        target, words = self.target(), self.labels.corpus.words
        learned = ChainFeatures.learn(words)
        task = ChainTask(self.labels, learned, ChainOptions(L2, 0.0, None, DEFAULT_BUDGET, _MOST_STEPS, 0.0, None))
        designs = learned.matrices(words)
        fit = _climb(designs, task.objective, None if target is None else target + _ROUNDING * abs(target))
        if target is None or fit.stopped:
            return task, fit.parameters, target
        designs = {distance: matrix.astype(np.float64) for distance, matrix in designs.items()}
        return task, _climb(designs, task.objective, target, _double(fit.parameters)).parameters, target

    def check(self, result: Any) -> None:
        """Whether the objective, in double precision, and the test file say that the work was done."""
        from askance.text import Corpus

        task, found, target = result
        if target is None:
            return
        exact = _double(found)
        squares = sum(float((a**2).sum()) for a in (exact.theta, exact.edges, exact.first, exact.last))
        objective = task.log_likelihood(exact) - L2 / 2 * squares
        if not objective >= target:
            raise WrongResultError(f"the objective is {objective:.3f}, not {target:.3f}")
        codes = task.model(found).best_tags(Corpus.of(self._texts))
        check_tags([task.regions.tagset[code] for code in codes.tolist()], self._corpus)


def _climb(designs: Any, objective: Any, target: float | None, start: Any = None) -> Any:
    """A fit in the precision of the designs until the target is reached, or nothing more is gained."""
    from askance.text.chain.fit import ChainProblem, descend

    reached = -math.inf

    def listen(step: int, value: float) -> None:
        nonlocal reached
        reached = value

    problem = ChainProblem(designs, objective, L2, _FIRST_STEPS if start is None else 1)
    return descend(
        problem,
        start,
        max_iterations=_WARM_STEPS if target is None else _MOST_STEPS,
        tolerance=0.0,
        progress=listen,
        stop=lambda _: target is not None and reached >= target,
    )


def _double(parameters: Any) -> Any:
    """The same in double precision."""
    import numpy as np

    return type(parameters)(**{name: array.astype(np.float64) for name, array in vars(parameters).items()})


def askance(case: Case, n: int) -> Reading:
    """Ours, from labelled sentences to the same objective."""
    if case["clock"] == "wall":
        return _walls(case)
    corpus, model = _key(case)
    _message(corpus, model).unlink(missing_ok=True)
    ours = _Ours(corpus, model)
    return _reading(case, ours.run, ours.check, warm_up=ours.run)  # without an objective to reach: a few steps


# -- theirs ------------------------------------------------------------------------------------------------------------


def chain_lists(learned: Any, part: str, corpus: str = "conll2000") -> list[list[list[str]]]:
    """Names of the features of every token of every sentence of a file, as crfsuite takes them."""
    lists = feature_lists(learned, words_of(part, corpus))
    found = []
    for sentence in sentences(part, corpus):
        rows = [lists[word] for word, _ in sentence]
        rows[0] = [*rows[0], "BOS"]
        rows[-1] = [*rows[-1], "EOS"]
        found.append(rows)
    return found


def chain_data(learned: Any, corpus: str = "conll2000") -> tuple[list[Any], list[list[str]]]:
    """Sentences of the train file, and their tags."""
    import pycrfsuite

    items = [pycrfsuite.ItemSequence(rows) for rows in chain_lists(learned, "train", corpus)]
    return items, [[tag for _, tag in sentence] for sentence in sentences("train", corpus)]


def train_chain(data: tuple[list[Any], list[list[str]]], path: str, settings: dict[str, int]) -> float:
    """L-BFGS; returns the objective, log-likelihood minus penalty: crfsuite's loss is minus that."""
    import pycrfsuite

    trainer = pycrfsuite.Trainer(algorithm="lbfgs", params={"c2": L2 / 2, **settings}, verbose=False)
    for items, tags in zip(*data, strict=True):
        trainer.append(items, tags)
    trainer.train(path)
    return -float(trainer.logparser.iterations[-1]["loss"])


def crfsuite(case: Case, n: int) -> Reading:
    """Theirs, until it stops."""
    if case["clock"] == "wall":
        return _walls(case)
    import pycrfsuite

    corpus, model = _key(case)
    learned = features(corpus)
    path = str(Path(tempfile.mkdtemp()) / "chain.crfsuite")
    data, texts = chain_data(learned, corpus), chain_lists(learned, "test", corpus)
    message = _message(corpus, model)
    atexit.register(message.unlink, missing_ok=True)

    def look(objective: float) -> None:
        message.write_text(json.dumps(objective), encoding="utf-8")
        tagger = pycrfsuite.Tagger()
        tagger.open(path)
        check_tags([tag for text in texts for tag in tagger.tag(text)], corpus)

    settings = _SETTINGS[model]
    return _reading(
        case,
        lambda: train_chain(data, path, settings),
        look,
        warm_up=lambda: train_chain(data, path, settings | {"max_iterations": _WARM_STEPS}),
    )


def cases(corpus: str, *models: str) -> tuple[Case, ...]:
    """Every model by both clocks: what it took by the wall is read off the run by the other clock."""
    return tuple({"corpus": _TOLD[corpus], "model": model, "clock": clock} for model in models for clock in _CLOCKS)


COMPARISON = Comparison(
    name="chain-training",
    question=(
        "How long does a chain of 44 tags train on CoNLL-2000's labelled sentences until it reaches the objective that "
        "crfsuite stops at?"
    ),
    subject=Subject.TAGGING,
    unit="s",
    cases=cases("conll2000", "observed pairs", "all pairs, 100 steps"),
    long_cases=cases("conll2000", "all pairs"),
    peers_first=True,
    ours=Side("askance", askance),
    peers=(Side("python-crfsuite", crfsuite, CRFSUITE),),
    better="less",
    data=CONLL,
)
