"""Pictures of the geometry as files and drawings, every drawing from its numbers alone, and what is refused."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from askance import Enumerated, MatrixChannel, RandomizedResponse, Softmax, Tally
from askance.errors import (
    AskanceError,
    EmptyDataError,
    FormatError,
    IncompatibleEvidenceError,
    InputError,
    NotIdentifiedError,
    ShapeError,
)
from askance.geometry import Picture, em_paths, likelihood_picture, simplex_picture
from askance.geometry.likelihood_drawing import draw_likelihood
from askance.geometry.simplex_drawing import draw_simplex
from tests.geometry_examples import CURVE, FIGURE_S, curve_example, outside_example, simplex_example, surface_example

EXAMPLES: dict[str, Callable[[], Picture]] = {
    "simplex": simplex_example,
    "outside": outside_example,
    "curve": curve_example,
    "surface": surface_example,
}


def drawn(picture: Picture) -> list[Any]:
    """All that a figure shows, as plain values."""
    shown: list[Any] = [text.get_text() for text in picture.figure.texts]
    for axis in picture.figure.axes:
        shown += [axis.get_xlim(), axis.get_ylim(), axis.get_xlabel(), axis.get_ylabel()]
        shown += [np.asarray(line.get_xydata()).tolist() for line in axis.lines]
        shown += [line.get_label() for line in axis.lines]
        shown += [text.get_text() for text in axis.texts]
    return shown


# -- pictures ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_picture_is_redrawn_from_its_json(name: str) -> None:
    picture = EXAMPLES[name]()
    text = picture.to_json()
    again = Picture.from_json(text)
    assert again.data == picture.data == json.loads(text)
    assert drawn(again) == drawn(picture)
    draw = draw_simplex if picture.data["kind"] == "simplex" else draw_likelihood
    assert [line.get_label() for axis in draw(json.loads(text)).axes for line in axis.lines] == [
        line.get_label() for axis in picture.figure.axes for line in axis.lines
    ]
    assert picture.figure is picture.figure


@pytest.mark.parametrize("name", EXAMPLES)
def test_all_words_are_on_the_sheet(name: str) -> None:
    figure = EXAMPLES[name]().figure
    figure.canvas.draw()
    sheet = figure.bbox.padded(1)
    texts = [text for axis in figure.axes for text in axis.texts] + list(figure.texts)
    legends = [axis.get_legend() for axis in figure.axes] + list(figure.legends)
    for thing in [*texts, *(legend for legend in legends if legend is not None)]:
        box = thing.get_window_extent()
        assert sheet.x0 <= box.x0 <= box.x1 <= sheet.x1, thing
        assert sheet.y0 <= box.y0 <= box.y1 <= sheet.y1, thing


def test_corner_words_do_not_overlap_even_when_long() -> None:
    outputs = ["a very long answer number one", "price in $ and more $ of it", "a very long answer number three"]
    model = Enumerated([[5, -1, 0]], outputs=outputs)
    figure = simplex_picture(model, MatrixChannel(np.eye(3), outputs=outputs)).figure
    figure.canvas.draw()
    boxes = [text.get_window_extent() for text in figure.axes[0].texts if "varphi" in text.get_text()]
    assert len(boxes) == 3
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])


@pytest.mark.parametrize(("ending", "begins"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")])
def test_saved_files_repeat_to_the_byte(tmp_path: Path, ending: str, begins: bytes) -> None:
    paths = tmp_path / f"first.{ending}", tmp_path / f"second.{ending.upper()}"
    simplex_example().save(paths[0])
    Picture.from_json(simplex_example().to_json()).save(str(paths[1]))
    first, second = (path.read_bytes() for path in paths)
    assert first.startswith(begins)
    assert first == second


def test_saving_is_whole_or_nothing(tmp_path: Path) -> None:
    picture = simplex_example()
    for name in ("picture", "picture.jpg", "picture.json"):
        with pytest.raises(InputError, match=r"allowed: \.png, \.svg, \.pdf"):
            picture.save(tmp_path / name)
    with pytest.raises(FormatError, match="cannot write"):
        picture.save(tmp_path / "nowhere" / "picture.png")
    assert list(tmp_path.iterdir()) == []


def test_numbers_that_are_no_picture() -> None:
    for text in ("{", "[1]", "3"):
        with pytest.raises(FormatError, match=r"to_json"):
            Picture.from_json(text)
    for data in ({}, {"kind": "map"}, {"kind": ["simplex"]}):
        with pytest.raises(FormatError, match="allowed: simplex, likelihood"):
            _ = Picture(data).figure
    with pytest.raises(FormatError, match="lack outputs"):
        draw_simplex({"kind": "simplex", "version": 1})
    with pytest.raises(FormatError, match="kind and version"):
        draw_likelihood(simplex_example().data)
    with pytest.raises(FormatError, match="kind and version"):
        draw_simplex({**simplex_example().data, "version": 2})


def test_matplotlib_is_loaded_for_drawing_only() -> None:
    code = "import askance.geometry, sys; print('matplotlib' in sys.modules, 'scipy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == (
        "False False\n"
    )


# -- what is refused ---------------------------------------------------------------------------------------------------

TWO = RandomizedResponse("1/2", outputs=2)
THREE = Enumerated([[5, -1, 0], [0, 1, 0], [1, 1, 3]])
NAMED = MatrixChannel(np.eye(3), outputs=["a", "b", "c"])
REPORTS = Tally(FIGURE_S, [1, 2, 3])
REFUSED: dict[str, tuple[Callable[[], object], type[AskanceError], str]] = {
    "outputs": (lambda: simplex_picture(Enumerated([[0, 1]]), TWO), ShapeError, "2 outputs; allowed: 3"),
    "statistics": (
        lambda: simplex_picture(Enumerated(np.eye(3)[1:]), FIGURE_S),
        ShapeError,
        "model has 2 statistics; allowed: 1",
    ),
    "many statistics": (
        lambda: likelihood_picture(THREE, FIGURE_S, REPORTS),
        ShapeError,
        "model has 3 statistics; allowed: 1 or 2",
    ),
    "EM statistics": (lambda: em_paths(THREE, FIGURE_S, REPORTS, [[0, 0, 0]]), ShapeError, "3 statistics"),
    "constant": (lambda: simplex_picture(Enumerated([[1, 1, 1]]), FIGURE_S), NotIdentifiedError, "statistic 0"),
    "model": (lambda: simplex_picture(FIGURE_S, CURVE), InputError, "model is .*MatrixChannel"),  # type: ignore[arg-type]
    "softmax": (
        lambda: likelihood_picture(Softmax(["a", "b"], ["x"]), TWO, REPORTS),  # type: ignore[arg-type]
        InputError,
        "model is Softmax",
    ),
    "channel": (lambda: simplex_picture(CURVE, [[1]]), InputError, "channel is"),  # type: ignore[arg-type]
    "other outputs": (lambda: simplex_picture(CURVE, NAMED), IncompatibleEvidenceError, "the model is about"),
    "no tally": (
        lambda: likelihood_picture(CURVE, FIGURE_S, [1, 2, 3]),  # type: ignore[arg-type]
        InputError,
        r"observed is \[1, 2, 3\]; allowed: a Tally",
    ),
    "other channel": (
        lambda: simplex_picture(CURVE, RandomizedResponse("1/2", outputs=3), REPORTS),
        IncompatibleEvidenceError,
        "allowed: through the channel given",
    ),
    "empty": (
        lambda: simplex_picture(CURVE, FIGURE_S, Tally(FIGURE_S)),
        EmptyDataError,
        "0 reports; allowed: at least 1",
    ),
    "empty likelihood": (lambda: likelihood_picture(CURVE, FIGURE_S, Tally(FIGURE_S)), EmptyDataError, "0 reports"),
    "theta": (lambda: simplex_picture(CURVE, FIGURE_S, theta=[1, 2]), ShapeError, "theta has shape"),
    "no starts": (lambda: em_paths(CURVE, FIGURE_S, REPORTS, []), EmptyDataError, "starts is empty; allowed"),
    "starts": (lambda: em_paths(CURVE, FIGURE_S, REPORTS, [[1, 2]]), ShapeError, r"starts\[0\] has shape"),
    "text": (lambda: em_paths(CURVE, FIGURE_S, REPORTS, ["x"]), AskanceError, r"starts\[0\]"),
    "steps": (lambda: em_paths(CURVE, FIGURE_S, REPORTS, [0], 0), InputError, "steps is 0; allowed"),
    "points": (lambda: likelihood_picture(CURVE, FIGURE_S, REPORTS, points=3), InputError, "points is 3; allowed"),
    "em_starts": (
        lambda: likelihood_picture(CURVE, FIGURE_S, REPORTS, em_starts=[]),
        EmptyDataError,
        "em_starts is empty",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    call, error, match = REFUSED[name]
    with pytest.raises(error, match=match) as caught:
        call()
    assert isinstance(caught.value, AskanceError)
    assert caught.value.remedy
