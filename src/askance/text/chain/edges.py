"""Cheap edges: scores of neighbouring tags without a fit, from the pairs of tags that counts make likely.

With C(b', b) the expected number of times that b follows b' given the counts, under a model without edges, and n pairs
in all, the score is log (C(b', b) n / (C(b', ·) C(·, b))), the logarithm of how much more often they meet than by
chance. At full weight it says too much where tokens are uncertain: the weight with the highest likelihood of held-out
counts is taken, which may be 0.
"""

from __future__ import annotations

import numpy as np

from askance._arrays import FloatArray
from askance.text.chain.evidence import Gradient

#: Weights that are tried.
WEIGHTS = (0.0, 0.25, 0.5, 0.75, 1.0)
# Added to every expected number of pairs: what was seen less than about once says nothing.
_PRIOR = 0.5


def cheap_edges(found: Gradient) -> FloatArray:
    """Scores of edges, shape (K, K), from posteriors and marginals of pairs at edges of 0.

    >>> import types
    >>> pairs = np.array([[40.0, 10.0], [10.0, 40.0]])
    >>> cheap_edges(types.SimpleNamespace(pairs=pairs - 25.0, model_pairs=np.full((2, 2), 25.0))).round(2)
    array([[ 0.46, -0.89],
           [-0.89,  0.46]])
    """
    pairs = np.maximum(found.pairs + found.model_pairs, 0.0)
    chance = pairs.sum(axis=1, keepdims=True) * pairs.sum(axis=0, keepdims=True) / max(float(pairs.sum()), 1.0)
    return np.asarray(np.log((pairs + _PRIOR) / (chance + _PRIOR)))
