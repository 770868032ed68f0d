"""Labels that are noisy, negative or coarse."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from askance._arrays import FloatArray
from askance._checks import Number, as_list, as_many, shown
from askance._kernels.draw import TOTAL
from askance.categories import Categories, Label, LabelSet
from askance.channels.matrix import MatrixChannel, confusion_to_matrix
from askance.channels.registry import GROUPS, LABELS, MATRIX, Parameter, register
from askance.channels.table import TableChannel, empty_table
from askance.channels.thresholds import apportion
from askance.errors import InputError, LabelError


@register(
    summary="the output itself",
    use="the truth is known (supervised learning), or a yardstick for other channels is wanted",
    parameters=[Parameter("outputs", LABELS, "number of outputs, or their labels")],
    examples=[{"outputs": 2}, {"outputs": ["a", "b", "c"]}],
)
class Direct(TableChannel):
    """S = identity: o = y.

    Args:
        outputs: labels, or their number.

    >>> Direct(2).privacy_level
    inf
    """

    kind = "direct"

    def __init__(self, outputs: LabelSet) -> None:
        categories = Categories.of(outputs, name="outputs")
        weights = empty_table(len(categories), len(categories))
        np.fill_diagonal(weights, TOTAL)
        super().__init__(weights, categories, categories)


@register(
    summary="labels from an imperfect annotator or classifier, with a known confusion matrix",
    use="labels come from a crowd or a weak model whose mistakes were counted on a sample",
    parameters=[
        Parameter("confusion", MATRIX, "one row per truth, one column per label given; counts or rates"),
        Parameter("outputs", LABELS, "labels of the outputs", default=None),
    ],
    examples=[
        {"confusion": [[90, 10], [20, 80]]},
        {"confusion": [[8, 1, 1], [2, 6, 2], [0, 3, 7]], "outputs": ["cat", "dog", "fox"]},
    ],
)
class NoisyLabels(MatrixChannel):
    """S = normalised transpose of a confusion matrix with one row per truth.

    Args:
        confusion: one row per truth, one column per label that was given; counts or rates.
        outputs: labels of the rows and of the columns; default: 0 to m − 1.

    >>> NoisyLabels([[90, 10], [20, 80]]).matrix
    array([[0.9, 0.2],
           [0.1, 0.8]])
    """

    kind = "noisy-labels"

    def __init__(
        self,
        confusion: Sequence[Sequence[Number]] | FloatArray,
        *,
        outputs: LabelSet | None = None,
    ) -> None:
        matrix = confusion_to_matrix(confusion)
        if len(matrix) != len(matrix[0]):
            raise InputError(
                f"the confusion matrix has {len(matrix[0])} truths and {len(matrix)} labels; allowed: as many of each.",
                remedy="Use MatrixChannel.from_confusion when annotators have labels of their own.",
            )
        categories = Categories.of(len(matrix) if outputs is None else outputs, name="outputs")
        super().__init__(matrix, outputs=categories, observations=categories)

    def _described(self) -> dict[str, Any]:
        return {"confusion": [[str(entry) for entry in column] for column in self._columns]}


@register(
    summary='"not this one": a label that is not the true one, each of the others equally likely',
    use="annotators can rule out a label more easily than decide on one; there must be at least three outputs",
    parameters=[Parameter("outputs", LABELS, "number of outputs, or their labels")],
    examples=[{"outputs": 3}, {"outputs": ["a", "b", "c", "d", "e"]}],
)
class ComplementaryLabels(TableChannel):
    """S(o|y) = 1[o ≠ y] / (m − 1).

    Args:
        outputs: labels, or their number m; at least 3.

    >>> ComplementaryLabels(3).matrix
    array([[0. , 0.5, 0.5],
           [0.5, 0. , 0.5],
           [0.5, 0.5, 0. ]])
    """

    kind = "complementary-labels"

    def __init__(self, outputs: LabelSet) -> None:
        categories = Categories.of(outputs, name="outputs")
        size = len(categories)
        if size < 3:
            raise InputError(
                f"has {size} labels",
                argument="outputs",
                allowed="at least 3, since of two labels one tells the other",
                remedy="Use Direct, and swap the two labels.",
            )
        weights = empty_table(size, size)
        others = np.array(apportion([Fraction(1, size - 1)] * (size - 1)))
        for y in range(size):
            weights[:y, y], weights[y + 1 :, y] = others[:y], others[y:]
        super().__init__(weights, categories, categories)


@register(
    summary="only the group of the output is seen (partial or coarsened labels)",
    use="only brackets are known: incomes in classes, regions instead of towns, a tag set coarser than yours",
    parameters=[
        Parameter("groups", GROUPS, "the outputs of each group; every output in exactly one"),
        Parameter("observations", LABELS, "names of the groups", default=None),
    ],
    examples=[
        {"groups": [["a", "b"], ["c"]]},
        {"groups": [["young"], ["middle", "old"]], "observations": ["-30", "31+"]},
    ],
)
class Coarsened(TableChannel):
    """S(o|y) = 1[y belongs to group o]: a deterministic map from outputs to groups.

    Args:
        groups: the labels of the outputs in each group; every output is in exactly one.
        observations: names of the groups; default: their numbers, from 0.

    >>> Coarsened([["a", "b"], ["c"]]).matrix
    array([[1., 1., 0.],
           [0., 0., 1.]])
    """

    kind = "coarsened"

    def __init__(self, groups: Sequence[Sequence[Label]], *, observations: LabelSet | None = None) -> None:
        members = _read_groups(groups)
        outputs = Categories([label for group in members for label in group], name="the outputs of groups")
        seen = Categories.of(len(members) if observations is None else observations, minimum=1, name="observations")
        as_many(seen, len(members), "observations", f"labels for {len(members)} groups", "Give one label per group.")
        weights = empty_table(len(members), len(outputs))
        weights[np.repeat(range(len(members)), [len(group) for group in members]), range(len(outputs))] = TOTAL
        super().__init__(weights, outputs, seen)
        self._groups = [list(group) for group in members]

    def _described(self) -> dict[str, Any]:
        return {"groups": self._groups}


def _read_groups(groups: Sequence[Sequence[Label]]) -> list[Sequence[Label]]:
    """The labels of each group; every group has some, and no label is in two."""
    listed = as_list(groups, "groups", '[["a", "b"], ["c"]]')
    members = [
        Categories(as_list(group, f"groups[{i}]", '["a", "b"]'), minimum=1, name=f"groups[{i}]").labels
        for i, group in enumerate(listed)
    ]
    group_of: dict[Label, int] = {}
    for i, group in enumerate(members):
        for label in group:
            if group_of.setdefault(label, i) != i:
                raise LabelError(
                    f"output {shown(label)} is in two groups, {group_of[label]} and {i}.",
                    remedy="Put every output into exactly one group.",
                )
    return members
