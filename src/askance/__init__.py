"""Learn a model from what people are willing to tell you: noised answers, counts, proportions, partial labels.

Names are loaded when first used, so that `import askance` costs little more than NumPy. `__init__.pyi` lists them.
"""

from typing import Any

from askance._exports import lazy_exports
from askance._renamed import FORMER_CLASSES, former_class
from askance._version import __version__ as __version__

_load, __dir__, __all__ = lazy_exports(__name__, __file__)


def __getattr__(name: str) -> Any:
    return former_class(__name__, name) if name in FORMER_CLASSES else _load(name)
