"""A real browser for tests of pages: Debian's chromium, by Playwright; and axe-core, which looks for barriers."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from . import missing
from .signals import PATIENCE

_QUIET = ("gpu", "background-networking", "component-update", "sync", "quic")
_ARGUMENTS = ["--no-sandbox", "--no-first-run", *(f"--disable-{part}" for part in _QUIET)]
# axe-core is for tests only and never shipped: fetched when a test needs it, and known by its digest.
_AXE = "axe-core@4.14.0"
_AXE_DIGEST = "2277b0a3ef47af9b52497faa3e71598e86e0a0e5e6eb295207a5657ede4709af"
_AXE_RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]


@contextmanager
def started_browser() -> Iterator[Any]:
    """A browser, and the profiles of devices in `devices`; skipped where there is none."""
    try:
        from playwright import sync_api
    except ImportError:
        missing.skip("there is no playwright: pip install playwright")
    chromium = shutil.which("chromium")
    if chromium is None:
        missing.skip("there is no chromium: apt-get install chromium")
    with sync_api.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=chromium, args=_ARGUMENTS, timeout=1000 * PATIENCE)
        browser.profiles = started.devices
        yield browser
        browser.close()


@contextmanager
def visit(browser: Any, **options: Any) -> Iterator[Any]:
    """A person with a browser of their own. What they did is kept where a test fails, and the failure says where."""
    context = browser.new_context(**options)
    context.set_default_timeout(1000 * PATIENCE)
    context.tracing.start(snapshots=True)
    try:
        yield context
    except BaseException as failure:
        trace = Path(tempfile.mkdtemp(prefix="askance-trace-")) / "trace.zip"
        context.tracing.stop(path=trace)
        failure.add_note(f"what the browser did: {trace}")
        raise
    finally:
        context.close()


@cache
def _axe() -> str:
    npm = shutil.which("npm")
    if npm is None:
        missing.skip("there is no npm to fetch axe-core with")
    with tempfile.TemporaryDirectory() as folder:
        command = [npm, "pack", "--silent", _AXE]
        fetched = subprocess.run(command, cwd=folder, capture_output=True, check=False, timeout=PATIENCE)
        packed = next(Path(folder).glob("*.tgz"), None)
        if fetched.returncode or packed is None:
            missing.skip(f"{_AXE} is not to be had")
        assert hashlib.sha256(packed.read_bytes()).hexdigest() == _AXE_DIGEST
        with tarfile.open(packed) as archive:
            file = archive.extractfile("package/axe.min.js")
            assert file is not None
            return file.read().decode()


def barriers(page: Any) -> list[str]:
    """What axe-core finds against WCAG 2.2 AA on a page as it is now. The page must let it in: `bypass_csp`."""
    if not page.evaluate("() => 'axe' in globalThis"):
        page.evaluate(_axe())
    rules = {"runOnly": {"type": "tag", "values": _AXE_RULES}}
    found = page.evaluate("(rules) => axe.run(document, rules)", rules)["violations"]
    return [f"{item['id']}: {node['html']}" for item in found for node in item["nodes"]]
