"""What the pictures of the demonstration share."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_DOTS_PER_INCH = 150


def as_png(figure: Figure) -> bytes:
    """The figure as the content of a PNG file.

    >>> from askance.geometry.style import new_figure
    >>> as_png(new_figure(1, 1))[1:4]
    b'PNG'
    """
    picture = io.BytesIO()
    figure.savefig(picture, dpi=_DOTS_PER_INCH, format="png")
    return picture.getvalue()
