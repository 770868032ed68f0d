"""A picture and the numbers behind it."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from askance._checks import shown
from askance.errors import FormatError
from askance.formats.figure_file import write_figure
from askance.geometry.likelihood_drawing import draw_likelihood
from askance.geometry.simplex_drawing import draw_simplex

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_DRAW = {"simplex": draw_simplex, "likelihood": draw_likelihood}


@dataclass(frozen=True, eq=False)
class Picture:
    """Numbers, and the figure that is drawn from them alone.

    Attributes:
        data: plain values (numbers, texts, lists, None), as `to_json` writes them; `data["kind"]` says what is drawn.

    >>> from askance import Enumerated, MatrixChannel
    >>> from askance.geometry import simplex_picture
    >>> picture = simplex_picture(Enumerated([[5, -1, 0]]), MatrixChannel([[1, 0, 0], [0, 1, 0], [0, 0, 1]]))
    >>> Picture.from_json(picture.to_json()).data == picture.data
    True
    """

    data: dict[str, Any]

    @cached_property
    def figure(self) -> Figure:
        """The figure, drawn when first asked for."""
        return self._draw()

    def _draw(self) -> Figure:
        kind = self.data.get("kind") if isinstance(self.data, dict) else None
        if not isinstance(kind, str) or kind not in _DRAW:
            raise FormatError(
                f"the kind of picture is {shown(kind)}; allowed: {', '.join(_DRAW)}.",
                remedy="Draw what simplex_picture or likelihood_picture wrote.",
            )
        return _DRAW[kind](self.data)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the figure to a file, whole or not at all; the ending says the format: .png, .svg or .pdf.

        It is drawn afresh from the data, so that equal data give equal bytes, whatever was done with `figure` before.
        """
        write_figure(path, self._draw())

    def to_json(self) -> str:
        """The numbers as a text."""
        return json.dumps(self.data, ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Picture:
        """The picture whose numbers `to_json` wrote."""
        try:
            data = json.loads(text)
        except (TypeError, ValueError, RecursionError) as error:
            raise FormatError(
                f"{shown(text)} is no JSON: {error}.", remedy="Give the text that Picture.to_json wrote."
            ) from None
        if not isinstance(data, dict):
            raise FormatError(
                f"the text holds {shown(data)}; allowed: an object.", remedy="Give the text that Picture.to_json wrote."
            )
        return cls(data)
