"""Messages about write loops: the fields, the field managers, and the fix."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from kubewright.controller._write_loops import LIMIT, Loop, Part, Written
from kubewright.durations import format_duration

__all__ = ["changed_fields", "loop_message", "loop_state"]

_NAMED: Final = 3
_BOOKKEEPING: Final = ("managedFields", "resourceVersion", "generation")


def loop_state(loop: Loop) -> str:
    """Returns one line about a loop, for the inspection of an object."""
    parts = " and ".join(sorted(str(part) for part in loop.parts))
    return f"in a write loop over {parts}: {loop.rounds} rounds; such changes wait up to {format_duration(loop.pause)}"


def loop_message(loop: Loop, writes: Mapping[Part, Written]) -> str:
    """Returns the warning: the fields, their other writers, and the fix."""
    parts = " and ".join(sorted(str(part) for part in loop.parts))
    written = [writes[part] for part in loop.parts if part in writes]
    fields = list(dict.fromkeys(field for one in written for field in changed_fields(one.before, one.after)))
    managers = list(
        dict.fromkeys(manager for one in written for manager in (one.managers or _status_managers(one.after)))
    )
    more = f" and {len(fields) - _NAMED} more" if len(fields) > _NAMED else ""
    named = f" ({', '.join(fields[:_NAMED])}{more})" if fields else ""
    others = f" Other field managers that write it: {', '.join(managers)}." if managers else ""
    return (
        f"write loop: {LIMIT} reconciles were triggered only by changes of {parts}, and each wrote it again{named}."
        f"{others} Such changes are delayed by {format_duration(loop.pause)}. Let one controller own each field"
        " (ctx.patch_status with its own fields), and write no value that differs each time, such as the current time"
    )


def changed_fields(before: bytes | None, after: bytes) -> list[str]:
    """Returns the paths (`status.phase`) at which two states of an object differ."""
    old: Any = {} if before is None else msgspec.json.decode(before)
    return list(_differences(old, msgspec.json.decode(after), ""))


def _differences(old: Any, new: Any, path: str) -> Iterator[str]:
    if old == new:
        return
    if not isinstance(old, dict) or not isinstance(new, dict):
        yield path
        return
    for name in dict.fromkeys([*old, *new]):
        if path != "metadata" or name not in _BOOKKEEPING:
            yield from _differences(old.get(name), new.get(name), f"{path}.{name}" if path else name)


def _status_managers(after: bytes) -> list[str]:
    """Returns the field managers of the status if there are several, in the order of their last writes."""
    metadata = msgspec.json.decode(after).get("metadata") or {}
    entries = sorted(metadata.get("managedFields") or (), key=lambda entry: str(entry.get("time") or ""))
    names = list(dict.fromkeys(str(entry.get("manager")) for entry in entries if entry.get("subresource") == "status"))
    return names if len(names) > 1 else []
