"""What is refused, and with which words: the value received, what is allowed, and the way out."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from askance import (
    Coarsened,
    ComplementaryLabels,
    Crosswise,
    Direct,
    DisguisedResponse,
    Enumerated,
    ForcedResponse,
    MatrixChannel,
    NoisyLabels,
    RandomizedResponse,
    Tally,
    UnrelatedQuestion,
    Warner,
    asymptotics,
    build_channel,
    certify,
    errors,
    estimate,
    project,
    save,
    sufficient_channel,
)
from askance.categories import Categories
from askance.errors import (
    AskanceError,
    EmptyDataError,
    IncompatibleEvidenceError,
    InputError,
    LabelError,
    MissingValueError,
    NotIdentifiedError,
    ProbabilityError,
    ShapeError,
)

NAN, INF = float("nan"), float("inf")
# Values of types that the signatures do not allow.
NOTHING: Any = None
SEED: Any = 7
OLD_GENERATOR: Any = np.random.RandomState(0)
COMPLEX: Any = 1j
LIST: Any = [0.5]
TWO_AND_A_HALF: Any = 2.5
THREE_GROUPS: Any = 3

LEVEL = RandomizedResponse.for_privacy_level
ANSWERS = ["no", "yes"]
NAMED = RandomizedResponse("1/2", outputs=ANSWERS)
CODED = RandomizedResponse("1/2", outputs=3)
GROUPED = Coarsened([["a", "b"], ["c"]])
MODEL = Enumerated.saturated(ANSWERS)
THREE = Enumerated([[0, 0, 1], [0, 1, 0]], outputs=["a", "b", "c"], parameter_names=["is c", "is b"])
TWICE = Enumerated([[0, 1], [1, 0]], outputs=ANSWERS, parameter_names=["is yes", "is no"])
FLAT = Enumerated([[0, 1], [2, 2]], outputs=ANSWERS, parameter_names=["is yes", "always two"])
TALLY = Tally(NAMED, [600, 400])
FIT = estimate(MODEL, TALLY, "moments")


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


Case = tuple[Callable[[], object], type[AskanceError], tuple[str, ...]]

PROBABILITIES: dict[str, Case] = {
    "above 1": (lambda: RandomizedResponse(1.5, outputs=3), ProbabilityError, ("reveal_probability", "1.5", "0 to 1")),
    "negative": (
        lambda: RandomizedResponse(-0.1, outputs=3),
        ProbabilityError,
        ("reveal_probability", "-0.1", "at least 0"),
    ),
    "a percentage": (lambda: Warner(30), ProbabilityError, ("question", "30", "percentage")),
    "a percent sign": (lambda: Warner("30%"), InputError, ("question", "'30%'", "0.25")),
    "NaN": (lambda: Warner(NAN), InputError, ("question", "nan")),
    "infinite": (lambda: Warner(-INF), InputError, ("question", "-inf")),
    "None": (lambda: Warner(NOTHING), InputError, ("question", "None", "not a number")),
    "complex": (lambda: Warner(COMPLEX), InputError, ("question", "1j", "not a number")),
    "a list": (lambda: Warner(LIST), InputError, ("question", "[0.5]", "not a number")),
    "a text": (lambda: Warner("often"), InputError, ("question", "'often'", "not a number")),
    "an empty text": (lambda: Warner(""), InputError, ("question", "''", "not a number")),
    "division by zero": (lambda: Warner("1/0"), InputError, ("question", "'1/0'", "not a number")),
    "nothing revealed": (lambda: RandomizedResponse(0, outputs=3), ProbabilityError, ("probability is 0", "Raise")),
    "too little revealed": (lambda: RandomizedResponse("1e-30", outputs=3), ProbabilityError, ("reveal_probability",)),
    "prevalence above 1": (lambda: Crosswise(1.25), ProbabilityError, ("prevalence", "1.25", "0 to 1")),
    "share below 0": (lambda: DisguisedResponse(0.5, -1), ProbabilityError, ("red_if_no", "-1", "0 to 1")),
    "unrelated prevalence": (lambda: UnrelatedQuestion(0.5, 75), ProbabilityError, ("prevalence", "75", "percentage")),
    "forced in all above 1": (lambda: ForcedResponse("2/3", "1/2"), ProbabilityError, ("2/3", "1/2", "1 in all")),
    "forced three above 1": (lambda: ForcedResponse(0.5, 0.4, 0.2), ProbabilityError, ("1/2", "2/5", "1/5")),
    "forced three below 1": (lambda: ForcedResponse(0.5, 0.2, 0.2), ProbabilityError, ("1/2", "1/5", "1 in all")),
    "forced truth missing": (lambda: ForcedResponse(1.5, 0), ProbabilityError, ("truth", "1.5", "0 to 1")),
    "Warner at one half": (lambda: Warner("1/2"), ProbabilityError, ("question = 1/2", "no information")),
    "crosswise at one half": (lambda: Crosswise(0.5), ProbabilityError, ("prevalence = 1/2", "no information")),
    "equal stacks": (lambda: DisguisedResponse(0.3, 0.3), ProbabilityError, ("red_if_no = 3/10", "no information")),
    "no truth": (lambda: ForcedResponse(0, 0.4), ProbabilityError, ("truth = 0", "no information")),
    "never asked": (lambda: UnrelatedQuestion(0, 0.4), ProbabilityError, ("question = 0", "no information")),
    "base above 1 in all": (lambda: RandomizedResponse(0.5, [0.5, 0.6]), ProbabilityError, ("sums to 1.1", "Rescale")),
    "base below 1 in all": (lambda: RandomizedResponse(0.5, [0.5, 0.4]), ProbabilityError, ("sums to 0.9", "Rescale")),
    "base entry": (lambda: RandomizedResponse(0.5, [1.5, -0.5]), ProbabilityError, ("base_distribution[0]", "1.5")),
    "base NaN": (lambda: RandomizedResponse(0.5, [0.5, NAN]), InputError, ("base_distribution[1]", "nan")),
    "base percentages": (lambda: RandomizedResponse(0.5, [50, 50]), ProbabilityError, ("[0] is 50", "percentage")),
    "base too short": (lambda: RandomizedResponse(0.5, [0.5, 0.5], outputs=3), ShapeError, ("2 entries", "3 outputs")),
    "base and outputs missing": (lambda: RandomizedResponse(0.5), InputError, ("outputs", "base_distribution")),
}

LEVELS: dict[str, Case] = {
    "zero": (lambda: LEVEL(0, outputs=3), InputError, ("privacy_level", "is 0", "above 0")),
    "negative": (lambda: LEVEL(-1, outputs=3), InputError, ("privacy_level", "-1", "above 0")),
    "infinite": (lambda: LEVEL(INF, outputs=3), InputError, ("privacy_level", "inf")),
    "NaN": (lambda: LEVEL(NAN, outputs=3), InputError, ("privacy_level", "nan")),
    "too large": (lambda: LEVEL(31, outputs=3), InputError, ("privacy_level", "31", "at most 30", "Direct")),
    "a text": (lambda: LEVEL("high", outputs=3), InputError, ("privacy_level", "'high'", "not a number")),
    "too small": (lambda: LEVEL("1e-20", outputs=3), ProbabilityError, ("privacy_level is 1e-20", "Raise")),
    "far too small": (lambda: LEVEL("1e-30", outputs=3), InputError, ("privacy_level is 1e-30", "1e-24 at least")),
    "base with a zero": (lambda: LEVEL(1, [0.5, 0.5, 0]), InputError, ("base_distribution", "0", "every output")),
}

MATRICES: dict[str, Case] = {
    "rows by truth": (
        lambda: MatrixChannel([[0.9, 0.1], [0.2, 0.8]]),
        ProbabilityError,
        ("sums to 1.1", "from_confusion"),
    ),
    "rows by truth, wide": (
        lambda: MatrixChannel([[0.5, 0.3, 0.2], [0.1, 0.2, 0.7]]),
        ProbabilityError,
        ("column 0", "0.6", "from_confusion"),
    ),
    "column sum": (lambda: MatrixChannel([[0.9, 0.2], [0.1, 0.7]]), ProbabilityError, ("column 1", "0.9")),
    "percentages": (lambda: MatrixChannel([[90, 20], [10, 80]]), ProbabilityError, ("S[0][0] is 90", "percentage")),
    "negative": (lambda: MatrixChannel([[1.0, -0.2], [0.0, 1.2]]), ProbabilityError, ("S[0][1]", "-0.2", "0 to 1")),
    "ragged": (lambda: MatrixChannel([[0.9, 0.2], [0.1]]), ShapeError, ("[1, 2]", "rectangular")),
    "empty": (lambda: MatrixChannel([]), ShapeError, ("rectangular",)),
    "empty rows": (lambda: MatrixChannel([[], []]), ShapeError, ("[0]", "rectangular")),
    "NaN": (lambda: MatrixChannel([[0.9, 0.2], [0.1, NAN]]), InputError, ("S[1][1]", "nan")),
    "None": (lambda: MatrixChannel([[0.9, NOTHING], [0.1, 1]]), InputError, ("S[0][1]", "None")),
    "one column": (lambda: MatrixChannel([[0.5], [0.5]]), InputError, ("one column", "two outputs")),
    "labels of outputs": (
        lambda: MatrixChannel([[1, 0], [0, 1]], outputs=3),
        ShapeError,
        ("outputs", "3 labels", "2 columns"),
    ),
    "labels of observations": (
        lambda: MatrixChannel([[1, 0], [0, 1]], observations=["a"]),
        ShapeError,
        ("observations", "1 label", "2 rows"),
    ),
    "confusion row of zeros": (lambda: NoisyLabels([[0, 0], [1, 2]]), ProbabilityError, ("row 0", "positive sum")),
    "confusion negative": (lambda: NoisyLabels([[1, 2], [3, -1]]), ProbabilityError, ("row 1", "-1", "at least 0")),
    "confusion not square": (lambda: NoisyLabels([[1, 2, 3], [4, 5, 6]]), InputError, ("2 truths", "3 labels")),
    "confusion ragged": (lambda: NoisyLabels([[1, 2], [3]]), ShapeError, ("confusion", "[1, 2]")),
    "confusion NaN": (lambda: NoisyLabels([[1, NAN], [3, 4]]), InputError, ("confusion[0][1]", "nan")),
}

LABELS: dict[str, Case] = {
    "one": (lambda: Direct(1), InputError, ("1", "at least 2")),
    "none": (lambda: Direct([]), InputError, ("0", "at least 2")),
    "twice": (lambda: Direct(["a", "b", "a"]), InputError, ("'a'", "twice")),
    "1 and True": (lambda: Direct([1, True]), InputError, ("True", "twice")),
    "a text": (lambda: Direct("yes"), InputError, ("'yes'", "list")),
    "None among": (lambda: Direct(["a", NOTHING]), InputError, ("None", "not usable")),
    "NaN among": (lambda: Direct(["a", NAN]), InputError, ("nan", "not usable")),
    "a list among": (lambda: Direct(["a", LIST]), InputError, ("[0.5]", "not usable")),
    "three answers": (lambda: Warner("2/3", outputs=3), InputError, ("3 answers", "yes/no", "randomized-response")),
    "in two groups": (lambda: Coarsened([["a", "b"], ["b"]]), LabelError, ("'b'", "two groups")),
    "no groups": (lambda: Coarsened([]), InputError, ("groups", "0 labels", "at least 2")),
    "one complementary": (lambda: ComplementaryLabels(1), InputError, ("1", "at least 2")),
    "two complementary": (lambda: ComplementaryLabels(2), InputError, ("2 labels", "at least 3", "Direct")),
    "fewer than none": (lambda: Direct(-3), InputError, ("outputs is -3", "at least 2")),
    "not whole": (lambda: Direct(TWO_AND_A_HALF), InputError, ("outputs is 2.5", "number of labels")),
    "nothing": (lambda: Direct(NOTHING), InputError, ("outputs is None", "number of labels")),
    "a boolean": (lambda: Direct(True), InputError, ("outputs is True", "number of labels")),
    "too many": (lambda: Direct(10**30), InputError, ("outputs is 1000", "16,777,216")),
    "too many for a table": (lambda: Direct(10**6), InputError, ("1,000,000,000,000", "RandomizedResponse")),
    "infinite": (lambda: Direct([1.0, INF]), InputError, ("inf", "not usable")),
    "more than 64 bits": (lambda: Direct([1, 2**63]), InputError, ("9223372036854775808", "64 bits")),
    "ending in NUL": (lambda: Direct(["a", "a\0"]), InputError, (r"'a\x00'", "not usable")),
    "half a character": (lambda: Direct(["a", "\ud800"]), InputError, (r"'\ud800'", "not usable")),
    "a set": (lambda: Direct({"a", "b"}), InputError, ("outputs", "allowed: a list")),
    "groups of texts": (lambda: Coarsened(["ab", "c"]), InputError, ("groups[0] is 'ab'", "list")),
    "groups a number": (lambda: Coarsened(THREE_GROUPS), InputError, ("groups is 3", "list")),
    "an empty group": (lambda: Coarsened([["a", "b"], []]), InputError, ("groups[1]", "at least 1")),
    "names of groups": (lambda: Coarsened([["a"], ["b"]], observations=3), ShapeError, ("3 labels", "2 groups")),
}

REGISTRY: dict[str, Case] = {
    "misspelt kind": (lambda: build_channel({"kind": "warnr"}), InputError, ("'warnr'", "Did you mean 'warner'?")),
    "unknown kind": (lambda: build_channel({"kind": "zzz"}), InputError, ("'zzz'", "forced-response", "channels")),
    "no kind": (lambda: build_channel({"question": 0.3}), InputError, ("kind", "'question'", "warner")),
    "nothing": (lambda: build_channel({}), InputError, ("kind", "nothing", "warner")),
    "misspelt parameter": (
        lambda: build_channel({"kind": "warner", "quesion": 0.3}),
        InputError,
        ("'quesion'", "Did you mean 'question'?"),
    ),
    "unknown parameter": (lambda: build_channel({"kind": "direct", "zzz": 1}), InputError, ("'zzz'", "outputs")),
    "missing parameter": (lambda: build_channel({"kind": "forced-response"}), InputError, ("truth", "0.25 or 1/4")),
    "neither of two": (
        lambda: build_channel({"kind": "randomized-response", "outputs": 3}),
        InputError,
        ("reveal_probability", "privacy_level", "exactly one"),
    ),
    "both of two": (
        lambda: build_channel(
            {"kind": "randomized-response", "outputs": 3, "reveal_probability": 0.1, "privacy_level": 1}
        ),
        InputError,
        ("0.1", "1", "exactly one"),
    ),
}

DATA: dict[str, Case] = {
    "unknown report": (lambda: Tally(NAMED).add(["yes", "perhaps"]), LabelError, ("[1]", "'perhaps'", "'no', 'yes'")),
    "unknown output": (
        lambda: NAMED.simulate(["perhaps"], rng()),
        LabelError,
        ("truth[0] is none of the labels", "'yes'"),
    ),
    "unknown, protected": (
        lambda: NAMED.randomize(["no", "No"]),
        LabelError,
        ("truth[1] is none of the labels", "'no'"),
    ),
    "unknown, single": (lambda: NAMED.randomize_one("perhaps"), LabelError, ("truth is none of the labels", "'yes'")),
    "unknown likelihood": (lambda: NAMED.log_likelihood(["?"]), LabelError, ("observed[0]", "'?'", "'no', 'yes'")),
    "unknown statistic": (lambda: MODEL.statistics(["?"]), LabelError, ("y[0] is none of the labels", "'no', 'yes'")),
    "code too large": (lambda: Tally(CODED).add([0, 1, 3]), LabelError, ("observed[2]", "3", "0, 1, 2")),
    "code negative": (
        lambda: CODED.simulate([0, -1], rng()),
        LabelError,
        ("truth[1] is none of the labels", "0, 1, 2"),
    ),
    "code of 64 bits": (
        lambda: Tally(CODED).add(np.array([2**64 - 1], dtype=np.uint64)),
        LabelError,
        (str(2**64 - 1), "0, 1, 2"),
    ),
    "code not whole": (lambda: Tally(CODED).add([1.0, 0.5]), LabelError, ("observed[1]", "0.5", "0, 1, 2")),
    "code infinite": (lambda: Tally(CODED).add([0, INF]), LabelError, ("observed[1]", "inf", "0, 1, 2")),
    "texts for codes": (lambda: Tally(CODED).add(["0", "1"]), LabelError, ("observed[0]", "'0'", "0, 1, 2")),
    "bytes for texts": (lambda: Tally(NAMED).add([b"yes"]), LabelError, ("observed[0]", "b'yes'", "'yes'")),
    "codes for texts": (lambda: Tally(NAMED).add([1, 0]), LabelError, ("observed[0]", "1", "'no', 'yes'")),
    "booleans for texts": (lambda: Tally(NAMED).add([False]), LabelError, ("observed[0]", "False", "'no', 'yes'")),
    "complex": (lambda: Tally(CODED).add([0, 1j]), LabelError, ("1j", "0, 1, 2")),
    "None": (lambda: Tally(NAMED).add(["yes", NOTHING]), MissingValueError, ("observed[1]", "None", "Drop")),
    "None, single": (lambda: NAMED.randomize_one(NOTHING), MissingValueError, ("truth", "None")),
    "None for a code": (lambda: CODED.simulate([0, NOTHING], rng()), MissingValueError, ("truth[1]", "None")),
    "NaN for a code": (lambda: Tally(CODED).add([0, NAN]), MissingValueError, ("observed[1]", "nan", "Drop")),
    "NaN for a text": (
        lambda: Tally(NAMED).add(np.array(["no", NAN], dtype=object)),
        MissingValueError,
        ("observed[1]", "nan"),
    ),
    "two dimensions": (lambda: Tally(NAMED).add([["yes"], ["no"]]), ShapeError, ("observed", "(2, 1)", "one")),
    "two dimensions, codes": (lambda: CODED.simulate(np.zeros((2, 3)), rng()), ShapeError, ("truth", "(2, 3)")),
    "wrong number of counts": (lambda: Tally(CODED, [1, 2]), ShapeError, ("(2,)", "(3,)")),
    "negative counts": (lambda: Tally(CODED, [1, -2, 3]), InputError, ("-2", "at least 0")),
    "counts not whole": (lambda: Tally(CODED, [1.5, 2, 3]), InputError, ("1.5", "whole numbers")),
    "counts of booleans": (lambda: Tally(CODED, [True, False, True]), InputError, ("True", "whole numbers")),
    "no reports": (lambda: estimate(MODEL, Tally(NAMED)), EmptyDataError, ("no reports", "Add")),
    "no reports, frequencies": (lambda: Tally(NAMED).frequencies, EmptyDataError, ("no reports", "Add")),
    "no reports, project": (lambda: project(Tally(NAMED)), EmptyDataError, ("no reports", "Add")),
    "a seed": (lambda: NAMED.simulate(["yes"], SEED), InputError, ("rng", "7", "default_rng", "randomize()")),
    "an old generator": (lambda: NAMED.simulate(["yes"], OLD_GENERATOR), InputError, ("rng", "RandomState")),
    "no generator": (lambda: MODEL.sample([0.0], 3, NOTHING), InputError, ("rng", "None", "default_rng")),
    "different channels": (
        lambda: Tally(NAMED) + Tally(Warner("2/3")),
        IncompatibleEvidenceError,
        ("RandomizedResponse", "Warner", "one tally per channel"),
    ),
    "the same kind, another number": (
        lambda: Tally(Warner("2/3")).merge(Tally(Warner("3/4"))),
        IncompatibleEvidenceError,
        ("'2/3'", "'3/4'"),
    ),
    "saving something else": (lambda: save(NOTHING, "never-written"), InputError, ("NoneType", "Tally, Fit")),
}

MODELS: dict[str, Case] = {
    "one dimension": (lambda: Enumerated([0, 1]), ShapeError, ("(2,)", "(statistics, outputs)")),
    "empty": (lambda: Enumerated(np.zeros((1, 0))), ShapeError, ("(1, 0)", "(statistics, outputs)")),
    "NaN": (lambda: Enumerated([[0.0, 1.0], [0.0, NAN]]), MissingValueError, ("statistic 1", "output 1", "nan")),
    "infinite": (lambda: Enumerated([[INF, 1]]), MissingValueError, ("statistic 0", "output 0", "inf")),
    "labels": (lambda: Enumerated([[0, 1]], outputs=["a", "b", "c"]), ShapeError, ("3", "2", "label per column")),
    "labels twice": (lambda: Enumerated([[0, 1]], outputs=["a", "a"]), InputError, ("'a'", "twice")),
    "one output": (lambda: Enumerated([[1]]), InputError, ("1", "at least 2")),
    "names": (lambda: Enumerated([[0, 1]], parameter_names=["a", "b"]), InputError, ("2 names", "1 different")),
    "names twice": (lambda: Enumerated([[0, 1], [1, 0]], parameter_names=["a", "a"]), InputError, ("2", "1 different")),
    "base measure": (lambda: Enumerated([[0, 1]], log_base_measure=[0, -INF]), MissingValueError, ("[1] is -inf",)),
    "base measure, shape": (lambda: Enumerated([[0, 1]], log_base_measure=[0]), ShapeError, ("(1,)", "(2,)")),
    "θ too long": (lambda: MODEL.probabilities([1, 2]), ShapeError, ("theta", "(2,)", "(1,)")),
    "θ a number": (lambda: MODEL.log_partition(1.0), ShapeError, ("theta", "()", "(1,)")),
    "θ NaN": (lambda: MODEL.mean_statistics([NAN]), MissingValueError, ("theta", "nan")),
    "θ infinite": (lambda: MODEL.fisher_information([-INF]), MissingValueError, ("theta", "-inf")),
    "θ of asymptotics": (lambda: asymptotics(MODEL, NAMED, [0, 1]), ShapeError, ("theta", "(2,)", "(1,)")),
    "other outputs": (lambda: estimate(MODEL, Tally(CODED, [1, 2, 3])), IncompatibleEvidenceError, ("'no'", "3")),
    "other outputs, certify": (lambda: certify(CODED, MODEL), IncompatibleEvidenceError, ("'no'", "3")),
    "other outputs, sufficient": (lambda: sufficient_channel(MODEL, CODED), IncompatibleEvidenceError, ("'no'", "3")),
    "other order": (
        lambda: estimate(Enumerated.saturated(["yes", "no"]), TALLY),
        IncompatibleEvidenceError,
        ("['yes', 'no']", "['no', 'yes']", "same order"),
    ),
}

ESTIMATION: dict[str, Case] = {
    "method": (lambda: estimate(MODEL, TALLY, "one step"), InputError, ("'one step'", "one-step", "moments")),
    "option": (lambda: estimate(MODEL, TALLY, prior=3), InputError, ("one-step", "'prior'", "prior_scale")),
    "option of another": (
        lambda: estimate(MODEL, TALLY, "moments", solver="newton"),
        InputError,
        ("moments", "'solver'", "weighting"),
    ),
    "solver": (lambda: estimate(MODEL, TALLY, "marginal", solver="adam"), InputError, ("'adam'", "newton", "em")),
    "divergence": (lambda: project(TALLY, NOTHING), InputError, ("None", "euclidean", "kl")),
    "divergence of a fit": (
        lambda: estimate(MODEL, TALLY, "projection", divergence="js"),
        InputError,
        ("'js'", "euclidean", "kl"),
    ),
    "covariance": (lambda: estimate(MODEL, TALLY, covariance="hc1"), InputError, ("'hc1'", "expected", "robust")),
    "covariance of another": (
        lambda: estimate(MODEL, TALLY, "moments", covariance="observed"),
        InputError,
        ("'observed'", "robust", "expected"),
    ),
    "a seed": (lambda: estimate(MODEL, TALLY, "marginal", rng=7), InputError, ("rng", "7", "default_rng")),
    "start": (lambda: estimate(MODEL, TALLY, "marginal", starts=[[1, 2]]), ShapeError, ("start", "(2,)", "(1,)")),
    "start NaN": (lambda: estimate(MODEL, TALLY, "marginal", starts=[[NAN]]), MissingValueError, ("start", "nan")),
    "noisy supervision": (
        lambda: estimate(MODEL, TALLY, "supervised"),
        IncompatibleEvidenceError,
        ("RandomizedResponse", "Direct", "one-step"),
    ),
    "unseen statistic": (
        lambda: estimate(THREE, Tally(GROUPED, [5, 5]), "moments"),
        NotIdentifiedError,
        ("'is b'", "rank 2", "3 outputs"),
    ),
    "unseen statistic, β": (lambda: GROUPED.observation_function(THREE), NotIdentifiedError, ("'is b'", "rank 2")),
    "unseen statistic, plan": (lambda: asymptotics(THREE, GROUPED, [0, 0]), NotIdentifiedError, ("'is b'", "rank 1")),
    "redundant statistics": (
        lambda: estimate(TWICE, TALLY),
        NotIdentifiedError,
        ("'is yes'", "'is no'", "rank 1", "2 parameters", "redundant"),
    ),
    "constant statistic": (lambda: estimate(FLAT, TALLY), NotIdentifiedError, ("'always two'", "rank 1")),
    "confidence 95": (lambda: FIT.confidence_interval(95), InputError, ("confidence", "95", "below 1")),
    "confidence 0": (lambda: FIT.summary(0), InputError, ("confidence", "above 0")),
    "confidence 1": (lambda: FIT.probabilities(1), InputError, ("confidence", "below 1")),
    "confidence NaN": (lambda: FIT.confidence_interval(NAN), InputError, ("confidence", "nan")),
    "tested parameter": (lambda: FIT.wald_test(["maybe"]), InputError, ("'maybe'", "yes")),
    "tested contrasts": (lambda: FIT.wald_test(contrasts=[[1, 2]]), InputError, ("2 columns", "allowed: 1")),
}

TABLES = {
    "probability": PROBABILITIES,
    "level": LEVELS,
    "matrix": MATRICES,
    "labels": LABELS,
    "registry": REGISTRY,
    "data": DATA,
    "model": MODELS,
    "estimation": ESTIMATION,
}
CASES = [pytest.param(*case, id=f"{table}: {name}") for table, cases in TABLES.items() for name, case in cases.items()]


@pytest.mark.parametrize(("call", "expected", "words"), CASES)
def test_refusal_names_value_range_and_remedy(
    call: Callable[[], object], expected: type[AskanceError], words: tuple[str, ...]
) -> None:
    with pytest.raises(expected) as caught:
        call()
    error = caught.value
    message = str(error)
    assert [word for word in words if word not in message] == []
    assert "\n" not in message
    assert error.remedy
    assert error.remedy[-1] in ".?"
    assert message.endswith(error.remedy)
    for twin in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert (type(twin), str(twin), twin.remedy) == (type(error), message, error.remedy)


@pytest.mark.parametrize("position", [0, 16_384, 32_768, 50_000])
def test_position_is_counted_over_the_whole_column(position: int) -> None:
    reports = np.zeros(50_001, dtype=np.int64)
    reports[position] = 9
    with pytest.raises(LabelError, match=rf"\[{position}\] is 9; allowed: 0, 1, 2\."):
        Tally(CODED).add(reports)
    for refuse in (CODED.randomize, lambda column: CODED.simulate(column, rng())):
        with pytest.raises(LabelError, match=rf"\[{position}\] is none of the labels; allowed: 0, 1, 2\."):
            refuse(reports)


def test_long_lists_are_shortened() -> None:
    with pytest.raises(LabelError, match=r"0, 1, 2, 3, 4, 5, … \(1000 in all\)") as caught:
        Tally(RandomizedResponse("1/2", outputs=1000)).add([1000])
    assert len(str(caught.value)) < 200


def test_a_refused_report_leaves_the_tally_as_it_was() -> None:
    tally = Tally(CODED, [1, 2, 3])
    with pytest.raises(LabelError):
        tally.add([0, 0, 7])
    assert tally == Tally(CODED, [1, 2, 3])


def test_the_edges_themselves_are_allowed() -> None:
    assert RandomizedResponse(1, outputs=2).reveal_probability == 1
    assert Warner(0).matrix.tolist() == [[0, 1], [1, 0]]
    assert RandomizedResponse(0.5, [0.3333333, 0.3333333, 0.3333333]).base_distribution.sum() == pytest.approx(1)
    assert Tally(NAMED).add([]) == Tally(NAMED)
    assert CODED.randomize([]).size == 0


def test_hierarchy_in_the_docstring_is_complete() -> None:
    drawn = errors.__doc__ or ""
    classes = [value for value in vars(errors).values() if isinstance(value, type)]
    assert [each.__name__ for each in classes if each.__name__ not in drawn] == []
    assert [each for each in classes if not issubclass(each, (AskanceError, errors.AskanceWarning))] == []
    assert issubclass(InputError, ValueError)


def test_refused_secret_is_a_place_without_a_value() -> None:
    with pytest.raises(LabelError) as caught:
        Categories(["no", "yes"]).encode(["no", "perhaps"], "answers", secret=True)
    assert (caught.value.argument, caught.value.got) == ("answers[1]", "")
    assert "perhaps" not in str(vars(caught.value))
