"""Files of fits: `fit/2`, of every model; `fit/1` and `field/1` are read."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import Any, TypeAlias

import numpy as np

from askance._arrays import FloatArray
from askance._checks import as_floats, as_parameter, shown
from askance.errors import FormatError, InputError, ShapeError
from askance.estimation.freedom import Freedom
from askance.estimation.outcome import Diagnostics, LocalMaximum
from askance.estimation.problems.basis import Basis, BasisEstimate
from askance.estimation.problems.moment_repair import MomentRepair
from askance.estimation.results.conditional_field_fit import ConditionalFieldFit
from askance.estimation.results.field_fit import FieldDiagnostics, FieldFit
from askance.estimation.results.fit import DistributionFit
from askance.estimation.results.hidden_fit import HiddenFit
from askance.estimation.results.linear_fit import LinearFit
from askance.estimation.results.means_fit import MeansFit
from askance.estimation.results.regression_fit import RegressionFit
from askance.estimation.results.rows_fit import RowsFit
from askance.formats.fields import REWRITE, Fields, describing
from askance.formats.model_json import FittedModel, model_from_json, model_to_json
from askance.formats.table_json import table_to_json, tables_from_json
from askance.models.count_means import CountMeans
from askance.models.enumerated import Enumerated
from askance.models.hidden import HiddenVariables
from askance.models.linear import LinearModel
from askance.models.random_field import RandomField
from askance.models.softmax import Softmax
from askance.tables import as_json

FIT_FORMAT = "fit/2"
_FIELD_FORMAT = "field/1"
FIT_FORMATS = ("fit/1", FIT_FORMAT, _FIELD_FORMAT)

AnyFit: TypeAlias = DistributionFit | RegressionFit | HiddenFit | MeansFit | FieldFit | ConditionalFieldFit | LinearFit

# Arrays of more numbers than this stand behind the header, in eight bytes a number.
_LARGE, _BYTES = 10_000, 8
# Parts of a header that hold arrays themselves.
_INNER = ("in_basis", "repair", "freedom")
#: Who reads the design of a regression: it comes after files on the way of the data, and is named here instead.
DESIGN_READER = "askance.survey.saved_design"


# -- to a file ---------------------------------------------------------------------------------------------------------


def fit_to_json(fit: AnyFit) -> dict[str, Any]:
    """Everything in a fit as plain JSON values; floats keep every digit, NaN and infinity become null.

    The evidence of a regression is left out: files of fits hold no data about respondents. Of a formula they hold its
    terms, and what these learned from all respondents together (levels, means, knots), as data.
    """
    content: dict[str, Any] = as_json(_content(fit))
    return content


def fit_to_parts(fit: AnyFit) -> tuple[dict[str, Any], bytes]:
    """Header, in which {"array": shape} stands for a large array, and these arrays: little-endian floats of 64 bits."""
    arrays: list[FloatArray] = []

    def in_header(value: Any) -> Any:
        if isinstance(value, np.ndarray) and value.size > _LARGE and np.isfinite(value).all():
            arrays.append(value)
            return {"array": list(value.shape)}
        return as_json(value)

    return _mapped(_content(fit), in_header), b"".join(array.astype(f"<f{_BYTES}").tobytes() for array in arrays)


def _mapped(content: Mapping[str, Any], function: Callable[[Any], Any]) -> dict[str, Any]:
    """A function of every field, and of the fields of those that hold arrays themselves."""
    return {
        field: _mapped(value, function) if field in _INNER and isinstance(value, dict) else function(value)
        for field, value in content.items()
    }


def _content(fit: AnyFit) -> dict[str, Any]:
    """Everything in a fit, arrays as they are; what is not known is left out or None."""
    return {
        "askance": FIT_FORMAT,
        "method": fit.method,
        "n": fit.n_observations,
        "privacy_level": fit.privacy_level,
        "converged": fit.converged,
        "log_likelihood": fit.log_likelihood,
        "covariance_kind": fit.covariance_kind,
        "theta": fit.theta,
        "covariance": _known(fit.covariance),
        "raw_statistics": fit.raw_statistics,
        **({} if fit.freedom is None else {"freedom": _freedom_content(fit)}),
        **{field: value for field, value in _own_content(fit).items() if value is not None},
        "channel": dict(fit.channel),
        "model": model_to_json(fit.model),
        "diagnostics": dataclasses.asdict(fit.diagnostics),
        **({"alarm": fit.alarm} if fit.alarm else {}),
        **({"tables": [table_to_json(table) for table in fit.kept_tables]} if fit.kept_tables else {}),
    }


def _known(covariance: FloatArray) -> FloatArray | None:
    """Looks at the diagonal first: wide fits have a NaN of 10¹⁰ entries with no memory behind it."""
    finite = np.isfinite(np.diagonal(covariance)).all() and np.isfinite(covariance).all()
    return covariance if finite else None


def _own_content(fit: AnyFit) -> dict[str, Any]:
    """What only fits of such a model have."""
    if isinstance(fit, DistributionFit):
        return {"raw_covariance": fit.raw_covariance}
    if isinstance(fit, RowsFit):
        written, basis = getattr(fit.design, "to_json", None), getattr(fit, "in_basis", None)
        return {
            "in_basis": None if basis is None else _basis_content(basis),
            "design": None if written is None else written(),
        }
    if isinstance(fit, LinearFit):
        return {
            "repaired_moments": fit.repaired_moments,
            "repair": {field.name: getattr(fit.repair, field.name) for field in dataclasses.fields(MomentRepair)},
            "pilot_n": fit.pilot_observations,
            "weighted": fit.weighted,
        }
    return {
        "prior_scale": fit.prior_scale if math.isfinite(fit.prior_scale) else None,
        "measured": [list(names) for names in fit.measured],
        "raw_standard_errors": fit.raw_standard_errors,
        "factor": fit.factor if isinstance(fit, ConditionalFieldFit) else None,
    }


def _freedom_content(fit: AnyFit) -> dict[str, Any]:
    """Of the estimate in a basis, where there is one: the other follows from it."""
    basis = getattr(fit, "in_basis", None)
    kept = fit.freedom if basis is None else basis.freedom
    return {field.name: getattr(kept, field.name) for field in dataclasses.fields(Freedom)}


def _basis_content(kept: BasisEstimate) -> dict[str, Any]:
    content = {name: getattr(kept.basis, name) for name in ("anchor", "height", "origin", "matrix")}
    return {**content, "theta": kept.theta, "covariance": _known(kept.covariance)}


# -- from a file -------------------------------------------------------------------------------------------------------


def fit_from_parts(header: dict[str, Any], payload: bytes, name: str) -> AnyFit:
    """The fit that `fit_to_parts` wrote, or an earlier version of it."""
    if header["askance"] == _FIELD_FORMAT:
        header = _from_field_format(Fields(header, name))
    numbers: FloatArray = np.frombuffer(payload[: len(payload) // _BYTES * _BYTES], dtype=f"<f{_BYTES}")
    if not np.isfinite(numbers).all():
        raise FormatError(f"{name} holds numbers that are not finite.", remedy=REWRITE)
    sizes: list[int] = []

    def array(value: Any) -> Any:
        if not isinstance(value, dict) or list(value) != ["array"]:
            return value
        shape = value["array"]
        if not isinstance(shape, list) or not all(type(size) is int and 0 <= size <= len(payload) for size in shape):
            raise FormatError(f"{name} announces an array of shape {shown(shape)}.", remedy=REWRITE)
        start = sum(sizes)
        sizes.append(math.prod(shape))
        part = numbers[start : start + sizes[-1]]
        return part.astype(np.float64).reshape(shape) if part.size == sizes[-1] else np.empty(0)

    content = _mapped(header, array)
    if len(payload) != sum(sizes) * _BYTES:
        raise FormatError(
            f"{name} announces {sum(sizes)} numbers of {_BYTES} bytes and holds {len(payload)} bytes; allowed: as many "
            "as announced.",
            remedy=REWRITE,
        )
    return fit_from_json(content, name)


def _from_field_format(fields: Fields) -> dict[str, Any]:
    """The header of a `field/1` as that of a fit; its arrays stand in the order of the payload."""
    description = {
        field: fields.content.get(field) for field in ("variables", "cliques", "impossible", "largest_table")
    }
    model = {"kind": "random-field", **description}
    with describing(fields.name, "a field", REWRITE):
        size = model_from_json(Fields(model, fields.name)).dimension  # type: ignore[union-attr]
    cells, known = {"array": [fields.read("raw_cells", int)]}, fields.read("covariance", bool)
    arrays = {"theta": {"array": [size]}, "raw_statistics": cells, "raw_standard_errors": cells}
    spread = {"covariance": {"array": [size, size]} if known else None}
    others = {field: value for field, value in fields.content.items() if field != "covariance"}
    return {**others, "model": model, "covariance_kind": "posterior", **arrays, **spread}


def fit_from_json(content: dict[str, Any], name: str) -> AnyFit:
    """The fit of what `fit_to_json` wrote; arrays may be arrays already."""
    fields = Fields(content, name)
    with describing(name, "a fit", REWRITE):
        model = model_from_json(fields.inner("model"))
        size = model.n_features + 1 if isinstance(model, LinearModel) else model.dimension
        common = {
            "model": model,
            "theta": as_parameter(_array(fields, "theta", (size,)), size),
            "covariance": _array(fields, "covariance", (size, size)),
            "n_observations": fields.read("n", int),
            "method": fields.read("method", str),
            "covariance_kind": fields.read("covariance_kind", str),
            "converged": fields.read("converged", bool),
            "log_likelihood": _or(fields, "log_likelihood", -math.inf),
            "channel": fields.read("channel", dict),
            "privacy_level": _or(fields, "privacy_level", math.inf),
            "alarm": fields.read("alarm", str) if "alarm" in content else "",
            "kept_tables": tables_from_json(fields) if "tables" in content else (),
            "freedom": _freedom(fields.inner("freedom"), size) if "freedom" in content else None,
        }
        kind, own = _own_fields(model, fields)
        basis, freedom = own.get("in_basis"), common["freedom"]
        if basis is not None and freedom is not None:
            own["in_basis"] = dataclasses.replace(basis, freedom=freedom)
            common["freedom"] = freedom.turned(basis.basis.transformation(size))
        return kind(**common, **own)


def _own_fields(model: FittedModel, fields: Fields) -> tuple[Callable[..., AnyFit], dict[str, Any]]:
    """The class of the fit, and what only fits of such a model have."""
    if isinstance(model, RandomField):
        return _field_fields(model, fields)
    diagnostics = _diagnostics(Diagnostics, fields.inner("diagnostics"))
    if isinstance(model, LinearModel):
        square = (model.width, model.width)
        return LinearFit, {
            "diagnostics": diagnostics,
            "raw_statistics": _array(fields, "raw_statistics", square),
            "repaired_moments": _array(fields, "repaired_moments", square),
            "repair": _repair(fields.inner("repair"), model.n_features + 1),
            "pilot_observations": fields.read("pilot_n", int),
            "weighted": fields.read("weighted", bool),
        }
    size, content = model.dimension, fields.content
    raw = _array_or_none(fields, "raw_statistics", (size,))
    own: dict[str, Any] = {"diagnostics": diagnostics, "raw_statistics": raw}
    if isinstance(model, Enumerated):
        return DistributionFit, {**own, "raw_covariance": _array_or_none(fields, "raw_covariance", (size, size))}
    own["design"] = _design(fields, model) if "design" in content else None
    if isinstance(model, HiddenVariables | CountMeans):
        return HiddenFit if isinstance(model, HiddenVariables) else MeansFit, own
    return RegressionFit, {
        **own,
        "in_basis": _basis(fields.inner("in_basis"), model) if "in_basis" in content else None,
    }


def _field_fields(model: RandomField, fields: Fields) -> tuple[Callable[..., AnyFit], dict[str, Any]]:
    measured, content = fields.read("measured", list), fields.content
    sizes = dict(zip(model.variables, model.sizes, strict=True))
    if not all(isinstance(names, list) and all(isinstance(n, str) and n in sizes for n in names) for names in measured):
        raise InputError(f"its measured tables are {shown(measured)}.", remedy=REWRITE)
    cells = sum(math.prod(sizes[name] for name in names) for names in measured)
    own = {
        "diagnostics": _diagnostics(FieldDiagnostics, fields.inner("diagnostics")),
        "prior_scale": _or(fields, "prior_scale", math.inf) if "prior_scale" in content else math.inf,
        "measured": tuple(tuple(names) for names in measured),
        "raw_statistics": _array(fields, "raw_statistics", (cells,)),
        "raw_standard_errors": _array(fields, "raw_standard_errors", (cells,)),
    }
    if not model.terms:
        return FieldFit, own
    return ConditionalFieldFit, {**own, "factor": _array_or_none(fields, "factor", (model.dimension,) * 2)}


def _design(fields: Fields, model: Softmax | HiddenVariables | CountMeans) -> Any:
    """What codes new data; its columns are the terms of the model."""
    design = import_module(DESIGN_READER).design_from_json(fields.read("design", dict), fields.name)
    terms = model.covariates if isinstance(model, HiddenVariables) else model.terms
    if design.terms != terms:
        raise InputError(f"its formula makes {shown(list(design.terms))}, not the terms of the model.", remedy=REWRITE)
    return design


def _basis(fields: Fields, model: Softmax) -> BasisEstimate:
    p, size = len(model.terms), model.dimension
    anchor = fields.read("anchor", int, optional=True)
    height = fields.read("height", float)
    if (anchor is not None and not 0 <= anchor < p) or height == 0:
        raise InputError(f"its basis has the anchor {shown(anchor)} of height {height}.", remedy=REWRITE)
    basis = Basis(_array(fields, "origin", (p,)), anchor, height, _array(fields, "matrix", (p, p)))
    return BasisEstimate(basis, _array(fields, "theta", (size,)), _array(fields, "covariance", (size, size)))


def _freedom(fields: Fields, size: int) -> Freedom:
    number = fields.read("number", float)
    if not number > 0:
        raise InputError(f"it has {number} degrees of freedom.", remedy=REWRITE)
    shapes = {"root": (size, size), "trace": (size, size), "pairs": (size,) * 4}
    return Freedom(number, **{field: _array_or_none(fields, field, shape) for field, shape in shapes.items()})


def _repair(fields: Fields, size: int) -> MomentRepair:
    shapes = {"eigenvalues": (size,), "repaired": (size, size), "weakest": (size,)}
    arrays: dict[str, Any] = {field: _array(fields, field, shape) for field, shape in shapes.items()}
    numbers = {field: fields.read(field, float) for field in ("ridge", "noise", "directions")}
    return MomentRepair(acted=fields.read("acted", bool), clear=fields.read("clear", bool), **numbers, **arrays)


def _diagnostics(kind: type[Diagnostics] | type[FieldDiagnostics], fields: Fields) -> Any:
    """Every field, of the type of its default; null stands for NaN."""
    content: dict[str, Any] = {}
    for field in dataclasses.fields(kind):
        of = type(field.default)
        value = fields.read(field.name, list if of is tuple else of, optional=of is float)
        content[field.name] = tuple(value) if of is tuple else math.nan if value is None else value
    if "maxima" in content:
        content["maxima"] = tuple(_maxima(content["maxima"], fields.name))
    return kind(**content)


def _maxima(maxima: tuple[Any, ...], name: str) -> Iterator[LocalMaximum]:
    for fields in (Fields(maximum, f"a maximum in {name}") for maximum in maxima):
        theta = as_floats(fields.read("theta", list), f"'theta' of {fields.name}")
        height = _or(fields, "log_likelihood", -math.inf)
        yield LocalMaximum(tuple(theta.tolist()), height, fields.read("starts", int))


def _or(fields: Fields, field: str, otherwise: float) -> float:
    """A number; null stands for what JSON has no name for."""
    value: float | None = fields.read(field, float, optional=True)
    return otherwise if value is None else value


def _array_or_none(fields: Fields, field: str, shape: tuple[int, ...]) -> FloatArray | None:
    """Numbers of that shape, where there are any."""
    return None if fields.content.get(field) is None else _array(fields, field, shape)


def _array(fields: Fields, field: str, shape: tuple[int, ...]) -> FloatArray:
    """Numbers of that shape; None stands for NaN, of a vector one number or all, of a matrix all or none."""
    values = fields.content.get(field)
    if not isinstance(values, np.ndarray):
        values = fields.read(field, list, optional=True)
    array = np.broadcast_to(np.float64(np.nan), shape) if values is None else as_floats(values, field)
    if len(shape) == 2 and values is not None and not np.isfinite(array).all():
        raise InputError(f"{field} has numbers that are not finite; allowed: none, or null for all.", remedy=REWRITE)
    if array.shape != shape:
        raise ShapeError(f"{field} has shape {array.shape}; allowed: {shape}.", remedy=REWRITE)
    return array
