"""JSON Patch (RFC 6902), with the words and habits of the real server.

A few habits differ from the RFC: a negative index counts from the end, `add` to a missing list is refused with the
path, `replace` sets a member that is not there yet, and a `test` of a member that is not there passes for null.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from copy import deepcopy
from typing import Any, Final

import msgspec

from kubewright.cluster.merge._errors import Refused, bad_request
from kubewright.cluster.merge._go import quoted

__all__ = ["MOST_OPERATIONS", "json_patch"]

MOST_OPERATIONS: Final = 10_000

_INTEGER: Final = re.compile(r"[+-]?[0-9]+")
_MISSING_VALUE: Final = "missing value"
_INVALID_INDEX: Final = "invalid index referenced"
_TEST_FAILED: Final = "test failed"
_ABSENT: Final = object()


class _Problem(Exception):
    """What is wrong with an operation, in the server's words."""


def json_patch(document: Any, patch: bytes) -> Any:
    """The document after all operations. The document itself is not changed.

    Raises `Refused`: 400 for what is no patch, 413 for too many operations, 422 for an operation that does not apply.
    """
    operations = _operations(patch)
    if len(operations) > MOST_OPERATIONS:
        raise Refused(
            413,
            "RequestEntityTooLarge",
            "Request entity is too large: The allowed maximum operations in a JSON patch is "
            f"{MOST_OPERATIONS}, got {len(operations)}",
        )
    root = [deepcopy(document)]
    for operation in operations:
        kind = operation.get("op")
        perform = _PERFORM.get(kind) if isinstance(kind, str) else None
        try:
            if perform is None:
                raise _Problem(f"Unexpected kind: {kind if isinstance(kind, str) else 'unknown'}")
            perform(root, operation)
        except _Problem as problem:
            # The server has no generic message for 422 with a reason of its own.
            raise Refused(
                422, "Invalid", f"the server rejected our request due to an error in our request: {problem}"
            ) from None
    return root[0]


def _operations(patch: bytes) -> list[dict[str, Any]]:
    try:
        operations = msgspec.json.decode(patch)
    except msgspec.DecodeError as error:
        raise bad_request(f"error decoding patch: {error}") from None
    if operations is None:
        return []
    if not isinstance(operations, list) or not all(isinstance(each, dict) for each in operations):
        kind = {dict: "object", str: "string", bool: "bool"}.get(type(operations), "number")
        if isinstance(operations, list):
            raise bad_request("error decoding patch: json: cannot unmarshal into Go value of type handlers.jsonPatchOp")
        raise bad_request(
            f"error decoding patch: json: cannot unmarshal {kind} into Go value of type []handlers.jsonPatchOp"
        )
    return operations


def _path(operation: dict[str, Any], message: str, name: str = "path") -> str:
    path = operation.get(name)
    if not isinstance(path, str):
        raise _Problem(message)
    return path


def _find(root: list[Any], path: str) -> tuple[Any, str] | None:
    """The list or object that holds what the path names, and the last step; None when there is none."""
    first, *steps = path.split("/")
    if not steps:
        return None
    here = root[0]
    for step in steps[:-1]:
        try:
            here = _get(here, _unescape(step))
        except _Problem:
            return None
        if not isinstance(here, dict | list):
            return None
    return here, _unescape(steps[-1])


def _unescape(step: str) -> str:
    return step.replace("~1", "/").replace("~0", "~")


def _number(step: str) -> int:
    if not _INTEGER.fullmatch(step):
        raise _Problem(f"strconv.Atoi: parsing {quoted(step)}: invalid syntax")
    return int(step)


def _index(step: str, length: int) -> int:
    number = _number(step)
    index = number + length if number < 0 else number
    if not 0 <= index < length:
        raise _Problem(f"Unable to access invalid index: {number}: {_INVALID_INDEX}")
    return index


def _get(holder: Any, step: str) -> Any:
    """What stands there; `_ABSENT` for a member that is not there."""
    if isinstance(holder, list):
        return holder[_index(step, len(holder))]
    return holder.get(step, _ABSENT)


def _put(holder: Any, step: str, value: Any) -> None:
    if isinstance(holder, dict):
        holder[step] = value
    elif step == "-":
        holder.append(value)
    else:
        try:
            number = _number(step)
        except _Problem as problem:
            raise _Problem(f"value was not a proper array index: '{step}': {problem}") from None
        length = len(holder) + 1
        index = number + length if number < 0 else number
        if not 0 <= index < length:
            raise _Problem(f"Unable to access invalid index: {number}: {_INVALID_INDEX}")
        holder.insert(index, value)


def _take(holder: Any, step: str) -> None:
    if isinstance(holder, list):
        del holder[_index(step, len(holder))]
    elif step in holder:
        del holder[step]
    else:
        raise _Problem(f"Unable to remove nonexistent key: {step}: {_MISSING_VALUE}")


def _within(words: str, act: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return act(*arguments)
    except _Problem as problem:
        raise _Problem(f"{words}: {problem}") from None


def _add(root: list[Any], operation: dict[str, Any]) -> None:
    path = _path(operation, f"add operation failed to decode path: {_MISSING_VALUE}")
    found = _find(root, path)
    if found is None:
        raise _Problem(f'add operation does not apply: doc is missing path: "{path}": {_MISSING_VALUE}')
    _within(f"error in add for path: '{path}'", _put, *found, deepcopy(operation.get("value")))


def _remove(root: list[Any], operation: dict[str, Any]) -> None:
    path = _path(operation, f"remove operation failed to decode path: {_MISSING_VALUE}")
    found = _find(root, path)
    if found is None:
        raise _Problem(f'remove operation does not apply: doc is missing path: "{path}": {_MISSING_VALUE}')
    _within(f"error in remove for path: '{path}'", _take, *found)


def _replace(root: list[Any], operation: dict[str, Any]) -> None:
    path = _path(operation, f"replace operation failed to decode path: operation missing path field: {_MISSING_VALUE}")
    value = deepcopy(operation.get("value"))
    if path == "":
        if not isinstance(value, dict | list):
            raise _Problem("replace operation value must be object or array: %!w(<nil>)")
        root[0] = value
        return
    found = _find(root, path)
    if found is None:
        raise _Problem(f"replace operation does not apply: doc is missing path: {path}: {_MISSING_VALUE}")
    holder, step = found
    try:
        if isinstance(holder, list):
            holder[_index(step, len(holder))] = value
        else:
            holder[step] = value
    except _Problem:
        raise _Problem(f"replace operation does not apply: doc is missing key: {path}: {_MISSING_VALUE}") from None


def _move(root: list[Any], operation: dict[str, Any]) -> None:
    source = _path(
        operation, f"move operation failed to decode from: operation, missing from field: {_MISSING_VALUE}", "from"
    )
    found = _find(root, source)
    if found is None:
        raise _Problem(f"move operation does not apply: doc is missing from path: {source}: {_MISSING_VALUE}")
    words = f"error in move for path: '{found[1]}'"
    value = _within(words, _get, *found)
    _within(words, _take, *found)
    path = _path(operation, f"move operation failed to decode path: operation missing path field: {_MISSING_VALUE}")
    target = _find(root, path)
    if target is None:
        raise _Problem(f"move operation does not apply: doc is missing destination path: {path}: {_MISSING_VALUE}")
    _within(f"error in move for path: '{path}'", _put, *target, value)


def _copy(root: list[Any], operation: dict[str, Any]) -> None:
    source = _path(
        operation, f"copy operation failed to decode from: operation, missing from field: {_MISSING_VALUE}", "from"
    )
    found = _find(root, source)
    if found is None:
        raise _Problem(f"copy operation does not apply: doc is missing from path: {source}: {_MISSING_VALUE}")
    value = _within(f"error in copy for from: '{source}'", _get, *found)
    path = _path(operation, f"copy operation failed to decode path: {_MISSING_VALUE}")
    target = _find(root, path)
    if target is None:
        raise _Problem(f"copy operation does not apply: doc is missing destination path: {path}: {_MISSING_VALUE}")
    copied = None if value is _ABSENT else deepcopy(value)
    _within("error while adding value during copy", _put, *target, copied)


def _test(root: list[Any], operation: dict[str, Any]) -> None:
    path = _path(operation, f"test operation failed to decode path: operation missing path field: {_MISSING_VALUE}")
    wanted = operation.get("value")
    failed = f"testing value {path} failed: {_TEST_FAILED}"
    if path == "":
        if not _equal(root[0], wanted):
            raise _Problem(failed)
        return
    found = _find(root, path)
    if found is None:
        raise _Problem(f"test operation does not apply: is missing path: {path}: {_MISSING_VALUE}")
    value = _within(f"error in test for path: '{path}'", _get, *found)
    if not _equal(None if value is _ABSENT else value, wanted):
        raise _Problem(failed)


def _equal(one: Any, other: Any) -> bool:
    """Objects whatever their order; numbers only as they are written: 1 is not 1.0."""
    return msgspec.json.encode(one, order="deterministic") == msgspec.json.encode(other, order="deterministic")


_PERFORM: Final[dict[str, Callable[[list[Any], dict[str, Any]], None]]] = {
    "add": _add,
    "remove": _remove,
    "replace": _replace,
    "move": _move,
    "copy": _copy,
    "test": _test,
}
