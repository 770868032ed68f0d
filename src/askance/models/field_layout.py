"""Variables, cliques and the order of their cells: how records, tables and parameters of a field are laid out."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import accumulate, product
from typing import Any

import numpy as np

from askance._arrays import AnyArray, ArrayLike, FloatArray, IntArray
from askance._checks import as_array, as_count, as_floats, as_list, did_you_mean, shown
from askance._digest import purpose_of
from askance.categories import Categories, Label, LabelSet
from askance.errors import InputError, ShapeError
from askance.models.junction_tree import Assignment


class FieldLayout:
    """Named categorical variables, the tables of their cliques, and where each lies in a vector of statistics.

    What it is built from is described in `RandomField`.

    Attributes:
        categories: the labels of every variable, by name.
        sizes: how many they are.
        cliques: positions of the variables of each.
        shapes: their sizes.
        offsets: where the cells of every clique begin; the last is their end.
        dimension: d, the number of all cells of cliques, and of all values times covariates.
    """

    def __init__(
        self,
        variables: Mapping[str, LabelSet] | Iterable[int],
        cliques: Iterable[Iterable[int | str]],
        impossible: Iterable[Mapping[Any, Label]] = (),
        covariates: int | Iterable[str] | None = None,
    ) -> None:
        self.categories: dict[str, Categories] = _read_variables(variables)
        self.variables = tuple(self.categories)
        self.sizes = tuple(map(len, self.categories.values()))
        self.cliques = self._read_cliques(cliques)
        self.impossible = self._read_impossible(impossible)
        self.terms = _read_terms(covariates)
        self.shapes = tuple(tuple(self.sizes[v] for v in clique) for clique in self.cliques)
        self.offsets = [0, *accumulate(map(math.prod, self.shapes))]
        self.dimension: int = self.offsets[-1] + len(self.terms) * sum(self.sizes)

    def _position(self, variable: object, name: str) -> int:
        if isinstance(variable, str) and variable in self.categories:
            return self.variables.index(variable)
        if (
            isinstance(variable, (int, np.integer))
            and not isinstance(variable, bool)
            and 0 <= variable < len(self.sizes)
        ):
            return int(variable)
        raise InputError(
            f"has the variable {shown(variable)}",
            argument=name,
            allowed=f"{shown(list(self.variables))}, or their positions",
            remedy=did_you_mean(variable, self.variables, "Give names or positions of the field's variables."),
        )

    @property
    def purpose(self) -> str:
        """What noised records of these variables are for: stands for their names and labels, in order."""
        labels = [[name, [str(label) for label in known.labels]] for name, known in self.categories.items()]
        return purpose_of("field", labels)

    def _positions(self, variables: object, name: str) -> tuple[int, ...]:
        listed = as_list(variables, name, f"{list(self.variables[:2])}")
        positions = tuple(self._position(variable, name) for variable in listed)
        if not positions or len(set(positions)) < len(positions):
            raise InputError(
                argument=name,
                got=shown(listed),
                allowed="at least one variable, each once",
                remedy="Give every variable once.",
            )
        return positions

    def _read_cliques(self, listed: object) -> tuple[tuple[int, ...], ...]:
        cliques: dict[frozenset[int], tuple[int, ...]] = {}
        for i, entries in enumerate(as_list(listed, "cliques", "[[0, 1], [1, 2]]", empty=False)):
            clique = self._positions(entries, f"cliques[{i}]")
            if cliques.setdefault(frozenset(clique), clique) is not clique:
                raise InputError(
                    f"cliques[{i}] has the variables of an earlier one, {shown(list(clique))}; allowed: each once.",
                    remedy="Leave one of them out.",
                )
        return tuple(cliques.values())

    def _read_impossible(self, listed: object) -> tuple[Assignment, ...]:
        assignments = []
        for i, entry in enumerate(as_list(listed, "impossible", '[{"sex": "m", "pregnant": "yes"}]')):
            name = f"impossible[{i}]"
            if not isinstance(entry, Mapping) or not entry:
                raise InputError(
                    argument=name,
                    got=shown(entry),
                    allowed="a mapping from variables to labels",
                    remedy='Give each combination as {"sex": "m", "pregnant": "yes"}.',
                )
            assignment = dict(zip(self._positions(list(entry), name), entry.values(), strict=True))
            known = [self.categories[self.variables[v]] for v in assignment]
            codes = [own.code(label, name) for own, label in zip(known, assignment.values(), strict=True)]
            assignments.append(dict(zip(assignment, codes, strict=True)))
        return tuple(assignments)

    def encode(self, records: Any) -> IntArray:
        """Records as codes, shape (n, V).

        Args:
            records: a data frame or a mapping of columns of *labels* by variable name (others are left aside); or an
                array (n, V), of *codes* where it holds numbers and of labels where it holds texts or objects.

        >>> FieldLayout({"a": ["no", "yes"], "b": 3}, [["a", "b"]]).encode({"b": [2, 0], "a": ["yes", "no"]})
        array([[1, 2],
               [0, 0]])
        """
        if isinstance(records, Mapping) or hasattr(records, "columns"):
            missing = [name for name in self.variables if name not in records]
            if missing:
                raise InputError(
                    f"the records have no column {shown(missing[0])}; allowed: one for every variable.",
                    remedy=f"Give one column for each of {shown(list(self.variables))}.",
                )
            labels = [records[name] for name in self.variables]
            columns = [column if isinstance(column, (list, tuple)) else np.asarray(column) for column in labels]
            are_codes = False
        else:
            array = as_array(records, "the records")
            if array.dtype.kind in "US" and not isinstance(records, np.ndarray):
                array = np.array(records, dtype=object)  # NumPy turns the numbers among texts into texts
            if array.ndim != 2 or array.shape[1] != len(self.variables):
                raise ShapeError(
                    f"the records have shape {array.shape}; allowed: (n, {len(self.variables)}), one row per record.",
                    remedy="Give the codes of all variables, or columns of labels by name.",
                )
            columns, are_codes = list(array.T), array.dtype.kind in "biuf"
        codes = [
            (Categories(len(known)) if are_codes else known).encode(column, name, secret=True)
            for (name, known), column in zip(self.categories.items(), columns, strict=True)
        ]
        if len(set(map(len, codes))) > 1:
            raise ShapeError(
                f"the columns of the records have lengths {shown([len(code) for code in codes])}; allowed: one length.",
                remedy="Give every variable of every record.",
            )
        return np.stack(codes, axis=1).astype(np.int64)

    def decode(self, codes: ArrayLike) -> dict[str, AnyArray]:
        """Columns of labels by variable name, of codes (n, V)."""
        array = self.encode(codes)
        return {name: known.decode(array[:, v]) for v, (name, known) in enumerate(self.categories.items())}

    @cached_property
    def texts(self) -> list[list[str]]:
        """The labels of every variable as texts without commas, no two alike: otherwise the codes."""
        texts = [[str(label) for label in known] for known in self.categories.values()]
        usable = [len(set(own)) == len(own) and not any("," in text for text in own) for own in texts]
        return [own if fits else [str(i) for i in range(len(own))] for own, fits in zip(texts, usable, strict=True)]

    @cached_property
    def parameter_names(self) -> tuple[str, ...]:
        """Such as "smokes,age=yes,1" for cells; "smokes=yes:income" for covariates."""
        names = [
            f"{','.join(self.variables[v] for v in clique)}={','.join(values)}"
            for clique in self.cliques
            for values in product(*(self.texts[v] for v in clique))
        ]
        for variable, texts in zip(self.variables, self.texts, strict=True):
            names += [f"{variable}={text}:{term}" for term in self.terms for text in texts]
        return tuple(names)

    def table(self, values: ArrayLike, clique: int | Sequence[int | str]) -> FloatArray:
        """The part of θ or of mean statistics (…, d) that belongs to one clique, shape (…, sizes of its variables).

        Args:
            values: one number per statistic.
            clique: its number, or its variables in the order in which they were given.
        """
        array = self._per_statistic(values)
        if isinstance(clique, (int, np.integer)):
            number = as_count(clique, "clique", maximum=len(self.cliques) - 1)
        else:
            wanted = self._positions(clique, "clique")
            if wanted not in self.cliques:
                known = [[self.variables[v] for v in own] for own in self.cliques]
                raise InputError(
                    argument="clique",
                    got=shown(list(clique)),
                    allowed=f"one of {shown(known)}",
                    remedy="Give its variables in the order in which they were given, or take `marginal`.",
                )
            number = self.cliques.index(wanted)
        part = array[..., self.offsets[number] : self.offsets[number + 1]]
        return part.reshape(*array.shape[:-1], *self.shapes[number])

    def coefficients(self, values: ArrayLike, variable: int | str) -> FloatArray:
        """The part of θ or of mean statistics (…, d) that belongs to B_v, shape (…, p, size of the variable)."""
        array, v = self._per_statistic(values), self._position(variable, "the field")
        start = self.offsets[-1] + len(self.terms) * sum(self.sizes[:v])
        part = array[..., start : start + len(self.terms) * self.sizes[v]]
        return part.reshape(*array.shape[:-1], len(self.terms), self.sizes[v])

    def _per_statistic(self, values: ArrayLike) -> FloatArray:
        array = as_floats(values, "values")
        if array.ndim == 0 or array.shape[-1] != self.dimension:
            raise ShapeError(
                f"has shape {array.shape}",
                argument="values",
                allowed=f"(…, {self.dimension}), one number per statistic",
                remedy="Give θ, or what mean_statistics returns.",
            )
        return array


def _read_variables(described: object) -> dict[str, Categories]:
    if isinstance(described, Mapping):
        for name in described:
            if not isinstance(name, str) or not name or "," in name or "=" in name:
                raise InputError(
                    f"a variable is called {shown(name)}; allowed: texts without comma and equals sign.",
                    remedy="Rename it: names of parameters are put together from names of variables.",
                )
        variables = {name: Categories.of(labels, name=f"variable {name!r}") for name, labels in described.items()}
    else:
        sizes = as_list(described, "variables", '[2, 3, 2], or {"sex": ["m", "f"], "age": 3}')
        variables = {str(i): Categories(as_count(n, f"variables[{i}]", minimum=2)) for i, n in enumerate(sizes)}
    if not variables:
        raise InputError(
            "is empty", argument="variables", allowed="at least one", remedy="Give sizes such as [2, 3, 2]."
        )
    return variables


def _read_terms(covariates: int | Iterable[str] | None) -> tuple[str, ...]:
    if covariates is None:
        return ()
    if not isinstance(covariates, Iterable):
        return tuple(f"x{j}" for j in range(as_count(covariates, "covariates", minimum=1, maximum=1 << 24)))
    terms = tuple(str(term) for term in as_list(covariates, "covariates", '["Intercept", "age"], or their number'))
    if not terms or len(set(terms)) < len(terms):
        raise InputError(
            f"are {shown(list(terms))}",
            argument="covariates",
            allowed="at least one, all different",
            remedy="Name every column of x once, or give None.",
        )
    return terms
