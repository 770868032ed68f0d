"""`askance collect backup`, `restore`, `close` and `delete`: what is kept, and for how long."""

from __future__ import annotations

from pathlib import Path

from askance.cli.collect.campaign_options import campaign_argument, collection_of, store_option
from askance.cli.shared.guided import command
from askance.cli.shared.options import FILE, JSON, JSON_SUMMARY, Read, WholeNumber, option
from askance.cli.shared.printing import Card, show
from askance.cli.shared.progress import progress
from askance.cli.shared.write_guards import OutputFile
from askance.errors import InputError

_BACKUP = OutputFile("backup", unless="two backups of different moments are both worth keeping")
_ID = Read(lambda text: _id(text), "32 digits 0-9, a-f", "It is the receipt that the page shows.")


def _id(text: str) -> bytes:
    id = bytes.fromhex(text)
    if len(id) != 16:
        raise ValueError(text)
    return id


@command("backup", "Copy all answers of one moment.", examples=["askance collect backup exams.toml -o noon.sqlite"])
@campaign_argument
@option("-o, --output FILE", "where to", _BACKUP, required=True)
@store_option
@JSON_SUMMARY
def backup_command(campaign: Path, output: Path, store: str | None) -> None:
    """Write all answers to CAMPAIGN of one moment to a file, also while the server runs.

    Whoever has two backups knows which answers came between them. Keep them where you keep answers.
    """
    collection = collection_of(campaign, store)
    with progress("copying"), collection.opened() as opened:
        n = opened.backup(output)
    show(Card(f"backup written to {output}", [("answers", f"{n:,}")], {"answers": n, "output": str(output)}))


@command(
    "restore",
    "Bring a backup back.",
    examples=["askance collect restore exams.toml --from noon.sqlite --store new.sqlite"],
)
@campaign_argument
@option("--from FILE", "the backup", FILE, name="source", required=True)
@store_option
@JSON
def restore_command(campaign: Path, source: Path, store: str | None) -> None:
    """Fill the empty store of CAMPAIGN from a backup."""
    from askance.collect.store import restore

    collection = collection_of(campaign, store)
    with progress("copying"):
        restore(source, collection.address, collection.campaign.fingerprint.encode())
        with collection.opened() as opened:
            n = opened.count()
    show(Card(f"restored to {collection.place}", [("answers", f"{n:,}")], {"answers": n, "store": collection.place}))


@command("close", "Take no more answers.", examples=["askance collect close exams.toml"])
@campaign_argument
@store_option
@JSON
def close_command(campaign: Path, store: str | None) -> None:
    """Close CAMPAIGN: from this moment on nothing new is taken, also by a server that runs.

    It does not open again. What was taken before is acknowledged again to whoever did not hear of it.
    """
    from askance.collect.collection import CLOSED

    collection = collection_of(campaign, store)
    with collection.opened() as opened:
        opened.set_meta(CLOSED, b"1")
        n = opened.count()
    show(Card(f"{collection.campaign.name} is closed", [("answers", f"{n:,}")], {"closed": True, "answers": n}))


@command(
    "delete",
    "Delete answers, by their receipts or by their windows.",
    examples=[
        "askance collect delete exams.toml --id 00112233445566778899aabbccddeeff",
        "askance collect delete phones.toml --before-window 20770",
    ],
    apart={"ids": ["before_window"]},
)
@campaign_argument
@option("--id ID", "the receipt of an answer (repeatable)", _ID, name="ids", multiple=True)
@option("--before-window W", "devices: all reports of earlier windows", WholeNumber(1))
@store_option
@JSON
def delete_command(campaign: Path, ids: tuple[bytes, ...], before_window: int | None, store: str | None) -> None:
    """Delete answers to CAMPAIGN; tallies follow in the same moment. Tokens that were spent stay so."""
    from askance.collect.collection import withdrawn_from
    from askance.collect.export import require_windows

    if not ids and before_window is None:
        raise InputError("nothing is said to be deleted.", remedy="Give --id or --before-window.")
    collection = collection_of(campaign, store)
    if before_window is not None:
        require_windows(collection.campaign, before_window, "before_window")
    with progress("deleting"), collection.opened() as opened:
        if before_window is None:
            deleted = collection.withdraw(opened, ids)
        else:
            deleted = opened.delete_windows_before(before_window)
        withdrawn = withdrawn_from(opened.meta())
    rows = [("answers", f"{deleted:,}"), ("withdrawn up to now", f"{withdrawn:,}")]
    show(Card("deleted", rows, {"deleted": deleted, "withdrawn": withdrawn}))
