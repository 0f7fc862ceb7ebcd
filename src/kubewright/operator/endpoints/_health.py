"""Health checks, and the pages that show them: `/healthz` and `/readyz`, as kube-apiserver serves them.

A check is a function, plain or async, without arguments. It is well when it returns None or True. When it returns a
text, it has failed, and the text says why to whoever asks. When it returns False or raises, it has failed, and why is
only in the log: an exception may hold what strangers must not read.

Plain checks run in the event loop and must not block it. That a request is answered at all shows that the loop turns:
when it is stuck, the request hangs, and the probe's time-out fails.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias

from kubewright.arguments import check_text
from kubewright.causes import error_text
from kubewright.clock import Clock, TimeLimitExceeded, within
from kubewright.durations import format_duration
from kubewright.operator.endpoints._server import Page, PageRequest
from kubewright.user_code import contained, containment

__all__ = ["BUILT_IN", "Check", "HealthPage", "check_check"]

Check: TypeAlias = Callable[[], "bool | str | Awaitable[bool | str | None] | None"]
"""See the module's contract."""

logger = logging.getLogger("kubewright.operator")

BUILT_IN = ("ping", "caches", "stopping", "webhooks")
"""The names of the checks that every operator has."""

_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?")
_LIMIT = 5.0
_WITHHELD = "reason withheld"


def check_check(name: str, check: Check, taken: Mapping[str, Check]) -> None:
    """Refuse a check whose name cannot be a part of a path or belongs to another one, and what is no function."""
    if not _NAME.fullmatch(check_text("the name of a check", name, "database")):
        raise ValueError(f"a check is named by letters, digits, '-', '_' and '.', such as database, not {name!r}")
    if name in taken or name in BUILT_IN:
        raise ValueError(f"there is a check {name!r} already: give this one another name")
    if not callable(check):
        raise TypeError(f"a check is a function without arguments, not {check!r}")


class HealthPage:
    """The page about some checks. `name` is its own, as its last line says it: `healthz`."""

    def __init__(self, name: str, checks: Mapping[str, Check], clock: Clock) -> None:
        self.name = name
        self._checks: dict[str, Check] = {"ping": lambda: None, **checks}
        self._clock = clock
        self._failing: dict[str, str] = {}

    async def __call__(self, asked: PageRequest) -> Page:
        """The page: of all checks, or below it of one. `?verbose` shows each, `?exclude=name` leaves one out."""
        if one := asked.below.removeprefix("/"):
            return await self._page_of_one(one)
        excluded = set(asked.query.get("exclude", ()))
        chosen = [name for name in self._checks if name not in excluded]
        failures = dict(zip(chosen, await asyncio.gather(*map(self._failure, chosen)), strict=True))
        well = not any(failures.values())
        if well and "verbose" not in asked.query:
            return Page(b"ok")
        lines = [
            _line(name, failures[name]) if name in failures else f"[+]{name} excluded: ok" for name in self._checks
        ]
        if unknown := sorted(excluded - self._checks.keys()):
            # What a stranger typed goes back as a quoted word, and not without limit.
            quoted = ", ".join(repr(name[:64]) for name in unknown[:8])
            lines.append(f"warn: some health checks cannot be excluded: no matches for {quoted}")
        lines.append(f"{self.name} check {'passed' if well else 'failed'}\n")
        return Page("\n".join(lines).encode(), 200 if well else 500)

    async def _page_of_one(self, name: str) -> Page:
        if name not in self._checks:
            return Page(f"{self.name} has no such check; there are: {', '.join(self._checks)}\n".encode(), 404)
        failure = await self._failure(name)
        return Page(b"ok") if failure is None else Page(f"{_line(name, failure)}\n".encode(), 500)

    async def _failure(self, name: str) -> str | None:
        """Why a check failed, as it may be shown; None when it is well."""
        try:
            with containment:
                found = self._checks[name]()
            if inspect.isawaitable(found):
                found = await within(self._clock, _LIMIT, contained(found))
        except TimeLimitExceeded:
            found = f"no answer within {format_duration(_LIMIT)}"
        except Exception as error:
            return self._failed(name, error_text(error), _WITHHELD)
        if found is False:
            return self._failed(name, "it returned False", _WITHHELD)
        if isinstance(found, str):
            return self._failed(name, found, found)
        if self._failing.pop(name, None) is not None:
            logger.info("%s: %s is well again", self.name, name)
        return None

    def _failed(self, name: str, reason: str, shown: str) -> str:
        """The log is told when a check begins to fail, and when it fails otherwise than before."""
        if self._failing.get(name) != reason:
            self._failing[name] = reason
            logger.warning("%s: %s failed: %s", self.name, name, reason)
        return shown


def _line(name: str, failure: str | None) -> str:
    return f"[+]{name} ok" if failure is None else f"[-]{name} failed: {' '.join(failure.split())}"
