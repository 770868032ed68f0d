"""What a junction tree says for given potentials: probabilities, their derivatives, joint distributions, records.

Everything is made from the conditional probabilities p(residual | separator) of all tables, which `TreeInference` finds
on the way up.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from askance._arrays import FloatArray, IntArray

if TYPE_CHECKING:
    from askance.models.tree_inference import TreeInference

#: The table of some variables, shape (B, their sizes).
Factor: TypeAlias = tuple[tuple[int, ...], FloatArray]


class Beliefs:
    """Probabilities of the records for B sets of potentials.

    Args:
        plan: whose potentials.
        log_partition: log Z, shape (B,).
        stacked: by stack p(residual | separator), shape (B, tables, cells of the residual, cells of the separator).
    """

    def __init__(self, plan: TreeInference, log_partition: FloatArray, stacked: list[FloatArray]) -> None:
        self._plan, self._tree = plan, plan.tree
        self.log_partition, self._conditionals = log_partition, stacked

    @cached_property
    def _separators(self) -> list[FloatArray]:
        """By stack p(separator), shape (B, tables, 1, cells); filled in with the marginals."""
        return []

    @cached_property
    def _marginals(self) -> list[FloatArray]:
        """By stack p(residual, separator), shapes of the conditionals."""
        marginals: list[FloatArray] = []
        for stack, conditional in zip(self._plan.stacks, self._conditionals, strict=True):
            batch, (count, _, cells) = len(conditional), stack.shape
            if stack.parent is None or stack.link is None:
                self._separators.append(np.ones((batch, count, 1, 1)))
                marginals.append(conditional)
            else:
                above = marginals[stack.parent].reshape(batch, -1)
                self._separators.append(stack.link.sum(above).reshape(batch, count, 1, cells))
                marginals.append(conditional * self._separators[-1])
        return marginals

    def _by_table(self, stacked: list[FloatArray]) -> list[FloatArray]:
        places = self._plan.places
        return [stacked[places[number][0]][:, places[number][1]] for number in range(len(places))]

    @cached_property
    def conditionals(self) -> list[FloatArray]:
        """By table p(residual | separator), shape (B, cells of the residual, cells of the separator)."""
        return self._by_table(self._conditionals)

    @cached_property
    def marginals(self) -> list[FloatArray]:
        """By table p(residual, separator), shapes of the conditionals."""
        return self._by_table(self._marginals)

    @cached_property
    def means(self) -> FloatArray:
        """The probability of every cell of every scope, shape (B, dimension)."""
        return self._plan.collect(self._marginals)

    def entropy(self) -> FloatArray:
        """−Σ p log p in nats, shape (B,): Σ over tables of −Σ p(r, s) log p(r | s)."""
        from scipy.special import xlogy  # 0 log 0 = 0; loaded when first needed

        terms = [xlogy(p, q).sum(axis=(1, 2)) for p, q in zip(self.marginals, self.conditionals, strict=True)]
        return np.asarray(-np.sum(terms, axis=0))

    def derivatives(self, directions: FloatArray, row: int = 0) -> FloatArray:
        """Cov(φ, φᵀv) of one set of potentials: how its means change along each direction v.

        The derivative of both sweeps, with the conditional probabilities that are there already.

        Args:
            directions: shape (K, dimension).
            row: which of the B sets of potentials.

        Returns:
            shape (K, dimension).
        """
        plan, means = self._plan, self.means[row]
        # A constant over a scope changes nothing; what is near 0 on average leaves small covariances their digits when
        # nearly all probability is in one cell.
        centre = np.add.reduceat(directions * means, plan.starts[:-1], axis=1)
        spread = plan.spread(directions - np.repeat(centre, plan.widths, axis=1))
        slopes = [table.reshape(len(table), *stack.shape) for table, stack in zip(spread, plan.stacks, strict=True)]
        conditionals = [table[row] for table in self._conditionals]
        for number in reversed(range(len(slopes))):
            stack, slope = plan.stacks[number], slopes[number]
            message = np.einsum("ktrs,trs->kts", slope, conditionals[number])
            slope -= message[:, :, None]
            if stack.parent is not None and stack.link is not None:
                stack.link.add(message.reshape(len(message), -1), spread[stack.parent])
        for number, (stack, slope) in enumerate(zip(plan.stacks, slopes, strict=True)):
            if stack.parent is not None and stack.link is not None:
                slope *= self._separators[number][row]
                above = stack.link.sum(spread[stack.parent])
                slope += above.reshape(len(above), stack.shape[0], 1, stack.shape[2])
            slope *= conditionals[number]
        return plan.collect(spread)

    def covariance(self, row: int, step: int) -> FloatArray:
        """Cov φ of one set of potentials, shape (dimension, dimension), `step` columns at a time."""
        unit = np.eye(self._plan.dimension)
        parts = [self.derivatives(unit[i : i + step], row) for i in range(0, len(unit), step)]
        full = np.concatenate(parts)
        return np.asarray((full + full.T) / 2)

    # -- records ---------------------------------------------------------------------------------------------------

    def joint(self, variables: Sequence[int]) -> FloatArray:
        """p of some variables, shape (B, their sizes): summed from one table, or by elimination along the tree."""
        sizes, pending, done = self._tree.sizes, defaultdict[int, list[Factor]](list), list[Factor]()
        for step in self._tree.elimination(variables):
            table = self._tree.tables[step.table]
            values = (self.marginals if step.is_last else self.conditionals)[step.table]
            own = values.reshape(len(values), *(sizes[v] for v in table.variables))
            result = step.kept, _contract([(table.variables, own), *pending[step.table]], step.kept)
            if step.is_last or table.parent is None:
                done.append(result)
            else:
                pending[table.parent].append(result)
        return _contract(done, tuple(variables))

    def sample(self, rows: IntArray, rng: np.random.Generator) -> IntArray:
        """One record per entry of `rows`, which says whose of the B sets of potentials; shape (n, variables).

        From the roots down: the residual of every table given its separator, which is drawn already.
        """
        sizes = self._tree.sizes
        records = np.zeros((len(sizes), len(rows)), dtype=np.int64).T  # columns are written and read one by one
        for table, conditional in zip(self._tree.tables, self.conditionals, strict=True):
            separator = np.zeros(len(rows), dtype=np.int64)
            for v in table.separator:
                separator = separator * sizes[v] + records[:, v]
            drawn = _draw(conditional, rows, separator, rng.random(len(rows)))
            for v in reversed(table.residual):
                drawn, records[:, v] = np.divmod(drawn, sizes[v])
        return records


def _contract(factors: Sequence[Factor], kept: tuple[int, ...]) -> FloatArray:
    """The product of tables (B, …), summed over all variables but those kept."""
    labels = {v: i for i, v in enumerate(dict.fromkeys(v for names, _ in factors for v in names), start=1)}
    operands: list[Any] = []
    for names, table in factors:
        operands += [table, [0, *(labels[v] for v in names)]]
    return np.asarray(np.einsum(*operands, [0, *(labels[v] for v in kept)], optimize=len(factors) > 2))


def _draw(conditional: FloatArray, rows: IntArray, separator: IntArray, uniform: FloatArray) -> IntArray:
    """The residual's cell of every record, by bisection of its cumulative probabilities; shape (n,)."""
    cumulative = conditional.cumsum(axis=1)
    total = cumulative[rows, -1, separator]
    # Rounding must not lift the target to the total, beyond which there is no cell.
    target = np.minimum(uniform * total, np.nextafter(total, 0))
    if cumulative.size == cumulative.shape[1]:
        return np.asarray(np.searchsorted(cumulative[0, :, 0], target, side="right"))
    low, high = np.zeros((2, len(rows)), dtype=np.int64)
    high += cumulative.shape[1] - 1
    for _ in range(cumulative.shape[1].bit_length()):
        middle = (low + high) // 2
        beyond = cumulative[rows, middle, separator] <= target
        low, high = np.where(beyond, middle + 1, low), np.where(beyond, high, middle)
    return low
