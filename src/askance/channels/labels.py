"""Labels that are noisy, negative or coarse."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from askance._arrays import FloatArray
from askance._checks import Number
from askance.categories import Categories, Label, LabelSet
from askance.channels.matrix import MatrixChannel, confusion_to_matrix
from askance.channels.registry import GROUPS, LABELS, MATRIX, Parameter, labels_as_json, register
from askance.errors import InputError, LabelError


@register(
    summary="the output itself",
    use="the truth is known (supervised learning), or as the yardstick of other channels",
    parameters=[Parameter("outputs", LABELS, "number of outputs, or their labels")],
    examples=[{"outputs": 2}, {"outputs": ["a", "b", "c"]}],
)
class Direct(MatrixChannel):
    """S = identity: o = y.

    >>> Direct(2).privacy_level
    inf
    """

    kind = "direct"

    def __init__(self, outputs: LabelSet) -> None:
        categories = Categories.of(outputs)
        size = len(categories)
        identity = [[Fraction(o == y) for y in range(size)] for o in range(size)]
        super().__init__(identity, outputs=categories, observations=categories)

    def parameters(self) -> dict[str, Any]:
        """The parameters of the registry."""
        return {"outputs": labels_as_json(self.outputs)}


@register(
    summary="labels from an imperfect annotator or classifier, with a known confusion matrix",
    use="crowd labels or a weak model, validated on a sample",
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
        categories = Categories.of(len(matrix) if outputs is None else outputs)
        super().__init__(matrix, outputs=categories, observations=categories)

    def parameters(self) -> dict[str, Any]:
        """The parameters of the registry."""
        rows = [[str(entry) for entry in column] for column in self._columns]
        return {"confusion": rows, "outputs": labels_as_json(self.outputs)}


@register(
    summary='"not this one": a label that is not the true one, each of the others equally likely',
    use="annotators can rule out more easily than decide; at least three outputs",
    parameters=[Parameter("outputs", LABELS, "number of outputs, or their labels")],
    examples=[{"outputs": 3}, {"outputs": ["a", "b", "c", "d", "e"]}],
)
class ComplementaryLabels(MatrixChannel):
    """S(o|y) = 1[o ≠ y] / (m − 1).

    >>> ComplementaryLabels(3).matrix
    array([[0. , 0.5, 0.5],
           [0.5, 0. , 0.5],
           [0.5, 0.5, 0. ]])
    """

    kind = "complementary-labels"

    def __init__(self, outputs: LabelSet) -> None:
        categories = Categories.of(outputs)
        size = len(categories)
        others = [[Fraction(int(o != y), size - 1) for y in range(size)] for o in range(size)]
        super().__init__(others, outputs=categories, observations=categories)

    def parameters(self) -> dict[str, Any]:
        """The parameters of the registry."""
        return {"outputs": labels_as_json(self.outputs)}


@register(
    summary="only the group of the output is seen (partial or coarsened labels)",
    use="income brackets, regions instead of towns, a tag set coarser than yours",
    parameters=[
        Parameter("groups", GROUPS, "the outputs of each group; every output in exactly one"),
        Parameter("observations", LABELS, "names of the groups", default=None),
    ],
    examples=[
        {"groups": [["a", "b"], ["c"]]},
        {"groups": [["young"], ["middle", "old"]], "observations": ["-30", "31+"]},
    ],
)
class Coarsened(MatrixChannel):
    """S(o|y) = 1[y belongs to group o]: a deterministic map from outputs to groups.

    >>> Coarsened([["a", "b"], ["c"]]).matrix
    array([[1., 1., 0.],
           [0., 0., 1.]])
    """

    kind = "coarsened"

    def __init__(self, groups: Sequence[Sequence[Label]], *, observations: LabelSet | None = None) -> None:
        members = [label for group in groups for label in group]
        if len(set(members)) != len(members):
            twice = next(label for i, label in enumerate(members) if label in members[:i])
            raise LabelError(f"output {twice!r} is in two groups.", remedy="Put every output into exactly one group.")
        matrix = [[Fraction(label in group) for label in members] for group in groups]
        super().__init__(matrix, outputs=members, observations=observations)
        self._groups = [list(group) for group in groups]

    def parameters(self) -> dict[str, Any]:
        """The parameters of the registry."""
        return {"groups": self._groups, "observations": labels_as_json(self.observations)}
