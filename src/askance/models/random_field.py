"""Random fields: several categorical variables, tied together by tables of a few of them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from askance._arrays import AnyArray, ArrayLike, FloatArray, IntArray
from askance._checks import as_count, as_floats, as_many, as_parameter, require_generator
from askance.categories import Label, LabelSet
from askance.errors import InputError, ShapeError
from askance.models.enumerated import Enumerated
from askance.models.field_layout import FieldLayout
from askance.models.field_rows import DistinctRows, FieldRequest, read_covariates
from askance.models.junction_tree import JunctionTree, count_cells
from askance.models.softmax import Covariates
from askance.models.tree_inference import Beliefs, TreeInference

#: No table of the junction tree has more cells, unless the caller allows it: 512 MiB.
LARGEST_TABLE = 1 << 26
#: A field with more outputs is not written out as a table.
MOST_OUTPUTS = 1 << 16
# So many cells of tables are worked on at once, so that they stay in the processor's cache: 8 MiB.
_CELLS_AT_ONCE = 1 << 20
# Information matrices of single rows are not held beyond this many entries: 1 GiB.
_MOST_ENTRIES = 1 << 27


class RandomField(FieldLayout):
    """p_θ(y) ∝ exp Σ_c θ_c[y_c]: one table of parameters per clique c of the categorical variables y_1 … y_V.

    φ(y) is the indicators of the cells of all cliques, one table after the other, cells in C order of the clique's
    variables (the last runs fastest): the statistics, and their order, of the channel `CliqueRelease`. Tables are
    overcomplete: adding a constant to one changes no probability, and the information matrix is singular.

    All quantities are exact, by a junction tree; cliques may overlap, form loops, or leave the variables in separate
    parts. A variable in no clique is uniform and independent of the others, over its possible values.

    With p public covariates x, every variable v has a further block of parameters B_v (p, size), after all cliques,
    and its values get the potentials xᵀB_v; φ(x, y) has the blocks x ⊗ 1[y_v].

    Records are codes, shape (n, V), or labels as columns by name; see `encode`.

    Args:
        variables: labels by variable name, or a list of sizes (names are then "0", "1", …).
        cliques: groups of variables, by name or by position from 0; any number in each, every group once.
        impossible: structural zeros, each a mapping {variable: label, …} of some variables; records that agree with
            one have probability 0 whatever θ is. The variables of each share a table of the tree.
        covariates: names of the columns of x, or their number.
        largest_table: the most cells that a table of the junction tree may have.

    >>> field = RandomField({"smokes": ["no", "yes"], "age": 3, "ill": 2}, [["smokes", "age"], ["smokes", "ill"]])
    >>> field.dimension, field.parameter_names[4], field.treewidth
    (10, 'smokes,age=yes,1', 1)
    >>> theta = np.log([2.0, 2, 2, 1, 1, 1, 3, 1, 1, 1])
    >>> field.table(field.mean_statistics(theta), ["smokes", "ill"])
    array([[0.6, 0.2],
           [0.1, 0.1]])
    >>> field.marginal(theta, ["age", "ill"]).shape
    (3, 2)
    """

    def __init__(
        self,
        variables: Mapping[str, LabelSet] | Iterable[int],
        cliques: Iterable[Iterable[int | str]],
        *,
        impossible: Iterable[Mapping[Any, Label]] = (),
        covariates: int | Iterable[str] | None = None,
        largest_table: int = LARGEST_TABLE,
    ) -> None:
        super().__init__(variables, cliques, impossible, covariates)
        self.largest_table = as_count(largest_table, "largest_table", minimum=2)
        self.tree = JunctionTree(self.sizes, [*self.cliques, *self.impossible])
        widest = [self.variables[v] for v in sorted(self.tree.tables[self.tree.largest].variables)]
        self._refuse_large(
            max(self.tree.cells),
            f"treewidth is {self.treewidth}: the table of the {len(widest)} variables {', '.join(widest)}",
            "Take fewer cliques, or join values of these variables (coarser categories)",
        )
        if self.impossible and np.isneginf(self._plan.beliefs(np.zeros((1, self._plan.dimension))).log_partition[0]):
            raise InputError(
                f"the {len(self.impossible)} impossible combinations leave no record possible.",
                remedy="Leave out those that exclude too much.",
            )

    def _refuse_large(self, cells: int, what: str, remedy: str) -> None:
        if cells > self.largest_table:
            raise InputError(
                f"{what} has {cells:,} cells ({_as_bytes(8 * cells)}); allowed: at most {self.largest_table:,} cells "
                f"({_as_bytes(8 * self.largest_table)}).",
                remedy=f"{remedy}; with the memory at hand, raise largest_table.",
            )

    @property
    def treewidth(self) -> int:
        """The number of variables of the widest table of the junction tree, less one."""
        return self.tree.treewidth

    def memory_estimate(self) -> int:
        """Bytes that the tables of the junction tree take in one call, for one θ; nothing is allocated to tell."""
        homes = {self.tree.home(assignment) for assignment in self.impossible}
        return self.tree.memory + 8 * sum(self.tree.cells[number] for number in homes if number is not None)

    # -- from parameters to potentials and back --------------------------------------------------------------------

    @cached_property
    def _plan(self) -> TreeInference:
        """Potentials are the tables of all cliques and, with covariates, of all other variables alone."""
        alone = {clique[0] for clique in self.cliques if len(clique) == 1}
        others = [(v,) for v in range(len(self.sizes)) if self.terms and v not in alone]
        return TreeInference(self.tree, [*self.cliques, *others], self.impossible)

    @cached_property
    def _nodes(self) -> tuple[IntArray, IntArray]:
        """The potentials of single variables, shape (Σ sizes,), and their coefficients in θ, shape (p, Σ sizes)."""
        starts = dict(zip(self._plan.scopes, self._plan.starts, strict=False))
        cells = [starts[(v,)] + np.arange(size) for v, size in enumerate(self.sizes)]
        blocks = [self.coefficients(np.arange(self.dimension), v) for v in range(len(self.sizes))]
        return np.concatenate(cells), np.concatenate(blocks, axis=1).astype(np.int64)

    def _potentials(self, theta: FloatArray, x: FloatArray | None) -> FloatArray:
        """Of every θ (K, d) and row of x (n, p), where one of both is single; shape (K or n, potentials)."""
        if x is None:
            return theta
        cells, places = self._nodes
        potentials = np.zeros((max(len(theta), len(x)), self._plan.dimension))
        potentials[:, : self.offsets[-1]] = theta[:, : self.offsets[-1]]
        blocks = theta[:, places]
        potentials[:, cells] += x @ blocks[0] if len(theta) == 1 else np.einsum("p,kps->ks", x[0], blocks)
        return potentials

    def _pulled_back(self, values: FloatArray, x: FloatArray | None) -> FloatArray:
        """The transpose: from potentials (n, …) to statistics (n, d), with one row of x for each or for all."""
        if x is None:
            return values
        cells, places = self._nodes
        out = np.empty((len(values), self.dimension))
        out[:, : self.offsets[-1]] = values[:, : self.offsets[-1]]
        out[:, places.ravel()] = (x[:, :, None] * values[:, None, cells]).reshape(len(values), -1)
        return out

    def _request(self, theta: ArrayLike, x: Covariates) -> FieldRequest:
        """What is asked for: one θ or, without covariates, several; with them, every different row of x once."""
        if not self.terms:
            read_covariates(x, self.terms)
            many = as_floats(theta, "theta")
            if many.ndim == 2 and many.shape[1] == self.dimension:
                checked = as_parameter(many.ravel(), many.size).reshape(many.shape)
                return FieldRequest(checked, None, np.arange(len(many)))
            return FieldRequest(as_parameter(many, self.dimension)[None], None, None)
        rows = self.distinct_rows(x)
        return FieldRequest(as_parameter(theta, self.dimension)[None], rows.different, rows.inverse)

    def distinct_rows(self, x: Covariates) -> DistinctRows:
        """The rows of x, checked and sorted out: give them in place of x where the same x is used again and again."""
        if isinstance(x, DistinctRows) and x.different.shape[1] == len(self.terms):
            return x
        rows = read_covariates(x, self.terms)
        if rows is None:
            raise ShapeError("the field has no covariates.", remedy="Build it with covariates=….")
        different, inverse = np.unique(rows, axis=0, return_inverse=True)
        return DistinctRows(different, inverse.reshape(-1))

    def _beliefs(self, request: FieldRequest, cells: int = 0) -> Iterator[tuple[slice, FloatArray | None, Beliefs]]:
        """Probabilities for every θ or row of x, as many at a time as fit: their places, rows of x, beliefs.

        Args:
            request: for what.
            cells: of the largest table that will be made of each, where it may be larger than those of the tree.
        """
        step = min(self._at_once, max(1, _CELLS_AT_ONCE // max(cells, 1)))
        for start in range(0, request.size, step):
            part = slice(start, start + step)
            if request.x is None:
                yield part, None, self._plan.beliefs(request.theta[part])
            else:
                yield part, request.x[part], self._plan.beliefs(self._potentials(request.theta, request.x[part]))

    @cached_property
    def _at_once(self) -> int:
        return max(1, _CELLS_AT_ONCE // sum(self.tree.cells))

    # -- probabilities ---------------------------------------------------------------------------------------------

    def log_partition(self, theta: ArrayLike, x: Covariates = None) -> FloatArray | float:
        """A(θ; x): a number; with covariates shape (n,); for several θ (k, d), shape (k,)."""
        request = self._request(theta, x)
        values = request.unfolded([beliefs.log_partition for _, _, beliefs in self._beliefs(request)], ())
        return float(values) if values.ndim == 0 else values

    def mean_statistics(self, theta: ArrayLike, x: Covariates = None) -> FloatArray:
        """μ = ∇A(θ; x): the probabilities of all cells of all cliques, shape (d,).

        With covariates shape (n, d), for several θ (k, d) shape (k, d).
        """
        request = self._request(theta, x)
        parts = [self._pulled_back(beliefs.means, rows) for _, rows, beliefs in self._beliefs(request)]
        return request.unfolded(parts, (self.dimension,))

    def totals(
        self, theta: ArrayLike, x: Covariates = None, weights: ArrayLike | None = None
    ) -> tuple[float, FloatArray]:
        """Σ_i w_i A(θ; x_i) and its gradient Σ_i w_i E φ(x_i, y), shape (d,): one pass, and no array (n, d).

        Without covariates, A(θ) and its gradient. Weights are 1 unless given.
        """
        request = self._request(as_parameter(theta, self.dimension), x)
        counts, value, gradient = request.counts(weights), 0.0, np.zeros(self.dimension)
        for part, rows, beliefs in self._beliefs(request):
            value += float(counts[part] @ beliefs.log_partition)
            weighted = counts[part, None] * beliefs.means
            if rows is None:
                gradient += weighted[0]
            else:
                cells, places = self._nodes
                gradient[: self.offsets[-1]] += weighted[:, : self.offsets[-1]].sum(axis=0)
                gradient[places] += rows.T @ weighted[:, cells]
        return value, gradient

    def marginal(self, theta: ArrayLike, variables: Sequence[int | str], x: Covariates = None) -> FloatArray:
        """The joint distribution of any variables, shape of their sizes; with covariates one per row of x."""
        wanted, request = self._positions(variables, "variables"), self._request(theta, x)
        shape = tuple(self.sizes[v] for v in wanted)
        cells = max(count_cells(self.sizes, step.variables) for step in self.tree.elimination(wanted))
        cells = max(cells, math.prod(shape))
        self._refuse_large(
            cells,
            f"to sum the joint distribution of {', '.join(self.variables[v] for v in wanted)}, a table",
            "Ask for fewer variables, or for some that lie closer together",
        )
        return request.unfolded([beliefs.joint(wanted) for _, _, beliefs in self._beliefs(request, cells)], shape)

    def entropy(self, theta: ArrayLike, x: Covariates = None) -> FloatArray | float:
        """−Σ_y p log p in nats: a number; with covariates shape (n,)."""
        request = self._request(theta, x)
        values = request.unfolded([beliefs.entropy() for _, _, beliefs in self._beliefs(request)], ())
        return float(values) if values.ndim == 0 else values

    # -- information -----------------------------------------------------------------------------------------------

    def information_product(self, theta: ArrayLike, vectors: ArrayLike, x: Covariates = None) -> FloatArray:
        """I(θ) v = Cov(φ, φᵀv) without the matrix, for v (d,) or several (k, d); with covariates Σ_i I(θ; x_i) v."""
        array = as_floats(vectors, "vectors")
        directions = np.stack([as_parameter(v, self.dimension, "vectors") for v in np.atleast_2d(array)])
        request, step = self._request(as_parameter(theta, self.dimension), x), self._at_once
        counts, total = request.counts(None), np.zeros_like(directions)
        for part, rows, beliefs in self._beliefs(request):
            for row, count in enumerate(counts[part]):
                own = None if rows is None else rows[row : row + 1]
                for start in range(0, len(directions), step):
                    potentials = self._potentials(directions[start : start + step], own)
                    total[start : start + step] += count * self._pulled_back(beliefs.derivatives(potentials, row), own)
        return total.reshape(array.shape)

    def fisher_information(self, theta: ArrayLike, x: Covariates = None) -> FloatArray:
        """I = ∇²A(θ; x) = Cov φ, shape (d, d); with covariates (n, d, d), for few rows: see `total_information`."""
        request = self._request(as_parameter(theta, self.dimension), x)
        self._refuse_matrices(1 if request.inverse is None else len(request.inverse))
        return request.unfolded([matrix[None] for _, matrix in self._informations(request)], (self.dimension,) * 2)

    def total_information(self, theta: ArrayLike, x: Covariates = None, weights: ArrayLike | None = None) -> FloatArray:
        """Σ_i w_i I(θ; x_i), shape (d, d); weights are 1 unless given."""
        self._refuse_matrices(1)
        request = self._request(as_parameter(theta, self.dimension), x)
        counts, total = request.counts(weights), np.zeros((self.dimension, self.dimension))
        for place, matrix in self._informations(request):
            total += counts[place] * matrix
        return total

    def _refuse_matrices(self, count: int) -> None:
        entries = count * self.dimension**2
        if entries > _MOST_ENTRIES:
            raise InputError(
                f"{count:,} information matrices of {self.dimension:,} statistics take {_as_bytes(8 * entries)}; "
                f"allowed: at most {_as_bytes(8 * _MOST_ENTRIES)}.",
                remedy="Take total_information, which sums over rows, or information_product, which has no matrix.",
            )

    def _informations(self, request: FieldRequest) -> Iterator[tuple[int, FloatArray]]:
        for part, rows, beliefs in self._beliefs(request):
            for row in range(len(beliefs.log_partition)):
                own = None if rows is None else rows[row : row + 1]
                half = self._pulled_back(beliefs.covariance(row, self._at_once), own)
                yield part.start + row, self._pulled_back(half.T, own)

    # -- records ---------------------------------------------------------------------------------------------------

    def _cells(self, codes: IntArray) -> Iterator[IntArray]:
        """Which potentials apply to every record, scope by scope: each (n,), all cliques first."""
        for scope, start in zip(self._plan.scopes, self._plan.starts, strict=False):
            yield start + np.ravel_multi_index([codes[:, v] for v in scope], [self.sizes[v] for v in scope])

    def _is_impossible(self, codes: IntArray) -> AnyArray:
        impossible = np.zeros(len(codes), dtype=bool)
        for assignment in self.impossible:
            impossible |= (codes[:, list(assignment)] == list(assignment.values())).all(axis=1)
        return impossible

    def _rows_for(self, codes: IntArray, x: Covariates) -> FloatArray | None:
        rows = read_covariates(x, self.terms)
        if rows is not None:
            as_many(rows, len(codes), "x", f"rows for {len(codes)} records", "Give one row per record.")
        return rows

    def statistics(self, y: Any, x: Covariates = None) -> FloatArray:
        """φ(x, y) of records, shape (n, d)."""
        codes = self.encode(y)
        values, rows = np.zeros((len(codes), self._plan.dimension)), np.arange(len(codes))
        for cells in self._cells(codes):
            values[rows, cells] = 1
        return self._pulled_back(values, self._rows_for(codes, x))

    def log_probability(self, theta: ArrayLike, records: Any, x: Covariates = None) -> FloatArray:
        """Log p_θ(y | x) of records, shape (n,); −∞ for impossible ones."""
        codes, vector = self.encode(records), as_parameter(theta, self.dimension)
        rows = self._rows_for(codes, x)
        scores = np.zeros(len(codes)) - self.log_partition(vector, x)
        for cells, _ in zip(self._cells(codes), self.cliques, strict=False):
            scores += vector[cells]
        if rows is not None:
            for v in range(len(self.sizes)):
                scores += np.einsum("np,pn->n", rows, self.coefficients(vector, v)[:, codes[:, v]])
        scores[self._is_impossible(codes)] = -np.inf
        return scores

    def sample(self, theta: ArrayLike, size: int, rng: np.random.Generator, x: Covariates = None) -> IntArray:
        """Draw records from p_θ, as codes (size, V); with covariates one per row of x, which has `size` rows."""
        count, generator = as_count(size, "size"), require_generator(rng)
        records = np.zeros((count, len(self.sizes)), dtype=np.int64)
        self._rows_for(records, x)
        request = self._request(as_parameter(theta, self.dimension), x)
        whose = np.zeros(count, dtype=np.int64) if request.inverse is None else request.inverse
        for part, _, beliefs in self._beliefs(request):
            own = np.flatnonzero((whose >= part.start) & (whose < part.stop))
            records[own] = beliefs.sample(whose[own] - part.start, generator)
        return records

    def records(self) -> IntArray:
        """Every possible record once, as codes, the last variable fastest; shape (records, variables).

        >>> RandomField([2, 2], [[0, 1]], impossible=[{0: 1, 1: 1}]).records()
        array([[0, 0],
               [0, 1],
               [1, 0]])
        """
        outputs = count_cells(self.sizes, range(len(self.sizes)))
        if outputs > MOST_OUTPUTS:
            raise InputError(
                f"the {len(self.sizes)} variables have {outputs:,} records; allowed: at most {MOST_OUTPUTS:,}.",
                remedy="Ask the field itself: its methods need no table of all records.",
            )
        codes = np.stack(np.unravel_index(np.arange(outputs), self.sizes), axis=1)
        return np.asarray(codes[~self._is_impossible(codes)])

    def enumerated(self, x: ArrayLike | None = None) -> Enumerated:
        """The same distribution as a table of all possible records: the reference for small fields.

        Its outputs are the labels of a record, joined by commas, such as "yes,0,1". With covariates, the distribution
        of one respondent with covariates x (p,).
        """
        codes = self.records()
        row = None if x is None else np.broadcast_to(as_floats(x, "x"), (len(codes), len(self.terms)))
        return Enumerated(
            self.statistics(codes, row).T,
            outputs=[",".join(texts[code] for texts, code in zip(self.texts, record, strict=True)) for record in codes],
            parameter_names=self.parameter_names,
        )

    def __repr__(self) -> str:
        groups = ", ".join("–".join(self.variables[v] for v in clique) for clique in self.cliques[:6])
        more = ", …" if len(self.cliques) > 6 else ""
        return f"RandomField({len(self.variables)} variables, {len(self.cliques)} cliques: {groups}{more})"


def _as_bytes(count: int) -> str:
    """A number of bytes in a message.

    >>> _as_bytes(3 << 20)
    '3 MiB'
    """
    units = ["bytes", "KiB", "MiB", "GiB", "TiB"]
    power = min(max(count, 1).bit_length() - 1, 49) // 10
    return f"{count / 1024**power:.4g} {units[power]}"
