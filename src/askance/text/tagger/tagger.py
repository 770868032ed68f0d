"""A tagger that is trained on counts of tags in stretches of text, on labels, or on both."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from askance._arrays import FloatArray, IntArray
from askance._checks import shown
from askance._threads import one_thread
from askance.errors import EmptyDataError, InputError, LabelError
from askance.text.chain.counts import DEFAULT_BUDGET
from askance.text.chain.features import ChainFeatures
from askance.text.chain.model import ChainModel
from askance.text.chain.training import ChainOptions, ChainTask, Edges, train_chain
from askance.text.corpus.corpus import Corpus
from askance.text.corpus.features import FeatureConfig, TokenFeatures
from askance.text.corpus.regions import RegionCounts
from askance.text.corpus.word_classes import WordClasses
from askance.text.counts.held_part import Preparation
from askance.text.counts.held_regions import HeldRegions
from askance.text.counts.likelihood import Method as CountMethod
from askance.text.counts.likelihood import current_method
from askance.text.counts.miscount_estimate import estimate_above_zero
from askance.text.counts.miscounts import MiscountsBy, require_rates
from askance.text.counts.moments import MomentMethod
from askance.text.node.model import log_probabilities
from askance.text.node.training import TILT_TOLERANCE, NodeOptions, Optimiser, fit_counts, fit_moments
from askance.text.node.watch import Course, Progress, rising
from askance.text.tagger.evaluation import Evaluation, evaluate_tags, warn_of_foreign_tags
from askance.text.tagger.evidence import checked_held_out, refuse_idle, sizes_of, token_weights
from askance.text.tagger.options import DEFAULT_CONTEXT, check_options, choose_method, usual_penalty
from askance.text.tagger.options import TaggerMethod as TaggerMethod
from askance.text.tagger.training import Training

if TYPE_CHECKING:
    from askance.evidence.protocols import Engine
    from askance.text.tagger.held_files import TrainingFiles

Sentences: TypeAlias = Corpus | Iterable[Sequence[str]]

# Words tagged at a time: their scores are a table of this many rows.
_WORDS_AT_ONCE = 1 << 14
# With fewer tokens scores of neighbouring words are learned worse than they help.
_NEIGHBOURS_PAY_FROM = 10_000
#: What is seen of the words around a word.
NEIGHBOURS = FeatureConfig.only("lower", suffixes=(3,))


class _Task(NamedTuple):
    """What a model is trained on, and how: regions, others that may stop it, miscounts, method, and whom to tell."""

    regions: RegionCounts | HeldRegions
    held_out: RegionCounts | None
    miscounts: MiscountsBy | None
    method: str
    edges: Edges
    tell: Progress


class _Trained(NamedTuple):
    """What training finds: the model, how many features it has, its kind of edges, and how training went."""

    features: TokenFeatures
    theta: npt.NDArray[np.float32]
    chain: ChainModel | None
    n_features: int
    edges: str
    course: Course


class CountTagger:
    """A model of tags given words, learned from counts, labels, or both.

    The chain has p(tags | sentence) ∝ exp(Σ_t x_tᵀ θ[:, y_t] + Σ_t e(y_{t−1}, y_t)) (`ChainModel`), with features x_t
    of the word and, with a radius, of the words around it. The node model has no edges, P(tag | word) ∝ exp(xᵀ θ_tag).

    Args:
        method: "auto" (default), "chain", "node" or "moments".
        l2: λ of the penalty λ/2 ‖θ‖²; default 0.3 for moments and labels; for the likelihood of counts 0.6 where all
            tags were asked and 1 where not, which had the highest likelihood of held-out counts.
        l1: μ of the penalty μ ‖θ‖₁, for chains: scores that are not worth it are 0.
        features: which features words have.
        radius: how many words on each side a chain looks at, 0 to 5; default 1 where 10,000 tokens or more are counted
            and edges are not cheap, else 0.
        neighbours: which features these have; default: the word in lower case and its last three letters.
        edges: of a chain: "likelihood" or "cheap", which fits neither l1 nor the words around; default: "likelihood",
            but "cheap" where "auto" finds that the fit would take an hour or more and neither l1 nor a radius is given.
        context: words around a region that a chain looks at with it, on each side; None: its whole sentence.
        budget: states × tags² up to which a chain sums over counts exactly.
        miscounts: how often people miscount: `Miscounts` for all, or by annotator; "estimate": found from regions that
            were counted twice and from sums that cannot be (`estimate_miscounts`), never below 0.001, so that a count
            that takes an error stays possible.
        classes: of a chain: numbers of classes that words are put into by the company they keep, a feature of words
            that were never counted as well (`WordClasses`); (): none.
        bare_weight: how much sentences of which nothing is known count where classes are made; 0: not at all.
        moments: how P(tag | word) is found from counts; see `moment_counts`.
        counts: how the likelihood of counts is worked out without edges; see `CountLikelihood`.
        optimiser: of that likelihood: "lbfgs" (default), or "em", which gets there far more slowly.
        max_iterations: of each fit; default 60, for chains 100.
        tolerance: on the relative gain of an iteration; default 1e-3 for moments and chains, 3e-3 for the likelihood
            without edges and its start.

    Options of a chain (l1, radius, neighbours, edges, context, budget, classes, bare_weight) are refused with "node"
    and "moments".

    Attributes:
        tagset: names of the tags; known after `fit`, like all that follow.
        words: the types seen in training.
        theta: θ, shape (features, tags).
        chain: the chain; None without edges.
        miscounts_used: the miscounts that were given or found; None without.
        training: how it came about.

    >>> from askance.text import Region
    >>> corpus = Corpus.of([["the", "dog", "barks"], ["dog", "sleeps"], ["a", "dog"], ["the", "sleeps"]] * 5)
    >>> counts = [{"DT": 1, "NN": 1, "VB": 1}, {"NN": 1, "VB": 1}, {"DT": 1, "NN": 1}, {"DT": 1, "VB": 1}] * 5
    >>> told = [Region(s, 0, len(corpus.sentence(s)), counts[s]) for s in range(20)]
    >>> tagger = CountTagger().fit(RegionCounts.of(corpus, ["DT", "NN", "VB"], told))
    >>> tagger.predict([["a", "dog", "barks"]])
    [('DT', 'NN', 'VB')]
    """

    tagset: tuple[str, ...]
    words: tuple[str, ...]
    token_features: TokenFeatures
    theta: npt.NDArray[np.float32]
    chain: ChainModel | None
    miscounts_used: MiscountsBy | None
    training: Training | None

    def __init__(
        self,
        method: TaggerMethod = "auto",
        *,
        l2: float | None = None,
        l1: float = 0.0,
        features: FeatureConfig | None = None,
        radius: int | None = None,
        neighbours: FeatureConfig | None = None,
        edges: Edges | None = None,
        context: int | None = DEFAULT_CONTEXT,
        budget: float = DEFAULT_BUDGET,
        miscounts: MiscountsBy | Literal["estimate"] | None = None,
        classes: Sequence[int] = (),
        bare_weight: float = 1.0,
        moments: MomentMethod = "auto",
        counts: CountMethod = "auto",
        optimiser: Optimiser = "lbfgs",
        max_iterations: int | None = None,
        tolerance: float | None = None,
    ) -> None:
        counts = current_method(counts)
        check_options({name: value for name, value in locals().items() if name != "self"})
        self.method: TaggerMethod = method
        self.l2 = None if l2 is None else float(l2)
        self.l1, self.edges, self.context, self.budget = float(l1), edges, context, float(budget)
        self.features = FeatureConfig() if features is None else features
        self.radius, self.neighbours = radius, NEIGHBOURS if neighbours is None else neighbours
        self.classes, self.bare_weight = tuple(classes), float(bare_weight)
        self.miscounts, self.moments, self.counts, self.optimiser = miscounts, moments, counts, optimiser
        self.max_iterations, self.tolerance = max_iterations, None if tolerance is None else float(tolerance)

    # -- learning --------------------------------------------------------------------------------------------------

    def fit(
        self,
        regions: RegionCounts | HeldRegions | TrainingFiles | str | PathLike[str] | Iterable[str | PathLike[str]],
        *,
        held_out: RegionCounts | None = None,
        progress: Progress | None = None,
        engine: Engine | None = None,
    ) -> Self:
        """Learn from regions; a fit that fails leaves the tagger as it was.

        Args:
            regions: counts, and whatever else is known (labelled tokens are regions of length 1), with weights. With an
                engine, names of files: .jsonl holds regions, all else labelled text; `TrainingFiles` says more.
            held_out: other regions: training by likelihood stops when theirs gets worse. Not looked at where "auto"
                takes cheap edges, or none.
            progress: told what is going on, and the share that is done, which never goes back.
            engine: where files are read and sums over regions run (`askance.scale`), for "node" and "moments"; the
                tagger does not depend on the engine, nor on how sentences are divided into files.
        """
        idle = "moments" if self.method == "moments" else "cheap edges" if self.edges == "cheap" else None
        refuse_idle(held_out, idle)
        started = time.process_time()
        tell = rising(progress)
        known: object = regions
        if engine is not None:
            tell("reading", 0.0)
            known = self.hold(regions, engine)
        if isinstance(known, HeldRegions):
            self._require_own(known)
        held_out = checked_held_out(known, held_out, self.miscounts)
        assert isinstance(known, (RegionCounts, HeldRegions))  # all else was refused
        known = known.with_positive_weight() if isinstance(known, RegionCounts) else known
        tell("miscounts" if self.miscounts == "estimate" else "features", 0.0)
        with one_thread:
            miscounts = self._miscounts(known)
        method, edges = self._chosen(known)
        if method != "moments":  # which does with counts that cannot be
            for counted in (known, held_out):
                if isinstance(counted, RegionCounts):
                    require_rates(counted, miscounts)
        train = self._train_chain if method == "chain" else self._train_node
        with one_thread:
            trained = train(_Task(known, held_out, miscounts, method, edges, tell))
        words, (longer, labelled, others, tokens) = sizes_of(known)
        training = Training(
            method=method,
            regions=longer,
            labelled_tokens=labelled,
            single_tokens=others,
            tokens=tokens,
            types=len(words),
            features=trained.n_features,
            edges=trained.edges,
            seconds=time.process_time() - started,
            **vars(trained.course),
        )
        tell("done", 1.0)
        # All together, and last: whatever goes wrong before leaves the tagger as it was.
        self.tagset, self.miscounts_used, self.training, self.words = known.tagset, miscounts, training, words
        self.token_features, self.theta, self.chain = trained.features, trained.theta, trained.chain
        return self

    def hold(self, files: object, engine: Engine) -> HeldRegions:
        """What `fit` learns from where an engine reads files, as it has them: its summary tells what was left out."""
        from askance.text.tagger.held_files import TrainingFiles, hold_files, require_offered

        require_offered(self.method, self.miscounts)
        return hold_files(TrainingFiles.of(files), engine, self._preparation())

    def _preparation(self) -> Preparation:
        return Preparation(self._rates(), self.counts if self.method == "node" else None, TILT_TOLERANCE)

    def _require_own(self, held: HeldRegions) -> None:
        """Refuse regions that were made ready for another tagger: they may lack what this one asks for."""
        if self.method not in ("node", "moments") or held.how != self._preparation():
            raise InputError(
                "the regions that an engine holds were made ready for another tagger.",
                remedy="Hold them with the tagger that learns from them: tagger.fit(tagger.hold(files, engine)).",
            )

    def _rates(self) -> MiscountsBy | None:
        return None if isinstance(self.miscounts, str) else self.miscounts

    def _miscounts(self, known: RegionCounts | HeldRegions) -> MiscountsBy | None:
        """The rates that are given, or found."""
        if self.miscounts == "estimate" and isinstance(known, RegionCounts):
            return estimate_above_zero(known)
        return self._rates()

    def _chosen(self, regions: RegionCounts | HeldRegions) -> tuple[str, Edges]:
        """The method, and how edges are found; what was asked for by name is taken."""
        if isinstance(regions, HeldRegions) or self.method != "auto":
            return self.method, self.edges or "likelihood"
        method, edges = choose_method(regions, self.budget)
        if self.edges is not None:
            edges = self.edges
        elif self.l1 > 0 or self.radius:  # which cheap edges do not have
            edges = "likelihood"
        return method, edges

    def _node_options(self, task: _Task) -> NodeOptions:
        return NodeOptions(
            self.l2 if self.l2 is not None else usual_penalty(task.regions, task.method),
            self.moments,
            self.counts,
            self.optimiser,
            60 if self.max_iterations is None else self.max_iterations,
            (1e-3 if task.method == "moments" else 3e-3) if self.tolerance is None else self.tolerance,
            task.miscounts,
        )

    def _train_node(self, task: _Task) -> _Trained:
        """P(tag | word) from moments or by likelihood."""
        regions, tell = task.regions, task.tell
        covered, _ = sizes_of(regions)
        words = regions.words if isinstance(regions, HeldRegions) else regions.corpus.words
        learned = TokenFeatures.learn(covered, self.features)
        _require_features(learned)
        design, options = learned.matrix(words), self._node_options(task)
        fit = fit_moments(regions, design, options, tell, rough=task.method == "node")
        if task.method == "moments":
            return _Trained(
                learned, fit.theta, None, len(fit.theta), "none", Course(fit.iterations, bool(fit.converged))
            )
        climbed, course = fit_counts(regions, learned, design, fit.theta, options, task.held_out, tell)
        course = replace(course, iterations=fit.iterations + course.iterations)
        return _Trained(learned, climbed.theta, None, len(fit.theta), "none", course)

    def _train_chain(self, task: _Task) -> _Trained:
        """A chain by likelihood, or with cheap edges."""
        regions, edges, node = task.regions, task.edges, self._node_options(task)
        assert isinstance(regions, RegionCounts)  # engines are refused
        options = ChainOptions(
            node.l2,
            self.l1,
            self.context,
            self.budget,
            100 if self.max_iterations is None else self.max_iterations,
            1e-3 if self.tolerance is None else self.tolerance,
            task.miscounts,
        )
        words = [regions.corpus.words[t] for t in np.flatnonzero(regions.token_counts).tolist()]
        classes = None
        if self.classes:
            task.tell("classes of words", 0.0)
            classes = WordClasses.learn(regions.corpus, self.classes, token_weights(regions, self.bare_weight))
        radius = int(edges != "cheap" and regions.lengths.sum() >= _NEIGHBOURS_PAY_FROM)
        radius = radius if self.radius is None else self.radius
        learned = ChainFeatures.learn(words, self.features, self.neighbours, radius, classes)
        _require_features(learned.word)
        model, course = train_chain(
            ChainTask(regions, learned, options),
            node,
            task.held_out,
            task.tell,
            cheap=edges == "cheap",
            optional=self.method == "auto",
        )
        fitted = edges if model.parameters.edges.any() else "none"
        return _Trained(learned.word, model.parameters.theta, model, len(learned), fitted, course)

    # -- tagging ---------------------------------------------------------------------------------------------------

    def _require_fit(self) -> None:
        if not hasattr(self, "theta"):
            raise InputError("the tagger has not been trained.", remedy="Call fit(regions), or load one.")

    @one_thread
    def word_probabilities(self, words: Sequence[str]) -> npt.NDArray[np.float32]:
        """P(tag | word) of words that stand alone, shape (words, tags); unknown ones through features they share."""
        self._require_fit()
        if self.chain is not None:
            return np.asarray(self.chain.marginals(Corpus.of([[word] for word in words])))
        return np.exp(log_probabilities(self.token_features.matrix(words), self.theta))

    @one_thread
    def word_tags(self, words: Sequence[str]) -> IntArray:
        """The code of the likeliest tag of every word that stands alone, shape (words,)."""
        self._require_fit()
        if self.chain is not None:
            return self.chain.best_tags(Corpus.of([[word] for word in words]))
        parts = [
            np.asarray(self.token_features.matrix(words[i : i + _WORDS_AT_ONCE]) @ self.theta).argmax(axis=1)
            for i in range(0, len(words), _WORDS_AT_ONCE)
        ]
        return np.concatenate([np.zeros(0, dtype=np.int64), *parts])

    @one_thread
    def predict_codes(self, corpus: Corpus) -> IntArray:
        """The code of the tag of every token, shape (N,): of a chain, the likeliest sequence of every sentence."""
        self._require_fit()
        if self.chain is not None:
            return self.chain.best_tags(corpus)
        return self.word_tags(corpus.words)[corpus.tokens]

    def predict(self, sentences: Sentences) -> list[tuple[str, ...]]:
        """Tags of every word of every sentence."""
        corpus = as_corpus(sentences)
        tags = [self.tagset[code] for code in self.predict_codes(corpus).tolist()]
        return [tuple(tags[start:end]) for start, end in pairwise(corpus.starts.tolist())]

    @one_thread
    def predict_proba(self, sentences: Sentences) -> list[FloatArray]:
        """P(tag) of every word of every sentence, each of shape (words, tags)."""
        self._require_fit()
        corpus = as_corpus(sentences)
        if self.chain is not None:
            table = self.chain.marginals(corpus)
        else:
            table = self.word_probabilities(corpus.words)[corpus.tokens]
        return [table[corpus.span(s)].astype(np.float64) for s in range(len(corpus))]

    def evaluate(self, gold: Corpus) -> Evaluation:
        """Tags against those of a labelled corpus."""
        self._require_fit()
        if not isinstance(gold, Corpus) or gold.tags is None:
            raise InputError(f"gold is {shown(gold)}; allowed: a Corpus with tags.", remedy="Take read_tagged(path).")
        if gold.tagset and not set(gold.tagset) & set(self.tagset):
            raise LabelError(
                f"the true tags are {shown(list(gold.tagset))}; the tagger knows none of them, but "
                f"{shown(list(self.tagset))}.",
                remedy="Choose another column of tags.",
            )
        known = frozenset(self.words)
        unknown = np.array([word not in known for word in gold.words], dtype=bool)
        evaluation = evaluate_tags(gold, self.predict_codes(gold), self.tagset, unknown)
        warn_of_foreign_tags(evaluation, self.tagset, stacklevel=2)
        return evaluation

    def score(self, gold: Corpus) -> float:
        """Share of tokens with the right tag."""
        return self.evaluate(gold).accuracy

    def save(self, path: str | Path) -> None:
        """Write the tagger to one file; see `load`."""
        from askance.text.tagger.file import save_tagger

        save_tagger(self, path)

    @staticmethod
    def load(path: str | Path) -> CountTagger:
        """Read a tagger that `save` wrote."""
        from askance.text.tagger.file import load_tagger

        return load_tagger(path)

    def __repr__(self) -> str:
        trained = f", {len(self.tagset)} tags, {self.theta.shape[0]:,} features" if hasattr(self, "theta") else ""
        return f"CountTagger({self.method!r}{trained})"


def _require_features(learned: TokenFeatures) -> None:
    if not learned.names:
        raise EmptyDataError("no word has a feature.", remedy="Allow more features, such as bias=True.")


def as_corpus(sentences: Sentences) -> Corpus:
    """Sentences of words as a corpus; one is returned as it is."""
    return sentences if isinstance(sentences, Corpus) else Corpus.of(sentences)
