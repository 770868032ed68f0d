"""Several hidden variables at once: each depends on covariates, and may depend on those before it.

So may outcomes, which are seen.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import product
from math import comb
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from askance._arrays import ArrayLike, FloatArray, IntArray
from askance._checks import as_parameter, shown
from askance.categories import Categories, LabelSet
from askance.errors import InputError
from askance.models.laws import Choice, Law
from askance.models.outcome import Outcome
from askance.models.softmax import Covariates

#: Between the labels of several hidden variables, in the label of all of them.
BETWEEN = " & "


class Factor:
    """One hidden variable: p_θ(k | x, before) ∝ h_k exp Σ_t Φ_tk z·θ_t, with z = (x, indicators of those before).

    Parameters are ordered by statistic t, then term. Without a table the statistics are indicators of all outputs but
    the first, as in `Softmax`; `Factor.binomial` has one statistic, the number of successes.

    Args:
        name: of the variable, different from the others.
        outputs: labels of its K values.
        terms: names of the columns of x on which it depends.
        after: names of earlier variables on which it depends, each value but the first by an effect of its own.
        apart: whether the effects of x too differ between the values of earlier variables.
        statistics: Φ, shape (T, K).
        base: h, shape (K,), positive.

    >>> Factor("cheats", ["no", "yes"], ["Intercept", "age"]).terms
    ('Intercept', 'age')
    """

    def __init__(
        self,
        name: str,
        outputs: LabelSet,
        terms: Sequence[str],
        *,
        after: Sequence[str] = (),
        apart: bool = False,
        statistics: ArrayLike | None = None,
        base: ArrayLike | None = None,
    ) -> None:
        self.name, self.outputs = name, Categories.of(outputs)
        self.terms, self.after, self.apart = tuple(terms), tuple(after), apart
        k = len(self.outputs)
        self.table = np.eye(k)[1:] if statistics is None else np.atleast_2d(np.asarray(statistics, dtype=np.float64))
        self.base = np.ones(k) if base is None else np.asarray(base, dtype=np.float64)
        finite = np.isfinite(self.table).all() and np.isfinite(self.base).all()
        if self.table.shape[1:] != (k,) or self.base.shape != (k,) or not finite or not (self.base > 0).all():
            raise InputError(
                f"factor {name!r} has statistics of shape {self.table.shape} and a base of {self.base.shape}; "
                f"allowed: finite numbers, (any, {k}) and ({k},), the base above 0.",
                remedy="Give one column of statistics, and one entry of the base, per output.",
            )
        self.log_base = np.log(self.base)

    @classmethod
    def binomial(cls, name: str, size: int, terms: Sequence[str], **options: Any) -> Factor:
        """The number of successes in `size` trials, each with log-odds z·θ."""
        counts = range(size + 1)
        base = [comb(size, count) for count in counts]
        return cls(name, list(counts), terms, statistics=[list(counts)], base=base, **options)

    @property
    def heads(self) -> tuple[str, ...]:
        """Before the names of columns: values, or numbers of statistics, where there are several."""
        count = len(self.table)
        labels = self.outputs.labels[1:] if count == len(self.outputs) - 1 else range(1, count + 1)
        return ("",) if count == 1 else tuple(f"{label}:" for label in labels)

    @property
    def others(self) -> tuple[str, ...]:
        """Parameters that are no effects: none."""
        return ()

    def law(self, z: FloatArray, theta: FloatArray, values: IntArray) -> Law:
        """At θ of this factor, for these values, shape (c,)."""
        return Choice.of(z, theta, self.table, self.log_base, values)


class _Conditional(NamedTuple):
    """A variable given one combination of what comes before: which, and what these values add to a row of x.

    Attributes:
        members: for every combination of all variables that belongs to it, its place, shape (c,).
        values: the value of the factor there, shape (c,); of an outcome 0, since rows have their own.
        indicators: of the earlier values, shape (q,).
    """

    members: IntArray
    values: IntArray
    indicators: FloatArray


#: Hidden, or seen.
Variable: TypeAlias = Factor | Outcome


class HiddenVariables:
    """p_θ(h | x) = Π_f p_θ_f(h_f | x, h_before): a model of combinations h of several hidden variables.

    Designs with an unknown nuisance (who cheats, who would say yes to the other question), list experiments (items
    counted, and the hidden answer) and hidden causes of an outcome have this form, with a *known* channel from h to
    what is seen. It is no exponential family in general; each of its factors is one. Outcomes are seen as they are,
    with p_θ(y | x, h), independent given h; their values are columns of x.

    Labels of combinations join those of the variables by " & ", the last varying fastest.

    Args:
        factors: the variables, each after those on which it depends.
        outcomes: what else was seen, explained by covariates and hidden variables.
        covariates: names of the columns of x, in their order; default: as variables name them. Outcomes follow.

    >>> trait = Factor("trait", ["no", "yes"], ["Intercept", "age"])
    >>> model = HiddenVariables([trait, Factor("cheats", ["no", "yes"], ["Intercept"])])
    >>> list(model.outputs.labels)
    ['no & no', 'no & yes', 'yes & no', 'yes & yes']
    >>> model.parameter_names
    ('trait:Intercept', 'trait:age', 'cheats:Intercept')
    >>> model.probabilities([0.0, 0.0, -1.0986123], np.array([[1.0, 30.0]])).round(3)
    array([[0.375, 0.125, 0.375, 0.125]])
    """

    def __init__(
        self,
        factors: Sequence[Factor],
        outcomes: Sequence[Outcome] = (),
        covariates: Sequence[str] | None = None,
    ) -> None:
        self.factors, self.outcomes = tuple(factors), tuple(outcomes)
        #: All of them, in the order of their parameters.
        self.variables: tuple[Variable, ...] = (*self.factors, *self.outcomes)
        _check_order(self.variables, len(self.factors))
        #: Names of the columns of x that explain, those of outcomes left out.
        used = tuple(dict.fromkeys(term for variable in self.variables for term in variable.terms))
        self.covariates = used if covariates is None else tuple(covariates)
        if not set(used) <= set(self.covariates):
            raise InputError(
                f"covariates is {shown(list(self.covariates))}; allowed: all of {shown(list(used))}.",
                remedy="Leave it out, or name every column of x but those of outcomes, in their order.",
            )
        #: Names of all columns of x: covariates, then outcomes.
        self.terms = (*self.covariates, *(outcome.name for outcome in self.outcomes))
        if len(set(self.terms)) < len(self.terms):
            raise InputError(
                f"x would have the columns {shown(list(self.terms))}; allowed: outcomes that explain nothing.",
                remedy="Take outcomes out of the terms.",
            )
        labels = product(*(factor.outputs.labels for factor in self.factors))
        self.outputs = Categories([row[0] if len(row) == 1 else BETWEEN.join(map(str, row)) for row in labels])
        sizes = [len(factor.outputs) for factor in self.factors]
        #: Value of every variable in every combination, shape (variables, H).
        self.values = np.indices(sizes).reshape(len(sizes), -1)
        counts = [len(v.heads) * len(self.column_names(v)) + len(v.others) for v in self.variables]
        ends = np.cumsum(counts)
        #: Which parameters belong to each variable.
        self.blocks = tuple(slice(int(end - count), int(end)) for count, end in zip(counts, ends, strict=True))
        self.dimension = int(ends[-1])

    def column_names(self, variable: Variable) -> tuple[str, ...]:
        """Of the columns z of a variable: terms of x, then values of earlier variables."""
        before = self._earlier(variable)
        if not variable.apart:
            return (*variable.terms, *before)
        return (*variable.terms, *(f"{one}:{term}" for one in before for term in variable.terms))

    def _earlier(self, variable: Variable) -> list[str]:
        """Names of the values of earlier variables on which one depends."""
        earlier = [factor for factor in self.factors if factor.name in variable.after]
        return [f"{factor.name}[{label}]" for factor in earlier for label in factor.outputs.labels[1:]]

    @cached_property
    def parameter_names(self) -> tuple[str, ...]:
        """`variable:column`, and `variable:output:column` of variables with more than two values."""
        names: list[str] = []
        for variable in self.variables:
            columns = self.column_names(variable)
            names += [f"{variable.name}:{head}{column}" for head in variable.heads for column in columns]
            names += [f"{variable.name}:{other}" for other in variable.others]
        return tuple(names)

    @cached_property
    def effects(self) -> tuple[int, ...]:
        """Which parameters are effects of hidden variables on outcomes."""
        places: list[int] = []
        for outcome, block in zip(self.variables, self.blocks, strict=True):
            if isinstance(outcome, Outcome):
                width = len(self.column_names(outcome))
                own = range(len(outcome.terms), width)
                places += [block.start + head * width + j for head in range(len(outcome.heads)) for j in own]
        return tuple(places)

    @cached_property
    def conditionals(self) -> tuple[tuple[_Conditional, ...], ...]:
        """Of every variable: its conditional distributions, one for each combination of values before it."""
        return tuple(self._conditionals(variable, place) for place, variable in enumerate(self.variables))

    def _conditionals(self, variable: Variable, place: int) -> tuple[_Conditional, ...]:
        earlier = [i for i, other in enumerate(self.factors) if other.name in variable.after]
        keys = self.values[earlier].T if earlier else np.zeros((len(self.outputs), 0), dtype=np.int64)
        own = self.values[place] if isinstance(variable, Factor) else np.zeros(len(self.outputs), dtype=np.int64)
        parts = []
        for key in sorted(set(map(tuple, keys.tolist()))):
            members = np.flatnonzero((keys == np.array(key, dtype=np.int64)).all(axis=1))
            pieces = [np.eye(len(self.factors[i].outputs))[value, 1:] for i, value in zip(earlier, key, strict=True)]
            indicators = np.concatenate([np.zeros(0), *pieces])
            parts.append(_Conditional(members, own[members], indicators))
        return tuple(parts)

    def columns(self, variable: Variable, x: Covariates, indicators: FloatArray) -> FloatArray:
        """Z of a variable given values before it, shape (n, p_f)."""
        own = x[:, [self.terms.index(term) for term in variable.terms]]
        own = np.asarray(own if isinstance(own, np.ndarray) else own.toarray())
        if variable.apart:
            return np.hstack([own, *(own * one for one in indicators)])
        if not len(indicators):
            return own
        return np.hstack([own, np.broadcast_to(indicators, (len(own), len(indicators)))])

    def told(self, outcome: Outcome, x: Covariates) -> FloatArray:
        """The values of an outcome, shape (n,)."""
        column = x[:, [self.terms.index(outcome.name)]]
        return np.asarray(column if isinstance(column, np.ndarray) else column.toarray(), dtype=np.float64)[:, 0]

    def laws(
        self, theta: FloatArray, x: Covariates, *, outcomes: bool = True
    ) -> Iterator[tuple[Variable, slice, IntArray, Law]]:
        """Every conditional distribution at θ: of which variable, its parameters, the combinations it is about."""
        for variable, block, parts in zip(self.variables, self.blocks, self.conditionals, strict=True):
            if isinstance(variable, Outcome) and not outcomes:
                continue
            for part in parts:
                z = self.columns(variable, x, part.indicators)
                if isinstance(variable, Outcome):
                    yield variable, block, part.members, variable.law(z, theta[..., block], self.told(variable, x))
                else:
                    yield variable, block, part.members, variable.law(z, theta[..., block], part.values)

    def probabilities(self, theta: ArrayLike, x: Covariates) -> FloatArray:
        """p_θ(h | x), shape (n, H)."""
        parameters = as_parameter(theta, self.dimension)
        log_p = np.zeros((x.shape[0], len(self.outputs)))
        for _, _, members, law in self.laws(parameters, x, outcomes=False):
            log_p[:, members] += law.log_density()
        return np.asarray(np.exp(log_p))

    def share(self, theta: ArrayLike, x: Covariates, name: str) -> FloatArray:
        """p_θ of every value of one variable, shape (n, K)."""
        place = [factor.name for factor in self.factors].index(name)
        return np.asarray(self.probabilities(theta, x) @ np.eye(len(self.factors[place].outputs))[self.values[place]])

    def __repr__(self) -> str:
        return f"HiddenVariables({', '.join(variable.name for variable in self.variables)})"


def _check_order(variables: Sequence[Variable], hidden: int) -> None:
    """Refuse variables that depend on later ones, on outcomes or on nothing, and names that are taken."""
    names = [variable.name for variable in variables]
    for place, variable in enumerate(variables):
        late = [name for name in variable.after if name not in names[: min(place, hidden)]]
        if late or names.index(variable.name) != place or not variable.terms:
            raise InputError(
                f"{'factor' if place < hidden else 'outcome'} {variable.name!r} depends on "
                f"{shown(late or list(variable.terms))}; allowed: hidden variables listed before it, at least one "
                "column of x, and a name of its own.",
                remedy="List every variable once, after those on which it depends.",
            )
