"""What to do about an answer of the API server that the program, or its installation, has to be changed for.

A hint is a note of the error (`BaseException.add_note`): the log, the traceback and `kubewright why` show it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from kubewright.api import Object, Untyped
from kubewright.causes import only_cause
from kubewright.client import ApiError, Forbidden, Invalid, NotFound

__all__ = ["add_hint", "add_immutable_hint"]

_FIELDS_NAMED = 5


def add_hint(error: BaseException) -> None:
    """Adds the hint for an error of a reconcile, once. Most errors have none."""
    cause = only_cause(error)
    if not isinstance(cause, ApiError) or getattr(cause, "__notes__", None):
        return
    hint = None
    if isinstance(cause, Forbidden):
        hint = _permission_hint(cause)
    elif isinstance(cause, NotFound):
        hint = _status_hint(cause)
    if hint is not None:
        cause.add_note(hint)


def add_immutable_hint(error: Invalid, desired: Object, asked: Any, existing: bytes) -> None:
    """Adds to an apply that was refused which fields it would change, if the server says that they are immutable."""
    fixed = [cause.field for cause in error.causes if "immutable" in cause.message]
    if not fixed:
        return
    there = msgspec.json.decode(existing)
    changed = [path for path in _differing(asked, there, "") if any(_is_below(path, field) for field in fixed)]
    shown = ", ".join(changed[:_FIELDS_NAMED]) or ", ".join(fixed)
    more = f" and {len(changed) - _FIELDS_NAMED} more" if len(changed) > _FIELDS_NAMED else ""
    error.add_note(
        f"The apply changes {shown}{more}. Keep the value, or delete the {desired.kind} so that it is created again, or"
        f" give the new one another name"
    )


def _permission_hint(error: Forbidden) -> str | None:
    if error.namespace_is_going or not error.resource or "cannot" not in error.status.message:
        return None  # refused by admission, and not for want of a role
    resource, _, part = error.resource.partition("/")
    plural, _, group = resource.partition(".")
    verb = f"{error.verb} {part}" if part else error.verb
    return (
        f'Declare the call with operator.needs({_class_name(group, plural)}, verbs=["{verb}"]) unless it is declared'
        " already, run `kubewright manifests`, and apply the role"
    )


def _class_name(group: str, plural: str) -> str:
    """The class of a kind as a program names it: `core.Pod`. The resource's name if no class of it is loaded."""
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


def _status_hint(error: NotFound) -> str | None:
    """Only an endpoint that is not served is a 404 without the name of an object."""
    words = error.request.split()
    resource, _, part = words[1].partition("/") if len(words) > 1 else ("", "", "")
    if part != "status" or error.missing:
        return None
    return (
        f"The CustomResourceDefinition {resource} has no status subresource in the cluster. Run `kubewright install`"
        " (or add `subresources: {status: {}}` to its version), or write @kw.resource(..., status_subresource=False)"
    )


def _differing(asked: Any, there: Any, path: str) -> Iterator[str]:
    """The fields that are asked for with another value than the one that is there."""
    if isinstance(asked, dict) and isinstance(there, dict):
        for name, value in asked.items():
            yield from _differing(value, there.get(name), f"{path}.{name}" if path else name)
    elif isinstance(asked, list) and isinstance(there, list) and len(asked) == len(there):
        for number, (one, other) in enumerate(zip(asked, there, strict=True)):
            yield from _differing(one, other, f"{path}[{number}]")
    elif asked != there:
        yield path


def _is_below(path: str, field: str) -> bool:
    return path == field or path.startswith((f"{field}.", f"{field}["))
