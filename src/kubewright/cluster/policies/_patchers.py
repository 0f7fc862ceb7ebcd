"""Application of the patches of mutating policies."""

from __future__ import annotations

from kubewright.api.cel import EvaluationError, Struct, misnamed, to_json
from kubewright.cluster.admission.matching import PatchError, TestFailed, apply_patch
from kubewright.cluster.machinery._failures import internal
from kubewright.cluster.machinery._resources import JSONObject, ReadProblem, ResourceType
from kubewright.cluster.merge import Refused, structured_merge

__all__ = ["Unmutable", "applied", "json_patched"]


class Unmutable(Exception):
    """A patch that cannot be applied, with the message of the real server."""


def applied(type_: ResourceType, obj: JSONObject, made: Struct) -> JSONObject:
    """Returns the object merged with an `Object`, as server-side apply merges."""
    if problems := misnamed(made):
        raise Unmutable("type mismatch: " + "\n".join(problems))
    try:
        patch = {**to_json(made), "apiVersion": type_.api_version, "kind": type_.kind}
        return structured_merge(obj, patch, type_.schema())
    except EvaluationError as error:
        raise Unmutable(str(error)) from None
    except Refused as error:
        raise Unmutable(f"error applying patch: {error}") from None


def json_patched(type_: ResourceType, obj: JSONObject, operations: list[Struct]) -> JSONObject:
    """Returns the patched object, or the object itself if a `test` operation fails.

    Raises a 500 for a result of a built-in kind with unknown fields.
    """
    made = [_operation(each) for each in operations]
    try:
        after = apply_patch(obj, made)
    except TestFailed:
        return obj
    except PatchError as error:
        raise Unmutable(f"JSON Patch: {error}") from None
    problems: list[ReadProblem] = []
    type_.strategy.read(after, problems=problems)
    if problems and not type_.custom:
        raise internal(f"strict decoding error: {', '.join(problem.message for problem in problems)}")
    return after


def _operation(made: Struct) -> JSONObject:
    if "value" in made and isinstance(made["value"], Struct) and (problems := misnamed(made["value"])):
        raise Unmutable("type mismatch: " + "\n".join(problems))
    operation: JSONObject = {"op": "", "path": ""}
    try:
        operation |= {name: to_json(made[name]) for name in made if made[name] != "" or name != "from"}
    except EvaluationError as error:
        text = "JSONPath valueExpression evaluated to a type that could not marshal to JSON"
        raise Unmutable(f"{text}: {error}") from None
    return operation
