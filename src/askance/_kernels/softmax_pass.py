"""One sweep over rows with two outputs: logits, probabilities, loss, gradient and curvature of rows that are in cache.

Notation: z = x·θ, P = 1/(1 + exp −z), A = log(1 + exp z); a report o has S(o|0), S(o|1) and a debiased target t. With
q = S(o|0)(1 − P) + S(o|1) P and the posterior r = S(o|1) P / q, the sums over rows with weights w are

    value     Σ w A,  Σ w (A − t z)  or  −Σ w log q
    gradient  Σ w ρ x  with  ρ = P,  P − t  or  P − r
    curvature Σ w v x xᵀ  with  v = P(1 − P),  P(1 − P) − r(1 − r),  the information of a report, or ρ²

Rows come with their covariates side by side. A strip of them is turned round, so that a column is contiguous, and stays
in the first cache while everything is computed from it: a pass reads memory once. Every loop goes along a strip, reads
few arrays and writes one, which is what compilers turn into vector instructions. That needs an exponential and a
logarithm that are plain arithmetic, for calls of a library go row by row: `_exp` and `_log` are within two units in the
last place of the exact values.

Sums may be taken in another order inside a strip (`reassociated`): the compiled code fixes it, so that the same rows
give the same bits on one kind of processor, and blocks are added outside, along a fixed tree.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from askance._arrays import AnyArray, CodeArray, FloatArray
from askance._kernels.compiler import Compiled, compiled

#: What is compared with P: nothing, the debiased target, or the posterior.
PRIOR, TARGET, POSTERIOR = 0, 1, 2
#: Which curvature is summed: none, of the model, of the likelihood, expected of the likelihood, or squared residuals.
FLAT, OF_MODEL, OBSERVED, EXPECTED, SQUARED = 0, 1, 2, 3, 4
#: With more columns than this a product of matrices is faster than the loops here.
MOST_TERMS = 48

# Rows of a strip: a dozen columns of them fill the first cache, and sums are long enough to be worth their beginning.
_STRIP = 256
# exp x = 2^k exp r with |r| ≤ ½ log 2 in two parts; adding 1.5 · 2^52 leaves k in the last bits. Below −708 it is 0.
_PER_LOG_2 = 1.4426950408889634
_LOG_2_HIGH, _LOG_2_LOW = 0.693147180369123816490, 1.90821492927058770002e-10
_SHIFTER, _LEAST = 6755399441055744.0, -708.0
_MANTISSA, _ONE, _EXPONENT = np.uint64(52), np.uint64(0x3FF0000000000000), np.uint64(0x000FFFFFFFFFFFFF)
_TWO_52, _TWO_52_BITS = 4503599627370496.0, np.uint64(0x4330000000000000)
_ROOT_2, _SMALLEST = 1.4142135623730951, 2.2250738585072014e-308
# Vector instructions need divisions without a look at the divisor first (0 gives ∞, as in NumPy), and products that are
# added without being rounded; sums also need another order. In `_exp` the order is what makes it right.
_IN_ORDER: dict[str, Any] = {"error_model": "numpy", "fastmath": {"contract"}}
_IN_ANY_ORDER: dict[str, Any] = {"error_model": "numpy", "fastmath": {"contract", "reassoc"}}


def in_order(loop: Callable[..., Any]) -> Compiled[Any]:
    """A compiled loop in which nothing changes its order."""
    return compiled(loop, **_IN_ORDER)


def in_any_order(loop: Callable[..., Any]) -> Compiled[Any]:
    """A compiled loop with sums in the order that is fastest."""
    return compiled(loop, **_IN_ANY_ORDER)


def sums(
    x: FloatArray,
    theta: FloatArray,
    codes: CodeArray,
    S: FloatArray,
    targets: FloatArray,
    weights: FloatArray,
    curved_weights: FloatArray,
    against: int,
    curvature: int,
) -> FloatArray:
    """Value, gradient and curvature of some rows, in one array that `parts` takes apart: such arrays add up.

    All arrays are `plain`, and what is not there is `NOTHING`.

    Args:
        x: covariates, shape (n, p).
        theta: θ and three zeros, shape (p + 3,).
        codes: of the reports, shape (n,).
        S: S(o|y), shape (k, 2).
        targets: t of every report, shape (k,), for `TARGET`.
        weights: of the rows in value and gradient, shape (n,); nothing: ones.
        curved_weights: of the rows in the curvature.
        against: `PRIOR`, `TARGET` or `POSTERIOR`.
        curvature: `FLAT`, `OF_MODEL`, `OBSERVED`, `EXPECTED` or `SQUARED`.
    """
    out = _empty(x.shape[1])
    _sweep(x, theta, codes, S, targets, weights, curved_weights, against, curvature, out)
    return out


def moments(x: FloatArray, by: FloatArray) -> FloatArray:
    """Σ by x and Σ by x xᵀ for x (n, p) and `by` (n,), as gradient and curvature: see `parts`."""
    out = _empty(x.shape[1])
    _moments(x, by, out)
    return out


def _empty(terms: int) -> FloatArray:
    """Zeros for sums of that many columns: curvature, gradient and value, with room for the last, incomplete tile."""
    return np.zeros((terms + 4, terms + 3))


def parts(out: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Value (), gradient (p,) and curvature (p, p), which is summed above its diagonal only.

    >>> ones = plain(np.ones(2))
    >>> parts(moments(plain(np.array([[1.0, 0.0], [1.0, 2.0]])), ones))[1:]
    (array([2., 2.]), array([[2., 2.],
           [2., 4.]]))
    """
    p = len(out) - 4
    above = np.triu(out[:p, :p])
    return out[-1, 0], out[-2, :p].copy(), np.asarray(above + np.triu(above, 1).T)


def plain(array: AnyArray, dtype: type = np.float64) -> AnyArray:
    """The array as loops are compiled for: contiguous, aligned and not to be written to."""
    flags = array.flags
    if array.dtype == dtype and flags.c_contiguous and flags.aligned and not flags.writeable:
        return array
    result = np.require(array, dtype, ["C", "A"]).view()
    result.flags.writeable = False
    return result


#: For `sums`: there are no weights, or no targets.
NOTHING: FloatArray = plain(np.zeros(0))


@in_order
def _exp(x: Any) -> Any:
    """exp x for x ≤ 0, by Taylor-like terms that are best on |r| ≤ ½ log 2 (error 1.3e-17)."""
    shifted = x * _PER_LOG_2 + _SHIFTER
    k = shifted - _SHIFTER
    r = (x - k * _LOG_2_HIGH) - k * _LOG_2_LOW
    s = 2.510038549551032e-08
    s = s * r + 2.7620088445409746e-07
    s = s * r + 2.7557268459997064e-06
    s = s * r + 2.4801521295954376e-05
    s = s * r + 0.00019841269863053618
    s = s * r + 0.0013888888917213717
    s = s * r + 0.008333333333330062
    s = s * r + 0.04166666666662413
    s = s * r + 0.16666666666666669
    s = s * r + 0.5000000000000001
    power = np.uint64((np.float64(shifted).view(np.uint64) << _MANTISSA) + _ONE).view(np.float64)
    return (1.0 + (r + r * r * s)) * power if x >= _LEAST or x != x else 0.0


@in_order
def _log(x: Any) -> Any:
    """log x for x ≥ 0: log x = k log 2 + 2 artanh t, t = (m − 1)/(m + 1), m between √½ and √2 (error 4.6e-18)."""
    bits = np.float64(x).view(np.uint64)
    k = (np.uint64((bits >> _MANTISSA) | _TWO_52_BITS).view(np.float64) - _TWO_52) - 1023.0
    m = np.uint64((bits & _EXPONENT) | _ONE).view(np.float64)
    k = k + 1.0 if m > _ROOT_2 else k
    m = 0.5 * m if m > _ROOT_2 else m
    f = m - 1.0
    t = f / (m + 1.0)
    u = t * t
    s = 0.07308292712444311
    s = s * u + 0.07665855309105386
    s = s * u + 0.09091444727837474
    s = s * u + 0.11111105565129939
    s = s * u + 0.14285714313001635
    s = s * u + 0.19999999999949722
    s = s * u + 0.3333333333333335
    # 2t = f − t f, and f is exact: its digits are not to be lost.
    result = k * _LOG_2_HIGH + (f - t * (f - 2.0 * u * s) + k * _LOG_2_LOW)
    positive = result if x >= _SMALLEST else -np.inf
    return positive if x == x else x


@in_order
def _turned(rows: Any, columns: Any) -> None:
    """Columns of a strip of rows, (p, strip)."""
    count, p = rows.shape
    for i in range(count):  # in the order in which they lie in memory
        for j in range(p):
            columns[j, i] = rows[i, j]


@in_order
def _logits(columns: Any, theta: Any, count: Any, z: Any) -> None:
    """x·θ, four columns at a time; there are columns of zeros at the end."""
    z[:count] = 0.0
    for j in range(0, len(theta) - 3, 4):
        p, q, r, s = theta[j], theta[j + 1], theta[j + 2], theta[j + 3]
        for i in range(count):
            left = p * columns[j, i] + q * columns[j + 1, i]
            z[i] += left + (r * columns[j + 2, i] + s * columns[j + 3, i])


@in_order
def _probabilities(z: Any, count: Any, p: Any, other: Any) -> None:
    """P and 1 − P, which keeps its digits where it is small."""
    for i in range(count):
        other[i] = _exp(-abs(z[i]))
    for i in range(count):
        small = other[i]
        share = 1.0 / (1.0 + small)
        p[i] = share if z[i] >= 0.0 else small * share
        other[i] = small * share if z[i] >= 0.0 else share


@in_order
def _posterior(first: Any, second: Any, p: Any, other: Any, count: Any) -> None:
    """S(o|0) and S(o|1) become q and r."""
    for i in range(count):
        second[i] *= p[i]
    for i in range(count):
        first[i] = first[i] * other[i] + second[i]
    for i in range(count):
        second[i] /= first[i]


@in_order
def _larger(z: Any, p: Any, other: Any, count: Any, out: Any) -> None:
    """max(P, 1 − P) = exp −A(−|z|), so that A = max(z, 0) − its logarithm."""
    for i in range(count):
        out[i] = p[i] if z[i] >= 0.0 else other[i]


@in_order
def _logs(values: Any, count: Any) -> None:
    """Logarithms of values, in place."""
    for i in range(count):
        values[i] = _log(values[i])


@in_any_order
def _log_product(values: Any, count: Any, mantissas: Any) -> Any:
    """Σ log values = log 2 · Σ exponents + log Π mantissas: one logarithm for sixteen rows, and no less exact.

    Products of sixteen numbers between 1 and 2 stay far from overflow, and each rounds no more than adding would.
    """
    normal, exponents = 0, 0.0
    for i in range(count):
        normal += values[i] >= _SMALLEST
    if normal < count or count < _STRIP:  # 0, what is next to it, and NaN are for `_log`; so is the end of a block
        mantissas[:count] = values[:count]
        _logs(mantissas, count)
        return _total(mantissas, count)
    for i in range(count):
        bits = np.float64(values[i]).view(np.uint64)
        exponents += np.uint64((bits >> _MANTISSA) | _TWO_52_BITS).view(np.float64) - (_TWO_52 + 1023.0)
    for i in range(count):
        mantissas[i] = np.uint64((np.float64(values[i]).view(np.uint64) & _EXPONENT) | _ONE).view(np.float64)
    left = count
    while left > _STRIP // 16:
        left //= 2
        for i in range(left):
            mantissas[i] *= mantissas[left + i]
    _logs(mantissas, left)
    return exponents * _LOG_2_HIGH + (exponents * _LOG_2_LOW + _total(mantissas, left))


@in_order
def _curved(p: Any, other: Any, count: Any, out: Any) -> None:
    """P(1 − P)."""
    for i in range(count):
        out[i] = p[i] * other[i]


@in_order
def _informed(S: Any, p: Any, other: Any, count: Any, out: Any) -> None:
    """(P(1 − P))² Σ_o (S(o|1) − S(o|0))² / q_o: what one report tells about z."""
    out[:count] = 0.0
    for o in range(len(S)):
        first, second = S[o, 0], S[o, 1]
        squared = (second - first) * (second - first)
        if squared > 0.0:
            for i in range(count):
                q = first * other[i] + second * p[i]
                out[i] += squared / q if q > 0.0 else 0.0
    for i in range(count):
        out[i] *= (p[i] * other[i]) * (p[i] * other[i])


@in_any_order
def _times(values: Any, by: Any, count: Any) -> None:
    """Values times a weight each, in place."""
    for i in range(count):
        values[i] *= by[i]


@in_any_order
def _total(values: Any, count: Any) -> Any:
    """Σ of the values."""
    result = 0.0
    for i in range(count):
        result += values[i]
    return result


@in_any_order
def _products(columns: Any, by: Any, count: Any, out: Any) -> None:
    """Σ by x, four columns at a time, added to `out` (p + 3,)."""
    for j in range(0, len(out) - 3, 4):
        p, q, r, s = 0.0, 0.0, 0.0, 0.0
        for i in range(count):
            p += by[i] * columns[j, i]
            q += by[i] * columns[j + 1, i]
            r += by[i] * columns[j + 2, i]
            s += by[i] * columns[j + 3, i]
        out[j] += p
        out[j + 1] += q
        out[j + 2] += r
        out[j + 3] += s


@in_any_order
def _gram(columns: Any, by: Any, count: Any, scaled: Any, out: Any) -> None:
    """Σ by x xᵀ, above the diagonal, added to `out` (p + 2, p + 3): tiles of three by three columns, nine sums each."""
    terms = len(out) - 2
    for k in range(0, terms, 3):
        for row in range(3):
            for i in range(count):
                scaled[row, i] = by[i] * columns[k + row, i]
        for j in range(k, terms, 3):
            a, b, c, d, e, f, g, h, m = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
            for i in range(count):
                x, y, z = columns[j, i], columns[j + 1, i], columns[j + 2, i]
                a += scaled[0, i] * x
                b += scaled[0, i] * y
                c += scaled[0, i] * z
                d += scaled[1, i] * x
                e += scaled[1, i] * y
                f += scaled[1, i] * z
                g += scaled[2, i] * x
                h += scaled[2, i] * y
                m += scaled[2, i] * z
            out[k, j] += a
            out[k, j + 1] += b
            out[k, j + 2] += c
            out[k + 1, j] += d
            out[k + 1, j + 1] += e
            out[k + 1, j + 2] += f
            out[k + 2, j] += g
            out[k + 2, j + 1] += h
            out[k + 2, j + 2] += m


@in_order
def _value(z: Any, shares: Any, targets: Any, weights: Any, against: Any, count: Any, work: Any) -> Any:
    """Σ w (max(z, 0) − t z − log s) with s = max(P, 1 − P), or −Σ w log s with s = q."""
    logs = work[0]
    if against != POSTERIOR:
        for i in range(count):
            work[1, i] = (z[i] if z[i] >= 0.0 else 0.0) - targets[i] * z[i]
    if not len(weights):
        result = -_log_product(shares, count, logs)
        return result if against == POSTERIOR else _total(work[1], count) + result
    logs[:count] = shares[:count]
    _logs(logs, count)
    _times(logs, weights, count)
    if against == POSTERIOR:
        return -_total(logs, count)
    _times(work[1], weights, count)
    return _total(work[1], count) - _total(logs, count)


@in_order
def _sweep(
    x: Any,
    theta: Any,
    codes: Any,
    S: Any,
    targets: Any,
    weights: Any,
    curved_weights: Any,
    against: Any,
    curvature: Any,
    out: Any,
) -> None:
    """Sums over the rows of a block, added to `out` (p + 4, p + 3): curvature, gradient, value; see `sums`."""
    n, p = x.shape
    columns, scaled = np.zeros((p + 3, _STRIP)), np.empty((3, _STRIP))
    z, share, other = np.empty(_STRIP), np.empty(_STRIP), np.empty(_STRIP)
    first, second = np.empty(_STRIP), np.empty(_STRIP)
    for start in range(0, n, _STRIP):
        count = min(_STRIP, n - start)
        _turned(x[start : start + count], columns)
        _logits(columns, theta, count, z)
        _probabilities(z, count, share, other)
        if against == POSTERIOR:
            for i in range(count):
                code = codes[start + i]
                first[i], second[i] = S[code, 0], S[code, 1]
            _posterior(first, second, share, other, count)
        else:
            _larger(z, share, other, count, first)
            second[:count] = 0.0
            if against == TARGET:
                for i in range(count):
                    second[i] = targets[codes[start + i]]
        out[-1, 0] += _value(z, first, second, weights[start:], against, count, scaled)
        # From here on z holds the residuals, and `first` what is summed.
        for i in range(count):
            z[i] = share[i] - second[i]
        if curvature == SQUARED:
            for i in range(count):
                first[i] = z[i] * z[i]
        elif curvature == EXPECTED:
            _informed(S, share, other, count, first)
        elif curvature != FLAT:
            _curved(share, other, count, first)
            if curvature == OBSERVED:
                for i in range(count):
                    first[i] -= second[i] * (1.0 - second[i])
        if len(weights):
            _times(z, weights[start:], count)
        _products(columns, z, count, out[-2])
        if curvature != FLAT:
            if len(curved_weights):
                _times(first, curved_weights[start:], count)
            _gram(columns, first, count, scaled, out[:-2])


@in_order
def _moments(x: Any, by: Any, out: Any) -> None:
    """Σ by x xᵀ and Σ by x, added to `out` (p + 4, p + 3)."""
    n, p = x.shape
    columns, scaled = np.zeros((p + 3, _STRIP)), np.empty((3, _STRIP))
    for start in range(0, n, _STRIP):
        count = min(_STRIP, n - start)
        _turned(x[start : start + count], columns)
        _products(columns, by[start:], count, out[-2])
        _gram(columns, by[start:], count, scaled, out[:-2])
