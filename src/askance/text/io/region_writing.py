"""Region counts to files: `regions/1`, which `region_file` describes and reads."""

from __future__ import annotations

import os
from collections.abc import Iterator
from json.encoder import encode_basestring

import numpy as np

from askance._arrays import IntArray
from askance.formats.report_schema import json_line
from askance.text.corpus.regions import RegionCounts
from askance.text.io.lines import write_lines

REGIONS_FORMAT = "regions/1"


def write_regions(path: str | os.PathLike[str], regions: RegionCounts) -> None:
    """Write regions, with the tag set in the first line; whole or not at all, packed where the name ends in .gz.

    Only regions are written, never the tags of their corpus: a file says what the annotator said. All sentences are,
    also those without a region.
    """
    corpus = regions.corpus
    order = np.argsort(regions.sentence, kind="stable")
    first = np.searchsorted(regions.sentence[order], np.arange(len(corpus) + 1))
    texts = _region_texts(regions, corpus.starts[regions.sentence], order)
    write_lines(path, _lines(regions, [texts[first[s] : first[s + 1]] for s in range(len(corpus))]))


def _lines(regions: RegionCounts, texts: list[list[str]]) -> Iterator[str]:
    """The header, then sentences with the texts of their regions."""
    corpus, words = regions.corpus, [encode_basestring(word) for word in regions.corpus.words]
    yield json_line({"askance": REGIONS_FORMAT, "tagset": list(regions.tagset)})
    for number, listed in enumerate(texts):
        named = f'"id":{encode_basestring(corpus.ids[number])},' if corpus.ids else ""
        tokens = ",".join([words[token] for token in corpus.tokens[corpus.span(number)].tolist()])
        yield f'{{{named}"tokens":[{tokens}],"regions":[{",".join(listed)}]}}\n'


def _region_texts(regions: RegionCounts, base: IntArray, order: IntArray) -> list[str]:
    """Every region as JSON, in that order; `base` is where its sentence begins."""
    names = [encode_basestring(tag) for tag in regions.tagset]
    tags, low, high = ([names[t] for t in regions.tag.tolist()], regions.low.tolist(), regions.high.tolist())
    counts = [
        f"{tag}:{least}" if least == most else f"{tag}:[{least},{most}]"
        for tag, least, most in zip(tags, low, high, strict=True)
    ]
    start, end = (regions.start - base).tolist(), (regions.end - base).tolist()
    offsets, closed, texts, sources = regions.offsets.tolist(), regions.closed.tolist(), [], _source_texts(regions)
    for r in order.tolist():
        span = slice(offsets[r], offsets[r + 1])
        if closed[r]:
            listed, asked = counts[span], ""
        else:
            listed = [count for count, most in zip(counts[span], high[span], strict=True) if most]
            asked = f',"asked":[{",".join(tags[span])}]'
        texts.append(f'{{"start":{start[r]},"end":{end[r]},"counts":{{{",".join(listed)}}}{asked}{sources[r]}}}')
    return texts


def _source_texts(regions: RegionCounts) -> list[str]:
    """Weight and annotator of every region as JSON, empty where they are as usual."""
    names = [*(f',"annotator":{encode_basestring(name)}' for name in regions.annotators), ""]  # −1 is the last
    who = [names[code] for code in regions.annotator_codes.tolist()]
    if regions.weight is None:
        return who
    weights = regions.weight.tolist()
    return [by if w == 1 else f',"weight":{w!r}{by}' for w, by in zip(weights, who, strict=True)]
