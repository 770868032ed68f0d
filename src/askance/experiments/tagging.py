"""Taggers from counts: accuracy over passes and over processor seconds, the paper's two estimators and askance's."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from askance.experiments.experiment import Data, Experiment, Finding, Plain, Trial
from askance.experiments.seeds import trial_seed
from askance.experiments.tables import number, text_table
from askance.experiments.tagging_corpus import corpora, describe, files
from askance.experiments.tagging_drawing import SENTENCE, draw_curves
from askance.experiments.tagging_estimators import ESTIMATORS, Problem, Trace, chain
from askance.tables import Table
from askance.text.chain.counts import DEFAULT_BUDGET
from askance.text.corpus.corpus import Corpus
from askance.text.corpus.region_sampling import sample_regions
from askance.text.corpus.regions import RegionCounts

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SECONDS = "measured_cpu_seconds"
_PAPER = ("marginal-beam", "moments-sgd")
_SIZES: tuple[int | str, ...] = (5, 10, 20, SENTENCE)


# -- the experiment ----------------------------------------------------------------------------------------------------


def run_curve(config: Mapping[str, Plain], estimator: str, size: int | str) -> dict[str, Plain]:
    """One estimator at one size of regions: accuracy over passes, plain JSON.

    Args:
        config: of the experiment.
        estimator: its key.
        size: tokens of a region, or "sentence".
    """
    seed, text = config["seed"], config["text"]
    train, test = corpora(text["source"], seed, text["sentences"], text["test_sentences"])
    problem = Problem(
        train,
        _regions(train, size, trial_seed(seed, f"regions-{size}")),
        config["settings"],
        config["passes"][estimator][str(size)] if estimator in _PAPER else 0,
        trial_seed(seed, f"{estimator}-{size}"),
    )
    function = ESTIMATORS[estimator].function
    _warm_up(function, config["settings"])
    trace = Trace(train, test, train.tagset)
    function(problem, trace)
    return {
        "estimator": estimator,
        "region_size": size,
        "regions": len(problem.regions),
        "passes": trace.passes,
        "train": [accuracy for accuracy, _ in trace.accuracy],
        "test": [accuracy for _, accuracy in trace.accuracy],
        _SECONDS: [round(seconds, 3) for seconds in trace.seconds],
    }


def _regions(train: Corpus, size: int | str, seed: int) -> RegionCounts:
    window = None if isinstance(size, str) else size
    return sample_regions(train, window=window, tags="all", rng=np.random.default_rng(seed))


def _warm_up(function: Callable[[Problem, Trace], None], settings: Mapping[str, Plain]) -> None:
    """Load what is compiled, which would otherwise be in the seconds: both kinds of sums, on a few sentences."""
    train, test = corpora("simulated", 0, 20, 2)
    regions = _regions(train, 4, 0)
    for budget in (DEFAULT_BUDGET, 0) if function is chain else (DEFAULT_BUDGET,):
        problem = Problem(train, regions, {**settings, "chain_budget": budget}, 1, 0)
        for estimator in (ESTIMATORS["tilted"].function, function) if function is chain else (function,):
            estimator(problem, Trace(train, test, train.tagset))


class TaggingExperiment(Experiment):
    """Accuracy of taggers from counts."""

    name = "tagging"
    title = "A tagger from counts: accuracy over passes and over processor seconds"
    description = (
        "An annotator says how many of each tag are in a stretch of a sentence, and no more. From one such stretch of "
        "each sentence a part-of-speech tagger is learned: by the paper's two estimators, the marginal likelihood with "
        "sums by a beam (MargML) and moments (MomML), both by stochastic gradients, and by those of askance. Solid "
        "lines are accuracy on test sentences, broken ones on the training sentences, whose tags no estimator sees."
    )

    captions: ClassVar = {
        "over-passes": "Accuracy over passes. A level line is solved directly, without passes; a pass of the "
        "paper's estimators looks at every region once, one of the others computes the likelihood of all of them.",
        "over-seconds": "The same over processor seconds, measured on one core in this run; another run gives "
        "other seconds.",
    }

    def config(self, *, quick: bool, seed: int) -> dict[str, Plain]:
        """See `Experiment`; text of CoNLL-2000 only for the full run, and only where it is at hand."""
        real = not quick and files() is not None
        sizes = (5, 10, SENTENCE) if quick else _SIZES
        # A beam takes two minutes for a pass over the sentences of CoNLL-2000: few passes there.
        beam = {"5": 8, "10": 8, SENTENCE: 8} if quick else {"5": 12, "10": 12, "20": 6, SENTENCE: 3}
        return {
            "seed": seed,
            "quick": quick,
            "text": {
                "source": "conll2000" if real else "simulated",
                "sentences": 0 if real else 300 if quick else 3000,
                "test_sentences": 0 if real else 150 if quick else 1000,
            },
            "region_sizes": list(sizes),
            "exact_up_to": 10,
            "passes": {"marginal-beam": beam, "moments-sgd": {str(size): 8 if quick else 12 for size in sizes}},
            # Lengths of steps: the best of three on a tenth of the training sentences of CoNLL-2000.
            "settings": {
                "beam": 500,
                "regions_at_once": 8,
                "marginal_step": 10.0,
                "moment_step": 6.0,
                "chain_radius": 1 if real else 0,
                "chain_steps_between_looks": 4,
                # Long sentences over likely tags only, as those of the real text are: a quarter of a minute less.
                **({"chain_budget": 8_000.0} if quick else {}),
            },
        }

    def data(self, config: Mapping[str, Plain]) -> Sequence[Data]:
        """See `Experiment`."""
        text = config["text"]
        return [describe(text["source"], config["seed"], text["sentences"], text["test_sentences"])]

    def trials(self, config: Mapping[str, Plain]) -> Sequence[Trial]:
        """One for each estimator and size; exact sums only where they are not too many."""
        return [
            Trial(
                f"{key}-{size}",
                run_curve,
                {"config": dict(config), "estimator": key, "size": size},
                estimator.cost[_SIZES.index(size)] if size in _SIZES else 1.0,
            )
            for key, estimator in ESTIMATORS.items()
            for size in config["region_sizes"]
            if key != "exact" or (size != SENTENCE and size <= config["exact_up_to"])
        ]

    def collect(self, config: Mapping[str, Plain], outcomes: Mapping[str, Plain]) -> dict[str, Plain]:
        """See `Experiment`: curves by size and estimator; what begins with "measured" differs from run to run."""
        curves: dict[str, dict[str, Plain]] = {str(size): {} for size in config["region_sizes"]}
        for trial in self.trials(config):
            curve = outcomes[trial.key]
            final = {"train": curve["train"][-1], "test": curve["test"][-1]}
            curves[str(curve["region_size"])][curve["estimator"]] = {**curve, "final": final}
        return {"text": dict(config["text"]), "passes": dict(config["passes"]), "curves": curves}

    def draw(self, result: Mapping[str, Plain]) -> dict[str, Figure]:
        """See `Experiment`: over passes, and over seconds where they are at hand."""
        figures = {"over-passes": draw_curves(result, "passes")}
        if all(_SECONDS in curve for own in result["curves"].values() for curve in own.values()):
            figures["over-seconds"] = draw_curves(result, _SECONDS)
        return figures

    def findings(self, result: Mapping[str, Plain]) -> Sequence[Finding]:
        """What the paper says of its figure, and what askance adds."""
        return [*_of_the_paper(result), *_beyond_the_paper(result)]

    def tables(self, result: Mapping[str, Plain]) -> Sequence[Table]:
        """Final accuracy on test sentences."""
        sizes = list(result["curves"])
        rows = [
            (estimator.name, *(_final(result, size, key) if key in result["curves"][size] else "–" for size in sizes))
            for key, estimator in ESTIMATORS.items()
        ]
        columns = ("estimator", *(_words(size) for size in sizes))
        return [text_table("Accuracy on test sentences at the end, by what a region is", columns, rows)]

    def main_number(self, result: Mapping[str, Plain]) -> str:
        """See `Experiment`."""
        size = next(iter(result["curves"]))
        chain_, beam = (_final(result, size, key) for key in ("chain", _PAPER[0]))
        return f"test accuracy from counts of {_words(size)}: {chain_} (chain); MargML by a beam {beam}"


# -- findings ----------------------------------------------------------------------------------------------------------


def _final(result: Mapping[str, Plain], size: str, key: str) -> str:
    return f"{result['curves'][size][key]['final']['test']:.3f}"


def _by_size(result: Mapping[str, Plain], text: Callable[[str], str]) -> str:
    """A text for each size of regions, with the size in brackets."""
    return "; ".join(f"{text(size)} ({_words(size)})" for size in result["curves"])


def _words(size: str) -> str:
    return "sentences" if size == SENTENCE else f"{size} words"


def _of_the_paper(result: Mapping[str, Plain]) -> list[Finding]:
    """Its four sentences on the figure, each with the numbers that decide it."""
    sizes = list(result["curves"])
    marginal, moment = ({size: result["curves"][size][key] for size in sizes} for key in _PAPER)
    # For every pass that both have made, whether moments lead.
    leads = {s: [m > b for m, b in zip(moment[s]["test"], marginal[s]["test"], strict=False)] for s in sizes}
    overtaken = {s: leads[s].index(False) if False in leads[s] else len(leads[s]) for s in sizes}
    ends = _by_size(result, lambda s: f"{_final(result, s, _PAPER[0])} against {_final(result, s, _PAPER[1])}")
    behind = [s for s in sizes if marginal[s]["final"]["test"] <= moment[s]["final"]["test"]]
    small, large = sizes[0], sizes[-1]
    steps = "The paper tells neither how long its steps are nor how many regions a step looks at."
    return [
        _finding(
            "After sufficiently many passes the marginal likelihood is ahead of moments.",
            f"Test accuracy at the end, MargML against MomML: {ends}.",
            "" if not behind else f"Not enough passes of MargML: {_passes(result, behind)}.",
        ),
        _finding(
            "In small regions the marginal likelihood dominates.",
            f"In regions of {_words(small)} MomML leads after {sum(leads[small])} of {len(leads[small])} passes.",
            steps if any(leads[small]) else "",
        ),
        _finding(
            "In large regions moments lead for several passes before they are overtaken.",
            "How many passes MomML leads from the start, of those that both have made: "
            f"{_by_size(result, lambda s: f'{overtaken[s]} of {len(leads[s])}')}.",
            "" if overtaken[large] > 1 else steps,
        ),
        _where_computation_is_limited(result),
    ]


def _where_computation_is_limited(result: Mapping[str, Plain]) -> Finding:
    """By the clock: MargML after its first pass, MomML at the same time, and moments solved directly."""
    sizes = list(result["curves"])
    marginal, moment, direct = ({size: result["curves"][size][key] for size in sizes} for key in (*_PAPER, "moments"))
    first = {s: (marginal[s][_SECONDS][0], marginal[s]["test"][0]) for s in sizes}
    timed = {s: zip(moment[s]["test"], moment[s][_SECONDS], strict=True) for s in sizes}
    last = {s: ([0.0] + [accuracy for accuracy, seconds in timed[s] if seconds <= first[s][0]])[-1] for s in sizes}
    large = sizes[-1]
    raced = _by_size(result, lambda s: f"{first[s][1]:.3f} against {last[s]:.3f} after {number(first[s][0], 2)} s")
    solved = _by_size(result, lambda s: f"{direct[s]['test'][0]:.3f} after {number(direct[s][_SECONDS][0], 2)} s")
    why_not = "One pass of MargML gets further than many of MomML as printed."
    return _finding(
        "Moments are favourable where computation is limited.",
        f"Test accuracy of MargML after its first pass, against that of MomML at the same time: {raced}. Moments over "
        f"the simplex, solved directly: {solved}. Times are measured, in processor seconds.",
        "" if last[large] > first[large][1] else why_not,
        measured=True,
    )


def _beyond_the_paper(result: Mapping[str, Plain]) -> list[Finding]:
    """What askance's estimators reach, and in what the setting is not the paper's."""
    real = result["text"]["source"] == "conll2000"
    text = "CoNLL-2000, which is sections 15 to 18 with 44 tags" if real else "a simulated language"
    kinds = {
        "exact": "The likelihood can be had with exact sums in place of a beam, and by steps on all regions at once.",
        "tilted": "A tilted likelihood (Sinkhorn) needs no sums over sequences, in regions of any size.",
        "moments": "Moments over the simplex are solved directly.",
        "chain": "A chain, which knows that neighbouring tags go together, learns from the same counts.",
    }
    return [
        Finding(
            claim,
            f"Test accuracy, against that of MargML by a beam: {_by_size(result, partial(_compared, result, key))}.",
            "beyond",
        )
        for key, claim in kinds.items()
    ] + [
        Finding(
            "The text is sections 0 to 21 of the Penn Treebank with 45 tags, and windows never reach the last word.",
            f"Here it is {text}, and windows reach the last word. P(tag | word) of MomML is made positive with sum 1, "
            f"and equal for words that no region covers; lengths of steps were chosen on a tenth of the training "
            f"sentences of CoNLL-2000. Passes of MargML: {_passes(result, list(result['curves']))}.",
            "differs",
            "The whole treebank is not at hand; the text of the paper gives no sizes of regions, steps or numbers of "
            "passes; a beam over sentences is slow, so it makes few passes.",
        )
    ]


def _compared(result: Mapping[str, Plain], key: str, size: str) -> str:
    if key not in result["curves"][size]:
        return "not run, too many sums"
    return f"{_final(result, size, key)} against {_final(result, size, _PAPER[0])}"


def _finding(claim: str, measurement: str, why_not: str, *, measured: bool = False) -> Finding:
    return Finding(claim, measurement, "differs" if why_not else "agrees", why_not, measured)


def _passes(result: Mapping[str, Plain], sizes: Sequence[str]) -> str:
    return ", ".join(f"{len(result['curves'][s][_PAPER[0]]['passes'])} ({_words(s)})" for s in sizes)


#: The instance.
TAGGING = TaggingExperiment()
