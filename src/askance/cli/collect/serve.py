"""`askance collect serve`: take answers until somebody says stop."""

from __future__ import annotations

from pathlib import Path

from askance.cli.collect.campaign_options import campaign_argument, collection_of, store_option
from askance.cli.shared.guided import command
from askance.cli.shared.options import FILE, JSON_SUMMARY, WholeNumber, option
from askance.cli.shared.printing import Text, show
from askance.cli.shared.process import flush_output
from askance.errors import InputError


@command(
    "serve",
    "Take answers until somebody says stop.",
    examples=[
        "askance collect serve exams.toml",
        "askance collect serve exams.toml --preview",
        "askance collect serve exams.toml --port 9000",
        "askance collect serve exams.toml --host 0.0.0.0 --tls-cert site.pem --tls-key site.key",
        "askance collect serve exams.toml --behind-proxy --public-url https://collect.example.org",
    ],
    apart={"preview": ["store", "host", "tls_cert", "tls_key", "behind_proxy", "public_url"]},
)
@campaign_argument
@option("--preview", "look at the pages while you write the file: it is read again, and answers are thrown away")
@store_option
@option("--host ADDRESS", "address to listen at; beyond 127.0.0.1 only with TLS or --behind-proxy", default="127.0.0.1")
@option(
    "--port PORT",
    "port; 0 for any that is free",
    WholeNumber(0, 65535, "8000 is usual, and 0 takes any that is free."),
    default=8000,
)
@option("--tls-cert FILE", "certificate (PEM)", FILE)
@option("--tls-key FILE", "key of the certificate", FILE)
@option("--behind-proxy", "a proxy in front of the server speaks TLS; it may keep addresses and times")
@option("--public-url URL", "the https address that people see, for the links that are printed")
@JSON_SUMMARY
def serve_command(
    campaign: Path,
    preview: bool,
    store: str | None,
    host: str,
    port: int,
    tls_cert: Path | None,
    tls_key: Path | None,
    behind_proxy: bool,
    public_url: str | None,
) -> None:
    """Serve CAMPAIGN: its page, what devices need, and the address that answers are sent to.

    Prints a link to the administration that works once; there a password is set. Ctrl-C or SIGTERM stop the server;
    what it accepted is written first.

    With --preview pages follow the file as you write it. What is wrong in it stands on the page, with its line.
    """
    try:
        from askance.collect.server.serve import serve, serve_preview
    except ModuleNotFoundError as error:
        raise InputError(
            f"serving needs {error.name}, which is not installed.", remedy="Install askance[collect]."
        ) from None

    if preview:
        serve_preview(campaign, port=port, ready=lambda link: _say_preview(campaign, link))
        return

    def ready(address: str, link: str, listening: str) -> None:
        behind = "" if address == listening else f" (the server listens at {listening})"
        said = f"{campaign} is served at {address}{behind}\nadministration (this link works once): {link}"
        show(Text(said, {"address": address, "link": link, "listening": listening}))
        flush_output()

    serve(
        collection_of(campaign, store),
        host=host,
        port=port,
        tls_cert=tls_cert,
        tls_key=tls_key,
        behind_proxy=behind_proxy,
        public_url=public_url,
        ready=ready,
    )


def _say_preview(campaign: Path, link: str) -> None:
    said = f"preview of {campaign}: {link}\nanswers are thrown away; change the file, and load the page again"
    show(Text(said, {"link": link}))
    flush_output()
