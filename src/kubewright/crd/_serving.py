"""`wait_until_served`: from a definition to a kind that can be used.

The server takes a definition at once, and serves the kind a moment later: first it looks at the names, then it
establishes the definition, and then discovery names the kind and its objects can be asked for. Whoever is quicker than
that meets a 404.
"""

from __future__ import annotations

import contextlib
from typing import Final, TypeVar

import msgspec

from kubewright.api import Object, apiextensions, info_of
from kubewright.api.kinds import BUILT_IN_GROUPS
from kubewright.client import ApiError, Client, Forbidden
from kubewright.clock import Clock, TimeLimitExceeded, within
from kubewright.crd._errors import InstallError
from kubewright.durations import format_duration

__all__ = ["wait_for_definition", "wait_until_served"]

T = TypeVar("T")
CRD = apiextensions.CustomResourceDefinition

_POLL: Final = 0.05


async def wait_until_served(
    client: Client, *kinds: type[Object], timeout: float = 30.0
) -> list[apiextensions.CustomResourceDefinition]:
    """Wait until the server serves these kinds, whoever defines them, and give their definitions.

    A kind is served when its definition is established, and discovery names it in every version that is to be served.
    The time is that of the client's clock, for each kind. Raises `InstallError`, which names the kind and what is
    missing, when it is over, and at once for what waiting does not mend: names that another definition has.
    """
    return [await wait_for_definition(client, *_definition_of(kind), timeout) for kind in kinds]


def _definition_of(kind: type[Object]) -> tuple[str, str]:
    """The name of the definition, and that of the kind."""
    info = info_of(kind)
    if info.group in BUILT_IN_GROUPS:
        raise TypeError(f"{info.kind} ({info.api_version}) is built in, and has no definition to wait for")
    return f"{info.plural}.{info.group}", info.kind


async def wait_for_definition(client: Client, name: str, kind: str, timeout: float, clock: Clock | None = None) -> CRD:
    """Wait until a definition of this name is established and its kind served, by the client's clock unless given."""
    clock = clock or client.clock
    lacking = f"{kind} is not defined; install its definition"
    looked_at = ""  # the version of a definition that is refused, though nobody has its names

    def is_settled(seen: CRD) -> bool:
        nonlocal lacking
        lacking = f"{kind} is defined, but {_told(seen)}"
        if _refusal(seen) is not None:
            return seen.metadata.resource_version != looked_at
        return _condition(seen, "Established") == "True" and _condition(seen, "Terminating") != "True"

    async def wait() -> CRD:
        nonlocal lacking, looked_at
        ready = await client.wait_for(CRD, name, is_settled)
        while (refusal := _refusal(ready)) is not None:
            if holders := await _holders(client, ready):
                raise InstallError(name, "; ".join([refusal, *holders]))
            # The condition may be of names as they were, before the server has looked at those of now.
            looked_at = ready.metadata.resource_version or ""
            ready = await client.wait_for(CRD, name, is_settled)
        for version in ready.spec.versions:
            lacking = f"{kind} is established, but discovery does not name it in {version.name} yet"
            while version.served and not await _is_discovered(client, ready, version.name):
                await clock.sleep(_POLL)
        return ready

    try:
        return await within(clock, timeout, wait())
    except TimeLimitExceeded:
        raise InstallError(name, f"not served after {format_duration(timeout)}: {lacking}") from None


async def _is_discovered(client: Client, crd: CRD, version: str) -> bool:
    """Whether discovery names the kind in this version. From then on, the same server answers for its objects."""
    try:
        raw = await client.request("GET", f"/apis/{crd.spec.group}/{version}")
    except ApiError as error:
        if error.code in (404, 503):
            return False
        raise
    resources = msgspec.json.decode(raw).get("resources") or []
    return any(resource.get("name") == crd.spec.names.plural for resource in resources)


def _refusal(crd: CRD) -> str | None:
    """What the server does not take. The condition stays for a moment after the definition was mended."""
    for condition in crd.status.conditions or []:
        refused = {"NamesAccepted": "False", "NonStructuralSchema": "True"}.get(condition.type)
        if condition.status == refused:
            return f"{condition.type} is {condition.status} ({condition.reason}): {condition.message}"
    return None


async def _holders(client: Client, crd: CRD) -> list[str]:
    """Which other definitions of the group have names that it asks for and keep them, as far as we may look."""
    wanted, holders = _names(crd.spec.names), []
    with contextlib.suppress(Forbidden):
        for other in await client.list(CRD):
            if other.spec.group == crd.spec.group and other.metadata.name != crd.metadata.name:
                held = _names(other.status.accepted_names) & _names(other.spec.names)
                if shared := ", ".join(sorted({name for _, name in wanted & held})):
                    holders.append(f"{shared} belongs to {other.metadata.name}")
    return holders


def _names(names: apiextensions.CustomResourceDefinitionNames | None) -> set[tuple[str, str]]:
    """The names that no two kinds of a group may share: of the kind and of the resource, which are apart."""
    if names is None:
        return set()
    resource = {names.plural, names.singular, *(names.short_names or ())}
    told = {("resource", name) for name in resource} | {("kind", name) for name in (names.kind, names.list_kind)}
    return {(what, name) for what, name in told if name}


def _condition(crd: CRD, type_: str) -> str | None:
    return next((found.status for found in crd.status.conditions or [] if found.type == type_), None)


def _told(crd: CRD) -> str:
    """What the conditions say, for an error."""
    told = [f"{found.type} is {found.status} ({found.reason})" for found in crd.status.conditions or []]
    return _refusal(crd) or ", ".join(told) or "it has no conditions; is the API server's CRD controller running?"
