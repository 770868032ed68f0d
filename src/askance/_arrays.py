"""Array types used in signatures, in one place so that they read the same everywhere."""

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    from scipy import sparse

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]
GuideArray: TypeAlias = NDArray[np.int32]
WordArray: TypeAlias = NDArray[np.uint64]
CodeArray: TypeAlias = NDArray[np.integer[Any]]
AnyArray: TypeAlias = NDArray[Any]
# As texts: scipy is loaded by whoever makes one.
SparseColumns: TypeAlias = "sparse.csc_array"
SparseRows: TypeAlias = "sparse.csr_array"

__all__ = [
    "AnyArray",
    "ArrayLike",
    "CodeArray",
    "FloatArray",
    "GuideArray",
    "IntArray",
    "SparseColumns",
    "SparseRows",
    "WordArray",
]
