"""Schedules of CronJobs: parsing, the server's error messages, and the next time."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from typing import Final
from zoneinfo import ZoneInfo

__all__ = ["Schedule", "schedule_problem"]

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
_NAMED: Final = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_UNITS: Final = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_MAX_DAYS: Final = 5 * 366  # days that the library of the real server looks ahead
_DURATION: Final = re.compile(r"[-+]?(\d+(\.\d*)?(ns|us|µs|ms|s|m|h))+")


class _Unreadable(Exception):
    pass


def schedule_problem(schedule: str) -> str | None:
    """Returns the error message for an invalid schedule; None for a valid one."""
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
                _numbers(each, least, most, names)
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


def _numbers(text: str, least: int, most: int, names: dict[str, int]) -> range:
    """Returns the numbers of a single value or a range, with an optional step."""
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
    step = 1
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
    return range(start, end + 1, step)


def _number(text: str, names: dict[str, int]) -> int:
    if text.lower() in names:
        return names[text.lower()]
    if not re.fullmatch(r"[-+]?\d+", text):
        raise _Unreadable(f'failed to parse int from {text}: strconv.Atoi: parsing "{text}": invalid syntax')
    number = int(text)
    if number < 0:
        raise _Unreadable(f"negative number ({number}) not allowed: {text}")
    return number


class Schedule:
    """The times at which a CronJob runs. `text` must be a valid schedule; `zone` is its time zone.

    As in the real controller, a time that a clock change skips is skipped, and one that occurs twice runs twice. If
    both the day of the month and the day of the week are restricted, a day that matches either is enough.
    """

    def __init__(self, text: str, zone: ZoneInfo | None = None) -> None:
        self._zone = zone or UTC
        self._every: timedelta | None = None
        if text.startswith("@every "):
            parts = re.findall(r"(\d+(?:\.\d*)?)(ns|us|µs|ms|s|m|h)", text)
            seconds = sum(float(number) * _UNITS[unit] for number, unit in parts)
            self._every = timedelta(seconds=max(int(seconds), 1))
            return
        parts_of = _NAMED.get(text, text).split()
        self._minutes, self._hours, self._days, self._months, self._weekdays = (
            {number for each in part.split(",") for number in _numbers(each, least, most, names)}
            for part, (least, most, names) in zip(parts_of, _BOUNDS, strict=True)
        )
        free = [any(each.startswith(("*", "?")) for each in part.split(",")) for part in parts_of]
        self._any_day, self._any_weekday = free[2], free[4]

    def after(self, moment: datetime) -> datetime | None:
        """Returns the first time after `moment`; None if there is none within five years."""
        if self._every is not None:
            return moment.replace(microsecond=0) + self._every
        first = moment.astimezone(self._zone).date()
        for days in range(_MAX_DAYS):
            due = [each for each in self._times(first + timedelta(days=days)) if each > moment]
            if due:
                return min(due)
        return None

    def _times(self, day: date) -> Iterator[datetime]:
        if day.month not in self._months or not self._is_due_on(day):
            return
        for hour in self._hours:
            for minute in self._minutes:
                for fold in (0, 1):
                    local = datetime.combine(day, time(hour, minute, fold=fold), tzinfo=self._zone)
                    moment = local.astimezone(UTC)
                    if moment.astimezone(self._zone).replace(tzinfo=None) == local.replace(tzinfo=None):
                        yield moment

    def _is_due_on(self, day: date) -> bool:
        by_day, by_weekday = day.day in self._days, day.isoweekday() % 7 in self._weekdays
        return by_day and by_weekday if self._any_day or self._any_weekday else by_day or by_weekday
