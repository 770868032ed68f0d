"""Training a chain of few tags on labelled sentences: chain_training.py where each step is less work.

UD English EWT and its 17 tags instead of the 44 of CoNLL-2000. The work of a token grows with the square of the number
of tags, and ours does that part better than the rest: the ratio is another one. Needs ASKANCE_DATA.
"""

from __future__ import annotations

from dataclasses import replace

from benchmarks.comparisons.chain_training import COMPARISON as MANY
from benchmarks.comparisons.chain_training import askance, cases, crfsuite  # noqa: F401 - workers look here for them

COMPARISON = replace(
    MANY,
    name="chain-training-few",
    question=(
        "And a chain of 17 tags on the labelled sentences of UD English EWT, until it reaches the objective that "
        "crfsuite stops at?"
    ),
    cases=cases("ud.en_ewt", "observed pairs", "all pairs, 100 steps"),
    long_cases=cases("ud.en_ewt", "all pairs"),
    data=("ud.en_ewt.train.tsv.gz", "ud.en_ewt.test.tsv.gz"),
)
