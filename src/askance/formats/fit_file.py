"""Files of fits: `fit/1`."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

import numpy as np

from askance._arrays import FloatArray
from askance.channels.registry import labels_as_json
from askance.errors import AskanceError, FormatError
from askance.estimation.fit import Diagnostics, DistributionFit, LocalMaximum
from askance.models.enumerated import Enumerated

FIT_FORMAT = "fit/1"


def fit_to_json(fit: DistributionFit) -> dict[str, Any]:
    """Everything in a fit as plain JSON values; floats keep every digit, NaN and infinity become null."""
    model = fit.model
    return {
        "askance": FIT_FORMAT,
        "method": fit.method,
        "n": fit.n_observations,
        "privacy_level": None if math.isinf(fit.privacy_level) else fit.privacy_level,
        "converged": fit.converged,
        "log_likelihood": fit.log_likelihood,
        "covariance_kind": fit.covariance_kind,
        "theta": fit.theta.tolist(),
        "covariance": None if np.isnan(fit.covariance).any() else fit.covariance.tolist(),
        "raw_statistics": None if fit.raw_statistics is None else fit.raw_statistics.tolist(),
        "channel": dict(fit.channel),
        "model": {
            "table": model.table.tolist(),
            "outputs": labels_as_json(model.outputs),
            "parameter_names": list(model.parameter_names),
            "log_base_measure": model.log_base_measure.tolist(),
        },
        "diagnostics": asdict(fit.diagnostics),
    }


def fit_from_json(content: dict[str, Any], name: str) -> DistributionFit:
    """The fit that `fit_to_json` wrote."""
    try:
        theta = np.array(content["theta"], dtype=np.float64)
        diagnostics = dict(content["diagnostics"])
        diagnostics["messages"] = tuple(diagnostics["messages"])
        diagnostics["maxima"] = tuple(
            LocalMaximum(tuple(m["theta"]), m["log_likelihood"], m["starts"]) for m in diagnostics["maxima"]
        )
        return DistributionFit(
            model=Enumerated(**content["model"]),
            theta=theta,
            covariance=_array(content["covariance"], (len(theta), len(theta))),
            n_observations=int(content["n"]),
            method=str(content["method"]),
            covariance_kind=str(content["covariance_kind"]),
            converged=bool(content["converged"]),
            log_likelihood=float(content["log_likelihood"]),
            raw_statistics=None if content["raw_statistics"] is None else np.array(content["raw_statistics"]),
            channel=content["channel"],
            privacy_level=math.inf if content["privacy_level"] is None else float(content["privacy_level"]),
            diagnostics=Diagnostics(**diagnostics),
        )
    except (KeyError, TypeError, ValueError, AskanceError) as error:
        raise FormatError(f"{name} does not describe a fit ({error}).", remedy="Write it again.") from None


def _array(values: Any, shape: tuple[int, ...]) -> FloatArray:
    return np.full(shape, np.nan) if values is None else np.array(values, dtype=np.float64).reshape(shape)
