"""The logistic regressions of `logistic`, where every library takes this machine for the oldest x86-64: SSE alone."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.comparisons.logistic import COMPARISON as LOGISTIC

COMPARISON = replace(
    LOGISTIC,
    name="logistic-generic",
    question="And where all take the machine for one without AVX (`tools/processors.py`, `generic`)?",
    processor="generic",
)
