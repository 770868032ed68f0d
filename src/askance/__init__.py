"""Learn a model from what people are willing to tell you: noised answers, counts, proportions, partial labels.

Names are loaded when first used, so that `import askance` costs little more than NumPy. `__init__.pyi` lists them.
"""

from askance._exports import lazy_exports
from askance._version import __version__ as __version__

__getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
