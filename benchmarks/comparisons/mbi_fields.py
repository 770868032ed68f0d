"""A random field from noised pair tables: askance's noise-aware fit against mbi's mirror descent, the same tables in.

The tables are those of clique release: every respondent sends a noised subset of the cells of one table. They are drawn
here with NumPy alone, so that both environments draw the same ones. mbi gets counts, the known total and the standard
deviation of every table, in double precision, with its recommended estimator and its default number of steps.
"""

from __future__ import annotations

import math
import os
from itertools import combinations
from typing import Any

from benchmarks.harness.comparison import (
    Case,
    Comparison,
    Environment,
    Side,
    Sizes,
    Subject,
    Throughput,
    WrongResultError,
)

MBI = Environment("mbi", ("mbi==2.0.0",), ("mbi", "jax", "numpy"))
RESPONDENTS = 100_000
CASES: tuple[Case, ...] = (
    {"field": "6 of 3 values, 15 pairs", "level": 1},
    {"field": "6 of 3 values, 15 pairs", "level": 4},
    {"field": "10 of 3 values, 45 pairs", "level": 4},
    {"field": "15 of 4 values, a tree", "level": 4},
)


class Tables:
    """True and noised tables of a random pairwise field, shares of all cells (cliques, w); the same for one seed."""

    def __init__(self, case: Case, seed: int = 0) -> None:
        import numpy as np

        rng = np.random.default_rng(seed)
        variables, self.size = (int(word) for word in str(case["field"]).split()[:3:2])
        self.sizes, self.level = [self.size] * variables, float(case["level"])
        is_tree = str(case["field"]).endswith("tree")
        self.cliques = [((v - 1) // 2, v) for v in range(1, variables)] if is_tree else []
        self.cliques = self.cliques or list(combinations(range(variables), 2))
        self.truth = self._tree(rng) if is_tree else self._loopy(rng)
        self._noise(rng)

    def _loopy(self, rng: Any) -> Any:
        """Main effects N(0, 1), pair effects N(0, .7²); every record is gone through."""
        import numpy as np

        shape, log_p = self.sizes, np.zeros(self.sizes)
        for v, size in enumerate(shape):
            log_p += rng.normal(size=size).reshape([size if u == v else 1 for u in range(len(shape))])
        for clique in self.cliques:
            log_p += 0.7 * rng.normal(size=[shape[v] if v in clique else 1 for v in range(len(shape))])
        p = np.exp(log_p - log_p.max())
        p /= p.sum()
        others = [tuple(v for v in range(len(shape)) if v not in clique) for clique in self.cliques]
        return np.array([p.sum(axis=axes).ravel() for axes in others])

    def _tree(self, rng: Any) -> Any:
        """From the root down: p(child | parent) ∝ exp of the same effects."""
        import numpy as np

        nodes, tables = {0: rng.dirichlet(np.ones(self.size))}, []
        for parent, child in self.cliques:
            weights = np.exp(0.7 * rng.normal(size=(self.size, self.size)) + rng.normal(size=self.size))
            table = nodes[parent][:, None] * weights / weights.sum(axis=1, keepdims=True)
            nodes[child] = table.sum(axis=0)
            tables.append(table.ravel())
        return np.array(tables)

    def _noise(self, rng: Any) -> None:
        """Subset selection of the best size on every table, by an equal share of the respondents."""
        import numpy as np

        w, odds = self.size**2, math.exp(self.level)
        self.subset = s = min(range(1, w), key=lambda k: (k * odds + w - k) ** 2 / (k * (w - k)))
        keep = s * odds / (s * odds + w - s)
        self.seen = RESPONDENTS // len(self.cliques)
        counts = []
        for table in self.truth:
            cell = rng.choice(w, size=self.seen, p=table / table.sum())
            inside = rng.random(self.seen) < keep
            keys = rng.random((self.seen, w))
            keys[np.arange(self.seen), cell] = np.where(inside, -1.0, 2.0)  # surely among the s smallest, or not
            chosen = np.argpartition(keys, s - 1, axis=1)[:, :s]
            counts.append(np.bincount(chosen.ravel(), minlength=w))
        self.counts = np.array(counts)
        outside = (s - keep) / (w - 1)
        sent = self.counts / self.seen
        self.noised = (sent - outside) / (keep - outside)
        self.deviation = np.sqrt((sent * (1 - sent)).mean(axis=1) / self.seen) / (keep - outside)

    def distance(self, found: Any) -> float:
        """The total variation from the true tables, averaged over tables."""
        import numpy as np

        return float(np.abs(found - self.truth).sum(axis=1).mean() / 2)

    def check(self, found: Any) -> None:
        """A fit must be better than the noised tables it was made from."""
        if not self.distance(found) < 0.9 * self.distance(self.noised):
            raise WrongResultError(f"distance {self.distance(found):.4f}, noised {self.distance(self.noised):.4f}")


def askance_fit(tables: Tables, *, intervals: bool = False, method: str = "moments") -> Any:
    """The fitted tables."""
    import numpy as np

    from askance import CliqueRelease, Tally
    from askance.estimation.field import estimate_field
    from askance.models.random_field import RandomField

    channel = CliqueRelease(tables.sizes, tables.cliques, tables.level)
    assert {release.subset_size for release in channel.releases} == {tables.subset}
    sums = np.concatenate([tables.counts.ravel(), np.full(len(tables.cliques), tables.seen)])
    tally = Tally(channel, sums, tables.seen * len(tables.cliques))
    field = RandomField(tables.sizes, tables.cliques)
    fit = estimate_field(field, tally, method, covariance=intervals)  # type: ignore[call-overload]
    return fit.statistics.reshape(tables.truth.shape)


def mbi_fit(tables: Tables, iters: int = 1000) -> Any:
    """The fitted tables, by mirror descent with a line search."""
    os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")  # threads cost it half of its speed here
    import jax  # type: ignore[import-not-found]

    jax.config.update("jax_enable_x64", True)
    import mbi  # type: ignore[import-not-found]
    import numpy as np

    names = [f"v{i}" for i in range(len(tables.sizes))]
    domain = mbi.Domain(names, tables.sizes)
    measurements = [
        mbi.LinearMeasurement(RESPONDENTS * noised, (names[i], names[j]), RESPONDENTS * float(deviation))
        for (i, j), noised, deviation in zip(tables.cliques, tables.noised, tables.deviation, strict=True)
    ]
    model = mbi.estimation.MirrorDescent().estimate(domain, measurements, float(RESPONDENTS), iters=iters)
    found = [np.asarray(model.project((names[i], names[j])).datavector()) for i, j in tables.cliques]
    return np.array(found) / RESPONDENTS


def askance(case: Case, n: int) -> Throughput:
    """The noise-aware fit."""
    tables = Tables(case)
    return Throughput(lambda: askance_fit(tables), tables.check)


def askance_with_intervals(case: Case, n: int) -> Throughput:
    """The same, with covariance and diagnostics, which mbi has not."""
    tables = Tables(case)
    return Throughput(lambda: askance_fit(tables, intervals=True), tables.check)


def mbi(case: Case, n: int) -> Throughput:
    """Its mirror descent, compiled already."""
    tables = Tables(case)
    return Throughput(lambda: mbi_fit(tables), tables.check)


COMPARISON = Comparison(
    name="mbi-fields",
    question="How fast are random fields fitted to noisy tables, once everything is compiled?",
    subject=Subject.FIELDS,
    unit="fits/s",
    cases=CASES,
    ours=Side("askance", askance),
    peers=(Side("askance, with intervals", askance_with_intervals), Side("mbi, compiled", mbi, MBI)),
    sizes=Sizes(1, 1),
)
