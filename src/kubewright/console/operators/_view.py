"""`OperatorView`: the protocol by which the console queries an operator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from kubewright.cache import ObjectKey
from kubewright.observe import FailingObjects, Inspection, LogLine, OperatorReport

__all__ = ["BeforeAfter", "ObjectInspection", "OperatorUnavailable", "OperatorView"]

BeforeAfter: TypeAlias = tuple[bytes | None, bytes]
"""An object's JSON before and after a write; None if it was created."""


class OperatorUnavailable(Exception):
    """The operator does not answer. The message contains the reason and the fix."""


@dataclass(frozen=True, slots=True)
class ObjectInspection:
    """An operator's knowledge about an object."""

    inspection: Inspection
    values: Mapping[tuple[int, int], BeforeAfter] = field(default_factory=dict)
    """The values that writes changed, by the index of the result and of the write. Only an operator in this process
    returns values, never those of Secrets. Show them only to viewers who may `get` the written object.
    """


class OperatorView(Protocol):
    """One operator. Each method raises `OperatorUnavailable` if it does not answer."""

    @property
    def address(self) -> str:
        """The location of the operator, for display."""

    async def report(self) -> OperatorReport:
        """Returns the report of the whole operator."""

    async def failing(self) -> FailingObjects:
        """Returns the objects whose last reconcile failed."""

    async def inspect(self, controller: str, key: ObjectKey) -> ObjectInspection | None:
        """Returns what a controller knows about an object; None if nothing."""

    async def logs(self, controller: str, key: ObjectKey) -> list[LogLine]:
        """Returns the last log lines about an object, newest last."""

    async def close(self) -> None:
        """Closes the connections."""
