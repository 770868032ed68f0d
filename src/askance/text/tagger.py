"""A tagger that is trained on counts of tags in stretches of text."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from askance._arrays import FloatArray, IntArray
from askance._checks import as_count, did_you_mean, shown
from askance.errors import EmptyDataError, InputError, LabelError, UnaskedTagsWarning
from askance.text.corpus import Corpus
from askance.text.count_likelihood import CountLikelihood
from askance.text.count_likelihood import Method as CountMethod
from askance.text.count_moments import MomentMethod, moment_counts
from askance.text.evaluation import Evaluation, evaluate_tags
from askance.text.features import FeatureConfig, TokenFeatures
from askance.text.node_model import NodeFit, fit_node, log_probabilities
from askance.text.regions import RegionCounts

if TYPE_CHECKING:
    from scipy import sparse

#: "moments": least squares for P(tag | word) from counts, then one convex fit; no inference. "node": the likelihood of
#: the counts, started there.
TaggerMethod: TypeAlias = Literal["moments", "node"]
#: How the likelihood is climbed: by its gradient, or by fitting expected counts again and again.
Optimiser: TypeAlias = Literal["lbfgs", "em"]
Sentences: TypeAlias = Corpus | Iterable[Sequence[str]]
#: What is going on, and how far it is (0 to 1).
Progress: TypeAlias = Callable[[str, float], None]

# In training tilted counts may be off by this much, which changes the likelihood by its square.
_TILT_TOLERANCE = 1e-3
# A start need not be exact: its fit may stop this many times earlier.
_ROUGH = 3.0
# Training stops when held-out regions were no better than at their best so many iterations in a row.
_PATIENCE = 5
# Steps of the convex fit within one of EM, whose gains are smaller than those of steps of the likelihood by about this.
_EM_STEPS, _EM_STEP = 5, 0.1
# Words tagged at a time: their scores are a table of this many rows.
_WORDS_AT_ONCE = 1 << 14


@dataclass(frozen=True)
class Training:
    """How a tagger came about.

    Attributes:
        method: "moments" or "node".
        regions: how many were used, beside labelled tokens.
        labelled_tokens: how many.
        tokens: tokens in them.
        types: different words among these.
        features: of the words.
        iterations: of the convex fit and of the likelihood.
        converged: whether the last of them did.
        log_likelihood: of the counts, per region (NaN for moments).
        exact_regions: how many regions the likelihood was exact for.
        held_out: log-likelihood of the held-out regions, per region; NaN without them.
        stopped_early: whether they stopped the training.
        seconds: of processor time.
    """

    method: str
    regions: int
    labelled_tokens: int
    tokens: int
    types: int
    features: int
    iterations: int
    converged: bool
    log_likelihood: float
    exact_regions: int
    held_out: float
    stopped_early: bool
    seconds: float

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        missing = {
            name for name, value in asdict(self).items() if isinstance(value, float) and not math.isfinite(value)
        }
        return asdict(self) | dict.fromkeys(missing)


class CountTagger:
    """P(tag | word) ∝ exp(x(word)ᵀ θ_tag), with features of the word alone, learned from counts.

    Args:
        method: "node" (default) or "moments".
        l2: λ of the penalty λ/2 ‖θ‖²; default 0.3 for moments; for the likelihood 0.6 where all tags were asked and 1
            where not, which had the highest likelihood of held-out counts.
        features: which features words have.
        moments: how P(tag | word) is found from counts; see `moment_counts`.
        counts: how the likelihood of counts is worked out; see `CountLikelihood`.
        optimiser: of the likelihood: "lbfgs" (default), or "em", which gets there far more slowly.
        max_iterations: of each fit.
        tolerance: on the relative gain of an iteration; default 1e-3 for moments, 3e-3 for the likelihood and its
            start.

    Attributes (after `fit`):
        tagset: names of the tags.
        words: the types seen in training.
        theta: θ, shape (features, tags).
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
    training: Training | None

    def __init__(
        self,
        method: TaggerMethod = "node",
        *,
        l2: float | None = None,
        features: FeatureConfig | None = None,
        moments: MomentMethod = "auto",
        counts: CountMethod = "auto",
        optimiser: Optimiser = "lbfgs",
        max_iterations: int = 60,
        tolerance: float | None = None,
    ) -> None:
        if method not in get_args(TaggerMethod):
            raise InputError(
                f"method is {shown(method)}; allowed: {', '.join(get_args(TaggerMethod))}.",
                remedy=did_you_mean(method, get_args(TaggerMethod), "Leave it out for the default, node."),
            )
        if l2 is not None and not (isinstance(l2, (int, float)) and 0 < l2 < float("inf")):
            raise InputError(f"l2 is {shown(l2)}; allowed: above 0, finite.", remedy="Leave it out.")
        for name, given, known in (
            ("moments", moments, [each for each in get_args(MomentMethod) if each != "sgd"]),  # sgd needs a generator
            ("counts", counts, get_args(CountMethod)),
            ("optimiser", optimiser, get_args(Optimiser)),
        ):
            if given not in known:
                raise InputError(
                    f"{name} is {shown(given)}; allowed: {', '.join(known)}.",
                    remedy=did_you_mean(given, known, "Leave it out."),
                )
        as_count(max_iterations, "max_iterations", minimum=1)
        self.method = method
        self.l2 = None if l2 is None else float(l2)
        self.features = FeatureConfig() if features is None else features
        self.moments = moments
        self.counts = counts
        self.optimiser = optimiser
        self.max_iterations = max_iterations
        self.tolerance = (1e-3 if method == "moments" else 3e-3) if tolerance is None else tolerance

    # -- learning --------------------------------------------------------------------------------------------------

    def fit(
        self, regions: RegionCounts, *, held_out: RegionCounts | None = None, progress: Progress | None = None
    ) -> Self:
        """Learn from regions.

        Args:
            regions: counts, and whatever else is known (labelled tokens are regions of length 1).
            held_out: other regions: training by likelihood stops when theirs gets worse.
            progress: told what is going on.
        """
        held_out = _checked(regions, held_out)
        started = time.process_time()
        tell = progress or (lambda text, share: None)
        totals = regions.token_counts
        covered = np.flatnonzero(totals)
        words = regions.corpus.words
        tell("features", 0.0)
        learned = TokenFeatures.learn([words[t] for t in covered.tolist()], self.features)
        if not learned.names:
            raise EmptyDataError("no word has a feature.", remedy="Allow more features, such as bias=True.")
        design = learned.matrix(words)
        tell("moments", 0.05)
        start = moment_counts(regions, design, method=self.moments)
        l2 = self.l2 if self.l2 is not None else self._usual_penalty(regions)
        options: dict[str, Any] = {"l2": l2, "max_iterations": self.max_iterations, "tolerance": self.tolerance}
        share, rough = (0.9, 1.0) if self.method == "moments" else (0.3, _ROUGH)
        fit = fit_node(
            design,
            totals,
            start.counts,
            progress=lambda i, value: tell("convex fit", 0.1 + share * i / self.max_iterations),
            **options | {"tolerance": rough * self.tolerance},
        )
        iterations, likelihood, watch = fit.iterations, None, None
        if self.method == "node":
            likelihood = CountLikelihood(regions, method=self.counts, tolerance=_TILT_TOLERANCE)
            watch = None if held_out is None else _Watch(held_out, learned, self.counts)
            if watch is not None:
                watch.look(fit.theta)
            climb = _climb_by_em if self.optimiser == "em" else fit_node
            fit = climb(
                design,
                totals,
                likelihood,
                start=fit.theta,
                progress=lambda i, value: tell("likelihood of the counts", 0.4 + 0.6 * i / self.max_iterations),
                stop=watch,
                **options,
            )
            iterations += fit.iterations
        self.tagset, self.token_features = regions.tagset, learned
        self.words = tuple(words[t] for t in covered.tolist())
        self.theta = fit.theta if watch is None or watch.best is None else watch.best
        self.training = Training(
            method=self.method,
            regions=len(regions) - regions.labelled,
            labelled_tokens=regions.labelled,
            tokens=int(totals.sum()),
            types=len(covered),
            features=self.theta.shape[0],
            iterations=iterations,
            converged=bool(fit.converged),
            log_likelihood=float("nan") if likelihood is None else self._log_likelihood(likelihood, design, fit, l2),
            exact_regions=0 if likelihood is None else int(likelihood.exact.sum()),
            held_out=float("nan") if watch is None else watch.highest,
            stopped_early=watch is not None and watch.stopped,
            seconds=time.process_time() - started,
        )
        tell("done", 1.0)
        return self

    def _usual_penalty(self, regions: RegionCounts) -> float:
        if self.method == "moments" or (regions.lengths == 1).all():
            return 0.3
        return 0.6 if float(np.mean(regions.closed)) > 0.5 else 1.0

    def _log_likelihood(self, likelihood: CountLikelihood, design: sparse.csr_array, fit: NodeFit, l2: float) -> float:
        """Of the counts at θ, per region; known from the fit, unless an earlier θ was kept."""
        if self.theta is fit.theta:
            value = fit.objective + 0.5 * l2 * float(np.sum(self.theta.astype(np.float64) ** 2))
        else:
            value, _ = likelihood(log_probabilities(design, self.theta))
        return value / len(likelihood.exact)

    # -- tagging ---------------------------------------------------------------------------------------------------

    def _require_fit(self) -> None:
        if not hasattr(self, "theta"):
            raise InputError("the tagger has not been trained.", remedy="Call fit(regions), or load one.")

    def word_probabilities(self, words: Sequence[str]) -> npt.NDArray[np.float32]:
        """P(tag | word), shape (words, tags); unknown words through the features they share with known ones."""
        self._require_fit()
        return np.exp(log_probabilities(self.token_features.matrix(words), self.theta))

    def word_tags(self, words: Sequence[str]) -> IntArray:
        """The code of the likeliest tag of every word, shape (words,)."""
        self._require_fit()
        parts = [
            np.asarray(self.token_features.matrix(words[i : i + _WORDS_AT_ONCE]) @ self.theta).argmax(axis=1)
            for i in range(0, len(words), _WORDS_AT_ONCE)
        ]
        return np.concatenate([np.zeros(0, dtype=np.int64), *parts])

    def predict_codes(self, corpus: Corpus) -> IntArray:
        """The code of the tag of every token, shape (N,)."""
        return self.word_tags(corpus.words)[corpus.tokens]

    def predict(self, sentences: Sentences) -> list[tuple[str, ...]]:
        """Tags of every word of every sentence."""
        corpus = as_corpus(sentences)
        names = [self.tagset[code] for code in self.word_tags(corpus.words).tolist()]
        tags = [names[t] for t in corpus.tokens.tolist()]
        ends = corpus.starts.tolist()
        return [tuple(tags[start:end]) for start, end in pairwise(ends)]

    def predict_proba(self, sentences: Sentences) -> list[FloatArray]:
        """P(tag) of every word of every sentence, each of shape (words, tags)."""
        corpus = as_corpus(sentences)
        table = self.word_probabilities(corpus.words)
        return [table[corpus.tokens[corpus.span(s)]].astype(np.float64) for s in range(len(corpus))]

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
        return evaluate_tags(gold, self.predict_codes(gold), self.tagset, unknown)

    def score(self, gold: Corpus) -> float:
        """Share of tokens with the right tag."""
        return self.evaluate(gold).accuracy

    def save(self, path: str | Path) -> None:
        """Write the tagger to one file; see `load`."""
        from askance.text.tagger_file import save_tagger

        save_tagger(self, path)

    @staticmethod
    def load(path: str | Path) -> CountTagger:
        """Read a tagger that `save` wrote."""
        from askance.text.tagger_file import load_tagger

        return load_tagger(path)

    def __repr__(self) -> str:
        trained = f", {len(self.tagset)} tags, {self.theta.shape[0]:,} features" if hasattr(self, "theta") else ""
        return f"CountTagger({self.method!r}{trained})"


def _climb_by_em(
    design: sparse.csr_array,
    totals: IntArray,
    likelihood: CountLikelihood,
    *,
    start: npt.NDArray[np.float32],
    l2: float,
    max_iterations: int,
    tolerance: float,
    progress: Callable[[int, float], None],
    stop: Callable[[npt.NDArray[np.float32]], bool] | None,
) -> NodeFit:
    """Expectation and maximisation: the counts expected at θ, then a few steps of the convex fit to them."""
    theta, before, evaluations = start, -math.inf, 0
    for iteration in range(1, max_iterations + 1):
        value, counts = likelihood(log_probabilities(design, theta))
        value -= 0.5 * l2 * float(np.sum(theta.astype(np.float64) ** 2))
        evaluations += 1
        progress(iteration, value)
        if value - before <= tolerance * abs(value) * _EM_STEP:
            return NodeFit(theta, value, iteration, True, evaluations)
        before = value
        theta = fit_node(design, totals, counts, l2=l2, start=theta, max_iterations=_EM_STEPS).theta
        if stop is not None and stop(theta):
            break
    return NodeFit(theta, before, iteration, False, evaluations)


class _Watch:
    """Looks at held-out regions during training and says when to stop; keeps the best θ, the start's among them."""

    def __init__(self, held_out: RegionCounts, features: TokenFeatures, counts: CountMethod) -> None:
        if not len(held_out):
            raise EmptyDataError("there are no held-out regions.", remedy="Leave them out.")
        self._likelihood = CountLikelihood(held_out, method=counts)
        self._design, self._regions = features.matrix(held_out.corpus.words), len(held_out)
        self.best: npt.NDArray[np.float32] | None = None
        self.highest, self.stopped, self._worse = -np.inf, False, 0

    def look(self, theta: npt.NDArray[np.float32]) -> None:
        """Remember θ where it is the best so far."""
        value = self._likelihood(log_probabilities(self._design, theta))[0] / self._regions
        if value > self.highest:
            self.best, self.highest, self._worse = theta.copy(), value, 0
        else:
            self._worse += 1

    def __call__(self, theta: npt.NDArray[np.float32]) -> bool:
        self.look(theta)
        self.stopped = self._worse >= _PATIENCE
        return self.stopped


def _checked(regions: object, held_out: RegionCounts | None) -> RegionCounts | None:
    """Refuse what cannot be learned from; the held-out regions within the tag set of the others."""
    if not isinstance(regions, RegionCounts):
        raise InputError(
            f"regions is {shown(regions)}; allowed: RegionCounts.",
            remedy="Take read_regions(path).regions, sample_regions(corpus, …) or RegionCounts.of_labels(corpus).",
        )
    if not len(regions):
        raise EmptyDataError("there are no regions.", remedy="Give at least one.")
    _warn_of_unasked(regions)
    if held_out is None or held_out.tagset == regions.tagset:
        return held_out
    return held_out.with_tagset(regions.tagset)


def _warn_of_unasked(regions: RegionCounts) -> None:
    """Tags that nobody looked for share what is left: which of them a word gets is chance."""
    never = [name for name, seen in zip(regions.tagset, regions.asked, strict=True) if not seen]
    if len(never) > 1:
        some = ", ".join(never[:5]) + (", …" if len(never) > 5 else "")
        warnings.warn(
            f"{len(never)} of {len(regions.tagset)} tags were never asked for and cannot be told apart ({some}): words "
            "get one of them by chance. Ask for more tags, or count the others as one tag.",
            UnaskedTagsWarning,
            stacklevel=4,
        )


def as_corpus(sentences: Sentences) -> Corpus:
    """Sentences of words as a corpus; one is returned as it is."""
    return sentences if isinstance(sentences, Corpus) else Corpus.of(sentences)
