"""Waiting for what an operator does, and listening to what the server answers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

import pytest

from kubewright.client import Request
from kubewright.operator.access import DeclaredAccess, observing_calls
from tests.patience import PATIENCE

T = TypeVar("T")


@dataclass
class Answers:
    """The answers that operators got while a test ran."""

    all: list[tuple[str, int]] = field(default_factory=list)

    def refused(self, namespace: str = "") -> list[str]:
        """The requests that were answered with 401 or 403; with a namespace, without those in other namespaces.

        An operator of all namespaces meets what other tests left behind, in namespaces that will never be emptied and
        take nothing new.
        """
        refused = [request for request, status in self.all if status in (401, 403)]
        return [each for each in refused if not namespace or "test-" not in each or namespace in each]

    def verbs(self) -> set[str]:
        """What was asked for, as `verb resource`."""
        return {" ".join(request.split(" ")[:2]) for request, _ in self.all}


@pytest.fixture
def answers() -> Iterator[Answers]:
    heard = Answers()

    def hear(_access: DeclaredAccess, request: Request, status: int) -> None:
        heard.all.append((str(request), status))

    with observing_calls(hear):
        yield heard


async def until(check: Callable[[], Awaitable[T | None]]) -> T:
    """Ask again until the answer is true."""
    async with asyncio.timeout(PATIENCE):
        while True:
            if answer := await check():
                return answer
            await asyncio.sleep(0.02)
