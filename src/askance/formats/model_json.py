"""Models as plain JSON values in files of fits."""

from __future__ import annotations

from typing import Any, TypeAlias

from askance._checks import shown
from askance.channels.registry import labels_as_json
from askance.errors import FormatError
from askance.formats.fields import REWRITE, Fields, describing
from askance.models.count_means import CountMeans
from askance.models.enumerated import Enumerated
from askance.models.hidden import Factor, HiddenVariables
from askance.models.linear import LinearModel
from askance.models.outcome import Outcome
from askance.models.random_field import RandomField
from askance.models.softmax import Softmax

FittedModel: TypeAlias = Enumerated | Softmax | HiddenVariables | CountMeans | RandomField | LinearModel

#: Kinds of models in files, and the fields of each with their types.
_MODEL_FIELDS: dict[str, dict[str, type]] = {
    "enumerated": {"table": list, "parameter_names": list, "log_base_measure": list},
    "softmax": {"terms": list},
    "hidden-variables": {"factors": list},
    "count-means": {"variables": dict, "sizes": list, "groups": list, "link": str},
    "random-field": {"variables": dict, "cliques": list, "impossible": list, "largest_table": int},
    "linear": {
        **dict.fromkeys(("features", "low", "high", "centres", "scales"), list),
        "outcome": str,
        "clip": float,
    },
}
# Of one of several hidden variables.
_FACTOR_FIELDS = {
    "name": str,
    "apart": bool,
    **dict.fromkeys(("terms", "after", "statistics", "base"), list),
}
_OUTCOME_FIELDS = {"name": str, "family": str, "apart": bool, **dict.fromkeys(("terms", "after"), list)}
# Fields of any type: outputs may be a number or labels, a field may have covariates, hidden variables outcomes.
_OTHERS = {
    "enumerated": ("outputs",),
    "softmax": ("outputs",),
    "hidden-variables": ("outcomes", "covariates"),
    "count-means": ("outputs",),
    "random-field": ("covariates",),
}


def model_to_json(model: FittedModel) -> dict[str, Any]:
    """A model as plain JSON values."""
    if isinstance(model, Softmax):
        return {"kind": "softmax", "outputs": labels_as_json(model.outputs), "terms": list(model.terms)}
    if isinstance(model, HiddenVariables):
        outcomes = [_outcome_to_json(outcome) for outcome in model.outcomes]
        return {
            "kind": "hidden-variables",
            "factors": [_factor_to_json(factor) for factor in model.factors],
            **({"outcomes": outcomes, "covariates": list(model.covariates)} if outcomes else {}),
        }
    if isinstance(model, CountMeans):
        return {
            "kind": "count-means",
            "variables": {name: list(terms) for name, terms in model.variables.items()},
            "sizes": list(model.sizes),
            "groups": [list(group) for group in model.groups],
            "link": model.link,
            "outputs": labels_as_json(model.outputs),
        }
    if isinstance(model, LinearModel):
        return {"kind": "linear", **model.specification()}
    if isinstance(model, RandomField):
        labels = [known.labels for known in model.categories.values()]
        return {
            "kind": "random-field",
            "variables": {name: labels_as_json(known) for name, known in model.categories.items()},
            "cliques": [list(clique) for clique in model.cliques],
            "impossible": [
                {model.variables[v]: labels[v][code] for v, code in assignment.items()}
                for assignment in model.impossible
            ],
            "largest_table": model.largest_table,
            **({"covariates": list(model.terms)} if model.terms else {}),
        }
    return {
        "kind": "enumerated",
        "table": model.table.tolist(),
        "outputs": labels_as_json(model.outputs),
        "parameter_names": list(model.parameter_names),
        "log_base_measure": model.log_base_measure.tolist(),
    }


def model_from_json(fields: Fields) -> FittedModel:
    """The model; files written before there were several kinds do not name it."""
    kind = fields.read("kind", str) if "kind" in fields.content else "enumerated"
    if kind not in _MODEL_FIELDS:
        raise FormatError(
            f"{fields.name} is of kind {shown(kind)}; allowed: {', '.join(_MODEL_FIELDS)}.",
            remedy="Use the version of askance that wrote it.",
        )
    fields.only(("kind", *_OTHERS.get(kind, ()), *_MODEL_FIELDS[kind]))
    content = {field: fields.read(field, of) for field, of in _MODEL_FIELDS[kind].items()}
    outputs: Any = fields.content.get("outputs")
    if kind == "enumerated":
        return Enumerated(**content, outputs=outputs)
    if kind == "softmax":
        return Softmax(outputs, **content)
    if kind == "hidden-variables":
        with describing(fields.name, "a model", REWRITE, (TypeError, ValueError)):
            outcomes = fields.read("outcomes", list) if "outcomes" in fields.content else []
            return HiddenVariables(
                [_factor_from_json(Fields(factor, fields.name)) for factor in content["factors"]],
                [_outcome_from_json(Fields(outcome, fields.name)) for outcome in outcomes],
                fields.read("covariates", list) if outcomes else None,
            )
    if kind == "count-means":
        with describing(fields.name, "a model", REWRITE, (TypeError, ValueError)):
            return CountMeans(**content, outputs=outputs)
    if kind == "random-field":
        covariates = fields.read("covariates", list) if "covariates" in fields.content else None
        return RandomField(**content, covariates=covariates)
    with describing(fields.name, "a model", REWRITE, (TypeError, IndexError, ValueError)):
        return LinearModel.from_specification(content)


def _factor_to_json(factor: Factor) -> dict[str, Any]:
    return {
        "name": factor.name,
        "outputs": labels_as_json(factor.outputs),
        "terms": list(factor.terms),
        "after": list(factor.after),
        "apart": factor.apart,
        "statistics": factor.table.tolist(),
        "base": factor.base.tolist(),
    }


def _factor_from_json(fields: Fields) -> Factor:
    fields.only(("outputs", *_FACTOR_FIELDS))
    content = {field: fields.read(field, of) for field, of in _FACTOR_FIELDS.items()}
    return Factor(content.pop("name"), fields.content.get("outputs"), content.pop("terms"), **content)  # type: ignore[arg-type]


def _outcome_to_json(outcome: Outcome) -> dict[str, Any]:
    return {
        "name": outcome.name,
        "family": outcome.family,
        "terms": list(outcome.terms),
        "after": list(outcome.after),
        "apart": outcome.apart,
        **({} if outcome.outputs is None else {"outputs": labels_as_json(outcome.outputs)}),
    }


def _outcome_from_json(fields: Fields) -> Outcome:
    fields.only(("outputs", *_OUTCOME_FIELDS))
    content = {field: fields.read(field, of) for field, of in _OUTCOME_FIELDS.items()}
    return Outcome(**content, outputs=fields.content.get("outputs"))
