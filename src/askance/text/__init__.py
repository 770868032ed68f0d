"""Sentences, tags and regions: a tagger from counts.

Names are loaded when first used; `__init__.pyi` lists them.
"""

from askance._exports import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
