"""The cause of an exception group, and an error as one line of text.

`asyncio.TaskGroup` raises "unhandled errors in a TaskGroup (1 sub-exception)", which names neither the error nor its
type. Where one error stands in a group, that error is raised, matched and logged; several are listed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from kubewright.counts import counted
from kubewright.redaction import as_text

__all__ = ["error_text", "only_cause", "raise_cause", "ungrouped"]

_LISTED = 3


def only_cause(error: BaseException) -> BaseException:
    """Returns the one error in a group, however deep; an error that is not such a group is returned as it is."""
    found = error
    while isinstance(found, BaseExceptionGroup):
        if len(found.exceptions) != 1:
            return error
        found = found.exceptions[0]
    return found


def raise_cause(group: BaseException) -> None:
    """Raises the one error in a group, with the cause and the context that it had. Does nothing for other errors."""
    cause = only_cause(group)
    if cause is group:
        return
    context = cause.__context__
    try:
        raise cause
    finally:
        cause.__context__ = context  # not the group, which would be shown as a second error


@contextmanager
def ungrouped() -> Iterator[None]:
    """Raises the one error of a task group in place of the group. Several errors stay a group."""
    try:
        yield
    except BaseExceptionGroup as group:
        raise_cause(group)
        raise


def error_text(error: BaseException) -> str:
    """Returns an error in one line: its type, its message and its notes; of a group, the errors in it."""
    cause = only_cause(error)
    if isinstance(cause, BaseExceptionGroup):
        errors = list(_leaves(cause))
        more = f" and {len(errors) - _LISTED} more" if len(errors) > _LISTED else ""
        return f"{counted(len(errors), 'error')}: {'; '.join(map(error_text, errors[:_LISTED]))}{more}"
    said = f"{type(cause).__name__}: {as_text(cause)}"
    notes = dict.fromkeys([*getattr(error, "__notes__", ()), *getattr(cause, "__notes__", ())])
    return ". ".join([said.rstrip("."), *map(as_text, notes)]) if notes else said


def _leaves(group: BaseExceptionGroup[BaseException]) -> Iterator[BaseException]:
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            yield from _leaves(error)
        else:
            yield error
