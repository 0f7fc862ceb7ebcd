"""`HealthPage`: serves `/healthz` and `/readyz` with their checks, as kube-apiserver does."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Mapping
from typing import Final

from kubewright.causes import error_text
from kubewright.clock import Clock, TimeLimitExceeded, within
from kubewright.durations import format_duration
from kubewright.operator.definition import Check
from kubewright.operator.endpoints._server import Page, PageRequest
from kubewright.user_code import contained, containment

__all__ = ["HealthPage"]

logger = logging.getLogger("kubewright.operator")

_CHECK_SECONDS: Final = 5.0
_WITHHELD: Final = "reason withheld"
_SHOWN_LENGTH: Final = 64
_SHOWN_NAMES: Final = 8


class HealthPage:
    """The page of some checks. `name` is the name of the page in its last line: `healthz`.

    The log reports when a check starts to fail, when its reason changes, and when it succeeds again.
    """

    def __init__(self, name: str, checks: Mapping[str, Check], clock: Clock) -> None:
        self.name = name
        self._checks: dict[str, Check] = {"ping": lambda: None, **checks}
        self._clock = clock
        self._failing: dict[str, str] = {}

    async def __call__(self, request: PageRequest) -> Page:
        """Returns the page of all checks, or of the one that the path names.

        `?verbose` lists every check, `?exclude=name` skips one.
        """
        if one := request.below.removeprefix("/"):
            return await self._page_of_one(one)
        excluded = set(request.query.get("exclude", ()))
        chosen = [name for name in self._checks if name not in excluded]
        failures = dict(zip(chosen, await asyncio.gather(*map(self._failure, chosen)), strict=True))
        passed = not any(failures.values())
        if passed and "verbose" not in request.query:
            return Page(b"ok")
        lines = [
            _line(name, failures[name]) if name in failures else f"[+]{name} excluded: ok" for name in self._checks
        ]
        if unknown := sorted(excluded - self._checks.keys()):
            # The names come from the client: quoted, and bounded.
            quoted = ", ".join(repr(name[:_SHOWN_LENGTH]) for name in unknown[:_SHOWN_NAMES])
            lines.append(f"warn: some health checks cannot be excluded: no matches for {quoted}")
        lines.append(f"{self.name} check {'passed' if passed else 'failed'}\n")
        return Page("\n".join(lines).encode(), 200 if passed else 500)

    async def _page_of_one(self, name: str) -> Page:
        if name not in self._checks:
            return Page(f"{self.name} has no such check; the checks are: {', '.join(self._checks)}\n".encode(), 404)
        failure = await self._failure(name)
        return Page(b"ok") if failure is None else Page(f"{_line(name, failure)}\n".encode(), 500)

    async def _failure(self, name: str) -> str | None:
        """Runs a check. Returns the reason of its failure as clients may see it, or None."""
        try:
            with containment:
                found = self._checks[name]()
            if inspect.isawaitable(found):
                found = await within(self._clock, _CHECK_SECONDS, contained(found))
        except TimeLimitExceeded:
            found = f"no answer within {format_duration(_CHECK_SECONDS)}"
        except Exception as error:
            return self._failed(name, error_text(error), _WITHHELD)
        if found is False:
            return self._failed(name, "it returned False", _WITHHELD)
        if isinstance(found, str):
            return self._failed(name, found, found)
        if self._failing.pop(name, None) is not None:
            logger.info("%s: %s succeeds again", self.name, name)
        return None

    def _failed(self, name: str, reason: str, shown: str) -> str:
        if self._failing.get(name) != reason:
            self._failing[name] = reason
            logger.warning("%s: %s failed: %s", self.name, name, reason)
        return shown


def _line(name: str, failure: str | None) -> str:
    return f"[+]{name} ok" if failure is None else f"[-]{name} failed: {' '.join(failure.split())}"
