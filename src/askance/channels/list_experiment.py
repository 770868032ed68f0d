"""List experiments: how many of these items are true of you? Some have a sensitive item among them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Literal

from askance._checks import as_count, as_list, instance, one_of, shown
from askance.categories import Categories, Label
from askance.channels.armed_design import TRAIT, ArmedDesign
from askance.channels.hidden_designs import group_names
from askance.channels.matrix import MatrixChannel
from askance.channels.registry import COUNT, NAMES, TRUE_OR_FALSE, Parameter, ParameterKind, choice, register
from askance.channels.survey_designs import NO_YES
from askance.errors import InputError
from askance.models.count_means import CountMeans, Link
from askance.models.hidden import BETWEEN, Factor, HiddenVariables

ITEMS, CEILING, FLOOR, HONEST = "items", "ceiling", "floor", "honest"
#: How means are fitted, by the name of the method.
LINKS: dict[str, Link] = {"moments": "linear", "linear": "linear", "least-squares": "logistic"}
LIST_METHODS = ("marginal", *LINKS)
#: Parameters that say which law the items have; means have none.
OF_LAW = ("control_law", "dependent")
_LAWS = choice("law", "multinomial", "binomial")
_COLUMN = ParameterKind("column", "COLUMN", str.strip, "the name of a column")


@register(
    family="groups",
    summary="say how many of some items are true of you; one group has the sensitive item among them",
    use="nobody should have to follow instructions, and errors several times those of a direct question are bearable",
    parameters=[
        Parameter("items", COUNT, "how many items the control group has"),
        Parameter("control_law", _LAWS, "law of the number of items that hold", default="multinomial"),
        Parameter("dependent", TRUE_OR_FALSE, "whether the number of items depends on the answer", default=False),
        Parameter("ceiling", TRUE_OR_FALSE, "whether carriers with all items may leave out theirs", default=False),
        Parameter("floor", TRUE_OR_FALSE, "whether carriers without other items may say 0", default=False),
        Parameter("direct", _COLUMN, "column of answers to the same question, asked directly", default=None),
        Parameter("only_items", NAMES, "columns that only the items depend on, such as which list", default=[]),
        Parameter("groups", NAMES, "values of the column of arms: untreated, treated (several items)", default=[0, 1]),
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
        ceiling: whether carriers of whom all items are true may leave out the sensitive one: a nuisance.
        floor: whether carriers of whom no other item is true may say 0: a nuisance.
        direct: name of a column in which everybody was asked directly too. Carriers may deny there (a nuisance,
            `honest`, that depends on x); nobody else admits.
        only_items: names of columns that the items depend on, and not the answer, such as which of two lists it was;
            they stand at the end of the formula.
        groups: values of the column that says who had which list: without the sensitive item, with it; with several
            sensitive items one value each, and a hidden answer named after each.

    >>> design = ListExperiment(items=2)
    >>> design.arms[1].matrix.astype(int)
    array([[1, 0, 0, 0, 0, 0],
           [0, 1, 0, 1, 0, 0],
           [0, 0, 1, 0, 1, 0],
           [0, 0, 0, 0, 0, 1]])
    >>> ListExperiment(2, groups=["control", "affirm", "race"]).traits
    ('affirm', 'race')
    """

    kind = "list-experiment"

    def __init__(
        self,
        items: int,
        *,
        control_law: Literal["multinomial", "binomial"] = "multinomial",
        dependent: bool = False,
        ceiling: bool = False,
        floor: bool = False,
        direct: str | None = None,
        only_items: Sequence[str] | str = (),
        groups: Sequence[Label] = (0, 1),
    ) -> None:
        self.items = as_count(items, "items", minimum=1, maximum=100)
        for name, value in {"dependent": dependent, "ceiling": ceiling, "floor": floor}.items():
            instance(value, bool, name, "true or false", "The default is false.")
        self.dependent, self.ceiling, self.floor, self.direct = dependent, ceiling, floor, direct
        self.control_law = one_of(
            control_law, ("multinomial", "binomial"), "control_law", "The default is multinomial."
        )
        self.only_items = (only_items,) if isinstance(only_items, str) else tuple(only_items)
        names = as_list(groups, "groups", '["control", "treated"]')
        group_names(groups, max(2, len(names)))
        self.traits = (TRAIT,) if len(names) == 2 else tuple(str(name) for name in names[1:])
        if len(self.traits) > 1 and (dependent or direct is not None):
            raise InputError(
                f"there are {len(self.traits)} sensitive items; allowed with dependent or direct: one.",
                remedy="Leave these out, or fit every sensitive item by itself.",
            )
        self.arms: dict[Label, MatrixChannel] = {
            group: self._channel(None if place == 0 else self.traits[place - 1]) for place, group in enumerate(names)
        }
        law = {"control_law": self.control_law, "dependent": dependent}
        others = {"ceiling": ceiling, "floor": floor, "direct": direct, "only_items": list(self.only_items)}
        set_ = {name: value for name, value in others.items() if value}
        self._given = {"items": self.items, **law, **set_, "groups": list(self.arms)}

    def model(self, terms: Sequence[str], method: str | None = None) -> Any:
        """`HiddenVariables`: the answers and the items given covariates; or their `CountMeans`, by the method."""
        name = one_of(method or "marginal", LIST_METHODS, "method", "The default is marginal.")
        own = [term for term in terms if not any(re.search(rf"\b{re.escape(c)}\b", term) for c in self.only_items)]
        if not own or list(terms[: len(own)]) != own:
            raise InputError(
                f"the formula makes {shown(list(terms))}; allowed: columns that only the items depend on, "
                f"{shown(list(self.only_items))}, after all others.",
                remedy="Write them last.",
            )
        return self._hidden(own, terms) if name == "marginal" else self._means(own, terms, LINKS[name])

    def _hidden(self, own: Sequence[str], terms: Sequence[str]) -> HiddenVariables:
        options: dict[str, Any] = {"after": [TRAIT], "apart": True} if self.dependent else {}
        if self.control_law == "binomial":
            items = Factor.binomial(ITEMS, self.items, terms, **options)
        else:
            items = Factor(ITEMS, self.items + 1, terms, **options)
        lies = [Factor(name, NO_YES, ["Intercept"]) for name in (CEILING, FLOOR) if getattr(self, name)]
        admits = [Factor(HONEST, NO_YES, own)] if self.direct is not None else []
        return HiddenVariables([*(Factor(trait, NO_YES, own) for trait in self.traits), items, *lies, *admits])

    def _means(self, own: Sequence[str], terms: Sequence[str], link: Link) -> CountMeans:
        alone = self.direct is not None and link == "linear" and list(terms) == ["Intercept"]
        if self.ceiling or self.floor or (self.direct is not None and not alone):
            raise InputError(
                "least squares take all counts for the truth; allowed with ceiling and floor: the method marginal; "
                "with direct: marginal, and moments without covariates.",
                remedy="Leave the method out.",
            )
        if alone:  # those who admit, and the difference among those who deny
            return CountMeans({TRAIT: own}, [1], [[TRAIT]], link, self._hidden(own, terms).outputs)
        return CountMeans(
            {**dict.fromkeys(self.traits, own), ITEMS: terms},
            [*[1] * len(self.traits), self.items],
            [[ITEMS], *([ITEMS, trait] for trait in self.traits)],
            link,
            self._hidden(["Intercept"], ["Intercept"]).outputs,
        )

    def _channel(self, trait: str | None) -> MatrixChannel:
        """0 and 1: what each combination of hidden variables says, with a sensitive item on the list or without."""
        model = self._hidden(["Intercept"], ["Intercept"])
        names = [factor.name for factor in model.factors]
        counts = range(self.items + (1 if trait is None else 2))
        labels: list[Any] = list(counts)
        if self.direct is not None:
            labels = [f"{said}{BETWEEN}{count}" for said in NO_YES for count in counts]
        table = [[0] * len(model.outputs) for _ in labels]
        for column, codes in enumerate(model.values.T.tolist()):
            table[labels.index(self._report(dict(zip(names, codes, strict=True)), trait))][column] = 1
        return MatrixChannel(table, outputs=model.outputs, observations=Categories(labels))

    def _report(self, hidden: dict[str, int], trait: str | None) -> Any:
        """What one says of whom all this holds."""
        items, carrier = hidden[ITEMS], 0 if trait is None else hidden[trait]
        hides = (items == self.items and hidden.get(CEILING)) or (items == 0 and hidden.get(FLOOR))
        count = items + (0 if hides else carrier)
        if self.direct is None:
            return count
        return f"{NO_YES[hidden[TRAIT] & hidden[HONEST]]}{BETWEEN}{count}"

    @property
    def law(self) -> str:
        """What is assumed, in words."""
        told = "depends on the answer" if self.dependent else "is independent of the answer"
        number = "a binomial distribution" if self.control_law == "binomial" else "any distribution"
        return f"assumed: the number of items that hold {told} given the covariates, and has {number}"
