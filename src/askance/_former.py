"""Names of an earlier version that still work, and warn: what each is called now, and when it goes."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

#: The version in which former names and spellings go.
GONE_IN = "0.3"
#: Former names by what they are called now, for every package that had them.
FORMER_NAMES = {
    "askance": {
        "FieldResponses": "Responses",
        "GaussianField": "LinearModel",
        "StatisticsTally": "Tally",
        "plan_field": "field_release",
        "plan_regression": "regression_release",
    },
    "askance.design": {"plan_field": "field_release", "plan_regression": "regression_release"},
    "askance.evidence": {"FieldResponses": "Responses", "StatisticsTally": "Tally"},
    "askance.models": {"GaussianField": "LinearModel"},
}


def warn_former(message: str, depth: int) -> None:
    """Say what took the place of what, at the line of the caller `depth` calls up."""
    warnings.warn(f"{message}; it goes in askance {GONE_IN}.", FutureWarning, stacklevel=depth + 1)


def former_names(package: str, load: Callable[[str], Any]) -> Callable[..., Any]:
    """`__getattr__` of a package: its former names, with a warning.

    Args:
        package: its name.
        load: gets what has a name now.

    >>> import askance, warnings
    >>> with warnings.catch_warnings(record=True) as told:
    ...     warnings.simplefilter("always")
    ...     askance.StatisticsTally is askance.Tally
    True
    >>> print(told[0].message)
    askance.StatisticsTally is called Tally now; it goes in askance 0.3.
    """
    former = FORMER_NAMES.get(package, {})

    def get(name: str, depth: int = 2) -> Any:
        if name in former:
            warn_former(f"{package}.{name} is called {former[name]} now", depth)
            return load(former[name])
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return get
