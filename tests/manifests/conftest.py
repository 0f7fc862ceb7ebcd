"""Helpers that wait for an operator's work and record the server's responses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeVar

import pytest

from kubewright.client import Request
from kubewright.operator.access import DeclaredAccess, observing_calls

T = TypeVar("T")


@dataclass
class Answers:
    """The responses that operators received during a test."""

    all: list[tuple[str, int]] = field(default_factory=list)

    def refused(self, namespace: str = "") -> list[str]:
        """Returns the requests that failed with 401 or 403; with a namespace, without those of other tests.

        An operator for all namespaces also sees objects of other tests, in terminating namespaces that reject creates.
        """
        refused = [request for request, status in self.all if status in (401, 403)]
        return [each for each in refused if not namespace or "test-" not in each or namespace in each]

    def verbs(self) -> set[str]:
        """Returns the requests as `verb resource`."""
        return {" ".join(request.split(" ")[:2]) for request, _ in self.all}


@pytest.fixture
def answers() -> Iterator[Answers]:
    heard = Answers()

    def hear(_access: DeclaredAccess, request: Request, status: int) -> None:
        heard.all.append((str(request), status))

    with observing_calls(hear):
        yield heard
