"""The changes of an object since it was read, as a JSON Patch.

Three views of the object are compared: `raw` is the server's JSON, `before` is the model's view of it, `after` is the
model's content now. Only differences between `before` and `after` are sent, so the patch never contains fields that the
model does not know; `raw` shows whether a parent exists on the server.

List elements are aligned before they are compared: by their map keys if the list has any (containers by name), by a
conventional key if it is unique, otherwise by the longest common run. An element therefore keeps the fields that the
model does not know, also when other elements are added, removed or moved.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

from kubewright.api.wire import canonical_json, identical_json
from kubewright.diff._list_keys import ListKeys

__all__ = ["USUAL_KEYS", "Operation", "diff", "identities"]

Operation: TypeAlias = dict[str, Any]

USUAL_KEYS = (("name",), ("id",), ("key",), ("type",))
"""Conventional keys, for lists without declared keys."""


def diff(keys: ListKeys, raw: Any, before: Any, after: Any, path: str = "") -> Iterator[Operation]:
    """Returns the operations that turn `before` into `after` on a server that has `raw`.

    `keys` has the map keys of lists.
    """
    if identical_json(before, after):
        return
    if isinstance(raw, dict) and isinstance(before, dict) and isinstance(after, dict):
        for name in [*before, *(name for name in after if name not in before)]:
            yield from _diff_member(keys, raw, before, after, name, f"{path}/{_escape(name)}")
    elif isinstance(raw, list) and isinstance(before, list) and isinstance(after, list) and len(raw) == len(before):
        for names in (keys.here(), *USUAL_KEYS):
            old, wanted = identities(names, before), identities(names, after)
            if old is not None and wanted is not None:
                yield from _diff_keyed_list(keys, raw, before, after, old, wanted, path)
                return
        yield from _diff_plain_list(keys, raw, before, after, path)
    else:
        yield {"op": "replace", "path": path, "value": after}


def _diff_member(
    keys: ListKeys, raw: dict[str, Any], before: dict[str, Any], after: dict[str, Any], name: str, path: str
) -> Iterator[Operation]:
    if name not in after:
        if name in raw:
            yield {"op": "remove", "path": path}
    elif name not in before or raw.get(name) is None:
        if name not in before or not identical_json(before[name], after[name]):
            yield {"op": "add", "path": path, "value": after[name]}
    else:
        yield from diff(keys.member(name), raw[name], before[name], after[name], path)


def _diff_keyed_list(
    keys: ListKeys,
    raw: list[Any],
    before: list[Any],
    after: list[Any],
    old: list[Any],
    wanted: list[Any],
    path: str,
) -> Iterator[Operation]:
    """Removes elements, then moves the others to their positions, then compares those that stay."""
    place = {identity: index for index, identity in enumerate(old)}
    now = list(old)
    keep = set(wanted)
    for index in range(len(now) - 1, -1, -1):
        if now[index] not in keep:
            del now[index]
            yield {"op": "remove", "path": f"{path}/{index}"}
    for index, identity in enumerate(wanted):
        if identity not in place:
            now.insert(index, identity)
            yield {"op": "add", "path": f"{path}/{index}", "value": after[index]}
        elif now[index] != identity:
            source = now.index(identity, index)
            now.insert(index, now.pop(source))
            yield {"op": "move", "from": f"{path}/{source}", "path": f"{path}/{index}"}
    for index, identity in enumerate(wanted):
        if identity in place:
            was = place[identity]
            yield from diff(keys.element(), raw[was], before[was], after[index], f"{path}/{index}")


def _diff_plain_list(
    keys: ListKeys, raw: list[Any], before: list[Any], after: list[Any], path: str
) -> Iterator[Operation]:
    """Keeps the longest common runs. Between them, pairs elements in order, then adds or removes the rest."""
    from difflib import SequenceMatcher

    matcher = SequenceMatcher(
        None, [canonical_json(x) for x in before], [canonical_json(x) for x in after], autojunk=False
    )
    offset = 0
    for tag, low, high, new_low, new_high in matcher.get_opcodes():
        if tag == "equal":
            continue
        paired = min(high - low, new_high - new_low)
        for step in range(paired):
            was, new = low + step, new_low + step
            yield from diff(keys.element(), raw[was], before[was], after[new], f"{path}/{was + offset}")
        for _ in range(high - low - paired):
            yield {"op": "remove", "path": f"{path}/{low + paired + offset}"}
        for step in range(new_high - new_low - paired):
            value = after[new_low + paired + step]
            yield {"op": "add", "path": f"{path}/{low + paired + step + offset}", "value": value}
        offset += (new_high - new_low) - (high - low)


def identities(names: tuple[str, ...], elements: list[Any]) -> list[Any] | None:
    """Returns the key of each element, or None if the keys are not unique."""
    identities = []
    for element in elements:
        if not isinstance(element, dict) or not any(name in element for name in names):
            return None
        identities.append(tuple(canonical_json(element.get(name)) for name in names))
    return identities if len(set(identities)) == len(identities) else None


def _escape(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")
