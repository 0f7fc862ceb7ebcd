"""JSON Patches of mutating webhooks and policies, with error messages that name the failed operation."""

from __future__ import annotations

from typing import Any

import msgspec

from kubewright.cluster.machinery._json import UnreadableJSON, decode_json
from kubewright.cluster.machinery._resources import JSONObject
from kubewright.cluster.merge import Refused, json_patch

__all__ = ["PatchError", "TestFailed", "apply_patch", "read_patch"]


class PatchError(Exception):
    """An invalid patch (`undecodable`), or one that does not apply."""

    def __init__(self, problem: str, *, undecodable: bool = False) -> None:
        super().__init__(problem)
        self.undecodable = undecodable


class TestFailed(PatchError):
    """A patch that does not apply because one of its `test` operations failed."""

    __test__ = False  # otherwise pytest collects the class


def read_patch(patch: bytes) -> list[JSONObject]:
    """Decodes the operations of a patch. Raises `PatchError`."""
    try:
        operations = decode_json(patch)
    except UnreadableJSON as error:
        raise PatchError(str(error), undecodable=True) from None
    if operations is None:
        return []
    if not isinstance(operations, list) or not all(isinstance(each, dict) for each in operations):
        raise PatchError("json: cannot unmarshal into Go value of type jsonpatch.Patch", undecodable=True)
    return operations


def apply_patch(document: JSONObject, operations: list[JSONObject]) -> JSONObject:
    """Returns the patched document. Raises `PatchError`."""
    try:
        made = json_patch(document, msgspec.json.encode(operations))
    except Refused as error:
        raise PatchError("the patch does not apply") if error.failed is None else _problem(*error.failed) from None
    if not isinstance(made, dict) or not isinstance(made.setdefault("metadata", {}), dict):
        raise PatchError("the patch leaves something that is not an object")
    return made


def _problem(document: Any, operation: JSONObject) -> PatchError:
    kind, path = operation.get("op"), operation.get("path")
    if kind not in ("add", "remove", "replace", "move", "copy", "test"):
        return PatchError(f"Unexpected kind: {kind or 'unknown'}")
    if not isinstance(path, str):
        return PatchError(f"{kind} operation failed to decode path: missing value")
    if kind == "test":
        if not _has_holder(document, path):
            return PatchError(f"test operation does not apply: is missing path: {path}: missing value")
        return TestFailed(f"testing value {path} failed: test failed")
    if kind in ("move", "copy"):
        source = operation.get("from")
        if not isinstance(source, str):
            return PatchError(f"{kind} operation failed to decode from: missing value")
        if not _has_holder(document, source):
            return PatchError(f"{kind} operation does not apply: doc is missing from path: {source}: missing value")
        return PatchError(f"{kind} operation does not apply: doc is missing destination path: {path}: missing value")
    if not _has_holder(document, path):
        shown = path if kind == "replace" else f'"{path}"'
        return PatchError(f"{kind} operation does not apply: doc is missing path: {shown}: missing value")
    if kind == "replace":
        return PatchError(f"replace operation does not apply: doc is missing key: {path}: missing value")
    last = path.rpartition("/")[2].replace("~1", "/").replace("~0", "~")
    if kind == "remove" and not last.lstrip("-").isdigit():
        problem = f"Unable to remove nonexistent key: {last}: missing value"
    else:
        problem = f"Unable to access invalid index: {last}: invalid index referenced"
    return PatchError(f"error in {kind} for path: '{path}': {problem}")


def _has_holder(document: Any, path: str) -> bool:
    """Returns whether the container of the path's last segment exists."""
    holder = document
    for step in path.split("/")[1:-1]:
        step = step.replace("~1", "/").replace("~0", "~")
        if isinstance(holder, dict):
            holder = holder.get(step)
        elif isinstance(holder, list) and step.isascii() and step.isdigit() and int(step[-18:]) < len(holder):
            holder = holder[int(step)]
        else:
            return False
    return isinstance(holder, dict | list) and "/" in path
