"""Decides which status fields a controller declares: pure functions over plain JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from kubewright.api import Object, Untyped, to_dict
from kubewright.api.kinds import status_names
from kubewright.controller.status._declaration import Declaration
from kubewright.suggestions import nearest

if TYPE_CHECKING:
    from kubewright.api.meta.v1 import Condition

__all__ = ["Removed", "merged", "named_fields", "plain_status", "removed_in", "with_conditions"]


class _HasConditions(Protocol):
    conditions: list[Condition] | None


class Removed(tuple[str, ...]):
    """The path of a field to be removed, below `status`."""

    __slots__ = ()

    @property
    def pointer(self) -> str:
        """The path as a JSON pointer."""
        return "".join(f"/{name.replace('~', '~0').replace('/', '~1')}" for name in ("status", *self))

    def is_in(self, status: Any) -> bool:
        """Returns whether the status has that field."""
        for name in self:
            if not isinstance(status, dict) or name not in status:
                return False
            status = status[name]
        return True


def plain_status(status: Any) -> Any:
    """Returns a status, which is a model or plain values, as plain JSON."""
    return to_dict(status)


def named_fields(kind: type[Object], fields: Mapping[str, Any] | None, named: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the arguments of `patch_status` as plain JSON, by their wire names.

    Raises TypeError for a whole model, which would also send its defaults, and for an unknown field.
    """
    if fields is not None and not isinstance(fields, Mapping):
        given = type(fields).__name__
        raise TypeError(
            f"patch_status takes the fields to change, patch_status(field=value) or a dict, not a {given}: to declare"
            f" the whole status of this controller, call set_status({given}(...))"
        )
    names = None if issubclass(kind, Untyped) else status_names(kind)
    if names is None and not issubclass(kind, Untyped):
        raise TypeError(f"the status of {kind.__name__} has no named fields: call set_status(...) with all of it")
    content: dict[str, Any] = {}
    for name, value in (*(fields or {}).items(), *named.items()):
        content[_wire(kind, names, name)] = None if value is None else to_dict(value)
    return content


def _wire(kind: type[Object], names: dict[str, str] | None, name: str) -> str:
    if names is None:
        return name
    if name in names:
        return names[name]
    if name in names.values():
        return name
    meant = nearest(name, names)
    hint = f" Did you mean {meant!r}?" if meant else ""
    raise TypeError(
        f"patch_status: the status of {kind.__name__} has no field {name!r}.{hint} Fields: {', '.join(names)}"
    )


def merged(content: Any, patch: Any) -> Any:
    """Returns `content` with a JSON merge patch applied: maps are merged, None removes, other values are replaced."""
    if not isinstance(patch, dict):
        return patch
    result = dict(content) if isinstance(content, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = merged(result.get(name), value)
    return result


def removed_in(patch: dict[str, Any], above: tuple[str, ...] = ()) -> list[Removed]:
    """Returns the paths that a merge patch removes."""
    found: list[Removed] = []
    for name, value in patch.items():
        if value is None:
            found.append(Removed((*above, name)))
        elif isinstance(value, dict):
            found += removed_in(value, (*above, name))
    return found


def with_conditions(
    wanted: dict[str, Any],
    declared: Declaration,
    known: list[dict[str, Any]],
    merge: Callable[[list[Condition] | None], _HasConditions],
) -> dict[str, Any]:
    """Returns the fields to declare, with the conditions that belong to this controller.

    These are the conditions in `wanted`, or else those that it has declared before, with their current values
    (`known`). `merge` adds the pending ones. If the list is atomic, all conditions of the object are declared, because
    leaving one out would remove it.
    """
    from kubewright.api import from_dict
    from kubewright.api.meta.v1 import Condition

    plain = {one.get("type"): one for one in known}
    there = {one.type: one for one in (from_dict(Condition, one) for one in known)}
    given = [from_dict(Condition, one) for one in wanted.get("conditions") or ()]
    own = {one["type"] for one in declared.content.get("conditions") or ()}
    kept = given or [one for type_, one in there.items() if type_ in own]
    atomic = "conditions" in declared.atomic
    if atomic:
        types = {one.type for one in kept}
        kept = [*kept, *(one for type_, one in there.items() if type_ not in types and type_ not in own)]
    conditions = merge(kept).conditions or []
    # The transition time is kept, also if another manager set the condition before.
    for one in conditions:
        before = there.get(one.type)
        if before is not None and one.type not in own and before.status == one.status:
            one.last_transition_time = before.last_transition_time
    rest = {name: value for name, value in wanted.items() if name != "conditions"}
    made = [(plain.get(one.type, {}) if atomic else {}) | to_dict(one) for one in conditions]
    return rest | ({"conditions": made} if made else {})
