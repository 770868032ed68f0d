"""Several hidden variables at once: each depends on covariates, and may depend on those before it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import product
from math import comb
from typing import Any, NamedTuple

import numpy as np

from askance._arrays import ArrayLike, FloatArray, IntArray
from askance._checks import as_parameter, shown
from askance.categories import Categories, LabelSet
from askance.errors import InputError
from askance.models.softmax import Covariates, log_sum_exp

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


class _Conditional(NamedTuple):
    """A factor given one combination of what comes before: which, and what these values add to a row of x.

    Attributes:
        members: for every combination of all variables that belongs to it, its place, shape (c,).
        values: the value of the factor there, shape (c,).
        indicators: of the earlier values, shape (q,).
    """

    members: IntArray
    values: IntArray
    indicators: FloatArray


class HiddenVariables:
    """p_θ(h | x) = Π_f p_θ_f(h_f | x, h_before): a model of combinations h of several hidden variables.

    Designs with an unknown nuisance (who cheats, who would say yes to the other question), list experiments (items
    counted, and the hidden answer) and hidden causes of an outcome have this form, with a *known* channel from h to
    what is seen. It is no exponential family in general; each of its factors is one.

    Labels of combinations join those of the variables by " & ", the last varying fastest.

    Args:
        factors: the variables, each after those on which it depends.

    >>> trait = Factor("trait", ["no", "yes"], ["Intercept", "age"])
    >>> model = HiddenVariables([trait, Factor("cheats", ["no", "yes"], ["Intercept"])])
    >>> list(model.outputs.labels)
    ['no & no', 'no & yes', 'yes & no', 'yes & yes']
    >>> model.parameter_names
    ('trait:Intercept', 'trait:age', 'cheats:Intercept')
    >>> model.probabilities([0.0, 0.0, -1.0986123], np.array([[1.0, 30.0]])).round(3)
    array([[0.375, 0.125, 0.375, 0.125]])
    """

    def __init__(self, factors: Sequence[Factor]) -> None:
        self.factors = tuple(factors)
        names = [factor.name for factor in self.factors]
        for place, factor in enumerate(self.factors):
            late = [name for name in factor.after if name not in names[:place]]
            if late or names.index(factor.name) != place or not factor.terms:
                raise InputError(
                    f"factor {factor.name!r} depends on {shown(late or list(factor.terms))}; allowed: variables listed "
                    "before it, at least one column of x, and a name of its own.",
                    remedy="List every variable once, after those on which it depends.",
                )
        self.terms = tuple(dict.fromkeys(term for factor in self.factors for term in factor.terms))
        labels = product(*(factor.outputs.labels for factor in self.factors))
        self.outputs = Categories([row[0] if len(row) == 1 else BETWEEN.join(map(str, row)) for row in labels])
        sizes = [len(factor.outputs) for factor in self.factors]
        #: Value of every variable in every combination, shape (variables, H).
        self.values = np.indices(sizes).reshape(len(sizes), -1)
        widths = [self._width(factor) for factor in self.factors]
        ends = np.cumsum([len(f.table) * width for f, width in zip(self.factors, widths, strict=True)])
        #: Which parameters belong to each factor.
        self.blocks = tuple(
            slice(int(end - len(f.table) * w), int(end)) for f, w, end in zip(self.factors, widths, ends, strict=True)
        )
        self.dimension = int(ends[-1])

    def _width(self, factor: Factor) -> int:
        return len(self.column_names(factor))

    def column_names(self, factor: Factor) -> tuple[str, ...]:
        """Of the columns z of a factor: terms of x, then values of earlier variables."""
        before = [
            f"{earlier.name}[{label}]"
            for earlier in self.factors
            if earlier.name in factor.after
            for label in earlier.outputs.labels[1:]
        ]
        if not factor.apart:
            return (*factor.terms, *before)
        return (*factor.terms, *(f"{one}:{term}" for one in before for term in factor.terms))

    @cached_property
    def parameter_names(self) -> tuple[str, ...]:
        """`variable:column`, and `variable:output:column` of variables with more than two values."""
        names: list[str] = []
        for factor in self.factors:
            columns, count = self.column_names(factor), len(factor.table)
            labels = factor.outputs.labels[1:] if count == len(factor.outputs) - 1 else range(1, count + 1)
            rows = [""] if count == 1 else [f"{label}:" for label in labels]
            names += [f"{factor.name}:{row}{column}" for row in rows for column in columns]
        return tuple(names)

    @cached_property
    def conditionals(self) -> tuple[tuple[_Conditional, ...], ...]:
        """Of every factor: its conditional distributions, one for each combination of values before it."""
        return tuple(self._conditionals(factor, place) for place, factor in enumerate(self.factors))

    def _conditionals(self, factor: Factor, place: int) -> tuple[_Conditional, ...]:
        earlier = [i for i, other in enumerate(self.factors) if other.name in factor.after]
        keys = self.values[earlier].T if earlier else np.zeros((len(self.outputs), 0), dtype=np.int64)
        parts = []
        for key in sorted(set(map(tuple, keys.tolist()))):
            members = np.flatnonzero((keys == np.array(key, dtype=np.int64)).all(axis=1))
            pieces = [np.eye(len(self.factors[i].outputs))[value, 1:] for i, value in zip(earlier, key, strict=True)]
            indicators = np.concatenate([np.zeros(0), *pieces])
            parts.append(_Conditional(members, self.values[place, members], indicators))
        return tuple(parts)

    def columns(self, factor: Factor, x: Covariates, indicators: FloatArray) -> FloatArray:
        """Z of a factor given values before it, shape (n, p_f)."""
        own = x[:, [self.terms.index(term) for term in factor.terms]]
        own = np.asarray(own if isinstance(own, np.ndarray) else own.toarray())
        if factor.apart:
            return np.hstack([own, *(own * one for one in indicators)])
        return np.hstack([own, np.broadcast_to(indicators, (len(own), len(indicators)))])

    def probabilities(self, theta: ArrayLike, x: Covariates) -> FloatArray:
        """p_θ(h | x), shape (n, H)."""
        parameters = as_parameter(theta, self.dimension)
        log_p = np.zeros((x.shape[0], len(self.outputs)))
        for factor, block, parts in zip(self.factors, self.blocks, self.conditionals, strict=True):
            coefficients = parameters[block].reshape(len(factor.table), -1)
            for part in parts:
                scores = self.columns(factor, x, part.indicators) @ coefficients.T @ factor.table + factor.log_base
                log_p[:, part.members] += (scores - log_sum_exp(scores)[:, None])[:, part.values]
        return np.asarray(np.exp(log_p))

    def share(self, theta: ArrayLike, x: Covariates, name: str) -> FloatArray:
        """p_θ of every value of one variable, shape (n, K)."""
        place = [factor.name for factor in self.factors].index(name)
        return np.asarray(self.probabilities(theta, x) @ np.eye(len(self.factors[place].outputs))[self.values[place]])

    def __repr__(self) -> str:
        return f"HiddenVariables({', '.join(factor.name for factor in self.factors)})"
