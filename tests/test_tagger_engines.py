"""Taggers that are trained where an engine reads files: the same bits however sentences are divided, and who works."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from askance.errors import FormatError, IncompatibleEvidenceError, InputError
from askance.evidence.exact_sums import grid_for, rounded
from askance.scale import Dask, Here
from askance.text import (
    Corpus,
    CountTagger,
    FeatureConfig,
    Miscounts,
    Region,
    RegionCounts,
    TokenFeatures,
    moment_counts,
    read_regions,
    write_regions,
    write_tagged,
)
from askance.text.counts.held_part import Preparation, keys_of
from askance.text.counts.held_regions import HeldLikelihood, HeldRegions
from askance.text.counts.likelihood import CountLikelihood
from askance.text.node.model import fit_node, log_probabilities
from askance.text.tagger.held_files import TrainingFiles
from tests.clusters import DaskFailingBetween, cluster, is_alive
from tests.small_corpus import TAGS, TEST, TRAIN, counted
from tests.test_cli import call

RATES = {"ann": Miscounts(0.1, 0.05)}


def of_all_kinds(seed: int = 3) -> RegionCounts:
    """Counts, ranges, some tags asked, lists of tags, labels; weights that no power of two divides; annotators."""
    rng, told = np.random.default_rng(seed), []
    for s in range(len(TRAIN)):
        tags, n = TRAIN.tags_of(s), len(TRAIN.sentence(s))
        start = int(rng.integers(n))
        end = int(rng.integers(start, n)) + 1
        there = {tag: tags[start:end].count(tag) for tag in TAGS}
        kind = s % 6
        weight = float(rng.choice([0.3, 1.0, 1 / 7]))
        if kind == 0:
            told.append(Region(s, start, end, there, weight=weight))
        elif kind == 1:
            ranges = {tag: (max(n - 1, 0), n + 1) for tag, n in there.items()}
            told.append(Region(s, start, end, ranges, weight=weight))
        elif kind == 2:
            told.append(Region(s, start, end, {"NN": there["NN"]}, closed=False))
        elif kind == 3:
            told.append(Region(s, start, start + 1, {str(tags[start]): (0, 1), "VB": (0, 1)}, weight=weight))
        elif kind == 4:
            told.append(Region(s, start, start + 1, {str(tags[start]): 1}, weight=weight))
        else:
            told.append(Region(s, start, end, there, annotator="ann"))
    return RegionCounts.of(TRAIN, TAGS, told)


def some(regions: RegionCounts, sentences: Sequence[int]) -> RegionCounts:
    """The regions of some sentences, in that order, over these alone."""
    corpus = regions.corpus
    found = [
        replace(region, sentence=place)
        for place, s in enumerate(sentences)
        for region in (regions.region(r) for r in np.flatnonzero(regions.sentence == s).tolist())
    ]
    return RegionCounts.of(corpus.take(sentences), regions.tagset, found)


def divided(regions: RegionCounts, parts: int, folder: Path, seed: int = 0) -> list[Path]:
    """Files that hold the sentences, each somewhere, in any order."""
    rng, paths = np.random.default_rng([parts, seed]), []
    for number, sentences in enumerate(np.array_split(rng.permutation(len(regions.corpus)), parts)):
        paths.append(folder / f"{parts}-{seed}-{number}.jsonl")
        write_regions(paths[-1], some(regions, sentences.tolist()))
    return paths


def labels_divided(corpus: Corpus, parts: int, folder: Path) -> list[Path]:
    rng, paths = np.random.default_rng(parts), []
    for number, sentences in enumerate(np.array_split(rng.permutation(len(corpus)), parts)):
        paths.append(folder / f"labels-{parts}-{number}.tsv")
        write_tagged(paths[-1], corpus.take(sentences.tolist()))
    return paths


def saved(tagger: CountTagger, folder: Path) -> bytes:
    tagger.save(folder / "model")
    return (folder / "model").read_bytes()


def held(regions: RegionCounts, miscounts: Any = None) -> HeldRegions:
    """Regions that are held here, in three parts."""
    parts = [some(regions, range(i, len(regions.corpus), 3)) for i in range(3)]
    how = Preparation(miscounts, "auto", 1e-9)
    return HeldRegions(Here().hold(parts, how), regions.tagset, how)


# -- the same bits -----------------------------------------------------------------------------------------------------

PARTS = (1, 2, 3, 5, 8)


@pytest.mark.parametrize("method", ["node", "moments"])
def test_five_partitionings_give_equal_bytes(method: Any, tmp_path: Path) -> None:
    regions = of_all_kinds()
    found = set()
    for parts in PARTS:
        with Here() as engine:
            tagger = CountTagger(method, miscounts=RATES).fit(divided(regions, parts, tmp_path), engine=engine)
            assert engine.largest_sent <= 16 << 10
        found.add(saved(tagger, tmp_path))
    assert len(found) == 1


def test_labels_in_five_partitionings_give_equal_bytes(tmp_path: Path) -> None:
    found = set()
    for parts in PARTS:
        paths = labels_divided(TRAIN, parts, tmp_path)
        found.add(saved(CountTagger("node").fit(paths[::-1], engine=Here(threads=2)), tmp_path))
    assert len(found) == 1


def test_regions_that_are_tilted_give_equal_bytes(tmp_path: Path) -> None:
    regions = counted(window=None)
    found = set()
    for parts in (1, 4):
        tagger = CountTagger("node", counts="sinkhorn").fit(divided(regions, parts, tmp_path), engine=Here())
        assert tagger.training is not None
        assert tagger.training.exact_regions < len(regions)
        found.add(saved(tagger, tmp_path))
    assert len(found) == 1


def test_two_processes_give_the_bits_of_one(tmp_path: Path) -> None:
    paths = divided(counted(), 3, tmp_path)
    options: dict[str, Any] = {"max_iterations": 3}
    wanted = saved(CountTagger("node", **options).fit(paths, engine=Here()), tmp_path)
    with Here(processes=2) as engine:
        assert saved(CountTagger("node", **options).fit(paths[::-1], engine=engine), tmp_path) == wanted


@pytest.fixture(scope="module")
def dask() -> Iterator[Dask]:
    with cluster() as own:
        yield own


def test_a_cluster_gives_the_bits_of_one_process(dask: Dask, tmp_path: Path) -> None:
    paths = [*divided(of_all_kinds(), 4, tmp_path), *labels_divided(TEST, 2, tmp_path)]
    wanted = saved(CountTagger("node", miscounts=RATES).fit(paths, engine=Here()), tmp_path)
    assert saved(CountTagger("node", miscounts=RATES).fit(paths[::-1], engine=dask), tmp_path) == wanted
    assert dask.largest_sent <= 16 << 10


def test_a_killed_worker_changes_no_bit(dask: Dask, tmp_path: Path) -> None:
    paths = divided(counted(), 4, tmp_path)
    wanted = saved(CountTagger("node").fit(paths, engine=Here()), tmp_path)
    failing = DaskFailingBetween(dask.client, tmp_path)
    failing.after = 12
    assert saved(CountTagger("node").fit(paths, engine=failing), tmp_path) == wanted
    assert failing.killed
    assert not is_alive(failing.killed)
    assert failing.passes > 17


def test_large_tables_are_sent_to_a_cluster_without_a_word(dask: Dask) -> None:
    regions = counted()
    how = Preparation(None, "auto", 1e-3)
    own = HeldRegions(dask.hold([regions], how), regions.tagset, how)
    table = np.zeros((3 << 20, 1), dtype=np.float32)
    _, sums = own.total("image", 1.0, 1, own.keys, table)
    assert sums.tolist() == [[0.0]] * len(own.words)


# -- the same tagger as in memory --------------------------------------------------------------------------------------


def test_moments_are_those_of_memory() -> None:
    regions = of_all_kinds()
    own = held(regions, RATES)
    design = TokenFeatures.learn(own.words, FeatureConfig(word=False)).matrix(own.words).astype(np.float64)
    place = {word: code for code, word in enumerate(own.words)}
    code = np.array([place[word] for word in regions.corpus.words])
    memory = replace(regions, corpus=replace(regions.corpus, words=own.words, tokens=code[regions.corpus.tokens]))
    for method in ("simplex", "ridge", "printed"):
        options: dict[str, Any] = {"method": method, "iterations": 2000}
        here, there = moment_counts(memory, design, miscounts=RATES, **options), moment_counts(own, design, **options)
        np.testing.assert_allclose(there.label_given_token, here.label_given_token, atol=2e-6)
        np.testing.assert_allclose(there.counts, here.counts, atol=2e-4)
        assert there.l2 == pytest.approx(here.l2, rel=1e-9)
    np.testing.assert_allclose(own.token_counts, memory.token_counts, rtol=1e-9)


def test_the_likelihood_is_that_of_memory() -> None:
    regions = of_all_kinds()
    own = held(regions, RATES)
    place = {word: code for code, word in enumerate(own.words)}
    rows = np.array([place[word] for word in regions.corpus.words])
    scores = np.random.default_rng(4).normal(size=(len(rows), len(TAGS)))
    log_p = log_probabilities(sparse.csr_array(np.eye(len(rows))), scores)
    there, counts = HeldLikelihood(own)(log_p)
    here, wanted = CountLikelihood(regions, miscounts=RATES, tolerance=1e-9)(log_p[rows])
    assert there == pytest.approx(here, rel=1e-9)
    np.testing.assert_allclose(counts[rows], wanted, atol=1e-7)
    assert HeldLikelihood(own).sizes == CountLikelihood(regions, miscounts=RATES).sizes


def test_the_optimum_is_that_of_memory() -> None:
    """In double precision: words in another order change last digits, which single precision makes visible."""
    regions = of_all_kinds()
    own, likelihood = held(regions, RATES), CountLikelihood(regions, miscounts=RATES, tolerance=1e-12)
    learned = TokenFeatures.learn(own.words)
    start = np.random.default_rng(4).normal(size=(len(learned), len(TAGS)))
    options: dict[str, Any] = {"start": start, "tolerance": 1e-11, "max_iterations": 1000}
    here = fit_node(learned.matrix(regions.corpus.words).astype(float), regions.token_counts, likelihood, **options)
    there = fit_node(learned.matrix(own.words).astype(float), own.token_counts, HeldLikelihood(own), **options)
    assert here.converged
    assert there.converged
    np.testing.assert_allclose(there.theta, here.theta, atol=1e-3)


@pytest.mark.parametrize("kind", ["counts", "labels", "both"])
def test_the_tagger_is_that_of_memory(kind: str, tmp_path: Path) -> None:
    """As near to the optimum as single precision comes; how near both are to each other depends on the processor."""
    options: dict[str, Any] = {"tolerance": 1e-7, "max_iterations": 2000}
    parts, paths = [], []
    if kind != "labels":
        parts.append(counted())
        paths += divided(counted(), 3, tmp_path)
    if kind != "counts":
        parts.append(RegionCounts.of_labels(TEST))
        paths += labels_divided(TEST, 2, tmp_path)
    here = CountTagger("node", **options).fit(RegionCounts.join(parts))
    there = CountTagger("node", **options).fit(paths, engine=Here())
    assert there.token_features == here.token_features
    assert (there.tagset, there.words) == (here.tagset, tuple(sorted(here.words)))
    # A descent ends where next steps promise less than fifty times the rounding of the objective, 4 ε of some 40: so
    # high above the minimum, θ is at most √(2 · 10⁻³ / λ) away, λ being at least 0.3.
    np.testing.assert_allclose(there.theta, here.theta, atol=2 * 0.08)
    assert (there.predict_codes(TEST) == here.predict_codes(TEST)).all()
    assert here.training is not None
    assert there.training is not None
    own = replace(there.training, seconds=0.0, iterations=0, log_likelihood=0.0)
    assert repr(own) == repr(replace(here.training, seconds=0.0, iterations=0, log_likelihood=0.0))
    assert there.training.log_likelihood == pytest.approx(here.training.log_likelihood, abs=1e-4)


def test_held_out_regions_stop_it(tmp_path: Path) -> None:
    dev = RegionCounts.of_labels(TEST)
    tagger = CountTagger("node", l2=1e-4).fit(divided(counted(), 2, tmp_path), held_out=dev, engine=Here())
    assert tagger.training is not None
    assert np.isfinite(tagger.training.held_out)


def test_tags_are_those_of_all_files(tmp_path: Path) -> None:
    """Without a first line that states them, one file may know tags of which another has none."""
    region = '{"start": 0, "end": 2, "counts": {"D": 1, "N": 1}, "asked": ["D", "N"]}'
    lines = [f'{{"tokens": ["a", "dog"], "regions": [{region}]}}', '{"tokens": ["a", "x"], "tags": ["D", "V"]}']
    for number, line in enumerate(lines):
        (tmp_path / f"{number}.jsonl").write_text(line + "\n", "utf-8")
    paths = [tmp_path / "0.jsonl", tmp_path / "1.jsonl"]
    here = CountTagger("node").fit(read_regions(paths).regions)
    there = CountTagger("node").fit(tmp_path / "*.jsonl", engine=Here())
    assert there.tagset == here.tagset == ("D", "N", "V")
    np.testing.assert_allclose(there.theta, here.theta, atol=1e-3)


# -- what is refused ---------------------------------------------------------------------------------------------------


def test_what_engines_do_not_carry_is_refused(tmp_path: Path) -> None:
    paths = divided(counted(), 1, tmp_path)
    methods: tuple[Any, ...] = ("auto", "chain")
    for method in methods:
        with pytest.raises(InputError, match=r'Take method="node", or leave engine out: chains are trained in memory'):
            CountTagger(method).fit(paths, engine=Here())
    with pytest.raises(InputError, match="rates that are known"):
        CountTagger("node", miscounts="estimate").fit(paths, engine=Here())
    with pytest.raises(InputError, match="names of files"):
        CountTagger("node").fit(counted(), engine=Here())
    with pytest.raises(InputError, match="no files"):
        CountTagger("node").fit([], engine=Here())
    with pytest.raises(InputError, match="counted no region"):
        CountTagger("node", miscounts=RATES).fit(paths, engine=Here())
    with pytest.raises(InputError, match="another tagger"):
        CountTagger("node").fit(CountTagger("moments").hold(paths, Here()))
    with pytest.raises(InputError, match="another tagger"):
        CountTagger("chain").fit(CountTagger("node").hold(paths, Here()))
    with pytest.raises(InputError, match="held_out"):
        CountTagger("moments").fit(paths, held_out=counted(), engine=Here())


def test_files_that_do_not_go_together_are_refused(tmp_path: Path) -> None:
    paths = divided(counted(), 1, tmp_path)
    other = Corpus.of([["x"]], tags=[["FW"]])
    write_tagged(tmp_path / "other.tsv", other)
    with pytest.raises(InputError, match="FW"):
        CountTagger("node").fit([*paths, tmp_path / "other.tsv"], engine=Here())
    write_regions(tmp_path / "other.jsonl", RegionCounts.of_labels(other))
    with pytest.raises(IncompatibleEvidenceError, match="another tag set"):
        CountTagger("node").fit([*paths, tmp_path / "other.jsonl"], engine=Here())


def test_bad_lines_are_counted(tmp_path: Path) -> None:
    paths = divided(counted(), 2, tmp_path)
    with paths[1].open("a") as file:
        file.write("no json\n")
    with pytest.raises(FormatError, match="not JSON"):
        CountTagger("node").fit(paths, engine=Here())
    files = TrainingFiles(tuple(paths), skip_bad=True)
    known = CountTagger("node").hold(files, Here())
    assert known.summary.left_out == 1
    assert "not JSON" in next(iter(known.summary.messages))
    found = call("train", *map(str, paths), "--method", "node", "--engine", "here", "--skip-bad", "-o", f"{tmp_path}/m")
    assert found.code == 0, found.err
    assert "left out" in found.out


def test_the_command_refuses_chains(tmp_path: Path) -> None:
    (path,) = divided(counted(), 1, tmp_path)
    refused = call("train", str(path), "--engine", "here", "-o", str(tmp_path / "model"))
    assert refused.code == 2
    assert "--method node" in refused.err
    assert not (tmp_path / "model").exists()


# -- exact sums --------------------------------------------------------------------------------------------------------


def test_rounded_numbers_have_one_sum() -> None:
    rng = np.random.default_rng(6)
    numbers = rng.normal(size=10_000) * 10.0 ** rng.integers(-9, 3, 10_000)
    bound = float(np.abs(numbers).sum())
    own = rounded(numbers, grid_for(bound))
    sums = {sum(rng.permutation(own).tolist()) for _ in range(20)}
    assert len(sums) == 1
    np.testing.assert_allclose(own, numbers, atol=bound * 2.0**-50)
    assert len({sum(rng.permutation(numbers).tolist()) for _ in range(20)}) > 1
    assert rounded(0.1, 0.0) == 0.1


def test_keys_are_the_same_everywhere() -> None:
    assert keys_of(["dog"]).tolist() == keys_of(["cat", "dog"]).tolist()[1:]
    assert keys_of([]).shape == (0,)
