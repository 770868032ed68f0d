"""List experiments: how many of these items are true of you? One group has the sensitive item among them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from askance._checks import as_count, instance, one_of
from askance.categories import Label
from askance.channels.armed_design import TRAIT, ArmedDesign
from askance.channels.hidden_designs import group_names
from askance.channels.matrix import MatrixChannel
from askance.channels.registry import COUNT, NAMES, TRUE_OR_FALSE, Parameter, choice, register
from askance.channels.survey_designs import NO_YES
from askance.models.hidden import Factor, HiddenVariables

_LAWS = choice("law", "multinomial", "binomial")


@register(
    family="groups",
    summary="say how many of some items are true of you; one group has the sensitive item among them",
    use="nobody should have to follow instructions, and errors several times those of a direct question are bearable",
    parameters=[
        Parameter("items", COUNT, "how many items the control group has"),
        Parameter("control_law", _LAWS, "law of the number of items that hold", default="multinomial"),
        Parameter("dependent", TRUE_OR_FALSE, "whether the number of items depends on the answer", default=False),
        Parameter("groups", NAMES, "values of the column of arms: untreated, treated", default=[0, 1]),
    ],
    examples=[{"items": 3}, {"items": 2, "control_law": "binomial", "groups": ["control", "treated"]}],
)
class ListExperiment(ArmedDesign):
    """The hidden pair (answer, items that hold) with known tables: a control says the second, a treated their sum.

    Items are independent of the answer given x, unless `dependent`; their number has any distribution, or a binomial
    one, for parity with what has long been used.

    Args:
        items: how many items the control group has.
        control_law: "multinomial" (default) or "binomial".
        dependent: whether the number of items may depend on the answer, in all its effects.
        groups: values of the column that says who was treated: untreated, treated.

    >>> design = ListExperiment(items=2)
    >>> design.arms[1].matrix.astype(int)
    array([[1, 0, 0, 0, 0, 0],
           [0, 1, 0, 1, 0, 0],
           [0, 0, 1, 0, 1, 0],
           [0, 0, 0, 0, 0, 1]])
    """

    kind = "list-experiment"

    def __init__(
        self,
        items: int,
        *,
        control_law: Literal["multinomial", "binomial"] = "multinomial",
        dependent: bool = False,
        groups: Sequence[Label] = (0, 1),
    ) -> None:
        self.items = as_count(items, "items", minimum=1, maximum=100)
        self.dependent = instance(dependent, bool, "dependent", "true or false", "The default is false.")
        self.control_law = one_of(
            control_law, ("multinomial", "binomial"), "control_law", "The default is multinomial."
        )
        labels = self.model(["Intercept"]).outputs
        pairs = [(trait, count) for trait in (0, 1) for count in range(self.items + 1)]
        control = [[int(count == o) for _, count in pairs] for o in range(self.items + 1)]
        treated = [[int(count + trait == o) for trait, count in pairs] for o in range(self.items + 2)]
        self.arms: dict[Label, MatrixChannel] = {
            group: MatrixChannel(table, outputs=labels)
            for group, table in zip(group_names(groups, 2), (control, treated), strict=True)
        }
        law = {"control_law": self.control_law, "dependent": self.dependent}
        self._given = {"items": self.items, **law, "groups": list(self.arms)}

    def model(self, terms: Sequence[str]) -> HiddenVariables:
        """The answer given covariates, and the number of items given covariates, and the answer where it may depend."""
        options: dict[str, Any] = {"after": [TRAIT], "apart": True} if self.dependent else {}
        if self.control_law == "binomial":
            items = Factor.binomial("items", self.items, terms, **options)
        else:
            items = Factor("items", self.items + 1, terms, **options)
        return HiddenVariables([Factor(TRAIT, NO_YES, terms), items])
