"""Array types used in signatures, in one place so that they read the same everywhere."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]
GuideArray: TypeAlias = NDArray[np.int32]
WordArray: TypeAlias = NDArray[np.uint64]
CodeArray: TypeAlias = NDArray[np.integer[Any]]
AnyArray: TypeAlias = NDArray[Any]

__all__ = ["AnyArray", "ArrayLike", "CodeArray", "FloatArray", "GuideArray", "IntArray", "WordArray"]
