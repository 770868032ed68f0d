"""The mean of a count that several variables add up to: what least squares fit where a law is not needed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from askance._arrays import FloatArray
from askance._checks import one_of, shown
from askance.categories import Categories, LabelSet
from askance.errors import InputError
from askance.models.softmax import Covariates

#: How a mean depends on covariates: in proportion, or between 0 and its largest value.
Link: TypeAlias = Literal["linear", "logistic"]


class MeanPart(NamedTuple):
    """The mean of one variable over rows: z (n, q), the mean and its first two derivatives by z·θ, (n,) each."""

    z: FloatArray
    mean: FloatArray
    slope: FloatArray
    bend: FloatArray


class CountMeans:
    """E[o | x, group] = Σ over the variables v of the group of g_v(z_v·θ_v): z·θ, or size · σ(z·θ).

    Groups are in the order of the channels of the evidence. The last variable of a group is the one that it tells
    about; the others are known from groups before it.

    Args:
        variables: names of variables, and of the columns of x on which each depends.
        sizes: the largest value of each.
        groups: of every group, the variables that add up to its count.
        link: "linear" or "logistic".
        outputs: labels of what is hidden, as the channels have them.

    >>> model = CountMeans({"trait": ["Intercept"], "items": ["Intercept"]}, [1, 3], [["items"], ["items", "trait"]])
    >>> model.parameter_names
    ('trait:Intercept', 'items:Intercept')
    >>> model.mean(np.array([0.1, 2.0]), np.ones((1, 1)), 1)
    array([2.1])
    """

    def __init__(
        self,
        variables: Mapping[str, Sequence[str]],
        sizes: Sequence[int],
        groups: Sequence[Sequence[str]],
        link: Link = "linear",
        outputs: LabelSet = 2,
    ) -> None:
        self.variables = {str(name): tuple(terms) for name, terms in variables.items()}
        self.sizes, self.groups = tuple(sizes), tuple(tuple(group) for group in groups)
        self.link: Link = one_of(link, ("linear", "logistic"), "link", "The default is linear.")
        self.outputs = Categories.of(outputs)
        self.terms = tuple(dict.fromkeys(term for terms in self.variables.values() for term in terms))
        told = [group[-1] for group in self.groups if group]
        fitting = sorted(told) == sorted(self.variables) and len(self.sizes) == len(self.variables)
        if not fitting or any(name not in told[:i] for i, group in enumerate(self.groups) for name in group[:-1]):
            raise InputError(
                f"groups are {shown([list(group) for group in self.groups])} of {shown(list(self.variables))}; "
                "allowed: one group per variable, in which it is the last, after groups that tell about the others.",
                remedy='Write [["items"], ["items", "trait"]].',
            )
        ends = np.cumsum([0, *(len(terms) for terms in self.variables.values())]).tolist()
        #: Which parameters belong to each variable.
        self.blocks = {name: slice(*ends) for name, ends in zip(self.variables, pairwise(ends), strict=True)}
        self.dimension: int = ends[-1]

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """`variable:term`."""
        return tuple(f"{name}:{term}" for name, terms in self.variables.items() for term in terms)

    @property
    def effects(self) -> tuple[int, ...]:
        """Which parameters are effects of hidden variables on outcomes: none."""
        return ()

    def part(self, name: str, theta: FloatArray, x: Covariates) -> MeanPart:
        """The mean of one variable, and how it depends on θ."""
        columns = x[:, [self.terms.index(term) for term in self.variables[name]]]
        z = np.asarray(columns if isinstance(columns, np.ndarray) else columns.toarray(), dtype=np.float64)
        u = z @ theta[self.blocks[name]]
        if self.link == "linear":
            return MeanPart(z, u, np.ones(len(u)), np.zeros(len(u)))
        size, p = self.sizes[list(self.variables).index(name)], 0.5 * (1.0 + np.tanh(0.5 * u))
        return MeanPart(z, size * p, size * p * (1 - p), size * p * (1 - p) * (1 - 2 * p))

    def mean(self, theta: FloatArray, x: Covariates, group: int) -> FloatArray:
        """E[o | x] in one of the groups, shape (n,)."""
        return np.asarray(sum(self.part(name, theta, x).mean for name in self.groups[group]))

    def __repr__(self) -> str:
        return f"CountMeans({', '.join(self.variables)}, {self.link})"
