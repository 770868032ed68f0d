"""A simulated campaign on the real collector: people answer over HTTP, and the server is killed on the way."""

from __future__ import annotations

import http.client
import json
import secrets
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from askance._arrays import IntArray
from askance.channels.survey_designs import ForcedResponse
from askance.collect.collection import SALT, Collection
from askance.collect.export import answers_of, tally_of
from askance.collect.store import Entry
from askance.design.certificate import certify
from askance.errors import AskanceError
from askance.experiments.narrow import finish, panels
from askance.experiments.seeds import trial_seed
from askance.experiments.tables import number, text_table
from askance.formats.figure_file import figure_bytes
from askance.geometry.style import BLUE, VERMILION
from askance.survey.regress import regress
from askance.tables import Table

#: What serving needs beyond the library itself: `askance[collect]`.
NEEDS = ("starlette", "uvicorn", "jinja2")
_FILE, _DESIGN = "exams.toml", ForcedResponse(truth="2/3", yes="1/6")
_CAMPAIGN = """campaign = 1
name = "exams"
kind = "survey"
title = "Exams"
planned_n = {respondents}
at_most_level = 2

[access]
kind = "tokens"

[questions.cheated]
text = "{question}"
design = {{kind = "forced-response", truth = "2/3", yes = "1/6"}}

[questions.age]
text = "How old are you?"
range = [{youngest}, {oldest}]
"""
# Devices: what the module of the server makes of truths, with words of the system's source of randomness.
_DEVICES = """
if (!globalThis.crypto) globalThis.crypto = (await import("node:crypto")).webcrypto;
let text = "";
for await (const part of process.stdin) text += part;
const { module, channel, truths } = JSON.parse(text);
const device = await import("data:text/javascript;base64," + Buffer.from(module).toString("base64"));
console.log(JSON.stringify(truths.map((truth) => device.randomize(channel, truth))));
"""
_AT_ONCE = 8
# Seconds that a respondent waits before sending the same again, and in all.
_PAUSE, _PATIENCE = 0.02, 120.0


@dataclass(frozen=True)
class CollectorConfig:
    """What is simulated: log-odds of having cheated that fall with age, from `log_odds` at `ages[0]` by `per_year`.

    Attributes:
        question: that is asked.
        ages: ends of the age groups that are shown, each below the next; people are of all ages between first and last.
        log_odds: of yes, of the youngest.
        per_year: what a year adds to them.
        respondents: how many people answer.
        killed_after: the part of them that the server has acknowledged when it is killed.
        confidence: of intervals.
        seed: of the people; what noises their answers comes from the system and has none.
    """

    question: str = "Have you ever cheated in an exam?"
    ages: tuple[int, ...] = (18, 30, 45, 66)
    log_odds: float = 0.4
    per_year: float = -0.05
    respondents: int = 2_000
    killed_after: float = 0.5
    confidence: float = 0.95
    seed: int = 0


def run_collector(config: CollectorConfig, progress: Callable[[str], None] = lambda step: None) -> dict[str, Any]:
    """Serve a campaign on this machine, let people answer, kill the server, start it again, and estimate.

    The result is plain JSON. Reports are drawn as real ones are, so that two runs differ in what was said.
    """
    rng = np.random.default_rng(trial_seed(config.seed, "collector"))
    ages = rng.integers(config.ages[0], config.ages[-1], config.respondents)
    log_odds = config.log_odds + config.per_year * (ages - config.ages[0])
    truths = np.where(rng.random(config.respondents) < 1 / (1 + np.exp(-log_odds)), "yes", "no").tolist()
    with TemporaryDirectory(prefix="askance-demo-") as folder:
        collection, tokens = _campaign(config, Path(folder))
        progress("starting the server")
        with _Server(Path(folder) / _FILE) as server:
            said, drawn_by = _drawn(server, collection, truths)
            people = zip(said, ages.tolist(), tokens, strict=True)
            lines = [
                collection.form.write(secrets.token_bytes(16), {"cheated": report, "age": age}, token)
                for report, age, token in people
            ]
            sent = _Senders(server, len(lines), progress).send(lines, round(config.killed_after * len(lines)))
        progress("estimating")
        kept, columns = _kept(collection, lines)
    return {
        "config": asdict(config),
        "drawn_by": drawn_by,
        "privacy_level": certify(_DESIGN).privacy_level,
        "first_respondent": {"age": int(ages[0]), "truth": truths[0], "sent": lines[0].decode().rstrip()},
        **sent,
        **kept,
        "groups": _shares(config, columns, ages, truths, said),
    }


def _campaign(config: CollectorConfig, folder: Path) -> tuple[Collection, list[str]]:
    """A campaign in a folder, and a token for everybody."""
    about = {"question": config.question, "respondents": config.respondents}
    ends = {"youngest": config.ages[0], "oldest": config.ages[-1] - 1}
    (folder / _FILE).write_text(_CAMPAIGN.format(**about, **ends), encoding="utf-8")
    collection = Collection(folder / _FILE)
    with collection.opened(new=True) as store:
        return collection, collection.issue_tokens(store, config.respondents)


# -- the server, and who sends to it -----------------------------------------------------------------------------------


class _Server:
    """The collector as people start it, in a process of its own."""

    def __init__(self, campaign: Path) -> None:
        self._campaign = campaign
        self.port = 0

    def __enter__(self) -> _Server:
        self._start()
        return self

    def _start(self) -> None:
        """Start it, the second time at the same address."""
        place = str(self._campaign)
        command = [sys.executable, "-m", "askance", "collect", place, "--port", str(self.port), "--json"]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        told = ""
        while not told.endswith("}\n"):  # an object of several lines
            line = self._process.stdout.readline()
            if not line:
                raise AskanceError("the server of the demonstration did not start; its reason stands above.")
            told += line
        self.port = int(urlsplit(json.loads(told)["address"]).port or 0)

    def killed_and_started_again(self) -> None:
        """SIGKILL: it cannot write anything any more."""
        self._process.kill()
        self._process.communicate()
        self._start()

    def __exit__(self, *error: object) -> None:
        self._process.terminate()
        self._process.communicate()

    def connection(self) -> http.client.HTTPConnection:
        """One respondent's."""
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=_PATIENCE)

    def fetched(self, address: str) -> bytes:
        """A page or a file of it."""
        connection = self.connection()
        connection.request("GET", address)
        content = connection.getresponse().read()
        connection.close()
        return content


def _drawn(server: _Server, collection: Collection, truths: Sequence[str]) -> tuple[list[str], str]:
    """What devices report, and what drew it: the module that the server hands out, or the same mapping in Python."""
    about = json.loads(server.fetched(f"/v1/{collection.campaign.name}/device"))
    node = shutil.which("node")
    if node is None:
        said = [str(_DESIGN.randomize_one(truth)) for truth in truths]
        return said, "the same mapping in Python, for want of node"
    module = server.fetched(about["module"]["path"]).decode()
    told = json.dumps({"module": module, "channel": about["questions"][0]["channel"], "truths": truths})
    command = [node, "--input-type=module", "--eval", _DEVICES]
    done = subprocess.run(command, input=told, capture_output=True, text=True, check=False)
    if done.returncode:
        raise AskanceError(f"{node} did not run the module for devices: {done.stderr.strip().splitlines()[-1:]}")
    said = list(json.loads(done.stdout))
    return said, "the JavaScript that browsers get, run by node"


class _Senders:
    """People who send what was drawn, several at once, the same line until it is acknowledged."""

    def __init__(self, server: _Server, people: int, progress: Callable[[str], None]) -> None:
        self._server, self._people, self._progress = server, people, progress
        self._lock = Lock()
        self._begun = time.monotonic()
        self._verdicts: list[str] = []
        self._times: list[float] = []
        self._tries = 0

    def send(self, lines: Sequence[bytes], killed_at: int) -> dict[str, Any]:
        """Send all lines; the server is killed when it has acknowledged so many."""
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            sending = [pool.submit(self._send, lines[i::_AT_ONCE]) for i in range(_AT_ONCE)]
            while len(self._times) < killed_at and not any(one.done() and one.exception() for one in sending):
                time.sleep(_PAUSE / 10)
            acknowledged, down = len(self._times), time.monotonic() - self._begun
            self._progress("the server is killed, and started again")
            self._server.killed_and_started_again()
            up = time.monotonic() - self._begun
            for one in sending:
                one.result()
        return {
            "acknowledged_before": acknowledged,
            "acknowledged": len(self._times),
            "sent_again": self._tries - self._people,
            "known_already": self._verdicts.count("K"),
            "measured_down": [round(down, 3), round(up, 3)],
            "measured_times": [round(moment, 3) for moment in self._times[:: max(1, self._people // 200)]],
        }

    def _send(self, lines: Sequence[bytes]) -> None:
        connection = self._server.connection()
        for line in lines:
            verdict = ""
            while verdict not in ("T", "K"):
                verdict = self._tried(connection, line)
            with self._lock:
                self._verdicts.append(verdict)
                self._times.append(time.monotonic() - self._begun)
                if len(self._times) % 100 == 0:
                    self._progress(f"{len(self._times):,} people have answered")
        connection.close()

    def _tried(self, connection: http.client.HTTPConnection, line: bytes) -> str:
        """The letter of an answer; none where nobody answered, or not now."""
        with self._lock:
            self._tries += 1
        try:
            connection.request("POST", "/v1/exams/reports", line, {"content-type": "application/jsonl"})
            answer = connection.getresponse()
            content = answer.read()
        except (OSError, http.client.HTTPException):
            connection.close()  # the next try opens another one
            answer, content = None, b""
        if answer is not None and answer.status == 200:
            letter: str = json.loads(content)["verdicts"]
            if letter in ("T", "K"):
                return letter
            raise AskanceError(f"the server refused an answer: {content.decode().strip()}")
        if time.monotonic() - self._begun > _PATIENCE:
            raise AskanceError(f"the server did not acknowledge all answers within {_PATIENCE:g} seconds.")
        time.sleep(_PAUSE)
        return ""


# -- what came of it ---------------------------------------------------------------------------------------------------


def _kept(collection: Collection, lines: Sequence[bytes]) -> tuple[dict[str, int], dict[str, list[Any]]]:
    """How many answers are stored, counted, lost, or not as they were sent; and the answers by question."""
    with collection.opened() as store:
        salt = store.meta()[SALT]
        stored = {id: content for id, _, content in store.entries()}
        columns = answers_of(collection.campaign, store)
        counted = tally_of(collection.campaign.by_name["cheated"], store).n_observations
    entries = [collection.form.read(line, salt) for line in lines]
    wanted = {entry.id: entry.content for entry in entries if isinstance(entry, Entry)}
    kept = {
        "stored": len(stored),
        "lost": len(wanted.keys() - stored.keys()),
        "counted": counted,
        "wrong": sum(wanted.get(id) != content for id, content in stored.items()),
    }
    return kept, columns


def _shares(
    config: CollectorConfig, columns: Mapping[str, list[Any]], ages: IntArray, truths: list[str], said: list[str]
) -> list[dict[str, Any]]:
    """Truth, what was said and the estimate, of all people and by age."""
    names = [f"{start}–{stop - 1}" for start, stop in pairwise(config.ages)]
    inner = np.array(config.ages[1:-1])
    table = {"cheated": columns["cheated"], "age": [names[i] for i in np.searchsorted(inner, columns["age"], "right")]}
    fit = regress("cheated ~ age", table, _DESIGN)
    of_people = np.searchsorted(inner, ages, "right")
    true, told = np.array(truths) == "yes", np.array(said) == "yes"
    rows = []
    for name in ("all", *names):
        own = of_people == names.index(name) if name in names else np.ones(len(ages), dtype=bool)
        shares = fit.prevalence(by="age" if name in names else None, confidence=config.confidence)
        i, yes = shares.groups.index(name), shares.outputs.index("yes")
        figures = {key: getattr(shares, key)[i, yes] for key in ("estimate", "standard_error", "lower", "upper")}
        figures = {"truth": true[own].mean(), "said": told[own].mean(), **figures}
        rows.append({"age": name, "people": int(own.sum()), **{key: round(float(v), 12) for key, v in figures.items()}})
    return rows


def collector_tables(result: Mapping[str, Any]) -> list[Table]:
    """Shares of yes beside the truth, and what became of the answers when the server was killed."""
    config = result["config"]
    rows = [
        (
            row["age"],
            f"{row['people']:,}",
            *(f"{100 * row[key]:.1f}" for key in ("truth", "said", "estimate")),
            f"{100 * row['lower']:.1f}–{100 * row['upper']:.1f}",
        )
        for row in result["groups"]
    ]
    interval = f"{100 * config['confidence']:g} % interval"
    title = f"share of yes by age in percent, at level {number(result['privacy_level'])}"
    shares = text_table(title, ("age", "people", "truth", "said", "estimate", interval), rows)
    keys = ("acknowledged_before", "known_already", "acknowledged", "stored", "counted", "lost", "wrong")
    names = ("acknowledged before the kill", "known when sent again", *keys[2:-1], "stored as nobody sent them")
    counted = [(name, f"{result[key]:,}") for name, key in zip(names, keys, strict=True)]
    return [shares, text_table("answers, with a kill −9 on the way", ("answers", "number"), counted)]


def draw_collector(result: Mapping[str, Any], *, narrow: bool = False) -> bytes:
    """Draw the result: answers acknowledged over time, and shares by age beside the truth.

    Args:
        result: of `run_collector`.
        narrow: whether panels stand one below the other, as a phone shows them.

    Returns:
        the picture, as PNG.
    """
    config, groups = result["config"], result["groups"]
    figure, (over_time, by_age) = panels(2, 3.8, narrow=narrow)
    down, up = result["measured_down"]
    times = result["measured_times"]
    counts = np.linspace(1, result["acknowledged"], len(times))
    over_time.axvspan(down, up, color="#e4e4e4", label="killed, and starting again")
    over_time.plot(times, counts, color=BLUE, label="acknowledged")
    over_time.set_xlabel("seconds")
    over_time.set_ylabel("answers")
    over_time.legend(frameon=False, fontsize=9, loc="upper left")
    finish(over_time, f"{result['stored']:,} answers stored, {result['lost']} lost, {result['counted']:,} counted")
    places = np.arange(len(groups))
    by_age.bar(places, [row["truth"] for row in groups], width=0.8, color="#e4e4e4", label="truth")
    by_age.plot(places, [row["said"] for row in groups], "x", color="#777777", label="said")
    share = np.array([row["estimate"] for row in groups])
    reach = [share - [row["lower"] for row in groups], [row["upper"] for row in groups] - share]
    by_age.errorbar(places, share, yerr=reach, fmt="o", ms=5, capsize=4, color=VERMILION, label="estimate")
    by_age.set_xticks(places, [row["age"] for row in groups])
    by_age.set_xlabel("age")
    by_age.set_ylabel(f"share of yes, with {100 * config['confidence']:g} % intervals")
    by_age.legend(frameon=False, fontsize=9)
    finish(by_age, "what can be known")
    between = "\n" if narrow else "  "
    title = f"“{config['question']}”{between}{config['respondents']:,} people answer over HTTP"
    figure.suptitle(title, fontsize=11)
    return figure_bytes(figure, "png")
