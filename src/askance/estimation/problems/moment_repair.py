"""Second moments that noise has carried away from those of any vector: what regression does about them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from askance._arrays import FloatArray

#: "auto": lift where noise asks for it; "lift" and "ridge": always, in one of two ways; "none": solve as it is.
Repair: TypeAlias = Literal["auto", "lift", "ridge", "none"]

#: c in λ = c s √p. Simulated populations (3 to 15 columns, 5,000 to 100,000 people, levels 1 to 8) are predicted best
#: between 1.25 and 2, and alike within; √p follows the largest eigenvalue of the noise, which is 2 s √p for a symmetric
#: matrix of independent entries.
STRENGTH = 1.5
# Nothing is repaired when the smallest eigenvalue is this many times s√p: noise then changes A by a few percent in
# every direction, and bias of second order stays below a tenth of a standard error.
_CLEAR = 6.0


@dataclass(frozen=True)
class MomentRepair:
    """What was done to A = E[(1, x)(1, x)ᵀ] before solving A w = b.

    Attributes:
        acted: whether anything was done.
        ridge: λ.
        noise: s, the standard error of a moment.
        eigenvalues: of the raw A, in increasing order.
        repaired: A as it was used.
        weakest: the direction of x with the smallest of them, shape (p + 1,).
        clear: whether the smallest is clear of the noise.
        directions: Σ e/repaired e over the eigenvalues: how many of the p + 1 directions of x the coefficients still
            follow; the others were held back.
    """

    acted: bool
    ridge: float
    noise: float
    eigenvalues: FloatArray
    repaired: FloatArray
    weakest: FloatArray
    clear: bool
    directions: float

    @property
    def messages(self) -> tuple[str, ...]:
        """In plain words."""
        if not self.acted:
            return ()
        size, negative = len(self.eigenvalues), int((self.eigenvalues < 0).sum())
        below = (
            f"{negative} of {size} eigenvalues of the raw moments were negative" if negative else "none was negative"
        )
        return (
            f"noise (s = {self.noise:.3g}) is not small beside the smallest eigenvalue ({self.eigenvalues[0]:.3g}; "
            f"{below}): the moments were lifted by λ = {self.ridge:.3g}, which leaves {self.directions:.1f} of {size} "
            "directions of x; the others are held back",
            "intervals show the noise around what the repair aims at, not its bias: they do not cover at the nominal "
            "rate",
        )


def repair_design(
    design: FloatArray, noise: float, repair: Repair = "auto", strength: float = STRENGTH
) -> MomentRepair:
    """Make the raw A fit to solve with.

    With λ = c s √p and eigenvalues e of A, "lift" takes √(max(e, 0)² + λ²): what is below the noise becomes λ, and what
    is well above it is left alone (by λ²/2e). "ridge" takes max(e, 0) + λ, which holds back strong directions as well;
    on simulated data it predicts worse at every level. "auto" lifts unless the smallest eigenvalue is 6 s √p or more.

    >>> repair_design(np.diag([1.0, 0.5, -0.1]), noise=0.1).repaired.round(3).diagonal()
    array([1.022, 0.543, 0.212])
    >>> repair_design(np.diag([1.0, 0.5, 0.2]), noise=0.001).acted
    False
    """
    values, vectors = np.linalg.eigh(design)
    level = noise * math.sqrt(len(design) - 1)
    ridge, clear = strength * level, bool(values[0] >= _CLEAR * level)
    if repair == "none" or noise == 0 or (repair == "auto" and clear):
        return MomentRepair(False, 0.0, noise, values, design, vectors[:, 0], clear, float(len(values)))
    kept = np.maximum(values, 0)
    lifted = kept + ridge if repair == "ridge" else np.hypot(kept, ridge)
    repaired = (vectors * lifted) @ vectors.T
    followed = float((kept / lifted).sum())
    return MomentRepair(True, ridge, noise, values, np.asarray(repaired), vectors[:, 0], clear, followed)
