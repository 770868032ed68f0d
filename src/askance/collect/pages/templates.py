"""Templates of pages. Texts of campaigns are escaped, wherever they stand."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jinja2 import Environment


@cache
def _templates() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(loader=PackageLoader("askance.collect"), autoescape=True, undefined=StrictUndefined)


def rendered(template: str, **content: Any) -> str:
    """A template with its content."""
    return _templates().get_template(template).render(**content)
