"""Notes with the fix for API errors that only a change of the program or of its installation resolves.

A note is added to the error with `BaseException.add_note`. The log, the traceback and `kubewright why` show it.
"""

from __future__ import annotations

from collections.abc import Iterator

from kubewright.api import Object, Untyped
from kubewright.causes import only_cause
from kubewright.client import ApiError, Forbidden, NotFound

__all__ = ["add_fix_note"]


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
