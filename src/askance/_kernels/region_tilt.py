"""Tilted token distributions: the closest ones whose expected counts agree with a region's counts.

Among distributions q_i of the groups of each token the one closest to p is p tilted, q_ij = p_ij v_j / r_i with
r_i = Σ_j p_ij v_j, and the factors v minimise the convex

    D(v) = Σ_i log r_i − Σ_j N_j log v_j  ≥  log Z,

an upper bound (Chernoff's) of the log-likelihood. At the minimum its gradient with respect to log p is q; it is exact
where the counts say nothing, and where they and p leave no choice. Where a count is a range, v_j is 1 unless the
expected count Σ_i q_ij is then outside, and else what brings it to the nearer bound, which is N_j in D (complementary
slackness).

Sinkhorn's sweep sets each v_j so that its column Σ_i p_ij v_j / r_i is N_j, with r as it is. That lowers D always but
converges slowly where q is nearly certain, so a few sweeps are followed by Newton steps in log v, whose Hessian is
diag(Σ_i q_i) − Σ_i q_i q_iᵀ.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from askance._kernels.compiler import compiled
from askance._kernels.region_layout import load_weights

# Log factors are no larger: this is reached only where floored probabilities are all there is.
_LARGEST = 320.0
# Sweeps before the first Newton step of a region that was never tilted before, and most steps of a region.
_SWEEPS, _STEPS = 3, 60
# No step changes a log factor by more; no step is halved more often.
_LONGEST, _HALVINGS = 4.0, 6
# What D may rise by rounding, relative to it; what is added to the diagonal of the Hessian, relative to it.
_ROUNDING, _RIDGE = 1e-13, 1e-9
# Smaller posteriors are left out of the Hessian: the steps stay good and become cheaper.
_NEGLIGIBLE = 1e-5
# Unsigned, or every index is checked for being negative.
_U, _TWO = np.uint64, np.uint64(2)
# Products beyond these are turned into logarithms.
_SMALL, _LARGE = 1e-150, 1e150


@compiled
def tilt_regions(
    layout: Any,
    probabilities: Any,
    members: Any,
    first: Any,
    last: Any,
    tolerance: Any,
    tilts: Any,
    posterior: Any,
    value: Any,
) -> None:
    """Tilt the regions members[first] … members[last − 1].

    Args:
        layout: `RegionLayout`.
        probabilities: p(tag | type), shape (T, K).
        members: numbers of regions.
        first: first of them.
        last: the one after the last.
        tolerance: expected counts may be off by this much.
        tilts: log v of every group, shape (G,), NaN where a region was never tilted: where to start, then the result.
        posterior: flat, q filled in at layout.place.
        value: D of every region.
    """
    entries, widest, longest = 1, 1, 1
    for number in range(first, last):
        region = members[number]
        groups = layout.offsets[region + 1] - layout.offsets[region]
        widest, longest = max(widest, groups), max(longest, layout.length[region])
        entries = max(entries, groups * layout.length[region])
    p, rows, hessian = np.empty(entries), np.empty(longest), np.empty(widest * widest)
    v, columns, step, trial = np.empty(widest), np.empty(widest), np.empty(widest), np.empty(widest)
    room = v, rows, columns, step, hessian, np.empty(widest, dtype=np.uint64), trial
    for number in range(first, last):
        region = members[number]
        begin, end, length = layout.offsets[region], layout.offsets[region + 1], layout.length[region]
        low, high, groups = layout.low[begin:end], layout.high[begin:end], end - begin
        load_weights(layout, probabilities, region, p, 0, 1, length)
        value[region] = _settle(p, tilts[begin:end], low, high, length, tolerance, room)
        at = layout.place[region]
        for i in range(length):
            for j in range(groups):
                posterior[at + i * groups + j] = p[j * length + i] * v[j] * rows[i]


@compiled
def _settle(p: Any, tilt: Any, low: Any, high: Any, length: Any, tolerance: Any, room: Any) -> Any:
    """Bring t = log v of one region to the minimum; returns D, with `v`, `rows` and `columns` as they are there."""
    (v, rows, columns, step), trial = room[:4], room[6]
    groups, ranged = tilt.size, False
    for j in range(groups):
        ranged |= low[j] < high[j]
    if np.isnan(tilt[0]):
        tilt[:] = 0.0
        dual = _dual(p, tilt, low, high, length, v, rows, columns)
        for _ in range(_SWEEPS):
            if _sweep(tilt, low, high, v, columns) <= tolerance:
                break
            dual = _dual(p, tilt, low, high, length, v, rows, columns)
    dual = _dual(p, tilt, low, high, length, v, rows, columns)
    for _ in range(_STEPS):
        off = 0.0
        if ranged:  # a sweep decides which bounds count
            off = _sweep(tilt, low, high, v, columns)
            _shift(tilt, low, high, length)
            dual = _dual(p, tilt, low, high, length, v, rows, columns)
        else:
            for j in range(groups):
                off = max(off, abs(columns[j] * v[j] - low[j]))
        if off <= tolerance:
            break
        size = _direction(p, tilt, low, high, length, room)
        for _ in range(_HALVINGS):
            for j in range(groups):
                trial[j] = min(max(tilt[j] + step[j] * size, -_LARGEST), _LARGEST)
                if low[j] < high[j] and trial[j] * tilt[j] <= 0.0:
                    trial[j] = 0.0  # the other bound is not tried in the same step
            lower = _dual(p, trial, low, high, length, v, rows, columns)
            if lower <= dual + _ROUNDING * abs(dual):
                break
            size *= 0.5
        if size > 0.0 and lower <= dual + _ROUNDING * abs(dual):
            dual = lower
            tilt[:] = trial[:groups]
        else:  # a sweep never fails
            _dual(p, tilt, low, high, length, v, rows, columns)
            _sweep(tilt, low, high, v, columns)
            dual = _dual(p, tilt, low, high, length, v, rows, columns)
    return dual


@compiled
def _shift(tilt: Any, low: Any, high: Any, length: Any) -> None:
    """Move all of t together to where D is lowest along that line.

    Adding s to all of t changes D by s (L − Σ_j N_j), with N_j the bound that t_j stands for: linear between the points
    where a ranged t_j changes its sign, so that the lowest is one of these. Sweeps alone would creep there.
    """
    while True:
        total, nearest, changed = 0, 0.0, -1
        for j in range(tilt.size):
            if low[j] < high[j] and tilt[j] == 0.0:
                return
            total += low[j] if tilt[j] > 0.0 else high[j]
        if total == length:
            return
        down = total < length
        for j in range(tilt.size):
            if low[j] < high[j] and (tilt[j] > 0.0) == down and (changed < 0 or abs(tilt[j]) < nearest):
                nearest, changed = abs(tilt[j]), j
        if changed < 0:
            return
        for j in range(tilt.size):
            tilt[j] += -nearest if down else nearest
        tilt[changed] = 0.0
        total += (high[changed] - low[changed]) if down else (low[changed] - high[changed])
        if total == length or (total > length) == down:
            return
        tilt[changed] = -1e-300 if down else 1e-300  # beyond its sign change


@compiled
def _dual(p: Any, tilt: Any, low: Any, high: Any, length: Any, v: Any, rows: Any, columns: Any) -> Any:
    """D; fills in v, 1 / r_i and Σ_i p_ij / r_i."""
    groups, size, total, product = low.size, _U(length), 0.0, 1.0
    for i in range(size):
        rows[i] = 0.0
    for j in range(groups):
        factor, at = np.exp(tilt[j]), _U(j * length)
        v[j] = factor
        total -= tilt[j] * (low[j] if tilt[j] > 0.0 else high[j])
        for i in range(size):
            rows[i] += p[at + i] * factor
    for i in range(size):
        product *= rows[i]
        if product < _SMALL or product > _LARGE:
            total, product = total + np.log(product), 1.0
    for i in range(size):
        rows[i] = 1.0 / rows[i]
    for j in range(groups):
        # Four sums at a time: additions of one sum would wait for each other.
        at, a, b, c, d = _U(j * length), 0.0, 0.0, 0.0, 0.0
        for quarter in range(size >> _TWO):
            x = quarter << _TWO
            a += p[at + x] * rows[x]
            b += p[at + x + _U(1)] * rows[x + _U(1)]
            c += p[at + x + _U(2)] * rows[x + _U(2)]
            d += p[at + x + _U(3)] * rows[x + _U(3)]
        for i in range((size >> _TWO) << _TWO, size):
            a += p[at + i] * rows[i]
        columns[j] = (a + b) + (c + d)
    return total + np.log(product)


@compiled
def _sweep(tilt: Any, low: Any, high: Any, v: Any, columns: Any) -> Any:
    """Sinkhorn's sweep over the columns; returns by how much expected counts were off."""
    off = 0.0
    for j in range(tilt.size):
        wanted = min(max(1.0, low[j] / columns[j]), high[j] / columns[j])
        off = max(off, abs(wanted - v[j]) * columns[j])
        tilt[j] = min(max(np.log(wanted), -_LARGEST), _LARGEST)
    return off


@compiled
def _direction(p: Any, tilt: Any, low: Any, high: Any, length: Any, room: Any) -> Any:
    """Newton's step; returns by how much it is to be shortened, 0 if there is none."""
    v, rows, columns, step, hessian, seen = room[:6]
    groups, fixed, excess = tilt.size, 0, 0.0
    for x in range(groups * groups):
        hessian[x] = 0.0
    for i in range(_U(length)):
        count, inverse = _U(0), rows[i]
        for j in range(_U(groups)):
            q = p[j * _U(length) + i] * v[j] * inverse
            if q > _NEGLIGIBLE:
                step[count], seen[count] = q, j
                count += _U(1)
        for x in range(count):
            q, at = step[x], seen[x] * _U(groups)
            for y in range(x + _U(1)):
                hessian[at + seen[y]] -= q * step[y]
    for j in range(groups):
        expected = columns[j] * v[j]
        hessian[j * groups + j] += expected * (1.0 + _RIDGE)
        step[j] = (low[j] if tilt[j] > 0.0 else high[j]) - expected
        excess += step[j]
        if low[j] < high[j] and tilt[j] == 0.0:
            fixed += 1
            _hold(hessian, step, groups, j)
    if fixed == 0:  # t may be shifted by a constant: the first stays
        if abs(excess) > _RIDGE * length:  # bounds that cannot all be met: a sweep will open some range
            return 0.0
        _hold(hessian, step, groups, 0)
    if not _solve(hessian, step, groups):
        return 0.0
    largest = 0.0
    for j in range(groups):
        largest = max(largest, abs(step[j]))
    return min(1.0, _LONGEST / largest) if largest > 0.0 else 0.0


@compiled
def _hold(matrix: Any, right: Any, size: Any, j: Any) -> None:
    """Make unknown j of a linear system 0."""
    for k in range(j):
        matrix[j * size + k] = 0.0
    for k in range(j + 1, size):
        matrix[k * size + j] = 0.0
    matrix[j * size + j], right[j] = 1.0, 0.0


@compiled
def _solve(matrix: Any, right: Any, size: Any) -> Any:
    """Solve by Cholesky in place, lower triangle, zeros left out; returns whether the matrix was positive definite."""
    for k in range(size):
        pivot = matrix[k * size + k]
        if not pivot > 0.0:
            return False
        inverse = 1.0 / np.sqrt(pivot)
        matrix[k * size + k] = inverse  # divisions are slow: the factor's diagonal is kept inverted
        right[k] *= inverse
        for i in range(k + 1, size):
            if matrix[i * size + k] != 0.0:
                entry = matrix[i * size + k] * inverse
                matrix[i * size + k] = entry
                right[i] -= entry * right[k]
                for j in range(k + 1, i + 1):
                    matrix[i * size + j] -= entry * matrix[j * size + k]
    for j in range(size - 1, -1, -1):
        for i in range(j + 1, size):
            right[j] -= matrix[i * size + j] * right[i]
        right[j] *= matrix[j * size + j]
    return True
