"""Bulk changes: one deletion, label or annotation for many objects. Nothing here draws.

Each object is a separate request with its own UID as precondition, so a new object with the same name is not changed.
One failure does not stop the others.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

from kubewright.client import ApiError
from kubewright.console.access import Viewer
from kubewright.console.forms import Writer
from kubewright.console.kinds import Kind
from kubewright.names import label_value_problems, qualified_name_problems

__all__ = ["MAX_OBJECTS", "BulkChange", "BulkKind", "BulkResult", "Target", "denied", "run_bulk"]

MAX_OBJECTS: Final = 1_000
"""The most objects of one bulk change."""
BulkKind: TypeAlias = Literal["delete", "labels", "annotations"]
_AT_ONCE: Final = 8
_NAMED_REVIEWS: Final = 100


@dataclass(frozen=True)
class Target:
    """One selected object, as it was when it was selected."""

    namespace: str
    name: str
    uid: str
    metadata: dict[str, Any] = field(repr=False, compare=False, hash=False)

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


@dataclass(frozen=True)
class BulkChange:
    """The change of each object: `delete`, or one label or annotation. Without a value, the key is removed."""

    what: BulkKind
    key: str = ""
    value: str | None = None

    @property
    def verb(self) -> str:
        """The verb that the viewer needs."""
        return "delete" if self.what == "delete" else "patch"

    def problem(self) -> str:
        """Returns why the change is invalid, by the server's rules; "" if it is valid."""
        if self.what == "delete":
            return ""
        if not self.key:
            return "the key is empty"
        found = [*qualified_name_problems(self.key)]
        if self.what == "labels" and self.value is not None:
            found += label_value_problems(self.value)
        return found[0].split(", regex used", 1)[0].split(" (e.g. ", 1)[0] if found else ""

    def preview(self, target: Target) -> str:
        """Describes the change of an object; "" if the object stays unchanged."""
        if self.what == "delete":
            held = [str(one) for one in target.metadata.get("finalizers") or ()]
            if target.metadata.get("deletionTimestamp"):
                return ""
            return "deleted" + (f" after its finalizers: {', '.join(held)}" if held else "")
        now = (target.metadata.get(self.what) or {}).get(self.key)
        if now == self.value:
            return ""
        if self.value is None:
            return f"{now!r} removed"
        return f"{now!r} → {self.value!r}" if now is not None else f"set to {self.value!r}"

    async def apply(self, writer: Writer, target: Target) -> None:
        """Sends the request for one object."""
        where = target.namespace or None
        if self.what == "delete":
            await writer.delete(target.name, where, target.uid, "Background")
        else:
            await writer.patch(target.name, where, target.uid, {"metadata": {self.what: {self.key: self.value}}})


@dataclass(frozen=True)
class BulkResult:
    """The result for one object. `error` is empty if the server accepted the change."""

    target: Target
    error: str = ""


async def denied(viewer: Viewer, kind: Kind, change: BulkChange, targets: Sequence[Target]) -> set[Target]:
    """Returns the objects that the viewer may not change. The API server decides again for each request."""
    places = {target.namespace for target in targets}
    allowed = {place for place in places if await viewer.may(change.verb, kind, place or None)}
    others = [target for target in targets if target.namespace not in allowed]
    # A role may grant single objects by name. Objects beyond the limit count as denied.
    named = {one for one in others[:_NAMED_REVIEWS] if await viewer.may(change.verb, kind, one.namespace, one.name)}
    return {target for target in others if target not in named}


async def run_bulk(
    writer: Writer, change: BulkChange, targets: Sequence[Target], progress: Callable[[int], None] = lambda _: None
) -> list[BulkResult]:
    """Applies a change to each object, eight at a time. Returns the results in the order of the objects."""
    limit = asyncio.Semaphore(_AT_ONCE)
    done = 0

    async def one(target: Target) -> BulkResult:
        nonlocal done
        async with limit:
            error = ""
            try:
                await change.apply(writer, target)
            except (ApiError, OSError, ValueError) as problem:
                error = str(problem)
        done += 1
        progress(done)
        return BulkResult(target, error)

    return await asyncio.gather(*(one(target) for target in targets[:MAX_OBJECTS]))
