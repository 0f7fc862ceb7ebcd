"""`Sources`: the ConfigMaps and Secrets of a node's pods, read on demand and watched while mounted."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from kubewright.api import core
from kubewright.client import ApiError, Client, Gone, NotFound, Timeout, TooManyRequests, Unavailable
from kubewright.clock import Clock
from kubewright.cluster.nodes import BackgroundTasks
from kubewright.cluster.processes._fields import InvalidReference

__all__ = ["Sources"]

Kind: TypeAlias = type[core.ConfigMap] | type[core.Secret]
_Key: TypeAlias = tuple[Kind, str, str]
_RETRY_SECONDS: Final = 1.0
ROOT_CA: Final = "kube-root-ca.crt"


class Sources:
    """Reads ConfigMaps and Secrets by name, and reports their changes to callers that follow them.

    `root_ca` is the CA of the API server, for clusters without the ConfigMap `kube-root-ca.crt`.
    """

    def __init__(
        self, client: Client, tasks: BackgroundTasks, clock: Clock, root_ca: Callable[[], bytes | None]
    ) -> None:
        self._client = client
        self._tasks = tasks
        self._clock = clock
        self._root_ca = root_ca
        self._followed: dict[_Key, _Followed] = {}

    async def get(self, kind: Kind, namespace: str, name: str, *, optional: bool) -> Mapping[str, bytes] | None:
        """Returns the data of an object; None if it does not exist and is optional. Raises `InvalidReference`."""
        try:
            return _data(await self._client.get(kind, name, namespace))
        except NotFound:
            ca = self._root_ca() if kind is core.ConfigMap and name == ROOT_CA else None
            if ca is not None:
                return {"ca.crt": ca}
            if optional:
                return None
            raise InvalidReference(f'{kind.__name__.lower()} "{name}" not found') from None
        except ApiError as error:
            raise InvalidReference(f"cannot read {kind.__name__.lower()} {namespace}/{name}: {error.reason}") from error

    def follow(self, kind: Kind, namespace: str, name: str, changed: Callable[[], None]) -> Callable[[], None]:
        """Calls `changed` after each change of the object. Returns a function that ends the subscription."""
        key = (kind, namespace, name)
        followed = self._followed.get(key)
        if followed is None:
            followed = self._followed[key] = _Followed()
            followed.task = self._tasks.start(self._watch(key, followed))
        followed.listeners.append(changed)

        def end() -> None:
            followed.listeners.remove(changed)
            if not followed.listeners and self._followed.get(key) is followed:
                del self._followed[key]
                if followed.task is not None:
                    followed.task.cancel()

        return end

    async def _watch(self, key: _Key, followed: _Followed) -> None:
        kind, namespace, name = key
        fields = {"metadata.name": name}
        while True:
            try:
                listed: Any = await self._client.list(kind, namespace, fields=fields)
                followed.notify("".join(str(each.metadata.resource_version) for each in listed))
                watch: Any = self._client.watch(
                    kind, namespace, resource_version=listed.resource_version, fields=fields
                )
                async for event in watch:
                    followed.notify(str(event.object.metadata.resource_version))
            except (Gone, Timeout, TooManyRequests, Unavailable):
                pass
            except ApiError:
                return  # for example, the namespace is gone
            await self._clock.sleep(_RETRY_SECONDS)


class _Followed:
    def __init__(self) -> None:
        self.listeners: list[Callable[[], None]] = []
        self.task: asyncio.Task[None] | None = None
        self._version: str | None = None

    def notify(self, version: str) -> None:
        if version != self._version:
            self._version = version
            for listener in [*self.listeners]:
                listener()


def _data(obj: core.ConfigMap | core.Secret) -> dict[str, bytes]:
    if isinstance(obj, core.Secret):
        return dict(obj.data or {})
    return {key: value.encode() for key, value in (obj.data or {}).items()} | dict(obj.binary_data or {})
