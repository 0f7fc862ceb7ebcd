"""JSON Patch (RFC 6902), with the habits of the real server.

They differ from the RFC: a negative index counts from the end, `replace` sets a member that is not there yet, `copy` of
a member that is not there copies null, and a `test` for null passes where nothing is.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from copy import deepcopy
from typing import Any, Final

import msgspec

from kubewright.cluster.merge._errors import Refused, bad_request, cannot_unmarshal, refusing_depth

__all__ = ["MOST_OPERATIONS", "json_patch"]

MOST_OPERATIONS: Final = 10_000

_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,18}")
_ABSENT: Final = object()


class _DoesNotApply(Exception):
    """An operation that cannot be done. The server does not tell its clients why."""


@refusing_depth
def json_patch(document: Any, patch: bytes) -> Any:
    """The document after all operations, or after none. The document itself is not changed.

    Raises `Refused`: 400 for what is no patch, 413 for too many operations, 422 for an operation that does not apply.
    """
    operations = _operations(patch)
    if len(operations) > MOST_OPERATIONS:
        raise Refused(
            413,
            "RequestEntityTooLarge",
            f"Request entity too large: The allowed maximum operations in a JSON patch is {MOST_OPERATIONS}, "
            f"got {len(operations)}",
        )
    root = [deepcopy(document)]
    try:
        for operation in operations:
            kind = operation.get("op")
            perform = _PERFORM.get(kind) if isinstance(kind, str) else None
            if perform is None:
                raise _DoesNotApply
            perform(root, operation)
    except _DoesNotApply:
        raise Refused(422, "Invalid", "the server rejected our request due to an error in our request") from None
    return root[0]


def _operations(patch: bytes) -> list[dict[str, Any]]:
    try:
        operations = msgspec.json.decode(patch)
    except msgspec.DecodeError as error:
        raise bad_request(f"error decoding patch: {error}") from None
    if operations is None:
        return []
    if not isinstance(operations, list):
        raise cannot_unmarshal(operations, "[]handlers.jsonPatchOp")
    for operation in operations:
        if not isinstance(operation, dict):
            raise cannot_unmarshal(operation, "handlers.jsonPatchOp")
    return operations


def _find(root: list[Any], operation: dict[str, Any], name: str = "path") -> tuple[Any, str]:
    """The list or object that holds what a path names, and the last step."""
    path = operation.get(name)
    if not isinstance(path, str) or "/" not in path:
        raise _DoesNotApply
    _, *above, last = path.split("/")
    here = root[0]
    for step in above:
        here = _get(here, _unescape(step))
        if not isinstance(here, dict | list):
            raise _DoesNotApply
    return here, _unescape(last)


def _unescape(step: str) -> str:
    return step.replace("~1", "/").replace("~0", "~")


def _index(step: str, length: int) -> int:
    if not _INTEGER.fullmatch(step):
        raise _DoesNotApply
    index = int(step)
    index += length if index < 0 else 0
    if not 0 <= index < length:
        raise _DoesNotApply
    return index


def _get(holder: Any, step: str) -> Any:
    """What stands there; `_ABSENT` for a member that is not there."""
    return holder[_index(step, len(holder))] if isinstance(holder, list) else holder.get(step, _ABSENT)


def _put(holder: Any, step: str, value: Any) -> None:
    if isinstance(holder, dict):
        holder[step] = value
    else:
        holder.insert(len(holder) if step == "-" else _index(step, len(holder) + 1), value)


def _take(holder: Any, step: str) -> None:
    if isinstance(holder, list):
        del holder[_index(step, len(holder))]
    elif step in holder:
        del holder[step]
    else:
        raise _DoesNotApply


def _add(root: list[Any], operation: dict[str, Any]) -> None:
    _put(*_find(root, operation), deepcopy(operation.get("value")))


def _remove(root: list[Any], operation: dict[str, Any]) -> None:
    _take(*_find(root, operation))


def _replace(root: list[Any], operation: dict[str, Any]) -> None:
    value = deepcopy(operation.get("value"))
    if operation.get("path") == "":
        if not isinstance(value, dict | list):
            raise _DoesNotApply
        root[0] = value
        return
    holder, step = _find(root, operation)
    holder[_index(step, len(holder)) if isinstance(holder, list) else step] = value


def _move(root: list[Any], operation: dict[str, Any]) -> None:
    source = _find(root, operation, "from")
    value = _get(*source)
    _take(*source)
    _put(*_find(root, operation), value)


def _copy(root: list[Any], operation: dict[str, Any]) -> None:
    value = _get(*_find(root, operation, "from"))
    _put(*_find(root, operation), None if value is _ABSENT else deepcopy(value))


def _test(root: list[Any], operation: dict[str, Any]) -> None:
    value = root[0] if operation.get("path") == "" else _get(*_find(root, operation))
    if not _equal(None if value is _ABSENT else value, operation.get("value")):
        raise _DoesNotApply


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
