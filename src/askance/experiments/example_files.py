"""Made-up files to try commands on, the same for everybody: a survey, and tagged sentences of a toy English."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from askance.channels import ForcedResponse
from askance.errors import InputError
from askance.formats.disk import as_path, write_whole
from askance.text import Corpus, write_tagged

_STUDENTS = 3000
_SENTENCES: Mapping[str, int] = {"train.tsv": 500, "test.tsv": 300, "dev.tsv": 400}
_STEMS = """walk paint cook wait help play work hunt report plant print visit test train answer order call look turn
jump climb sort pack load row farm land sail camp lock"""
# The first words of a list are the most frequent; many belong to two tags.
_WORDS: Mapping[str, list[str]] = {
    "ADJ": ["old", "small", "quiet", "red"] + [stem + end for stem in _STEMS.split()[:10] for end in ("ed", "ing")],
    "ADP": ["in", "near", "behind", "over"],
    "ADV": ["often", "never", "badly", "near", "behind"],
    "CCONJ": ["and", "but"],
    "DET": ["the", "a", "this", "that", "every"],
    "NOUN": [stem + end for stem in _STEMS.split() for end in ("er", "", "ing", "s", "ers")],
    "PRON": ["she", "they", "this", "that"],
    "PUNCT": [".", "!"],
    "VERB": [stem + end for stem in _STEMS.split() for end in ("s", "ed", "ing", "")],
}
_THINGS = ("PRON", "NOUN", "DET NOUN", "DET NOUN", "DET ADJ NOUN", "DET NOUN NOUN")


def write_example(name: str, folder: Path, seed: int = 1) -> list[Path]:
    """Write the files of an example into a folder: all or none, and never over a file that is not the same."""
    with tempfile.TemporaryDirectory() as made:
        EXAMPLES[name](Path(made), seed)
        content = {as_path(folder) / path.name: path.read_bytes() for path in sorted(Path(made).iterdir())}
    for path, data in content.items():
        if path.exists() and not (path.is_file() and path.read_bytes() == data):
            raise InputError(
                f"{path} is there already, and is not the example; it was left alone.",
                remedy="Choose another folder with --out.",
            )
    for path, data in content.items():
        write_whole(path, data)
    return list(content)


def _survey(folder: Path, seed: int) -> None:
    """What 3,000 students said whose die decided, with their year and whether they have a paid job."""
    rng = np.random.default_rng(seed)
    year, works = rng.integers(1, 6, _STUDENTS), rng.integers(0, 2, _STUDENTS)
    cheated = rng.random(_STUDENTS) < 1 / (1 + np.exp(2.2 - 0.3 * year - 0.6 * works))
    said = ForcedResponse(truth="2/3", yes="1/6").simulate(np.where(cheated, "yes", "no"), rng)
    rows = [f"{a},{b},{c}\n" for a, b, c in zip(said, year, works, strict=True)]
    folder.joinpath("answers.csv").write_text("said,year,works\n" + "".join(rows), encoding="utf-8", newline="\n")


def _text(folder: Path, seed: int) -> None:
    dice = random.Random(seed)
    for name, size in _SENTENCES.items():
        tags = [_sentence(dice) for _ in range(size)]
        words = [[_word(tag, dice) for tag in row] for row in tags]
        write_tagged(folder / name, Corpus.of(words, tags=tags))


def _sentence(dice: random.Random) -> list[str]:
    """Its tags."""
    return f"{_clause(dice)} {'CCONJ ' + _clause(dice) if dice.random() < 0.5 else ''} PUNCT".split()


def _clause(dice: random.Random) -> str:
    verb = dice.choice(["VERB", "VERB", "ADV VERB"])
    place = dice.choice(["", "", "ADV", "ADP " + dice.choice(_THINGS)])
    return f"{dice.choice(_THINGS)} {verb} {dice.choice(['', *_THINGS])} {place}"


def _word(tag: str, dice: random.Random) -> str:
    return _WORDS[tag][int(len(_WORDS[tag]) * dice.random() ** 2)]


#: What writes the files of each example into an empty folder, from a seed.
EXAMPLES: Mapping[str, Callable[[Path, int], None]] = {"survey": _survey, "text": _text}
