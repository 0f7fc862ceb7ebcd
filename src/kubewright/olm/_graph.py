"""The upgrade graph of a channel, and its validation."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

__all__ = ["Entry", "check_channel", "head_of", "is_range"]

# One or several conditions such as `>=1.0.0 <1.2.0`, or such groups joined by `||`.
_CONDITION: Final = r"(?:>=|<=|>|<|=|==|!=|!)?\s*v?\d+(?:\.(?:\d+|x)){0,2}(?:[-+][0-9A-Za-z.+-]+)?"
_RANGE: Final = re.compile(rf"\s*{_CONDITION}(?:(?:\s+|\s*\|\|\s*){_CONDITION})*\s*")


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A version in a channel, and the versions that upgrade to it."""

    name: str
    replaces: str = ""
    skips: Sequence[str] = ()
    skip_range: str = ""


def is_range(text: str) -> bool:
    """Whether a string is a range of versions, such as `>=1.0.0 <1.2.0`."""
    return _RANGE.fullmatch(text) is not None


def head_of(entries: Sequence[Entry]) -> list[str]:
    """Returns the versions that no other version replaces or skips. A valid channel has exactly one."""
    passed = {one.replaces for one in entries} | {name for one in entries for name in one.skips}
    return sorted(one.name for one in entries if one.name not in passed)


def check_channel(channel: str, entries: Sequence[Entry]) -> Iterator[tuple[str, str]]:
    """Yields the problems of a channel: (`error` or `warning`, message)."""
    for entry in entries:
        if entry.skip_range and not is_range(entry.skip_range):
            yield "error", f"{entry.name}: skipRange {entry.skip_range!r} is not a range, such as '>=1.0.0 <1.2.0'"
        if entry.name in (entry.replaces, *entry.skips):
            yield "error", f"{entry.name} replaces or skips itself"
    by_name = {one.name: one for one in entries}
    if circle := _find_cycle(by_name):
        yield "error", f"channel {channel}: the versions replace each other in a cycle: {' -> '.join(circle)}"
        return
    heads = head_of(entries)
    if len(heads) != 1:
        names = ", ".join(heads) or "none"
        yield (
            "error",
            f"channel {channel} must have one newest version, which no other replaces or skips, but it has {names}:"
            " set in each version which one it replaces (kubewright bundle --replaces)",
        )
        return
    yield from _reachable(channel, heads[0], by_name)


def _find_cycle(by_name: Mapping[str, Entry]) -> list[str]:
    for start in sorted(by_name):
        seen = [start]
        while (entry := by_name.get(seen[-1])) and entry.replaces:
            if entry.replaces == start:
                return [*seen, start]
            if entry.replaces in seen:
                break  # a cycle without `start`, which is found from its own members
            seen.append(entry.replaces)
    return []


def _reachable(channel: str, head: str, by_name: Mapping[str, Entry]) -> Iterator[tuple[str, str]]:
    skipped = {name for one in by_name.values() for name in one.skips}
    chain = [head]
    while (entry := by_name.get(chain[-1])) and entry.replaces and entry.replaces not in skipped:
        chain.append(entry.replaces)
    for name in sorted(set(by_name) - set(chain) - skipped):
        yield "error", f"channel {channel}: there is no upgrade from {name} to {head}: nothing replaces or skips it"
    if chain[-1] not in by_name:
        yield "warning", f"channel {channel}: {chain[-2]} replaces {chain[-1]}, which is not among the bundles"
