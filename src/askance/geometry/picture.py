"""A picture and the numbers behind it."""

from __future__ import annotations

import io
import json
import os
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from askance._checks import shown
from askance.errors import FormatError, InputError
from askance.formats.disk import as_path, write_whole
from askance.geometry.likelihood_drawing import draw_likelihood
from askance.geometry.simplex_drawing import draw_simplex

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_DRAW = {"simplex": draw_simplex, "likelihood": draw_likelihood}
# No dates in the files: equal numbers give equal bytes.
_METADATA: dict[str, dict[str, None]] = {"png": {}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}
_DOTS_PER_INCH = 150


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
        from matplotlib import rc_context

        ending = as_path(path).suffix.lower().removeprefix(".")
        if ending not in _METADATA:
            raise InputError(
                f"path ends in {shown(as_path(path).suffix)}; allowed: {', '.join(f'.{each}' for each in _METADATA)}.",
                remedy='Choose a name such as "simplex.png".',
            )
        buffer = io.BytesIO()
        # The names that SVG files give to their parts are drawn at random unless they are salted.
        with rc_context({"svg.hashsalt": "askance"}):
            self._draw().savefig(buffer, format=ending, dpi=_DOTS_PER_INCH, metadata=_METADATA[ending])
        write_whole(path, buffer.getvalue())

    def to_json(self) -> str:
        """The numbers as a text."""
        return json.dumps(self.data, ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Picture:
        """The picture whose numbers `to_json` wrote."""
        try:
            data = json.loads(text)
        except (TypeError, ValueError) as error:
            raise FormatError(
                f"{shown(text)} is no JSON: {error}.", remedy="Give the text that Picture.to_json wrote."
            ) from None
        if not isinstance(data, dict):
            raise FormatError(
                f"the text holds {shown(data)}; allowed: an object.", remedy="Give the text that Picture.to_json wrote."
            )
        return cls(data)
