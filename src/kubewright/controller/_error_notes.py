"""Notes with the fix for API errors that only a change of the program or of its installation resolves.

A note is added to the error with `BaseException.add_note`. The log, the traceback and `kubewright why` show it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from kubewright.api import Object, Untyped
from kubewright.causes import only_cause
from kubewright.client import ApiError, Forbidden, Invalid, NotFound

__all__ = ["add_fix_note", "add_immutable_field_note"]

_FIELDS_NAMED = 5


def add_fix_note(error: BaseException) -> None:
    """Adds the note for an error of a reconcile, once. Most errors have none."""
    cause = only_cause(error)
    if not isinstance(cause, ApiError) or getattr(cause, "__notes__", None):
        return
    note = None
    if isinstance(cause, Forbidden):
        note = _permission_note(cause)
    elif isinstance(cause, NotFound):
        note = _status_note(cause)
    if note is not None:
        cause.add_note(note)


def add_immutable_field_note(error: Invalid, desired: Object, requested: Any, existing: bytes) -> None:
    """Adds a note to a rejected apply that lists the immutable fields that it would change."""
    immutable = [cause.field for cause in error.causes if "immutable" in cause.message]
    if not immutable:
        return
    stored = msgspec.json.decode(existing)
    changed = [path for path in _differing(requested, stored, "") if any(_is_below(path, field) for field in immutable)]
    shown = ", ".join(changed[:_FIELDS_NAMED]) or ", ".join(immutable)
    more = f" and {len(changed) - _FIELDS_NAMED} more" if len(changed) > _FIELDS_NAMED else ""
    error.add_note(
        f"The apply changes {shown}{more}. Keep the value, or delete the {desired.kind} so that it is created again, or"
        f" give the new one another name"
    )


def _permission_note(error: Forbidden) -> str | None:
    if error.namespace_is_going or not error.resource or "cannot" not in error.status.message:
        return None  # rejected by admission, not by RBAC
    resource, _, part = error.resource.partition("/")
    plural, _, group = resource.partition(".")
    verb = f"{error.verb} {part}" if part else error.verb
    return (
        f'Declare the call with operator.needs({_class_name(group, plural)}, verbs=["{verb}"]) unless it is declared'
        " already, run `kubewright manifests`, and apply the role"
    )


def _class_name(group: str, plural: str) -> str:
    """Returns the class of a kind as a program names it, `core.Pod`; the resource's name if no class is loaded."""
    for kind in _subclasses(Object):
        info = getattr(kind, "__resource__", None)
        if info is not None and (info.group, info.plural) == (group, plural) and not issubclass(kind, Untyped):
            module = kind.__module__.split(".")
            return f"{module[2]}.{kind.__name__}" if module[:2] == ["kubewright", "api"] else kind.__name__
    return plural


def _subclasses(kind: type[Object]) -> Iterator[type[Object]]:
    for one in kind.__subclasses__():
        yield one
        yield from _subclasses(one)


def _status_note(error: NotFound) -> str | None:
    # A 404 without the name of an object means that the endpoint is not served.
    words = error.request.split()
    resource, _, part = words[1].partition("/") if len(words) > 1 else ("", "", "")
    if part != "status" or error.missing:
        return None
    return (
        f"The CustomResourceDefinition {resource} has no status subresource in the cluster. Run `kubewright install`"
        " (or add `subresources: {status: {}}` to its version), or write @kw.resource(..., status_subresource=False)"
    )


def _differing(requested: Any, stored: Any, path: str) -> Iterator[str]:
    """Yields the fields that are requested with another value than the stored one."""
    if isinstance(requested, dict) and isinstance(stored, dict):
        for name, value in requested.items():
            yield from _differing(value, stored.get(name), f"{path}.{name}" if path else name)
    elif isinstance(requested, list) and isinstance(stored, list) and len(requested) == len(stored):
        for number, (one, other) in enumerate(zip(requested, stored, strict=True)):
            yield from _differing(one, other, f"{path}[{number}]")
    elif requested != stored:
        yield path


def _is_below(path: str, field: str) -> bool:
    return path == field or path.startswith((f"{field}.", f"{field}["))
