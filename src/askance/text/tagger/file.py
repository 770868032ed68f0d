"""Files of taggers: `tagger/1`, one file with a checksum, nothing unpickled."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields as fields_of
from pathlib import Path
from typing import Any

import numpy as np

from askance._checks import shown
from askance.errors import FormatError, InputError
from askance.formats.container import MAGIC, pack, unpack
from askance.formats.disk import read_whole, write_whole
from askance.formats.fields import REWRITE, Fields
from askance.text.chain.features import ChainFeatures
from askance.text.chain.fit import ChainParameters
from askance.text.chain.model import ChainModel
from askance.text.counts.miscounts import Miscounts, MiscountsBy
from askance.text.tagger.tagger import CountTagger
from askance.text.tagger.training import Training

TAGGER_FORMAT = "tagger/1"
# Of a file, in bytes.
_LONGEST = 1 << 32
_BYTES = 4
# Options that are plain values, and of which type each is.
_OPTIONS: dict[str, type] = {
    "l1": float,
    "budget": float,
    "bare_weight": float,
    "classes": list,
    "moments": str,
    "counts": str,
    "optimiser": str,
    "edges": str,
    "context": int,
    "radius": int,
    "max_iterations": int,
    "tolerance": float,
}
_OPTIONAL = ("edges", "context", "radius", "max_iterations", "tolerance")


def save_tagger(tagger: CountTagger, path: str | Path) -> None:
    """Write a trained tagger, whole or not at all: header (options, tags, features, words) and 32-bit parameters.

    The parameters are θ and, for a chain, scores of edges, of the first and of the last tag.
    """
    if not hasattr(tagger, "theta"):
        raise InputError("the tagger has not been trained.", remedy="Call fit(regions) first.")
    classes = _features_of(tagger).word.classes
    rates = [mapping for mapping in (tagger.miscounts, tagger.miscounts_used) if isinstance(mapping, Mapping)]
    named = (name for mapping in (*rates, {} if classes is None else classes.classes) for name in mapping)
    for word in (*tagger.words, *tagger.tagset, *named):
        if not word.isprintable() and any(0xD800 <= ord(c) <= 0xDFFF for c in word):
            raise InputError(
                f"the word {word!r} holds half a character, which no file can hold.", remedy="Correct the text."
            )
    header = {
        "askance": TAGGER_FORMAT,
        "method": tagger.method,
        "l2": tagger.l2,
        "options": {name: getattr(tagger, name) for name in _OPTIONS} | {"miscounts": _rates_to_json(tagger.miscounts)},
        "miscounts_used": _rates_to_json(tagger.miscounts_used),
        "tagset": list(tagger.tagset),
        "edges": tagger.chain is not None,
        "features": _features_of(tagger).specification(),
        "words": list(tagger.words),
        # Without the seconds: the same training writes the same bytes.
        "training": None if tagger.training is None else {**tagger.training.to_json(), "seconds": None},
    }
    chain = None if tagger.chain is None else tagger.chain.parameters
    arrays = [tagger.theta] if chain is None else [chain.theta, chain.edges, chain.first, chain.last]
    write_whole(path, pack(header, b"".join(np.ascontiguousarray(a, dtype=f"<f{_BYTES}").tobytes() for a in arrays)))


def _features_of(tagger: CountTagger) -> ChainFeatures:
    return ChainFeatures(tagger.token_features) if tagger.chain is None else tagger.chain.features


def load_tagger(path: str | Path) -> CountTagger:
    """Read what `save_tagger` wrote; anything else is refused with a reason."""
    header, payload = unpack(read_whole(path, prefix=MAGIC, limit=_LONGEST), str(path))
    if header["askance"] != TAGGER_FORMAT:
        raise FormatError(
            f"{path} has format {shown(header['askance'])}; allowed: {TAGGER_FORMAT!r}, a tagger of this version.",
            remedy="Train one with `askance train`.",
        )
    fields = Fields(header, str(path))
    try:
        tagger = CountTagger(
            fields.read("method", str), l2=fields.read("l2", float, optional=True), **_options(fields.inner("options"))
        )
        miscounts_used = _rates_from_json(fields.content.get("miscounts_used"), str(path))
        features = ChainFeatures.from_specification(fields.read("features", dict))
    except (InputError, FormatError) as error:
        raise FormatError(f"{path} does not describe a tagger: {error.message}", remedy=REWRITE) from None
    tagset, words = (_texts(fields, name) for name in ("tagset", "words"))
    if not tagset or not len(features):
        raise FormatError(f"{path} has no tags or no features.", remedy=REWRITE)
    has_edges = fields.read("edges", bool)
    rows, k = len(features), len(tagset)
    wanted = (rows + (k + 2 if has_edges else 0)) * k
    if len(payload) != wanted * _BYTES:
        edges = f" and edges of {k} tags" if has_edges else ""
        raise FormatError(
            f"{path} holds {len(payload)} bytes of parameters; allowed: {wanted * _BYTES}, {rows} features times {k} "
            f"tags{edges}.",
            remedy=REWRITE,
        )
    numbers = np.frombuffer(payload, dtype=f"<f{_BYTES}").astype(np.float32).reshape(-1, k)
    if not np.isfinite(numbers).all():
        raise FormatError(f"{path} holds parameters that are not finite.", remedy=REWRITE)
    theta, tagger.chain = numbers[:rows], None
    if has_edges:
        parameters = ChainParameters(theta, numbers[rows : rows + k], numbers[rows + k], numbers[rows + k + 1])
        tagger.chain = ChainModel(features, tagset, parameters)
        tagger.neighbours = tagger.neighbours if features.around is None else features.around.config
    tagger.tagset, tagger.words, tagger.token_features, tagger.theta = tagset, words, features.word, theta
    tagger.features, tagger.miscounts_used = features.word.config, miscounts_used
    tagger.training = None if header.get("training") is None else _training(fields.inner("training"))
    return tagger


def _options(fields: Fields) -> dict[str, Any]:
    """Options as `CountTagger` takes them, which says what is wrong with them."""
    options = {name: fields.read(name, kind, optional=name in _OPTIONAL) for name, kind in _OPTIONS.items()}
    miscounts = fields.content.get("miscounts")
    return options | {
        "miscounts": miscounts if miscounts == "estimate" else _rates_from_json(miscounts, fields.name),
        "classes": tuple(options["classes"]),
    }


def _rates_to_json(miscounts: MiscountsBy | str | None) -> Any:
    """[missed, extra] for all, or an object of such by annotator; "estimate" and None as they are."""
    if miscounts is None or isinstance(miscounts, str):
        return miscounts
    if isinstance(miscounts, Miscounts):
        return [miscounts.missed, miscounts.extra]
    return {name: [rates.missed, rates.extra] for name, rates in miscounts.items()}


def _rates_from_json(content: Any, name: str) -> MiscountsBy | None:
    """What `_rates_to_json` wrote."""
    if content is None:
        return None
    if isinstance(content, dict):
        return {who: _rates(rates, name) for who, rates in content.items()}
    return _rates(content, name)


def _rates(content: Any, name: str) -> Miscounts:
    if not isinstance(content, list) or len(content) != 2:
        raise FormatError(f"{name} has the miscounts {shown(content)}; allowed: two rates.", remedy=REWRITE)
    return Miscounts(*content)


def _texts(fields: Fields, name: str) -> tuple[str, ...]:
    values: list[Any] = fields.read(name, list)
    if not all(isinstance(value, str) for value in values) or len(set(values)) != len(values):
        raise FormatError(f"field {name!r} of {fields.name} is no list of different texts.", remedy=REWRITE)
    return tuple(values)


def _training(fields: Fields) -> Training:
    kinds: dict[str, type] = {"str": str, "int": int, "bool": bool, "float": float}
    values: dict[str, Any] = {}
    for field in fields_of(Training):
        kind = kinds[str(field.type)]
        value = fields.read(field.name, kind, optional=kind is float)
        values[field.name] = math.nan if value is None else value
    return Training(**values)
