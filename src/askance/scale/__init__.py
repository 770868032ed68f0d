"""Where sums over rows and files run: in this process, on Dask, or on Spark. The bits are the same."""

from askance.scale.here import Here
from askance.scale.named import engine_of
from askance.scale.on_dask import Dask
from askance.scale.on_spark import Spark

__all__ = ["Dask", "Here", "Spark", "engine_of"]
