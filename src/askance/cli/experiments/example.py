"""`askance example`: made-up files to try the other commands on."""

from __future__ import annotations

from pathlib import Path

import click

from askance.cli.shared.guided import command
from askance.cli.shared.options import FILE, JSON, Choice, option, seed_option
from askance.cli.shared.printing import Text, show


@command(
    "example",
    "Write made-up files to try the other commands on.",
    examples=["askance example survey", "askance example text --out somewhere"],
)
@click.argument("kind", type=Choice(["survey", "text"]))
@option("--out FOLDER", "the folder to write to, which is there", FILE, default=Path())
@seed_option("seed of what is drawn; pages of the documentation have the default", default=1)
@JSON
def example_command(kind: str, out: Path, seed: int) -> None:
    """Write the files of an example, the same for everybody.

    \b
        survey  answers.csv: what 3,000 simulated students said whose die
                decided, with their year and whether they have a paid job
        text    train.tsv, test.tsv, dev.tsv: sentences of a toy English,
                a word and its tag a line

    A file of that name that is there and is not the example is never replaced.
    """
    from askance.experiments.example_files import write_example

    written = [str(path) for path in write_example(kind, out, seed)]
    show(Text("\n".join(f"written  {path}" for path in written), {"written": written, "seed": seed}))
