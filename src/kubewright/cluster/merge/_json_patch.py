"""JSON Patch (RFC 6902), with the deviations of the real server.

A negative index counts from the end, `replace` sets an absent member, `copy` of an absent member copies null, and a
`test` for null passes if the member is absent.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

import msgspec

from kubewright.api.wire import identical_json
from kubewright.cluster.machinery._json import UnreadableJSON, check_depth, copied, decode_json
from kubewright.cluster.merge._errors import Refused, bad_request, cannot_unmarshal, refusing_depth

__all__ = ["MOST_COPIED", "MOST_OPERATIONS", "json_patch"]

MOST_OPERATIONS: Final = 10_000
MOST_COPIED: Final = 3 * 1024 * 1024
"""The total size of all `copy` operations of one patch, in bytes of JSON, as on the real server."""

_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,18}")
_ABSENT: Final = object()


class _DoesNotApply(Exception):
    """An operation that does not apply. The server does not report the reason to clients."""


class _Patched:
    """The document during a patch."""

    __slots__ = ("copied", "document")

    def __init__(self, document: Any) -> None:
        self.document = document
        self.copied = 0
        """The number of bytes that `copy` operations copied so far."""


@refusing_depth
def json_patch(document: Any, patch: bytes, *, untyped: bool = False) -> Any:
    """Returns the document after all operations. The given document is not changed.

    Raises `Refused`: 400 for an invalid patch or a result that is nested too deeply, 413 for too many operations, 422
    for an operation that does not apply, and for copies of more than `MOST_COPIED` bytes.
    """
    made = _Patched(copied(document))
    operations = _operations(patch, untyped=untyped)
    if len(operations) > MOST_OPERATIONS:
        raise Refused(
            413,
            "RequestEntityTooLarge",
            f"Request entity too large: The allowed maximum operations in a JSON patch is {MOST_OPERATIONS}, "
            f"got {len(operations)}",
        )
    for operation in operations:
        kind = operation.get("op")
        perform = _PERFORM.get(kind) if isinstance(kind, str) else None
        try:
            if perform is None:
                raise _DoesNotApply
            perform(made, operation)
        except _DoesNotApply:
            refused = Refused(422, "Invalid", "the server rejected our request due to an error in our request")
            refused.failed = (made.document, operation)
            raise refused from None
    try:
        check_depth(made.document)
    except UnreadableJSON:
        raise bad_request("the object or patch is nested too deeply") from None
    return made.document


def _operations(patch: bytes, *, untyped: bool) -> list[dict[str, Any]]:
    try:
        operations = decode_json(patch, untyped=untyped)
    except UnreadableJSON as error:
        raise bad_request(f"error decoding patch: {error}") from None
    if operations is None:
        return []
    if not isinstance(operations, list):
        raise cannot_unmarshal(operations, "[]handlers.jsonPatchOp")
    for operation in operations:
        if not isinstance(operation, dict):
            raise cannot_unmarshal(operation, "handlers.jsonPatchOp")
    return operations


def _find(made: _Patched, operation: dict[str, Any], name: str = "path") -> tuple[Any, str]:
    """Returns the list or object that contains the target of a path, and the last path segment."""
    path = operation.get(name)
    if not isinstance(path, str) or "/" not in path:
        raise _DoesNotApply
    _, *above, last = path.split("/")
    here = made.document
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
    """Returns the value, or `_ABSENT` for an absent member."""
    return holder[_index(step, len(holder))] if isinstance(holder, list) else holder.get(step, _ABSENT)


def _put(holder: Any, step: str, value: Any) -> None:
    if isinstance(holder, dict):
        holder[step] = value
    else:
        holder.insert(len(holder) if step == "-" else _index(step, len(holder) + 1), value)


def _remove_at(holder: Any, step: str) -> None:
    if isinstance(holder, list):
        del holder[_index(step, len(holder))]
    elif step in holder:
        del holder[step]
    else:
        raise _DoesNotApply


def _add(made: _Patched, operation: dict[str, Any]) -> None:
    _put(*_find(made, operation), copied(operation.get("value")))


def _remove(made: _Patched, operation: dict[str, Any]) -> None:
    _remove_at(*_find(made, operation))


def _replace(made: _Patched, operation: dict[str, Any]) -> None:
    value = copied(operation.get("value"))
    if operation.get("path") == "":
        if not isinstance(value, dict | list):
            raise _DoesNotApply
        made.document = value
        return
    holder, step = _find(made, operation)
    holder[_index(step, len(holder)) if isinstance(holder, list) else step] = value


def _move(made: _Patched, operation: dict[str, Any]) -> None:
    source = _find(made, operation, "from")
    value = _get(*source)
    _remove_at(*source)
    _put(*_find(made, operation), value)


def _copy(made: _Patched, operation: dict[str, Any]) -> None:
    value = _get(*_find(made, operation, "from"))
    encoded = msgspec.json.encode(None if value is _ABSENT else value)
    made.copied += len(encoded)
    if made.copied > MOST_COPIED:
        raise _DoesNotApply
    _put(*_find(made, operation), msgspec.json.decode(encoded))


def _test(made: _Patched, operation: dict[str, Any]) -> None:
    value = made.document if operation.get("path") == "" else _get(*_find(made, operation))
    if not identical_json(None if value is _ABSENT else value, operation.get("value")):
        raise _DoesNotApply


_PERFORM: Final[dict[str, Callable[[_Patched, dict[str, Any]], None]]] = {
    "add": _add,
    "remove": _remove,
    "replace": _replace,
    "move": _move,
    "copy": _copy,
    "test": _test,
}
