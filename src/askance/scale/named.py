"""Engines by name, as the command line has them."""

from __future__ import annotations

from typing import Any

from askance._checks import shown
from askance.errors import InputError
from askance.scale.here import Here
from askance.scale.on_dask import Dask
from askance.scale.on_spark import Spark
from askance.scale.shipping import imported


def engine_of(name: str) -> Any:
    """An engine: "here", "here:4" (four processes), "dask" (a cluster of local processes), "dask://host:8786",
    "tls://host:8786" (Dask, with the certificates of its configuration), or "spark" (the session of this process).

    >>> engine_of("here:4").processes
    4
    """
    kind, _, where = name.partition(":")
    if kind == "here" and (not where or where.isdigit()):
        return Here(processes=int(where or 0))
    if name == "dask":
        return Dask()
    if kind in ("dask", "tls") and where.startswith("//") and len(where) > 2:
        return Dask(f"{'tcp' if kind == 'dask' else kind}:{where}")
    if name == "spark":
        return Spark(imported("pyspark.sql", "Spark").SparkSession.builder.getOrCreate())
    raise InputError(
        argument="engine",
        got=shown(name),
        allowed="here, here:PROCESSES, dask, dask://HOST:PORT, tls://HOST:PORT or spark",
        remedy="Leave it out: one core reads millions of reports a second.",
    )
