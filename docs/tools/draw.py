"""Draws the pictures of the documentation: each file of drawings/ has a function `draw`, and gives an SVG in pictures/.

python docs/tools/draw.py            # all
python docs/tools/draw.py levels     # drawings/levels.py alone
"""

from __future__ import annotations

import runpy
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DOCS = Path(__file__).resolve().parents[1]
DRAWINGS = {path.stem: path for path in sorted((DOCS / "tools" / "drawings").glob("*.py"))}


def figure_of(name: str) -> Figure:
    """The figure that drawings/NAME.py draws."""
    figure: Figure = runpy.run_path(str(DRAWINGS[name]))["draw"]()
    return figure


def picture_of(name: str) -> Path:
    """Where its picture is kept."""
    return DOCS / "pictures" / f"{name}.svg"


def main() -> None:
    """Draw what was asked for, or everything."""
    from matplotlib import rc_context

    from askance.formats.figure_file import write_figure

    for name in sys.argv[1:] or DRAWINGS:
        with rc_context(
            {"svg.fonttype": "none", "font.family": "sans-serif"}
        ):  # text that can be searched and read out
            write_figure(picture_of(name), figure_of(name))
        print(picture_of(name).relative_to(DOCS.parent))


if __name__ == "__main__":
    main()
