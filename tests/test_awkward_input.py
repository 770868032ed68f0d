"""Input of the wrong type or shape, or that NumPy and Python would quietly take for something else."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from askance import (
    Categories,
    Coarsened,
    Direct,
    Enumerated,
    ForcedResponse,
    MatrixChannel,
    RandomizedResponse,
    Tally,
    Warner,
    asymptotics,
    build_channel,
    certify,
    estimate,
    regress,
)
from askance._checks import as_column, as_fraction, is_missing, shown
from askance.channels.thresholds import apportion
from askance.errors import (
    AskanceError,
    AskanceWarning,
    IncompatibleEvidenceError,
    InputError,
    LabelError,
    MissingValueError,
    NotIdentifiedError,
    ProbabilityError,
    ShapeError,
)
from tests.calls import calls_of

NAN, INF = float("nan"), float("inf")
NAMED = RandomizedResponse("1/2", outputs=["no", "yes"])
CODED = RandomizedResponse("1/2", outputs=3)
MODEL = Enumerated.saturated(["no", "yes"])
TALLY = Tally(NAMED, [600, 400])


def untyped(value: object) -> Any:
    """A value of a type that the signature does not allow."""
    return value


class NotAvailable:
    """Like the NA of data frames: neither equal to itself nor different."""

    def __eq__(self, other: object) -> Any:
        return self

    def __ne__(self, other: object) -> Any:
        return self

    def __bool__(self) -> bool:
        raise TypeError("boolean value of NA is ambiguous")

    def __hash__(self) -> int:
        return 17


NA = NotAvailable()


def reports() -> Iterator[str]:
    yield "yes"


Case = tuple[Callable[[], object], type[AskanceError], tuple[str, ...]]

NUMBERS: dict[str, Case] = {
    "NaN": (lambda: Warner(NAN), ProbabilityError, ("question is nan", "finite")),
    "infinite level": (lambda: RandomizedResponse.for_privacy_level(INF, outputs=3), InputError, ("inf", "finite")),
    "infinite decimal": (lambda: Warner(untyped(Decimal("Infinity"))), ProbabilityError, ("Infinity", "finite")),
    "beyond floats": (lambda: Warner("1e400"), ProbabilityError, ("1E+400", "0 to 1")),
    "beyond reason": (lambda: Warner("1e999999999"), ProbabilityError, ("'1e999999999'", "exponents")),
    "a long whole number": (lambda: Warner(10**5000), ProbabilityError, ("1E+5000", "0 to 1")),
    "True": (lambda: Warner(True), InputError, ("question is True", "not a number")),
    "NumPy's True": (lambda: Warner(untyped(np.True_)), InputError, ("True", "not a number")),
    "True in a file": (lambda: build_channel({"kind": "warner", "question": True}), InputError, ("True",)),
    "base a number": (lambda: RandomizedResponse(0.5, untyped(0.5)), InputError, ("base_distribution is 0.5", "list")),
    "base a text": (lambda: RandomizedResponse(0.5, "ab"), InputError, ("base_distribution is 'ab'", "list")),
    "matrix a number": (lambda: build_channel({"kind": "matrix", "matrix": 3}), InputError, ("S is 3", "list")),
    "matrix of one dimension": (lambda: MatrixChannel(untyped([0.5, 0.5])), ShapeError, ("S has 0.5", "list of rows")),
    "matrix of texts": (lambda: MatrixChannel(["10", "01"]), ShapeError, ("S has '10'", "list of rows")),
    "masked matrix": (
        lambda: MatrixChannel(np.ma.array([[1.0, 0.0], [0.0, 1.0]], mask=[[False, False], [False, True]])),
        MissingValueError,
        ("S[1, 1]", "masked"),
    ),
    "no specification": (lambda: build_channel(untyped("warner")), InputError, ("'warner'", "mapping")),
    "ragged statistics": (lambda: Enumerated(untyped([[1, 2], [3]])), ShapeError, ("statistics", "lengths")),
    "texts as statistics": (lambda: Enumerated([["a", "b"]]), InputError, ("statistics", "'a'", "numbers")),
    "complex statistics": (lambda: Enumerated([[1j, 2]]), InputError, ("statistics", "1j", "numbers")),
    "names of statistics": (lambda: Enumerated([[0, 1]], parameter_names="a"), InputError, ("parameter_names is 'a'",)),
    "texts as θ": (lambda: MODEL.probabilities(["a"]), InputError, ("theta", "'a'", "numbers")),
    "θ beyond floats": (lambda: MODEL.probabilities([10**400]), InputError, ("theta", "numbers")),
    "ragged θ": (lambda: MODEL.probabilities(untyped([[1], [2, 3]])), ShapeError, ("theta", "lengths")),
    "size": (lambda: MODEL.sample([0.0], -1, np.random.default_rng(0)), InputError, ("size is -1", "at least 0")),
    "half a size": (lambda: MODEL.sample([0.0], untyped(1.5), np.random.default_rng(0)), InputError, ("size is 1.5",)),
}

COLUMNS: dict[str, Case] = {
    "NaN among texts": (lambda: Tally(NAMED).add(untyped(["yes", NAN])), MissingValueError, ("observed[1]", "nan")),
    "NaN beside nan": (
        lambda: Tally(RandomizedResponse("1/2", outputs=["yes", "nan"])).add(untyped(["yes", NAN])),
        MissingValueError,
        ("observed[1]", "nan"),
    ),
    "NA among texts": (lambda: Tally(NAMED).add(untyped(["yes", NA])), MissingValueError, ("observed[1]", "NotAvail")),
    "NA among codes": (lambda: CODED.randomize(untyped([0, NA])), MissingValueError, ("truth[1]", "NotAvail")),
    "one NA": (lambda: NAMED.randomize_one(untyped(NA)), MissingValueError, ("truth", "NotAvail")),
    "masked": (
        lambda: Tally(CODED).add(np.ma.array([0, 1, 2], mask=[False, False, True])),
        MissingValueError,
        ("observed[2]", "masked"),
    ),
    "a masked value": (lambda: Tally(CODED).add(untyped([0, np.ma.masked])), MissingValueError, ("observed[1]",)),
    "a date that is none": (lambda: Tally(CODED).add(np.array(["NaT"], dtype="M8[s]")), MissingValueError, ("[0]",)),
    "complex": (lambda: Tally(CODED).add([1 + 0j]), LabelError, ("observed[0]", "(1+0j)", "0, 1, 2")),
    "a complex array": (
        lambda: CODED.randomize(np.array([1 + 0j])),
        LabelError,
        ("truth[0] is none of the labels", "0, 1, 2"),
    ),
    "one complex": (
        lambda: CODED.randomize_one(untyped(1 + 0j)),
        LabelError,
        ("truth is none of the labels", "0, 1, 2"),
    ),
    "nanoseconds": (lambda: Tally(CODED).add(np.array([0, 1], dtype="M8[ns]")), LabelError, ("observed[0]",)),
    "booleans for three": (lambda: Tally(CODED).add([True, False]), LabelError, ("observed[0]", "True", "0, 1, 2")),
    "a boolean among codes": (lambda: Tally(CODED).add([2, True]), LabelError, ("observed[1]", "True", "0, 1, 2")),
    "one boolean for three": (
        lambda: CODED.randomize_one(True),
        LabelError,
        ("truth is none of the labels", "0, 1, 2"),
    ),
    "ragged": (lambda: Tally(CODED).add(untyped([[0, 1], [2]])), ShapeError, ("observed", "lengths")),
    "lists among objects": (
        lambda: Tally(NAMED).add(np.array([["yes"], ["no", "no"]], dtype=object)),
        LabelError,
        ("observed[0]", "['yes']"),
    ),
    "a set": (lambda: Tally(NAMED).add(untyped({"yes"})), InputError, ("observed is {'yes'}", "list")),
    "a mapping": (lambda: Tally(NAMED).add(untyped({"yes": 3})), InputError, ("observed is {'yes': 3}", "list")),
    "an iterator": (lambda: Tally(NAMED).add(untyped(reports())), InputError, ("observed", "generator", "list")),
    "one list": (
        lambda: NAMED.randomize_one(untyped(["yes"])),
        LabelError,
        ("truth is none of the labels", "'no', 'yes'"),
    ),
    "a text with NUL": (lambda: Tally(NAMED).add(["yes\0"]), LabelError, ("observed[0]", r"'yes\x00'")),
    "counts beyond 63 bits": (
        lambda: Tally(CODED, np.array([2**63, 0, 0], dtype=np.uint64)),
        InputError,
        ("counts", "9223372036854775808", "2⁶²"),
    ),
    "counts beyond 63 bits in all": (lambda: Tally(CODED, [2**61] * 3), InputError, ("counts", "2⁶² in all")),
    "counts beyond 64 bits": (lambda: Tally(CODED, [2**70, 0, 0]), InputError, ("counts", "whole numbers")),
    "ragged counts": (lambda: Tally(CODED, untyped([[1], [2, 3]])), ShapeError, ("counts", "lengths")),
}

ARGUMENTS: dict[str, Case] = {
    "swapped": (lambda: estimate(untyped(TALLY), untyped(MODEL)), InputError, ("Tally(", "model first")),
    "raw reports": (lambda: estimate(MODEL, untyped(["yes"])), InputError, ("['yes']", "Tally(channel).add")),
    "no model": (lambda: estimate(untyped("saturated"), TALLY), InputError, ("'saturated'", "Enumerated")),
    "no method": (lambda: estimate(MODEL, TALLY, untyped(["moments"])), InputError, ("['moments']", "one-step")),
    "misspelt method": (lambda: estimate(MODEL, TALLY, "moment"), InputError, ("'moment'", "Did you mean 'moments'?")),
    "misspelt option": (lambda: estimate(MODEL, TALLY, priorscale=3), InputError, ("Did you mean 'prior_scale'?",)),
    "tally of a text": (lambda: Tally(untyped("warner")), InputError, ("channel is 'warner'", "RandomizedResponse")),
    "certificate of a text": (lambda: certify(untyped("warner")), InputError, ("channel is 'warner'",)),
    "plan of a text": (lambda: asymptotics(MODEL, untyped("warner"), [0.0]), InputError, ("channel is 'warner'",)),
    "plan without model": (lambda: asymptotics(untyped(3), NAMED, [0.0]), InputError, ("model is 3", "Enumerated")),
    "merged with a number": (lambda: TALLY.merge(untyped(3)), InputError, ("other is 3", "Tally")),
    "starts below none": (lambda: estimate(MODEL, TALLY, "marginal", starts=-1), InputError, ("starts is -1",)),
    "no starts": (lambda: estimate(MODEL, TALLY, "marginal", starts=[]), InputError, ("starts is empty",)),
    "starts a text": (lambda: estimate(MODEL, TALLY, "marginal", starts="ab"), InputError, ("starts is 'ab'", "list")),
    "start of texts": (lambda: estimate(MODEL, TALLY, "marginal", starts=[["a"]]), InputError, ("starts[0]", "'a'")),
}

CASES = [
    pytest.param(*case, id=f"{table}: {name}")
    for table, cases in {"number": NUMBERS, "column": COLUMNS, "argument": ARGUMENTS}.items()
    for name, case in cases.items()
]


@pytest.mark.parametrize(("call", "expected", "words"), CASES)
def test_refused_in_one_line(call: Callable[[], object], expected: type[AskanceError], words: tuple[str, ...]) -> None:
    with pytest.raises(expected) as caught:
        call()
    message = str(caught.value)
    assert [word for word in words if word not in message] == []
    assert "\n" not in message
    assert len(message) < 600
    assert caught.value.remedy
    assert message == f"{caught.value.message} {caught.value.remedy}"


# -- what is right -----------------------------------------------------------------------------------------------------


def test_numbers_of_every_brand() -> None:
    for tenth in (0.1, "0.1", "1/10", " 1e-1 ", Decimal("0.1"), np.float64(0.1), np.float32(0.1), np.longdouble("0.1")):
        assert as_fraction(untyped(tenth), "p") == Fraction(1, 10)
    assert as_fraction(untyped(np.int8(3)), "p") == 3


def test_lists_keep_their_types() -> None:
    channel = RandomizedResponse("1/2", outputs=[1, "1"])
    assert Tally(channel).add(untyped([1, "1", "1"])).counts.tolist() == [1, 2]
    assert channel.outputs.encode(untyped(["1", 1])).tolist() == [1, 0]
    drawn = RandomizedResponse(1, outputs=[1, "1"]).simulate(untyped([1, "1"]), np.random.default_rng(0))
    assert drawn.tolist() == [1, "1"]


@pytest.mark.parametrize(
    "values", [[0, 1, 1], (0, 1, 1), range(2), [np.int8(1)], np.array([0.0, 1.0]), [0, 1.0], 1, [], np.array(1)]
)
def test_columns_have_one_dimension(values: Any) -> None:
    column = as_column(values, "x")
    assert column.ndim == 1


def test_booleans_stand_for_two_outputs() -> None:
    two = RandomizedResponse("1/2", outputs=2)
    for column in ([True, False, True], np.array([True, False, True]), np.array([True, False, True], dtype=object)):
        assert Tally(two).add(column).counts.tolist() == [1, 2]
    assert two.randomize_one(True) in (0, 1)
    assert Tally(RandomizedResponse("1/2", outputs=[True, False, "?"])).add(untyped([True, "?"])).counts.tolist() == [
        1,
        0,
        1,
    ]


def test_unmasked_arrays_are_counted() -> None:
    column = np.ma.array([0, 1, 2], mask=[False, False, False])
    assert Tally(CODED).add(column).counts.tolist() == [1, 1, 1]


def test_missing_values() -> None:
    assert is_missing(Decimal("sNaN"))
    assert all(map(is_missing, [None, NAN, np.float32("nan"), np.datetime64("NaT"), NA, Decimal("nan")]))
    assert not any(map(is_missing, [0, "", "nan", False, INF, [NAN], np.array([NAN])]))


def test_values_in_messages_are_short() -> None:
    assert shown(np.eye(100)).count("\n") == 0
    assert len(shown("x" * 10_000)) <= 80
    assert shown(10**5000) == "a very long int"


def test_long_label_sets_make_short_messages() -> None:
    many = [f"label{i}" * 20 for i in range(5000)]
    with pytest.raises(IncompatibleEvidenceError, match="5000 in all") as caught:
        estimate(Enumerated.saturated(many), Tally(CODED, [1, 2, 3]))
    assert len(str(caught.value)) < 800


def test_transposed_matrix_gets_one_advice() -> None:
    with pytest.raises(ProbabilityError) as caught:
        MatrixChannel([[0.9, 0.1], [0.2, 0.8]])
    assert "Rescale" not in str(caught.value)


def test_remedies_for_the_model_and_for_the_channel_differ() -> None:
    redundant = Enumerated([[0, 1], [1, 0]], outputs=["no", "yes"])
    with pytest.raises(NotIdentifiedError, match="redundant") as model:
        estimate(redundant, TALLY)
    assert "channel" not in model.value.remedy


def test_marginal_refuses_what_is_not_identified_before_it_searches() -> None:
    """Warnings are errors in these tests: none may come first."""
    model = Enumerated.saturated(["a", "b", "c"])
    with pytest.raises(NotIdentifiedError, match="the channel") as caught:
        estimate(model, Tally(Coarsened([["a", "b"], ["c"]]), [60, 40]), "marginal")
    assert "channel that tells the outputs apart" in caught.value.remedy


def test_marginal_allows_information_that_vanishes_at_zero() -> None:
    model = Enumerated([[1, -1, 0]], outputs=["a", "b", "c"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AskanceWarning)
        fit = estimate(model, Tally(Coarsened([["a", "b"], ["c"]]), [800, 200]), "marginal")
    assert np.cosh(fit.theta[0]) == pytest.approx(2.0, rel=1e-6)


def test_sums_of_tallies() -> None:
    assert sum([TALLY, TALLY, TALLY]) == Tally(NAMED, [1800, 1200])
    for other in (3, 1.5, None):
        with pytest.raises(TypeError, match="unsupported operand"):
            TALLY + untyped(other)
        with pytest.raises(TypeError, match="unsupported operand"):
            untyped(other) + TALLY


# -- thresholds --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("reveal", ["0.9999999999999999999", str(1 - Fraction(1, 2**62)), str(1 - Fraction(5, 2**62))])
def test_hardly_any_random_answers(reveal: str) -> None:
    channel = RandomizedResponse(reveal, ["1/2", "1/4", "1/4"])
    assert channel.extreme_weights()[1].min() >= 1
    assert certify(channel).unbiased
    assert build_channel(channel.specification()) == channel


@pytest.mark.parametrize("total", [8, 9, 10, 11, 100])
def test_apportioned_units_stay_positive(total: int) -> None:
    shares = [Fraction(30, 100), Fraction(30, 100), Fraction(35, 100), *[Fraction(1, 100)] * 5]
    units = apportion(shares, total)
    assert sum(units) == total
    assert min(units) >= 1


def test_too_few_units_are_refused() -> None:
    with pytest.raises(ProbabilityError, match="3 positive probabilities do not fit 2"):
        apportion([Fraction(1, 3)] * 3, 2)


def test_large_tables_are_quick() -> None:
    """27 thousand and 2.5 million calls: none looks at every cell of a million, 37 are made for one of 65,536."""
    assert certify(Direct(1024)).unbiased
    assert calls_of(lambda: certify(Direct(1024))) < 100_000
    shares = np.random.default_rng(0).random((256, 256))
    assert calls_of(lambda: MatrixChannel(shares / shares.sum(axis=0))) < 5_000_000


def test_labels_given_as_a_set_of_labels_are_kept() -> None:
    labels = Categories(["a", "b"])
    assert Categories.of(labels) is labels
    assert labels.shown() == "['a', 'b']"
    assert Categories(3).shown() == "3 codes"


def test_numbers_that_are_written_as_texts_are_doubted() -> None:
    """As a table is left behind whose first lines were no data: every age would be a category of its own."""
    rng = np.random.default_rng(3)
    said = np.array(["no", "yes"])[rng.integers(0, 2, 900)]
    age = rng.integers(20, 60, 900)
    design = ForcedResponse("2/3", "1/6")
    with pytest.warns(AskanceWarning, match="'age' holds numbers written as texts, and each of the 40 is a category"):
        regress("said ~ age", {"said": said, "age": age.astype(str)}, design, method="marginal")
    for formula, column in (
        ("said ~ age", age),
        ("said ~ age", (age // 10).astype(str)),
        ("said ~ C(age)", age.astype(str)),
    ):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            regress(formula, {"said": said, "age": column}, design, method="marginal")
        assert not [one for one in caught if "written as texts" in str(one.message)]
