"""A regression of noised answers beside R's `glm` of the true ones: `python -m benchmarks.in_r`, where there is R.

The packages rr, RRreg and list are not on every machine with R; `glm` is, and is what a researcher who saw the truth
would call. Both read the same rows before the clock starts and fit in turn: ten columns, standard errors included. CPU
seconds of all threads; R's are those of its own `proc.time`.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import time
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd

from askance import ForcedResponse
from askance.survey import regress
from benchmarks.harness.figures import Row, add_options, tell

QUESTION = "How fast is a logistic regression of noised answers, beside R's glm of the true ones?"
COLUMNS = 9
FORMULA = "answer ~ " + " + ".join(f"x{j}" for j in range(COLUMNS))
DESIGN = ForcedResponse("2/3", "1/6")
# Reads once, then fits whenever it is asked, and says how long it took and what it found.
_SCRIPT = """
where <- commandArgs(TRUE)
rows <- as.data.frame(matrix(readBin(where[1], "double", {cells}), ncol = {columns}))
names(rows) <- c("answer", paste0("x", 0:{last}))
asked <- file("stdin", "r")
while (length(readLines(asked, n = 1)) > 0) {{
  before <- sum(proc.time()[1:2])
  fit <- summary(glm({formula}, data = rows, family = binomial()))
  cat(sum(proc.time()[1:2]) - before, fit$coefficients[2, 1:2], "\\n")
  flush(stdout())
}}
"""


def people(rows: int, rng: np.random.Generator) -> pd.DataFrame:
    """Who says yes depends on the first columns."""
    x = rng.normal(size=(rows, COLUMNS))
    truth = rng.random(rows) < 1 / (1 + np.exp(-(0.5 * x[:, 0] - 0.3 * x[:, 1] - 0.5)))
    return pd.DataFrame({"answer": truth.astype(float), **{f"x{j}": x[:, j] for j in range(COLUMNS)}})


def measured(rows: int, repetitions: int) -> Row:
    """One fit of each, in turn; the first of each does not count."""
    data = people(rows, np.random.default_rng(5))
    noised = data.assign(answer=DESIGN.simulate(data["answer"].map({0.0: "no", 1.0: "yes"}), np.random.default_rng(6)))
    ours, theirs = [], []
    with TemporaryDirectory() as folder:
        cells, script = Path(folder) / "rows", Path(folder) / "glm.R"
        cells.write_bytes(data.to_numpy().T.astype("<f8").tobytes())
        parts = {"cells": data.size, "columns": COLUMNS + 1, "last": COLUMNS - 1, "formula": FORMULA}
        script.write_text(_SCRIPT.format(**parts), encoding="utf-8")
        command = ["Rscript", "--vanilla", str(script), str(cells)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
            assert other.stdin is not None
            assert other.stdout is not None
            for _ in range(repetitions + 1):
                before = time.process_time()
                fit = regress(FORMULA, noised, DESIGN)
                ours.append(time.process_time() - before)
                other.stdin.write("\n")
                other.stdin.flush()
                seconds, slope, error = map(float, other.stdout.readline().split())
                theirs.append(seconds)
            other.stdin.close()
    own = float(np.asarray(fit.theta).ravel()[1])
    return {
        "rows": rows,
        "askance, s": median(ours[1:]),
        "R's glm, s": median(theirs[1:]),
        "ratio": median(a / b for a, b in zip(ours[1:], theirs[1:], strict=True)),
        "slope of x0 (truth .5), askance": own,
        "glm": slope,
        "standard error of glm": error,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=5)
    add_options(parser)
    options, begun = parser.parse_args(), time.perf_counter()
    if shutil.which("Rscript") is None:
        parser.error("there is no R: apt-get install r-base-core")
    rows = [measured(size, options.repetitions) for size in (10_000, 1_000_000)]
    tell("in_r", QUESTION, rows, time.perf_counter() - begun, options)


if __name__ == "__main__":
    main()
