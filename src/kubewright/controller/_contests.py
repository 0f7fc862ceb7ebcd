"""Contests: two programs that set the same fields of one object, each undoing what the other did.

Each write of the one wakes the other, so both would write for ever, as fast as the server lets them. `Contests` counts
how often the same content had to be put back, and makes us wait from some number on: ten seconds, then twice as long
each time. Who applies content that changes is never held up.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import Any, Final, TypeAlias

import msgspec

from kubewright.api import ManagedFieldsEntry, Object
from kubewright.cache import ObjectKey
from kubewright.clock import Clock
from kubewright.controller._ownership import ApplyError
from kubewright.controller._projection import KEY_DEFAULTS
from kubewright.diff import ListKeys
from kubewright.durations import format_duration

__all__ = ["Contested", "Contests", "Place", "Rivals", "rivals_of"]

Place: TypeAlias = tuple[type[Object], ObjectKey]

_PUT_BACK_AT_MOST: Final = 5
_WITHIN: Final = 600.0
_FIRST_PAUSE: Final = 10.0
_LONGEST_PAUSE: Final = 1000.0
_TELL_EVERY: Final = 3600.0
_REMEMBERED: Final = 10_000
_NAMED: Final = 3

_canonical = msgspec.json.Encoder(order="deterministic").encode


class Rivals(msgspec.Struct, frozen=True):
    """Who has undone what was applied: field managers, and the fields that they have taken."""

    managers: tuple[str, ...]
    fields: tuple[str, ...]
    writer: str = ""
    """The object of this operator for which other content is applied, if it is not another program."""

    def __str__(self) -> str:
        named = ", ".join(self.fields[:_NAMED]) or "its fields"
        more = f" and {len(self.fields) - _NAMED} more" if len(self.fields) > _NAMED else ""
        if self.writer:
            return f"this operator also applies it for {self.writer}, with another value of {named}{more}"
        return f"{' and '.join(map(repr, self.managers)) or 'somebody'} sets {named}{more} otherwise each time"


class Contested(ApplyError):
    """Another program keeps undoing what is applied, so it is not put back for a while.

    `Applier.apply` raises it. `ctx.apply` tells it and goes on, and the key comes back when the pause is over.

    Let one of the two decide: leave the fields out of what is applied (`release`), or stop the other.
    """

    existing: Object

    def __init__(self, existing: Object, rivals: Rivals, *, times: int, retry_after: float, news: bool) -> None:
        fix = (
            "Apply it for one object only, or give each its own name"
            if rivals.writer
            else "Let one of the two decide: leave the fields out of what you apply (and name them in"
            " release=[...], so that they keep their value), or stop the other"
        )
        super().__init__(
            f"{existing} is contested: {rivals}, and it was put back {times} times. It is left as it is for"
            f" {format_duration(retry_after)}. {fix}",
            existing,
        )
        self.managers = rivals.managers
        self.fields = rivals.fields
        self.retry_after = retry_after
        """Seconds until it is tried again."""
        self.news = news
        """Whether nobody was told in the last hour."""


class Contest(msgspec.Struct):
    """What is known of one object whose content had to be put back."""

    asked: bytes
    until: float
    """Until then nothing is put back, once it was done too often; before that, when it was done first."""
    times: int = 0
    told: float | None = None
    rivals: Rivals | None = None


class Contests:
    """Remembers which content was put back, when and how often. A few thousand objects: the oldest are forgotten."""

    def __init__(self, clock: Clock) -> None:
        self._now = clock.monotonic
        self._contests: OrderedDict[tuple[Place, str], Contest] = OrderedDict()

    def held(self, place: Place, writer: str, asked: bytes) -> Contest | None:
        """The contest because of which this content may not be put back now; None when it may."""
        contest = self._contests.get((place, writer))
        if contest is None or contest.asked != asked or contest.times < _PUT_BACK_AT_MOST:
            return None
        return contest if self._now() < contest.until else None

    def put_back(self, place: Place, writer: str, asked: bytes) -> None:
        """This content was written once more, because somebody had undone it."""
        key = (place, writer)
        now, contest = self._now(), self._contests.get(key)
        if contest is None or contest.asked != asked or now > contest.until + _WITHIN:
            contest = Contest(asked, until=now, told=contest.told if contest is not None else None)
            self._contests[key] = contest
        contest.times += 1
        contest.rivals = None  # the next may be others
        if contest.times >= _PUT_BACK_AT_MOST:
            contest.until = now + min(_FIRST_PAUSE * 2 ** (contest.times - _PUT_BACK_AT_MOST), _LONGEST_PAUSE)
        self._contests.move_to_end(key)
        if len(self._contests) > _REMEMBERED:
            self._contests.popitem(last=False)

    def refusal(self, contest: Contest, existing: Object, rivals: Rivals) -> Contested:
        """What to raise while it lasts."""
        now = self._now()
        news = contest.told is None or now - contest.told >= _TELL_EVERY
        if news:
            contest.told = now
        contest.rivals = rivals
        return Contested(existing, rivals, times=contest.times, retry_after=contest.until - now, news=news)


def rivals_of(existing: Object, asked: dict[str, Any], manager: str) -> Rivals:
    """Who has taken which of the asked fields, by what the server has noted about managers.

    Who removes a field leaves no such note. Where no field is lost it is whoever wrote last: often a second copy of the
    same program, which has our own name.
    """
    entries = [entry for entry in existing.metadata.managed_fields if entry.subresource != "status"]
    ours = next((entry.fields() for entry in entries if _is_ours(entry, manager)), {})
    lost = [(path, way) for path, way in _ways(asked, ListKeys(type(existing))) if not _covers(ours, way)]
    takers = [
        entry
        for entry in entries
        if not _is_ours(entry, manager) and any(_covers(entry.fields(), way) for _, way in lost)
    ]
    if not lost and entries:
        takers = [max(entries, key=lambda entry: (str(entry.time or ""), not _is_ours(entry, manager)))]
    managers = dict.fromkeys(entry.manager or "" for entry in takers)
    return Rivals(managers=tuple(managers), fields=tuple(path for path, _ in lost))


def _is_ours(entry: ManagedFieldsEntry, manager: str) -> bool:
    return (entry.manager, entry.operation, entry.subresource or "") == (manager, "Apply", "")


def _covers(fields: dict[str, Any], way: Sequence[str]) -> bool:
    """Whether a set of managed fields has this one, or an atomic whole that it is in."""
    here = fields
    for step in way:
        if step not in here:
            return here is not fields and not here
        here = here[step]
    return True


def _ways(asked: dict[str, Any], place: ListKeys) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The fields that are asked for: for people (`spec.replicas`), and as the server notes them (`f:spec`, …)."""
    meta = {name: asked["metadata"][name] for name in _MANAGED_METADATA if name in asked["metadata"]}
    content = {name: value for name, value in asked.items() if name not in ("apiVersion", "kind")}
    return _below(content | {"metadata": meta}, place, "", ())


_MANAGED_METADATA = ("labels", "annotations", "finalizers", "ownerReferences")


def _below(asked: Any, place: ListKeys, path: str, way: tuple[str, ...]) -> Iterator[tuple[str, tuple[str, ...]]]:
    if isinstance(asked, dict) and asked:
        for name, value in asked.items():
            yield from _below(value, place.member(name), f"{path}.{name}" if path else name, (*way, f"f:{name}"))
    elif isinstance(asked, list) and (keys := place.here()) and all(isinstance(element, dict) for element in asked):
        for element in asked:
            identity = {key: element.get(key, KEY_DEFAULTS.get(key)) for key in keys}
            named = ",".join(f"{key}={value}" for key, value in identity.items())
            step = f"k:{_canonical(identity).decode()}"
            yield from _below(element, place.element(), f"{path}[{named}]", (*way, step))
    elif way != ("f:metadata",):
        yield path, way
