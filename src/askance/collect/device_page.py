"""What a device or a page is told of a campaign: thresholds, the module that draws, and its digest."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.resources import files
from typing import Any

from askance.channels.device import device_description, in_text
from askance.channels.registry import AnyChannel
from askance.collect.campaign import Counting
from askance.collect.collection import Collection
from askance.formats.report_schema import ReportSchema

#: The module that noises answers.
MODULE = "askance-device.js"
#: Words on either side of a stretch that a page shows with it.
AROUND = 12
_TYPES = {".js": "text/javascript", ".css": "text/css"}


@cache
def assets() -> dict[str, tuple[bytes, str]]:
    """Scripts and styles that pages load, by name: bytes and type. All are in memory: no path is ever followed."""
    folder = files("askance.collect") / "assets"
    kinds = {item.name: _TYPES.get("." + item.name.rpartition(".")[2]) for item in folder.iterdir()}
    return {name: ((folder / name).read_bytes(), kind) for name, kind in kinds.items() if kind is not None}


def channel_json(channel: AnyChannel) -> dict[str, Any]:
    """A channel as a device needs it: `device_description`, or thresholds alone where `device/1` has no mapping.

    >>> from askance import Warner
    >>> channel_json(Warner("3/4"))["thresholds"]["columns"][0]
    ['3458764513820540928', '1152921504606846976']
    """
    if channel.device_mapping:
        return {"specification": channel.specification(), **device_description(channel)}
    thresholds = in_text(channel.thresholds())
    return {"specification": channel.specification(), "fingerprint": channel.fingerprint, "thresholds": thresholds}


def device_json(collection: Collection) -> dict[str, Any]:
    """The answer of /v1/{campaign}/device."""
    campaign = collection.campaign
    code = assets().get(MODULE)
    module = None if code is None else {"path": f"/assets/{MODULE}", "sha256": hashlib.sha256(code[0]).hexdigest()}
    is_devices = campaign.kind == "devices"
    questions = []
    for question in campaign.questions:
        about: dict[str, Any] = {"name": question.name, "texts": dict(question.texts), "channel": None}
        if question.channel is not None:
            about |= {"channel": channel_json(question.channel), "purpose": question.channel.purpose}
            if is_devices:
                about["header"] = ReportSchema(question.channel).header()
        if isinstance(question.values, range):
            about["range"] = [question.values.start, question.values.stop - 1]
        about["options"] = [{"label": label, "texts": dict(texts)} for label, texts in question.options.items()]
        questions.append({**about, "may_decline": question.may_decline})
    return {
        "format": "device/1",
        "campaign": campaign.name,
        "fingerprint": campaign.fingerprint,
        "kind": campaign.kind,
        "languages": list(campaign.languages),
        "access": campaign.access,
        "level": campaign.level if questions else None,
        "module": module,
        "bytes": collection.devices.least_bytes if is_devices else collection.form.length,
        "questions": questions,
    }


def question_of(counting: Counting, number: int) -> dict[str, Any]:
    """A stretch as a page asks about it: its words, and some around them.

    >>> question_of(Counting((("the", "dog", "barks"),), ("N",), 2, 1, ""), 1)
    {'stretch': 1, 'before': ['the', 'dog'], 'words': ['barks'], 'after': []}
    """
    stretch = counting.stretches[number]
    sentence, start, end = counting.sentences[stretch.sentence], stretch.start, stretch.end
    before, after = sentence[max(start - AROUND, 0) : start], sentence[end : end + AROUND]
    cut_before, cut_after = ["…"] * (start > AROUND), ["…"] * (end + AROUND < len(sentence))
    words = list(counting.words(stretch))
    return {"stretch": number, "before": [*cut_before, *before], "words": words, "after": [*after, *cut_after]}


def stretches_json(collection: Collection) -> dict[str, Any]:
    """The answer of /v1/{campaign}/stretches: what is to be counted."""
    counting = collection.campaign.counting
    assert counting is not None
    return {
        "campaign": collection.campaign.name,
        "tags": list(counting.tags),
        "times": counting.times,
        "stretches": [list(counting.words(stretch)) for stretch in counting.stretches],
    }
