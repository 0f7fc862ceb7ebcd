"""`OperatorView`: what the console asks of an operator, wherever it runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from kubewright.cache import ObjectKey
from kubewright.observe import Inspection, LogLine, OperatorReport

__all__ = ["BeforeAfter", "ObjectInspection", "OperatorUnavailable", "OperatorView"]

BeforeAfter: TypeAlias = tuple[bytes | None, bytes]
"""An object's JSON before and after a write; None where it was made."""


class OperatorUnavailable(Exception):
    """The operator does not answer. Its text says why, and what to do."""


@dataclass(frozen=True, slots=True)
class ObjectInspection:
    """What an operator knows about an object."""

    inspection: Inspection
    values: Mapping[tuple[int, int], BeforeAfter] = field(default_factory=dict)
    """What writes changed, by the number of the result and of the write in it. Only an operator in this process tells
    values, never of Secrets, and they are for those who may `get` the object that was written."""


class OperatorView(Protocol):
    """One operator. Each call raises `OperatorUnavailable` when it does not answer."""

    @property
    def address(self) -> str:
        """Where it is, for people."""

    async def report(self) -> OperatorReport:
        """The operator as a whole."""

    async def inspect(self, controller: str, key: ObjectKey) -> ObjectInspection | None:
        """What a controller knows about an object; None when that is nothing."""

    async def logs(self, controller: str, key: ObjectKey) -> list[LogLine]:
        """The last lines of the log about an object, the newest last."""

    async def close(self) -> None:
        """Let go of connections."""
