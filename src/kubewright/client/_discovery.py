"""Discovery: the groups, versions, kinds and resources of the server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any, TypeAlias

import msgspec

from kubewright.api import ResourceInfo
from kubewright.api.wire import UNREADABLE
from kubewright.client._errors import NotFound, NotKubernetes, Status
from kubewright.clock import Clock
from kubewright.suggestions import nearest

__all__ = ["Discovery", "ServedResource", "ServerVersion"]

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
ACCEPT = f"{AGGREGATED},application/json"

Read: TypeAlias = Callable[[str, str], Awaitable[bytes]]


class ServedResource(msgspec.Struct, frozen=True):
    """A resource of the server: its path and its verbs."""

    info: ResourceInfo
    verbs: frozenset[str]
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()


class ServerVersion(msgspec.Struct, frozen=True, rename="camel"):
    """The version of the server."""

    major: str
    minor: str
    git_version: str
    platform: str = ""
    git_commit: str = ""

    def __str__(self) -> str:
        return self.git_version


class Discovery:
    """The server's resources, fetched on first use and cached.

    A failed lookup asks the server again, at most every few seconds: the kind may have been installed since then.
    """

    REFRESH_SECONDS = 2.0

    def __init__(self, read: Read, clock: Clock) -> None:
        self._read = read
        self._clock = clock
        self._resources: tuple[ServedResource, ...] | None = None
        self._fetched_at = 0.0

    async def resources(self, *, refresh: bool = False) -> tuple[ServedResource, ...]:
        """Returns all resources, preferred versions first within their group."""
        if self._resources is None or refresh:
            found: list[ServedResource] = []
            for root in ("/api", "/apis"):
                document = await self._fetch(root)
                if document.get("kind") == "APIGroupDiscoveryList":
                    found.extend(_aggregated(document))
                else:
                    found.extend([resource async for resource in self._one_by_one(root, document)])
            self._resources, self._fetched_at = tuple(found), self._clock.monotonic()
        return self._resources

    async def find(self, api_version: str, kind: str) -> ResourceInfo:
        """Returns the resource of a kind. `api_version` may be a group, for its preferred version."""
        served = await self.served(api_version, kind)
        return served.info

    async def served(self, api_version: str, kind: str) -> ServedResource:
        """Returns the resource of a kind like `find`, with verbs and short names."""
        found = _match(await self.resources(), api_version, kind)
        if found is None and self._clock.monotonic() - self._fetched_at >= self.REFRESH_SECONDS:
            found = _match(await self.resources(refresh=True), api_version, kind)
        if found is None:
            message = f"the server does not serve {kind} of {api_version}"
            raise NotFound(Status(code=404, reason="NotFound", message=message), "discovery")
        return found

    async def named(self, name: str) -> ServedResource:
        """Returns the resource with a name that kubectl accepts: `Foo`, `foos`, a short name, `foos.example.com`.

        Raises `NotFound` with a suggestion, and ValueError for a name that several groups have.
        """
        resources = await self.resources(refresh=True)
        found = [one for one in resources if name.lower() in _names(one)]
        groups = list(dict.fromkeys(one.info.group for one in found))
        if len(groups) > 1:
            choices = ", ".join(f"{found[0].info.plural}.{group}".removesuffix(".") for group in groups)
            raise ValueError(f"several groups have {name}: {choices}")
        if not found:
            meant = nearest(name.lower(), {known for one in resources for known in _names(one)})
            hint = f"; did you mean {meant}?" if meant else ""
            message = f"the server does not serve {name}{hint}"
            raise NotFound(Status(code=404, reason="NotFound", message=message), "discovery")
        return found[0]

    async def server_version(self) -> ServerVersion:
        """Returns the version of the server. Never cached."""
        raw = await self._read("/version", "application/json")
        try:
            return msgspec.json.decode(raw, type=ServerVersion)
        except UNREADABLE:
            raise _not_kubernetes("/version") from None

    async def _fetch(self, path: str) -> dict[str, Any]:
        try:
            return msgspec.json.decode(await self._read(path, ACCEPT), type=dict[str, Any])
        except UNREADABLE:
            raise _not_kubernetes(path) from None

    async def _one_by_one(self, root: str, document: dict[str, Any]) -> AsyncIterator[ServedResource]:
        """Reads the older form of discovery: one request for each group version."""
        for group_version in _group_versions(document):
            listed = (await self._fetch(f"{root}/{group_version}")).get("resources", ())
            subresources: dict[str, set[str]] = {}
            for item in listed:
                name, _, part = item["name"].partition("/")
                subresources.setdefault(name, set()).update([part] if part else [])
            for item in listed:
                if "/" not in item["name"]:
                    group, _, version = group_version.rpartition("/")
                    yield ServedResource(
                        ResourceInfo(
                            group=group,
                            version=version,
                            kind=item["kind"],
                            plural=item["name"],
                            singular=item.get("singularName") or item["kind"].lower(),
                            namespaced=item["namespaced"],
                            subresources=frozenset(subresources[item["name"]]),
                        ),
                        frozenset(item.get("verbs", ())),
                        tuple(item.get("shortNames", ())),
                        tuple(item.get("categories", ())),
                    )


def _group_versions(document: dict[str, Any]) -> Iterator[str]:
    if document.get("kind") == "APIVersions":
        yield from document["versions"]
    elif document.get("kind") == "APIGroupList":
        for group in document["groups"]:
            preferred = group.get("preferredVersion", {}).get("groupVersion", "")
            yield from sorted(
                (version["groupVersion"] for version in group["versions"]), key=lambda each: each != preferred
            )
    else:
        raise _not_kubernetes("discovery")


def _aggregated(document: dict[str, Any]) -> Iterator[ServedResource]:
    for group in document.get("items", ()):
        name = group["metadata"].get("name", "")
        for version in group.get("versions", ()):
            for item in version.get("resources", ()):
                # The kind of the response, which may belong to another group. A resource without a kind has no objects.
                kind = (item.get("responseKind") or {}).get("kind")
                if kind:
                    yield ServedResource(
                        ResourceInfo(
                            group=name,
                            version=version["version"],
                            kind=kind,
                            plural=item["resource"],
                            singular=item.get("singularResource") or kind.lower(),
                            namespaced=item.get("scope") == "Namespaced",
                            subresources=frozenset(part["subresource"] for part in item.get("subresources", ())),
                        ),
                        frozenset(item.get("verbs", ())),
                        tuple(item.get("shortNames", ())),
                        tuple(item.get("categories", ())),
                    )


def _names(resource: ServedResource) -> set[str]:
    """Returns the names of a resource in lower case, alone and with its group."""
    info = resource.info
    names = {info.plural, info.singular, info.kind.lower(), *resource.short_names}
    return names | {f"{name}.{info.group}" for name in names if info.group}


def _match(resources: tuple[ServedResource, ...], api_version: str, kind: str) -> ServedResource | None:
    for resource in resources:
        info = resource.info
        if info.kind == kind and api_version in (info.api_version, info.group):
            return resource
    return None


def _not_kubernetes(path: str) -> NotKubernetes:
    message = "the response is not that of a Kubernetes API server; is the address right?"
    return NotKubernetes(Status(code=200, message=message), f"GET {path}")
