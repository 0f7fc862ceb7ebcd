"""Watches the cluster: the objects of the program's kinds, and the events about them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Final, Self

from kubewright.api import Untyped, core
from kubewright.client import ApiError, Client, Expired, Forbidden
from kubewright.columns import CustomPrinter
from kubewright.development.messages import EventSeen, Hint, KindShown, Message, ObjectSeen

__all__ = ["Watching", "state_of"]

_AGAIN_SECONDS: Final = 1.0
_HEALTHY: Final = ("Ready", "Available")


_Key = tuple[str, str]


class Watching:
    """Reports the objects of some kinds, and their events, during `async with`. The kinds may change."""

    def __init__(self, client: Client, notify: Callable[[Message], None]) -> None:
        self._client = client
        self._notify = notify
        self._kinds: dict[_Key, KindShown] = {}
        self._tasks: dict[_Key, asyncio.Task[None]] = {}
        self._of_events: asyncio.Task[None] | None = None

    def follow(self, kinds: Iterable[KindShown]) -> None:
        """Sets the kinds to watch. The watch of a changed kind is restarted."""
        wanted = {(kind.api_version, kind.kind): kind for kind in kinds}
        for key in [key for key, kind in self._kinds.items() if wanted.get(key) != kind]:
            self._tasks.pop(key).cancel()
        for key in wanted.keys() - self._tasks.keys():
            self._tasks[key] = asyncio.create_task(self._objects(wanted[key]), name=f"watch of {key[1]}")
        self._kinds = wanted
        if self._of_events is None:
            self._of_events = asyncio.create_task(self._events(), name="watch of events")

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        tasks = [*self._tasks.values(), *([self._of_events] if self._of_events else ())]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _objects(self, kind: KindShown) -> None:
        untyped = Untyped.kind_of(kind.api_version, kind.kind, plural=kind.plural, namespaced=kind.namespaced)
        there: dict[_Key, str] = {}

        async def once() -> None:
            listed = await self._client.list(untyped)
            found = {_key(obj): obj for obj in listed}
            for key in there.keys() - found.keys():
                self._report_object(kind, key, None, there)
            for key, obj in found.items():
                self._report_object(kind, key, obj, there)
            async for event in self._client.watch(untyped, resource_version=listed.resource_version):
                self._report_object(kind, _key(event.object), event.object if event.type != "DELETED" else None, there)

        await self._forever(f"objects of the kind {kind.kind}", once)

    def _report_object(self, kind: KindShown, key: _Key, obj: Untyped | None, there: dict[_Key, str]) -> None:
        """Reports an object if its visible state changed."""
        if obj is None:
            if there.pop(key, None) is not None:
                self._notify(ObjectSeen(kind=kind.kind, namespace=key[0], name=key[1], change="deleted", state=""))
            return
        state = state_of(obj, kind, datetime.now(UTC))
        if there.get(key) != state:
            known, there[key] = key in there, state
            self._notify(
                ObjectSeen(
                    kind=kind.kind,
                    namespace=key[0],
                    name=key[1],
                    change="modified" if known else "added",
                    state=state,
                )
            )

    async def _events(self) -> None:
        async def once() -> None:
            listed = await self._client.list(core.Event, limit=1)
            async for event in self._client.watch(core.Event, resource_version=listed.resource_version):
                about = event.object.involved_object
                if event.type == "DELETED" or (about.api_version or "", about.kind or "") not in self._kinds:
                    continue
                self._notify(
                    EventSeen(
                        kind=about.kind or "",
                        namespace=about.namespace or "",
                        name=about.name or "",
                        severity=event.object.type or "Normal",
                        reason=event.object.reason or "",
                        message=event.object.message or "",
                        count=_count(event.object),
                    )
                )

        await self._forever("events", once)

    async def _forever(self, what: str, once: Callable[[], Awaitable[None]]) -> None:
        """Restarts a watch whenever it ends. Stops if the account is not allowed to watch."""
        while True:
            try:
                await once()
            except Expired:
                continue
            except Forbidden as error:
                self._notify(
                    Hint(text=f"{what} are not shown, because your account is not allowed to watch them: {error}")
                )
                return
            except ApiError:  # the definition is changing, or the server is unavailable
                await asyncio.sleep(_AGAIN_SECONDS)


def _key(obj: Untyped) -> _Key:
    return obj.metadata.namespace or "", obj.metadata.name or ""


def _count(event: core.Event) -> int:
    if event.series is not None and event.series.count:
        return event.series.count
    return event.count or 1


def state_of(obj: Untyped, kind: KindShown, now: datetime) -> str:
    """Returns the state of an object: its health from conditions, and the columns of `kubectl get`."""
    conditions = _conditions(obj.get("status"))
    parts = ["deleting"] if obj.metadata.deletion_timestamp is not None else []
    parts += conditions.values()
    parts += [f"{name}={value}" for name, value in _columns(obj, kind, now).items() if name not in conditions]
    return ", ".join(parts)


def _conditions(status: Any) -> dict[str, str]:
    """Returns the conditions that describe an object's health, by type."""
    found = status.get("conditions") if isinstance(status, Mapping) else None
    described = {}
    for condition in found if isinstance(found, list) else ():
        if isinstance(condition, Mapping) and condition.get("type") in _HEALTHY:
            type_, reason = condition["type"], condition.get("reason")
            why = f" ({reason})" if reason else ""
            described[type_] = type_ if condition.get("status") == "True" else f"not {type_}{why}"
    return described


def _columns(obj: Untyped, kind: KindShown, now: datetime) -> dict[str, Any]:
    """Returns the columns that have a value. Leaves out ages, because they change all the time."""
    columns = [column for column in kind.columns if column.get("type") != "date"]
    cells = CustomPrinter(columns).cells({**obj.content, "metadata": {"name": ""}}, now)[1:] if columns else []
    return {column["name"]: cell for column, cell in zip(columns, cells, strict=True) if cell is not None}
