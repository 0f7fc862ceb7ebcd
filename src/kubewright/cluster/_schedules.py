"""Schedules of CronJobs: whether they can be read, and what the server says when they cannot."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["schedule_problem"]

_MONTHS: Final = {
    name: index for index, name in enumerate(re.findall("...", "janfebmaraprmayjunjulaugsepoctnovdec"), 1)
}
_DAYS: Final = {name: index for index, name in enumerate(re.findall("...", "sunmontuewedthufrisat"))}
_BOUNDS: Final[tuple[tuple[int, int, dict[str, int]], ...]] = (
    (0, 59, {}),
    (0, 23, {}),
    (1, 31, {}),
    (1, 12, _MONTHS),
    (0, 6, _DAYS),
)
_NAMED: Final = frozenset(["@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"])
_DURATION: Final = re.compile(r"[-+]?(\d+(\.\d*)?(ns|us|µs|ms|s|m|h))+")


class _Unreadable(Exception):
    pass


def schedule_problem(schedule: str) -> str | None:
    """What is wrong with a schedule; None when nothing is."""
    if schedule.startswith(("TZ=", "CRON_TZ=")):
        schedule = schedule.partition(" ")[2].strip()
    if schedule.startswith("@"):
        return _descriptor_problem(schedule)
    parts = schedule.split()
    if len(parts) != len(_BOUNDS):
        return f"expected exactly {len(_BOUNDS)} fields, found {len(parts)}: [{' '.join(parts)}]"
    try:
        for part, (least, most, names) in zip(parts, _BOUNDS, strict=True):
            for each in part.split(","):
                _check(each, least, most, names)
    except _Unreadable as error:
        return str(error)
    return None


def _descriptor_problem(text: str) -> str | None:
    if text in _NAMED:
        return None
    if text.startswith("@every "):
        duration = text.removeprefix("@every ")
        if _DURATION.fullmatch(duration):
            return None
        return f'failed to parse duration {text}: time: invalid duration "{duration}"'
    return f"unrecognized descriptor: {text}"


def _check(text: str, least: int, most: int, names: dict[str, int]) -> None:
    """One number, one range, with a step or without."""
    span, *steps = text.split("/")
    low, *high = span.split("-")
    if low in ("*", "?"):
        start, end = least, most
    else:
        start = end = _number(low, names)
        if len(high) == 1:
            end = _number(high[0], names)
        elif high:
            raise _Unreadable(f"too many hyphens: {text}")
    if len(steps) > 1:
        raise _Unreadable(f"too many slashes: {text}")
    if steps:
        step = _number(steps[0], {})
        end = most if not high and low not in ("*", "?") else end
        if step == 0:
            raise _Unreadable(f"step of range should be a positive number: {text}")
    if start < least:
        raise _Unreadable(f"beginning of range ({start}) below minimum ({least}): {text}")
    if end > most:
        raise _Unreadable(f"end of range ({end}) above maximum ({most}): {text}")
    if start > end:
        raise _Unreadable(f"beginning of range ({start}) beyond end of range ({end}): {text}")


def _number(text: str, names: dict[str, int]) -> int:
    if text.lower() in names:
        return names[text.lower()]
    if not re.fullmatch(r"[-+]?\d+", text):
        raise _Unreadable(f'failed to parse int from {text}: strconv.Atoi: parsing "{text}": invalid syntax')
    number = int(text)
    if number < 0:
        raise _Unreadable(f"negative number ({number}) not allowed: {text}")
    return number
