"""Files of taggers: `tagger/1`, one file with a checksum, nothing unpickled."""

from __future__ import annotations

import math
from dataclasses import fields as fields_of
from pathlib import Path
from typing import Any

import numpy as np

from askance._checks import shown
from askance.errors import FormatError, InputError
from askance.formats.container import MAGIC, pack, read_whole, unpack, write_whole
from askance.formats.fields import REWRITE, Fields
from askance.text.chain_features import ChainFeatures
from askance.text.chain_fit import ChainParameters
from askance.text.chain_model import ChainModel
from askance.text.tagger import CountTagger
from askance.text.training import Training

TAGGER_FORMAT = "tagger/1"
# Of a file, in bytes.
_LONGEST = 1 << 32
_BYTES = 4


def save_tagger(tagger: CountTagger, path: str | Path) -> None:
    """Write a trained tagger, whole or not at all: header (tags, features, words) and parameters as 32-bit floats.

    The parameters are θ and, for a chain, scores of edges, of the first and of the last tag.
    """
    if not hasattr(tagger, "theta"):
        raise InputError("the tagger has not been trained.", remedy="Call fit(regions) first.")
    classes = _features_of(tagger).word.classes
    for word in (*tagger.words, *tagger.tagset, *(() if classes is None else classes.classes)):
        if not word.isprintable() and any(0xD800 <= ord(c) <= 0xDFFF for c in word):
            raise InputError(
                f"the word {word!r} holds half a character, which no file can hold.", remedy="Correct the text."
            )
    header = {
        "askance": TAGGER_FORMAT,
        "method": tagger.method,
        "l2": tagger.l2,
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
        tagger = CountTagger(fields.read("method", str), l2=fields.read("l2", float, optional=True))
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
        tagger.radius = features.radius
        tagger.neighbours = tagger.neighbours if features.around is None else features.around.config
    tagger.tagset, tagger.words, tagger.token_features, tagger.theta = tagset, words, features.word, theta
    tagger.features, tagger.miscounts_used = features.word.config, None
    tagger.training = None if header.get("training") is None else _training(fields.inner("training"))
    return tagger


def _texts(fields: Fields, name: str) -> tuple[str, ...]:
    values: list[Any] = fields.read(name, list)
    if not all(isinstance(value, str) for value in values) or len(set(values)) != len(values):
        raise FormatError(f"field {name!r} of {fields.name} is no list of different texts.", remedy=REWRITE)
    return tuple(values)


def _training(fields: Fields) -> Training:
    kinds: dict[str, type] = {"str": str, "int": int, "bool": bool, "float": float}
    given: dict[str, Any] = {}
    for each in fields_of(Training):
        kind = kinds[str(each.type)]
        value = fields.read(each.name, kind, optional=kind is float)
        given[each.name] = math.nan if value is None else value
    return Training(**given)
