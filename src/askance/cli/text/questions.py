"""`askance questions`: a sheet for people who count, from bare text; and filled sheets back to regions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from askance.cli.shared.guided import command
from askance.cli.shared.options import FILE, JSON_SUMMARY, NAMES, WholeNumber, option, seed_option
from askance.cli.shared.printing import Card, show
from askance.cli.shared.progress import working
from askance.cli.shared.write_guards import OutputFile
from askance.errors import InputError

if TYPE_CHECKING:
    from askance.text.corpus.corpus import Corpus
    from askance.text.sheets.questions import Stretch

_TO_ASK = ("window", "n", "per_sentence", "tagger", "not_in", "seed", "tags", "rest", "asked")
_TO_SHARE = ("annotators", "twice", "semicolons")
_WITHOUT_REST = "without --rest every word must have one of these tags; if words may have none, add --rest other"
_TO_READ = ("may_miscount", "empty_is_zero", "skip_bad")
_SHEET = OutputFile("sheet", ".csv", unless="answers in it would be lost")


@command(
    "questions",
    "Make a sheet for annotators from bare text, and read it back.",
    sections={
        "What is asked": _TO_ASK,
        "Who is asked": _TO_SHARE,
        "Reading sheets back": ("read", *_TO_READ),
    },
    needs=dict.fromkeys(_TO_READ, ("read",)),
    apart=dict.fromkeys((name for name in (*_TO_ASK, *_TO_SHARE) if name != "rest"), ("read",)),
    examples=[
        "askance questions text.txt --window 5 --tags NOUN,VERB,ADJ --rest other --n 200 -o sheet.csv",
        "askance questions text.txt --tags NOUN,VERB --annotators ann,ben --twice 40 -o sheet.csv",
        "askance questions --read sheet-ann.csv sheet-ben.csv -o counts.jsonl",
        "askance questions text.txt --tagger tagger.askance --not-in sheet.csv --n 50 -o more.csv",
    ],
)
@click.argument("files", type=FILE, nargs=-1, required=True, metavar="TEXT|SHEETS...")
@option("-o, --output FILE", "the sheet (.csv), or regions (.jsonl)", OutputFile("sheet or regions"), required=True)
@JSON_SUMMARY
@option("--window W", "words of a stretch; shorter sentences are taken whole", WholeNumber(1, 10**6), default=5)
@option("--n N", "how many stretches  [default: 50 with --tagger, else all]", WholeNumber(1))
@option("--per-sentence M", "at most so many stretches of a sentence", WholeNumber(1, 10**6), default=1)
@option("--tagger MODEL", "ask where this tagger doubts most, instead of at random places", FILE)
@option("--not-in SHEET", "no sentence that stands in this sheet (repeatable)", FILE, multiple=True)
@seed_option()
@option("--tags A,B,…", "the tags that are counted  [default: those of --tagger]", NAMES)
@option(
    "--rest NAME",
    "words may have none of these tags, and are then called NAME; left out: every word has one of them. With "
    "--read: for sheets that were made without it",
)
@option("--asked K", "ask K of the tags, drawn anew for each stretch  [default: all]", WholeNumber(1))
@option("--annotators A,B,…", "names of people: each gets a sheet, such as sheet-ann.csv", NAMES)
@option(
    "--twice N", "how many stretches two of them count: that tells how often people miscount", WholeNumber(0), default=0
)
@option("--semicolons", "between cells, for spreadsheets with a decimal comma")
@option("--read", "read filled SHEETS, and write them as regions for `askance train`")
@option("--may-miscount", "accept counts that do not fit together, for `askance train --miscounts`")
@option("--empty-is-zero", "in rows with numbers every empty cell means none")
@option("--skip-bad", "leave bad rows out and count them, instead of stopping at the first")
def questions_command(files: tuple[Path, ...], output: Path, read: bool, **flags: Any) -> None:
    """Make a sheet of questions from TEXT: how many words of these five have this tag?

    TEXT has one sentence a line, words separated by blanks (.txt), or is .tsv, .conllu or .jsonl, whose tags are not
    looked at. The sheet opens in any spreadsheet. Its rows are stretches, marked by [[ and ]], its columns tags; people
    write numbers into the empty cells, also 0, and - where they cannot tell.

    With --read filled SHEETS become regions. Rows without a number were not answered, and are left out. A row in which
    some cells are empty is taken if the others add up to the words of its stretch (the empty ones are 0 then), and
    refused otherwise.
    """
    (_read if read else _ask)(files, output, flags)


# -- asking ------------------------------------------------------------------------------------------------------------


def _ask(files: tuple[Path, ...], output: Path, flags: dict[str, Any]) -> None:
    import numpy as np

    from askance.text.corpus.corpus import Corpus
    from askance.text.io.tagged_text import read_sentences
    from askance.text.sheets.question_sheet import checked_name, write_sheet
    from askance.text.sheets.questions import note_on_signs

    tables = [path for path in files if path.suffix.lower() == ".csv"]
    if tables:
        raise InputError(
            f"{tables[0]} is a table; allowed as TEXT: .txt, .tsv, .conllu and .jsonl.",
            remedy="Is it a filled sheet? Then say --read.",
        )
    tags, people, rest, twice = flags["tags"] or [], flags["annotators"] or [], flags["rest"], flags["twice"]
    if not tags and flags["tagger"] is None:
        raise InputError("--tags is missing.", remedy="Say what is counted: --tags NOUN,VERB, for example.")
    _SHEET.require_place(output)
    own = [output.with_name(f"{output.stem}-{checked_name(name)}{output.suffix}") for name in people]
    for place in own or [output]:
        _SHEET.check(place)
    with working("reading text", in_json=False) as doing:
        corpus = Corpus.join([read_sentences(path) for path in files])
        rng = np.random.default_rng(flags["seed"])
        doing("choosing stretches")
        stretches, known = _chosen(corpus, flags, rng)
        names, separator = tags or [tag for tag in known if tag != rest], ";" if flags["semicolons"] else ","
        of_sheet = {"rest": rest, "asked": flags["asked"], "annotators": people, "twice": twice, "separator": separator}
        written = write_sheet(output, corpus, stretches, names, rng=rng, **of_sheet)
    asked = "all" if flags["asked"] is None else f"{flags['asked']}, drawn anew for each stretch,"
    rows = [
        ("stretches", f"{len(stretches):,}, of {len(corpus):,} sentences"),
        ("counted twice", f"{twice:,}"),
        ("asked", f"{asked} of {len(names)} tags: {', '.join(names)}"),
        ("every word", "has one of these tags" if rest is None else f"has one of these tags, or is {rest}"),
    ]
    content = {
        "stretches": len(stretches),
        "sentences": len(corpus),
        "tags": names,
        "rest": rest,
        "twice": twice,
        "output": [str(path) for path in written],
    }
    notes = [note_on_signs(corpus.sentences()), _WITHOUT_REST if tags and rest is None else None]
    below = [f"note: {note}" for note in notes if note is not None]
    show(Card(f"questions written to {', '.join(map(str, written))}", rows, content), below=below)


def _chosen(corpus: Corpus, flags: dict[str, Any], rng: Any) -> tuple[list[Stretch], tuple[str, ...]]:
    """The stretches, and the tags of the tagger that chose them, if any."""
    from askance.text.sheets.filled_sheet import sentences_of_sheet
    from askance.text.sheets.questions import draw_stretches, next_stretches
    from askance.text.tagger.tagger import CountTagger

    before = {words for path in flags["not_in"] for words in sentences_of_sheet(path)}
    without = [number for number, words in enumerate(corpus.sentences()) if words in before] if before else []
    if flags["tagger"] is None:
        window, size, m = flags["window"], flags["n"], flags["per_sentence"]
        return draw_stretches(corpus, window=window, n=size, per_sentence=m, without=without, rng=rng), ()
    if flags["per_sentence"] > 1:
        raise InputError(
            "--per-sentence is given with --tagger, which takes one stretch of a sentence.", remedy="Leave it out."
        )
    tagger = CountTagger.load(flags["tagger"])
    size = 50 if flags["n"] is None else flags["n"]
    return next_stretches(tagger, corpus, size, window=flags["window"], without=without), tagger.tagset


# -- reading -----------------------------------------------------------------------------------------------------------


def _read(files: tuple[Path, ...], output: Path, flags: dict[str, Any]) -> None:
    from askance.text.io.region_file import write_regions
    from askance.text.sheets.filled_sheet import read_sheet

    OutputFile("file of regions", ".jsonl").check(output)
    with working():
        sheet = read_sheet(files, **{name: flags[name] for name in ("rest", *_TO_READ)})
    regions = sheet.regions
    write_regions(output, regions)
    whole = regions.closed
    fitting = int((regions.is_possible & whole).sum())
    content = {
        "regions": len(regions),
        "unanswered": sheet.unanswered,
        "left_out": sheet.refused,
        "repeated": sheet.repeated,
        "every_tag_counted": int(whole.sum()),
        "adding_up": fitting,
        "tagset": regions.tagset,
        "annotators": regions.annotators,
        "output": str(output),
    }
    rows = [
        ("answered", f"{len(regions):,}"),
        ("not answered", f"{sheet.unanswered:,}"),
        ("left out", f"{sheet.refused:,}"),
        ("tags", ", ".join(regions.tagset)),
    ]
    if whole.any():
        rows.append(("every tag counted", f"in {int(whole.sum()):,}, which add up to their words in {fitting:,}"))
    if regions.annotators:
        rows.append(("annotators", ", ".join(regions.annotators)))
    notes = [f"note: {note}" for note in (*sheet.messages, *sheet.notes)]
    show(Card(f"regions written to {output}", rows, content), below=notes)
