"""Serving a campaign until somebody says stop."""

from __future__ import annotations

import ipaddress
import socket
import ssl
from collections.abc import Callable
from pathlib import Path

import uvicorn

from askance._words import words
from askance.collect.addresses import origin_of
from askance.collect.collection import Collection
from askance.collect.server.app import Collector
from askance.collect.server.preview import Preview
from askance.collect.server.warming import few_collections
from askance.errors import InputError

# Seconds that requests get to end after a signal; what was accepted is written whatever happens to them.
_GRACE = 30


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a server at that address.

    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def require_safe(host: str, tls_cert: Path | None, tls_key: Path | None, *, behind_proxy: bool) -> None:
    """Refuse to listen beyond this machine where what is sent could be read on the way."""
    if (tls_cert is None) != (tls_key is None):
        raise InputError(
            words("one of {tls_cert} and {tls_key} is given; allowed: both, or none."),
            remedy="Give certificate and key.",
        )
    if not is_loopback(host) and tls_cert is None and not behind_proxy:
        raise InputError(
            f"is {host}, beyond this machine, without TLS",
            argument="host",
            allowed="127.0.0.1",
            remedy=words(
                "Give {tls_cert} and {tls_key}, or say {behind_proxy} where a proxy in front of it speaks TLS."
            ),
        )
    if tls_cert is not None and tls_key is not None:
        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(tls_cert, tls_key, password="")
        except OSError as error:  # those of TLS are such, too
            raise InputError(
                f"{tls_cert} and {tls_key} are no certificate with its key ({error.strerror or error}).",
                remedy="Give PEM files that belong together, the key without a password.",
            ) from None


def serve(
    collection: Collection,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    tls_cert: Path | None = None,
    tls_key: Path | None = None,
    behind_proxy: bool = False,
    public_url: str | None = None,
    ready: Callable[[str, str, str], None] = lambda address, link, listening: None,
) -> None:
    """Serve a campaign; returns when a signal said stop, and all that was accepted is written.

    Args:
        collection: the campaign.
        host: an address of this machine; others than 127.0.0.1 need TLS, or a proxy that speaks it.
        port: 0 for any that is free.
        tls_cert: certificate, a PEM file.
        tls_key: its key.
        behind_proxy: that a proxy in front of the server speaks TLS. Such a proxy may keep addresses and times.
        public_url: the address that people see, where it is another one, as https://collect.example.org.
        ready: is told the address of the campaign, the link for its administration, which works once, and the address
            that the server listens at.
    """
    require_safe(host, tls_cert, tls_key, behind_proxy=behind_proxy)
    public = None if public_url is None else f"{origin_of(public_url, 'public_url', ['https'], alone=True)}/"
    if public is not None and tls_cert is None and not behind_proxy:
        raise InputError(
            "is given, but nobody speaks TLS",
            argument="public_url",
            remedy=words("Say {behind_proxy} where a proxy does, or give {tls_cert} and {tls_key}."),
        )
    collector = Collector(collection, secure=tls_cert is not None or behind_proxy)

    def started(listening: str) -> None:
        address = public or listening
        ready(address, f"{address}admin/enter?key={collector.admin.key}", listening)

    _run(configuration(collector, tls_cert, tls_key), host, port, started)


def serve_preview(path: Path, *, port: int = 8000, ready: Callable[[str], None] = lambda link: None) -> None:
    """Serve a campaign to whoever writes it, on this machine alone; answers are thrown away.

    Args:
        path: the campaign file, which is read again when it was changed, and may be wrong.
        port: 0 for any that is free.
        ready: is told the link.
    """
    _run(configuration(Preview(path)), "127.0.0.1", port, lambda address: ready(f"{address}preview"))


def _run(config: uvicorn.Config, host: str, port: int, started: Callable[[str], None]) -> None:
    """Listen, and serve until a signal says stop."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listening = socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        raise InputError(
            f"cannot listen at {host}, port {port}: {error.strerror}.", remedy="Give another --port, or --port 0."
        ) from None
    name = f"[{host}]" if ":" in host else host
    address = f"{'https' if config.is_ssl else 'http'}://{name}:{listening.getsockname()[1]}/"
    server = uvicorn.Server(config)
    started(address)
    with listening, few_collections():
        server.run(sockets=[listening])


def configuration(
    served: Collector | Preview, tls_cert: Path | None = None, tls_key: Path | None = None
) -> uvicorn.Config:
    """How uvicorn serves: no access log, no name of the server, no addresses from headers."""
    return uvicorn.Config(
        served.app,
        access_log=False,
        log_level="warning",
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=_GRACE,
        ssl_certfile=tls_cert,
        ssl_keyfile=tls_key,
        lifespan="on",
    )
