"""Files of fits: `fit/1`."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import asdict
from typing import Any

import numpy as np

from askance._arrays import FloatArray
from askance._checks import as_floats, shown
from askance.channels.registry import labels_as_json
from askance.errors import FormatError, InputError, ShapeError
from askance.estimation.outcome import Diagnostics, LocalMaximum
from askance.estimation.results.fit import DistributionFit
from askance.estimation.results.regression_fit import RegressionFit
from askance.formats.fields import REWRITE, Fields
from askance.models.enumerated import Enumerated
from askance.models.softmax import Softmax

FIT_FORMAT = "fit/1"

#: Kinds of models in files, and the fields of each beside its outputs.
_MODEL_FIELDS = {"enumerated": ("table", "parameter_names", "log_base_measure"), "softmax": ("terms",)}


def fit_to_json(fit: DistributionFit | RegressionFit) -> dict[str, Any]:
    """Everything in a fit as plain JSON values; floats keep every digit, NaN and infinity become null.

    The evidence and the design of a regression are left out: files of fits hold no data about respondents, and no
    formulas.
    """
    raw = fit.raw_covariance if isinstance(fit, DistributionFit) else None
    return {
        "askance": FIT_FORMAT,
        "method": fit.method,
        "n": fit.n_observations,
        "privacy_level": _finite(fit.privacy_level),
        "converged": fit.converged,
        "log_likelihood": _finite(fit.log_likelihood),
        "covariance_kind": fit.covariance_kind,
        "theta": _finite(fit.theta.tolist()),
        "covariance": fit.covariance.tolist() if _is_finite(fit.covariance) else None,
        "raw_statistics": None if fit.raw_statistics is None else _finite(fit.raw_statistics.tolist()),
        **({} if raw is None else {"raw_covariance": raw.tolist()}),
        "channel": dict(fit.channel),
        "model": _model_to_json(fit.model),
        "diagnostics": _finite(asdict(fit.diagnostics)),
        **({"alarm": fit.alarm} if fit.alarm else {}),
    }


def _is_finite(covariance: FloatArray) -> bool:
    """Looks at the diagonal first: wide fits have a NaN of 10¹⁰ entries with no memory behind it."""
    return bool(np.isfinite(np.diagonal(covariance)).all() and np.isfinite(covariance).all())


def _finite(value: Any) -> Any:
    """The same with None for every number that JSON has no name for."""
    if isinstance(value, dict):
        return {key: _finite(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _model_to_json(model: Enumerated | Softmax) -> dict[str, Any]:
    outputs = labels_as_json(model.outputs)
    if isinstance(model, Softmax):
        return {"kind": "softmax", "outputs": outputs, "terms": list(model.terms)}
    return {
        "kind": "enumerated",
        "table": model.table.tolist(),
        "outputs": outputs,
        "parameter_names": list(model.parameter_names),
        "log_base_measure": model.log_base_measure.tolist(),
    }


def _model_from_json(fields: Fields) -> Enumerated | Softmax:
    """The model; files written before there were several kinds do not name it."""
    kind = fields.read("kind", str) if "kind" in fields.content else "enumerated"
    if kind not in _MODEL_FIELDS:
        raise FormatError(
            f"{fields.name} is of kind {shown(kind)}; allowed: {', '.join(_MODEL_FIELDS)}.",
            remedy="Use the version of askance that wrote it.",
        )
    unknown = [field for field in fields.content if field not in ("kind", "outputs", *_MODEL_FIELDS[kind])]
    if unknown:
        raise FormatError(f"{fields.name} has an unknown field {shown(unknown[0])}.", remedy=REWRITE)
    given = {field: fields.read(field, list) for field in _MODEL_FIELDS[kind]}
    outputs: Any = fields.content.get("outputs")
    return Enumerated(**given, outputs=outputs) if kind == "enumerated" else Softmax(outputs, **given)


def fit_from_json(content: dict[str, Any], name: str) -> DistributionFit | RegressionFit:
    """The fit that `fit_to_json` wrote."""
    fields = Fields(content, name)
    try:
        model = _model_from_json(fields.inner("model"))
        size = model.dimension
        log_likelihood = fields.read("log_likelihood", float, optional=True)
        privacy_level = fields.read("privacy_level", float, optional=True)
        common: dict[str, Any] = {
            "theta": _array(fields, "theta", (size,)),
            "covariance": _array(fields, "covariance", (size, size)),
            "n_observations": fields.read("n", int),
            "method": fields.read("method", str),
            "covariance_kind": fields.read("covariance_kind", str),
            "converged": fields.read("converged", bool),
            "log_likelihood": -math.inf if log_likelihood is None else log_likelihood,
            "raw_statistics": None
            if fields.read("raw_statistics", list, optional=True) is None
            else _array(fields, "raw_statistics", (size,)),
            "channel": fields.read("channel", dict),
            "privacy_level": math.inf if privacy_level is None else privacy_level,
            "diagnostics": _diagnostics_from_json(fields.inner("diagnostics")),
            "alarm": fields.read("alarm", str) if "alarm" in content else "",
        }
        raw = _array(fields, "raw_covariance", (size, size)) if "raw_covariance" in content else None
        if isinstance(model, Enumerated):
            return DistributionFit(model=model, raw_covariance=raw, **common)
        return RegressionFit(model=model, **common)
    except InputError as error:
        raise FormatError(f"{name} does not describe a fit: {error.message}", remedy=REWRITE) from None


def _diagnostics_from_json(fields: Fields) -> Diagnostics:
    """Every field, of the type of its default."""
    given: dict[str, Any] = {}
    for each in dataclasses.fields(Diagnostics):
        kind = type(each.default)
        value = fields.read(each.name, list if kind is tuple else kind)
        given[each.name] = tuple(value) if kind is tuple else value
    given["maxima"] = tuple(_maximum_from_json(Fields(each, f"a maximum in {fields.name}")) for each in given["maxima"])
    return Diagnostics(**given)


def _maximum_from_json(fields: Fields) -> LocalMaximum:
    height = fields.read("log_likelihood", float, optional=True)
    theta = as_floats(fields.read("theta", list), f"'theta' of {fields.name}")
    return LocalMaximum(tuple(theta.tolist()), -math.inf if height is None else height, fields.read("starts", int))


def _array(fields: Fields, field: str, shape: tuple[int, ...]) -> FloatArray:
    """Numbers of that shape; None stands for NaN, of a vector one number or all, of a matrix all or none."""
    values = fields.read(field, list, optional=True)
    array = np.broadcast_to(np.float64(np.nan), shape) if values is None else as_floats(values, field)
    if len(shape) == 2 and values is not None and not np.isfinite(array).all():
        raise InputError(f"{field} has numbers that are not finite; allowed: none, or null for all.", remedy=REWRITE)
    if array.shape != shape:
        raise ShapeError(f"{field} has shape {array.shape}; allowed: {shape}.", remedy=REWRITE)
    return array
