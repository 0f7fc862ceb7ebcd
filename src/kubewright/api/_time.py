"""Times in JSON: RFC 3339, in whole seconds (`Time`) or with six decimals (`MicroTime`).

In Python both are timezone-aware datetimes. Kubernetes writes UTC with a `Z`. Every RFC 3339 offset and any number of
decimals can be read; digits below a microsecond are dropped.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone
from typing import Annotated, Final, Self

import msgspec

__all__ = ["NO_TIME_ZONE", "MicroTime", "Time", "format_micro_time", "format_time", "parse_time", "whole_seconds"]

Time = Annotated[datetime, msgspec.Meta(tz=True)]
"""A timezone-aware datetime, such as `metadata.creation_timestamp`. The API server stores whole seconds."""

NO_TIME_ZONE: Final = (
    "has no time zone: Kubernetes stores moments, not local times. Use datetime.now(UTC) or add tzinfo=UTC"
)

_RFC3339: Final = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d+))?(?:Z|([+-])(\d\d):(\d\d))", re.ASCII
)


class MicroTime(datetime):
    """A timezone-aware datetime that is written with six decimals, as Leases and Events require.

    It has the constructors of datetime: `MicroTime.now(UTC)`. `MicroTime.of` converts a datetime.
    """

    @classmethod
    def of(cls, moment: datetime) -> Self:
        """Returns the same moment in UTC. Raises ValueError for a datetime without a time zone."""
        utc = _in_utc(moment)
        return cls(utc.year, utc.month, utc.day, utc.hour, utc.minute, utc.second, utc.microsecond, UTC)


def parse_time(text: str) -> datetime:
    """Parses an RFC 3339 time, with or without decimals, into UTC. Raises ValueError, which quotes the string."""
    match = _RFC3339.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not an RFC 3339 time such as 2030-01-31T12:00:00Z")
    year, month, day, hour, minute, second, fraction, sign, offset_hours, offset_minutes = match.groups()
    zone = UTC
    try:
        if sign is not None:
            offset = timedelta(hours=int(offset_hours), minutes=int(offset_minutes))
            zone = timezone(-offset if sign == "-" else offset)
        microsecond = int((fraction or "")[:6].ljust(6, "0"))
        moment = datetime(int(year), int(month), int(day), int(hour), int(minute), int(second), microsecond, zone)
        return moment.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise ValueError(f"{text!r} is not a valid time: {error}") from None


def whole_seconds(moment: datetime) -> datetime:
    """Returns the moment as the API server stores a `Time`: UTC, truncated. Raises ValueError without a time zone."""
    return _in_utc(moment).replace(microsecond=0)


def format_time(moment: datetime) -> str:
    """Returns `2030-01-31T12:00:00Z`: UTC, truncated to seconds. Raises ValueError without a time zone."""
    return whole_seconds(moment).replace(tzinfo=None).isoformat() + "Z"


def format_micro_time(moment: datetime) -> str:
    """Returns `2030-01-31T12:00:00.000000Z`: UTC, six decimals. Raises ValueError without a time zone."""
    return _in_utc(moment).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def _in_utc(moment: datetime) -> datetime:
    if moment.utcoffset() is None:
        raise ValueError(f"{moment.isoformat()} {NO_TIME_ZONE}")
    return moment.astimezone(UTC)
