"""Campaign files, `campaign/1`: TOML that people write.

    campaign = 1
    name = "exams"
    kind = "survey"
    title = "Exams"
    languages = ["en", "de"]
    at_most_level = 2
    planned_n = 2000

    [access]
    kind = "tokens"

    [questions.cheated]
    text = {en = "Have you ever cheated in an exam?", de = "Haben Sie je in einer Prüfung betrogen?"}
    design = {kind = "forced-response", truth = "2/3", yes = "1/6"}

    [questions.age]
    text = "How old are you?"
    range = [16, 99]

What is wrong is refused with its line. A codebook for `regress` and `plan` follows from it: `Campaign.codebook`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from askance._checks import as_positive_level, shown
from askance.categories import Label
from askance.channels.finite import FiniteChannel
from askance.channels.registry import AnyChannel, build_channel
from askance.channels.thresholds import exceeds
from askance.collect.campaign import Asked, Campaign, Counting, Texts
from askance.collect.dice import DICE, parts_of, sides_of
from askance.collect.toml_lines import TomlFile, TomlTable
from askance.collect.written_names import label_refusal, name_refusal
from askance.errors import InputError
from askance.formats.disk import read_whole
from askance.formats.report_schema import ReportSchema
from askance.survey.codebook import Codebook, read_codebook

_KINDS = ("survey", "devices", "counting")
_KEYS = ("campaign", "name", "kind", "title", "languages", "planned_n", "stopping", "access", "origins")
_OF_KIND = {
    "survey": ("at_most_level", "questions", "consent", "own_die", "comprehension_check"),
    "devices": ("at_most_level", "questions", "window_days", "keep_windows"),
    "counting": ("counting",),
}
_NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?")
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(?:-[A-Za-z0-9]{2,8})*")
# "null" is what browsers say of a file that somebody opens from a disk.
_ORIGIN = re.compile(r"https?://[A-Za-z0-9.-]+(?::[0-9]{1,5})?|null")
# Of an open choice or a number: what is longer is no question for people.
_MOST_OPTIONS = 1000
# Of whole numbers that are sent openly: they are exact wherever JSON is read.
_MOST_NUMBER = 1 << 53
_EXAMPLE = 'Write design = {kind = "forced-response", truth = "2/3", yes = "1/6"}, for example.'


def read_campaign(path: str | Path) -> Campaign:
    """Read a campaign file; what is wrong, or not known, is refused with its line.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "exams.toml"
    >>> _ = path.write_text('''campaign = 1
    ... name = "exams"
    ... kind = "survey"
    ... title = "Exams"
    ... at_most_level = 2
    ... planned_n = 2000
    ... [questions.cheated]
    ... text = "Have you ever cheated in an exam?"
    ... design = {kind = "forced-response", truth = "2/3", yes = "1/6"}
    ... ''')
    >>> read_campaign(path).level
    1.6094379124341005
    """
    file = TomlFile(path)
    table = file.table()
    if table.read("campaign", int) != 1:
        table.refuse(
            "campaign", f"it is {shown(file.content['campaign'])}", "1", "Read it with a newer version of askance."
        )
    kind: Any = table.one_of("kind", _KINDS)
    table.only(*_KEYS, *_OF_KIND[kind])
    languages = _languages(table)
    questions = () if kind == "counting" else _questions(table, languages, kind)
    campaign = Campaign(
        name=_name(table),
        kind=kind,
        titles=_texts(table, "title", languages),
        languages=languages,
        questions=questions,
        counting=_counting(table.inner("counting"), languages) if kind == "counting" else None,
        at_most_level=_limit(table, questions),
        planned_n=table.whole("planned_n"),
        stopping=table.one_of("stopping", ("planned", "anytime"), "planned"),  # type: ignore[arg-type]
        access=_access(table, kind),
        origins=_origins(table),
        window_days=table.whole("window_days", 1, most=366) if kind == "devices" else 1,
        keep_windows=table.whole("keep_windows", None) if kind == "devices" else None,
        consent=_texts(table, "consent", languages) if "consent" in table.content else {},
        own_die=_own_die(table, questions),
        comprehension_check=table.read("comprehension_check", bool, False),
    )
    _require_level(table, campaign)
    return campaign


def read_study(path: str | Path) -> Codebook:
    """The codebook of a study: a file of its own, or the campaign that collected the answers."""
    from askance.formats.fields import fields_of

    is_campaign = "campaign" in fields_of(path, "TOML", "Give a codebook, or a campaign file.").content
    return read_campaign(path).codebook() if is_campaign else read_codebook(path)


def _name(table: TomlTable) -> str:
    name: str = table.read("name", str)
    if not _NAME.fullmatch(name):
        table.refuse(
            "name", f"it is {shown(name)}", "small letters, digits and hyphens, at most 64", 'Write "exams-2", say.'
        )
    return name


def _languages(table: TomlTable) -> tuple[str, ...]:
    codes = table.read("languages", list, ["en"])
    right = codes and all(isinstance(code, str) and _LANGUAGE.fullmatch(code) for code in codes)
    if not right or len(set(codes)) != len(codes):
        table.refuse("languages", f"it is {shown(codes)}", "codes of languages, each once", 'Write ["en", "de"], say.')
    return tuple(codes)


def _texts(table: TomlTable, key: str, languages: Sequence[str]) -> Texts:
    """A text in all languages: one text where there is one language, a table of texts by their codes otherwise."""
    content = table.content.get(key)
    if len(languages) == 1 and not isinstance(content, dict):
        return {languages[0]: table.read(key, str)}
    if isinstance(content, str):
        example = ", ".join(f'{code} = "…"' for code in languages)
        table.refuse(key, "it is one text", f"one in each of {', '.join(languages)}", f"Write {{{example}}}.")
    texts = table.inner(key)
    texts.only(*languages)
    return {code: texts.read(code, str) for code in languages}


def _origins(table: TomlTable) -> tuple[str, ...]:
    origins = table.read("origins", list, [])
    for origin in origins:
        if not isinstance(origin, str) or not _ORIGIN.fullmatch(origin):
            allowed = "scheme and host of pages, without a path, or null for files on a disk"
            table.refuse("origins", f"it has {shown(origin)}", allowed, 'Write ["https://example.org"], say.')
    return tuple(origins)


def _access(table: TomlTable, kind: str) -> Any:
    if kind == "devices":  # a report of a device has an id and no token
        return table.inner("access").only("kind").one_of("kind", ("open",)) if "access" in table.content else "open"
    if "access" not in table.content:
        return "tokens"
    return table.inner("access").only("kind").one_of("kind", ("tokens", "open"))


def _limit(table: TomlTable, questions: Sequence[Asked]) -> Any:
    """`at_most_level`, which must be there where something is noised."""
    if all(question.channel is None for question in questions):
        return None
    if "at_most_level" not in table.content:
        table.read("at_most_level", float)
    with table.at("at_most_level"):
        return as_positive_level(table.content["at_most_level"], "it")


def _own_die(table: TomlTable, questions: Sequence[Asked]) -> bool:
    """Whether people may roll dice of their own: there must be a die for every noised question."""
    mine: bool = table.read("own_die", bool, False)
    for question in questions if mine else ():
        if isinstance(question.channel, FiniteChannel) and not sides_of(parts_of(question.channel)):
            sides = ", ".join(map(str, DICE))
            table.refuse(
                "own_die",
                f"the probabilities of {question.name!r} are on no die",
                f"designs that a die with {sides} sides can draw",
                "Take probabilities such as 2/3 and 1/6, or leave own_die out.",
            )
    return mine


def _require_level(table: TomlTable, campaign: Campaign) -> None:
    """Refuse a campaign whose questions together tell more than it says."""
    if campaign.at_most_level is not None and exceeds(campaign.level, campaign.at_most_level):
        parts = ", ".join(f"{q.name} {q.level:.6g}" for q in campaign.questions if q.level is not None)
        table.refuse(
            "at_most_level",
            f"the questions together have level {campaign.level!r} ({parts})",
            f"at most {table.content['at_most_level']}",
            "Noise more, ask fewer questions, or allow more.",
        )


# -- questions ---------------------------------------------------------------------------------------------------------


def _questions(table: TomlTable, languages: Sequence[str], kind: str) -> tuple[Asked, ...]:
    questions = tuple(_question(question, languages, kind) for question in table.tables("questions"))
    if not questions:
        table.refuse("questions", "there is none", "one at least", "Write [questions.NAME], and the question below it.")
    return questions


def _question(table: TomlTable, languages: Sequence[str], kind: str) -> Asked:
    name = table.keys[-1]
    if kind == "devices":
        table.only("text", "design", "expected_share")
    table.only("text", "design", "options", "range", "may_decline", "expected_share")
    if why := name_refusal(name):
        with table.at():
            raise InputError(f"a question cannot be called {shown(name)}: {why}.", remedy="Give it another name.")
    texts = _texts(table, "text", languages)
    channel = _channel(table, name, kind) if "design" in table.content else None
    if channel is None and kind == "devices":
        with table.at():
            raise InputError("it has no design: devices send noised reports only.", remedy=_EXAMPLE)
    values = () if channel is not None else _values(table)
    labels = channel.outputs.labels if isinstance(channel, FiniteChannel) else values
    for label in labels if kind == "survey" and not isinstance(values, range) else ():
        if why := label_refusal(label):
            table.refuse(
                "design" if channel is not None else "options",
                why,
                "answers that a table holds as they are",
                'Write another word, and [questions.NAME.options] word = "…" for people; numbers without quotes.',
            )
    options = {} if isinstance(values, range) else _options(table, labels, languages)
    decline = table.read("may_decline", bool, False)
    return Asked(name, texts, channel, options, values, decline, _share(table))


def _share(table: TomlTable) -> float | None:
    share: float | None = table.read("expected_share", float, None)
    if share is not None and not 0 < share < 1:
        table.refuse("expected_share", f"it is {shown(share)}", "above 0, below 1", "Write 0.2, say.")
    return share


def _channel(table: TomlTable, name: str, kind: str) -> AnyChannel:
    with table.at("design"):
        channel = build_channel(table.read("design", dict))
        if kind == "survey" and not isinstance(channel, FiniteChannel):
            raise InputError(f"{channel.kind} noises statistics, not answers.", remedy=_EXAMPLE)
        ReportSchema(channel)
        return channel.for_purpose(name)


def _values(table: TomlTable) -> tuple[Label, ...] | range:
    """What an open answer can be."""
    if ("options" in table.content) == ("range" in table.content):
        with table.at():
            raise InputError(
                "it has neither a design, nor options, nor a range, or two of them; allowed: one.",
                remedy=f"{_EXAMPLE} For an open question write options or range = [16, 99].",
            )
    if "range" in table.content:
        ends = table.read("range", list)
        whole = len(ends) == 2 and all(type(end) is int and abs(end) <= _MOST_NUMBER for end in ends)
        if not whole or ends[0] > ends[1]:
            table.refuse("range", f"it is {shown(ends)}", "the least and the most whole number", "Write [16, 99], say.")
        return range(ends[0], ends[1] + 1)
    options = table.content["options"]
    labels = list(options)
    right = isinstance(options, (list, dict)) and all(isinstance(label, str) and label for label in labels)
    if not right or not 2 <= len(set(labels)) == len(labels) <= _MOST_OPTIONS:
        table.refuse("options", f"it is {shown(options)}", "two texts or more, each once", 'Write ["north", "south"].')
    return tuple(labels)


def _options(table: TomlTable, labels: Sequence[Label], languages: Sequence[str]) -> Mapping[Label, Texts]:
    """The wording of every answer: as it is called, or as the file says."""
    given = table.content.get("options", {})
    if isinstance(given, list):
        return {label: dict.fromkeys(languages, str(label)) for label in labels}
    if not given:
        return {label: dict.fromkeys(languages, str(label)) for label in labels}
    wording = table.inner("options").only(*map(str, labels))
    return {label: _texts(wording, str(label), languages) for label in labels}


# -- counting ----------------------------------------------------------------------------------------------------------


_OF_COUNTING = ("text", "tags", "rest", "window", "times", "ask", "single_words", "again", "names", "singular")
_BESIDE = ("order", "labelled")


def _counting(table: TomlTable, languages: Sequence[str]) -> Counting:
    from askance.text.io.tagged_text import read_sentences

    table.only(*_OF_COUNTING, *_BESIDE)
    path = table.file.path.parent / table.read("text", str)
    with table.at("text"):
        digest = hashlib.sha256(read_whole(path)).hexdigest()
        sentences = tuple(tuple(words) for words in read_sentences(path).sentences() if words)
        if not sentences:
            raise InputError(f"{path} has no sentence.", remedy="Give a text.")
    tags = table.read("tags", list)
    if not tags or not all(isinstance(tag, str) and tag for tag in tags) or len(set(tags)) != len(tags):
        table.refuse("tags", f"it is {shown(tags)}", "names of tags, each once", 'Write ["NOUN", "VERB"], say.')
    rest = table.read("rest", str, "")
    if rest in tags:
        table.refuse(
            "rest", f"it is {shown(rest)}", "a name that is no tag", "Leave it out where every word has a tag."
        )
    counting = Counting(
        sentences,
        tuple(tags),
        window=table.whole("window", None, most=1000),
        times=table.whole("times", 1, most=100),
        text_digest=digest,
        rest=rest,
        ask=table.one_of("ask", ("together", "one"), "together"),  # type: ignore[arg-type]
        single_words=table.whole("single_words", 0, most=sum(map(len, sentences))),
        again=table.read("again", bool, False),
        names=_named(table, "names", (*tags, *([rest] if rest else [])), languages),
        singular=_named(table, "singular", (*tags, *([rest] if rest else [])), languages),
    )
    return replace(counting, first=_first(table, counting), labelled=_labelled(table, counting))


def _named(table: TomlTable, key: str, tags: Sequence[str], languages: Sequence[str]) -> Mapping[str, Texts]:
    """How tags are called: as the file says, or by their names."""
    wording = table.inner(key).only(*tags) if key in table.content else None
    plain = {tag: dict.fromkeys(languages, tag) for tag in tags}
    return plain if wording is None else plain | {tag: _texts(wording, tag, languages) for tag in wording.content}


def _first(table: TomlTable, counting: Counting) -> tuple[int, ...]:
    """The stretches that overlap with the rows of a sheet of `askance questions`, in the order of these rows."""
    from askance.text.sheets.filled_sheet import stretches_of_sheet

    if "order" not in table.content:
        return ()
    path = table.file.path.parent / table.read("order", str)
    numbers: dict[tuple[str, ...], list[int]] = {}
    for number, stretch in enumerate(counting.stretches):
        numbers.setdefault(counting.sentences[stretch.sentence], []).append(number)
    with table.at("order"):
        rows = stretches_of_sheet(path)
        overlapping = [
            number
            for words, start, end in rows
            for number in numbers.get(words, ())
            if counting.stretches[number].start < end and start < counting.stretches[number].end
        ]
        if not overlapping:
            remedy = "Make it of the same text: `askance questions TEXT --tagger MODEL -o order.csv`."
            raise InputError(f"no sentence of {path} is in the text.", remedy=remedy)
    return tuple(dict.fromkeys(overlapping))


def _labelled(table: TomlTable, counting: Counting) -> Path | None:
    """The file of labelled text, read once so that what is wrong with it is told now."""
    from askance.text.io.tagged_text import read_tagged

    if "labelled" not in table.content:
        return None
    path: Path = table.file.path.parent / table.read("labelled", str)
    with table.at("labelled"):
        known = read_tagged(path).tagset
        if not set(known) & set(counting.tags):
            has = f"its tags are {', '.join(known[:6])}{', …' if len(known) > 6 else ''}" if known else "it has no tags"
            raise InputError(
                f"{path} has none of the tags that are counted, {', '.join(counting.tags)}; {has}.",
                remedy="Give text with these tags, or count tags that it has.",
            )
    return path
