"""Takes the pictures of pages in docs/screens with a real browser, 360 pixels wide: python docs/tools/screens.py

What is drawn in them is drawn anew each time. It needs chromium and playwright, as the tests of pages do.
"""

from __future__ import annotations

import io
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SCREENS = ROOT / "docs" / "screens"
# States of `tests/survey_tour.py`.
ENGLISH = (
    *("code", "consent", "safe", "understood", "question", "decline", "commit", "waiting", "sent", "spent", "own die"),
    "form",
)
ARABIC = ("safe",)
_COLOURS = 12


def take(states: tuple[str, ...], text: str, suffix: str = "", **window: object) -> None:
    """Go through all states of a campaign, and take pictures of some."""
    from PIL import Image
    from tests.browsers import started_browser
    from tests.collectors import collection_in, served
    from tests.survey_tour import tour

    options = {
        "viewport": {"width": 360, "height": 520},
        "device_scale_factor": 1.5,
        "reduced_motion": "reduce",
        **window,
    }
    with (
        tempfile.TemporaryDirectory() as folder,
        started_browser() as browser,
        served(collection_in(Path(folder), text)) as running,
    ):
        for state, page in tour(browser.new_context(**options), running):
            if state in states:
                picture = Image.open(io.BytesIO(page.screenshot(full_page=True))).convert("RGB")
                path = SCREENS / f"{state.replace(' ', '-')}{suffix}.png"
                picture.quantize(_COLOURS, dither=Image.Dither.NONE).save(path, optimize=True)
                print(path.relative_to(ROOT), f"{path.stat().st_size:,} bytes")


def main() -> None:
    """Take all of them."""
    sys.path.insert(0, str(ROOT))
    from tests import survey_tour

    take(ENGLISH, survey_tour.ENGLISH)
    take(ARABIC, survey_tour.ARABIC, "-arabic-dark", color_scheme="dark", locale="ar")


if __name__ == "__main__":
    main()
