"""On Spark: parts are rows of an RDD, θ is sent with every job."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from askance._checks import shown
from askance.errors import InputError
from askance.scale import shipping
from askance.scale.shipping import Sender, put_together, run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Spark(Sender):
    """Work on a cluster of Spark. Executors open files themselves, and keep the rows of a regression between passes.

    Executors need the same askance as this process, and one core for every task (`spark.task.cpus`).

    Args:
        session: a `SparkSession`.
    """

    def __init__(self, session: SparkSession) -> None:
        if not isinstance(session, shipping.imported("pyspark.sql", "Spark").SparkSession):
            raise InputError(
                f"session is {shown(session)}; allowed: a SparkSession of a cluster that this process drives.",
                remedy="Build one: SparkSession.builder.getOrCreate().",
            )
        self.context: Any = session.sparkContext

    def _held(self, parts: Sequence[Any], sent: bytes) -> Any:
        """Parts that executors load once and keep, in memory and on disk."""
        from pyspark import StorageLevel

        return self._spread(parts).map(partial(shipping.load, sent=sent)).persist(StorageLevel.MEMORY_AND_DISK)

    def _fold(self, parts: Any, work: bytes, merge: bytes) -> bytes:
        results = self._spread(parts).map(partial(run, work=work))
        return bytes(results.treeReduce(partial(put_together, merge)))

    def _spread(self, parts: Any) -> Any:
        """Every part a task of its own; what is held is spread already."""
        return self.context.parallelize(parts, len(parts)) if isinstance(parts, Sequence) else parts
