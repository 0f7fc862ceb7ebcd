"""Responses of the conversion webhook: `spec.size` of v1 is `spec.count` of v2."""

from __future__ import annotations

import copy
from typing import Any


def converted(review: dict[str, Any], fault: str | None) -> dict[str, Any]:
    """Returns the ConversionReview with every object in the requested version, or with a fault."""
    request = review["request"]
    objects = [_one(obj, request["desiredAPIVersion"], fault) for obj in request["objects"]]
    response: dict[str, Any] = {
        "uid": "another" if fault == "uid of the request" else request["uid"],
        "convertedObjects": objects[:-1] if fault == "one too few" else objects,
        "result": {"status": "Success"},
    }
    if fault == "refuses":
        response["result"] = {"status": "Failure", "message": "this cannot be said in that version"}
    elif fault == "refuses without a word":
        response["result"] = {"status": "Failure"}
    made = {"apiVersion": review["apiVersion"], "kind": "ConversionReview", "response": response}
    if fault == "no response":
        del made["response"]
    return made


def _one(given: dict[str, Any], api_version: str, fault: str | None) -> dict[str, Any]:
    obj = copy.deepcopy(given)
    spec, metadata = obj.setdefault("spec", {}), obj["metadata"]
    old, new = ("size", "count") if api_version.endswith("/v2") else ("count", "size")
    if old in spec:
        spec[new] = spec.pop(old)
    if fault != "same version":
        obj["apiVersion"] = api_version
    match fault:
        case "kind":
            obj["kind"] = "Another"
        case "name":
            metadata["name"] = "another"
        case "namespace":
            metadata["namespace"] = "another"
        case "uid":
            metadata["uid"] = "another"
        case "no metadata":
            del obj["metadata"]
        case "adds labels":
            metadata["labels"] = {"converted": "yes"}
            metadata["annotations"] = {"example.com/from": given["apiVersion"].rpartition("/")[2]}
            metadata["finalizers"] = ["example.com/ignored"]
        case "bad label":
            metadata["labels"] = {"not a key": "not a value!"}
        case "label that is a number":
            metadata["labels"] = {"a": 1}
        case "unknown field":
            spec["unknown"] = True
    return obj
