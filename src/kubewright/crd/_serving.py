"""`wait_until_served`: waits until a kind can be used.

The server accepts a definition immediately and serves the kind a moment later. It checks the names, establishes the
definition, and adds the kind to discovery. Requests before that fail with 404.
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
from kubewright.durations import Duration, check_duration, format_duration

__all__ = ["wait_for_definition", "wait_until_served"]

T = TypeVar("T")
CRD = apiextensions.CustomResourceDefinition

_POLL: Final = 0.05


async def wait_until_served(
    client: Client, *kinds: type[Object], timeout: Duration = 30.0
) -> list[apiextensions.CustomResourceDefinition]:
    """Waits until the server serves these kinds, and returns their definitions.

    A kind is served if its definition is established, and discovery lists it in every served version. The timeout is
    per kind, on the client's clock. Raises `InstallError`, which names the kind and what is missing, after the timeout,
    and immediately for names that belong to another definition.
    """
    return [await wait_for_definition(client, *_definition_of(kind), timeout) for kind in kinds]


def _definition_of(kind: type[Object]) -> tuple[str, str]:
    """Returns the name of the definition, and the name of the kind."""
    info = info_of(kind)
    if info.group in BUILT_IN_GROUPS:
        raise TypeError(f"{info.kind} ({info.api_version}) is built in and has no definition to wait for")
    return f"{info.plural}.{info.group}", info.kind


async def wait_for_definition(
    client: Client, name: str, kind: str, timeout: Duration, clock: Clock | None = None
) -> CRD:
    """Waits until the definition of this name is established and its kind served. Default clock: the client's."""
    clock, seconds = clock or client.clock, check_duration("timeout", timeout)
    lacking = f"{kind} is not defined; install its definition"
    checked = ""  # the resourceVersion of a rejected definition whose names no other definition has

    def is_settled(seen: CRD) -> bool:
        nonlocal lacking
        lacking = f"{kind} is defined, but {_described(seen)}"
        if _refusal(seen) is not None:
            return seen.metadata.resource_version != checked
        return _condition(seen, "Established") == "True" and _condition(seen, "Terminating") != "True"

    async def wait() -> CRD:
        nonlocal lacking, checked
        ready = await client.wait_for(CRD, name, is_settled)
        while (refusal := _refusal(ready)) is not None:
            if holders := await _holders(client, ready):
                raise InstallError(name, "; ".join([refusal, *holders]))
            # The condition may be about earlier names; the server has not checked the current ones yet.
            checked = ready.metadata.resource_version or ""
            ready = await client.wait_for(CRD, name, is_settled)
        for version in ready.spec.versions:
            lacking = f"{kind} is established, but discovery does not list it in {version.name} yet"
            while version.served and not await _is_discovered(client, ready, version.name):
                await clock.sleep(_POLL)
        return ready

    try:
        return await within(clock, seconds, wait())
    except TimeLimitExceeded:
        raise InstallError(name, f"not served after {format_duration(seconds)}: {lacking}") from None


async def _is_discovered(client: Client, crd: CRD, version: str) -> bool:
    """Whether discovery lists the kind in this version. The same server then serves its objects."""
    try:
        raw = await client.request("GET", f"/apis/{crd.spec.group}/{version}")
    except ApiError as error:
        if error.code in (404, 503):
            return False
        raise
    resources = msgspec.json.decode(raw).get("resources") or []
    return any(resource.get("name") == crd.spec.names.plural for resource in resources)


def _refusal(crd: CRD) -> str | None:
    """Returns why the server rejects the definition. The condition stays for a moment after a fix."""
    for condition in crd.status.conditions or []:
        refused = {"NamesAccepted": "False", "NonStructuralSchema": "True"}.get(condition.type)
        if condition.status == refused:
            return f"{condition.type} is {condition.status} ({condition.reason}): {condition.message}"
    return None


async def _holders(client: Client, crd: CRD) -> list[str]:
    """Describes the definitions of the group that hold the names, if the client may list definitions."""
    wanted, holders = _names(crd.spec.names), []
    with contextlib.suppress(Forbidden):
        for other in await client.list(CRD):
            if other.spec.group == crd.spec.group and other.metadata.name != crd.metadata.name:
                held = _names(other.status.accepted_names) & _names(other.spec.names)
                if shared := ", ".join(sorted({name for _, name in wanted & held})):
                    holders.append(f"{shared} belongs to {other.metadata.name}")
    return holders


def _names(names: apiextensions.CustomResourceDefinitionNames | None) -> set[tuple[str, str]]:
    """Returns the names that are unique in a group. Names of kinds and of resources are separate."""
    if names is None:
        return set()
    resource = {names.plural, names.singular, *(names.short_names or ())}
    found = {("resource", name) for name in resource} | {("kind", name) for name in (names.kind, names.list_kind)}
    return {(what, name) for what, name in found if name}


def _condition(crd: CRD, type_: str) -> str | None:
    return next((found.status for found in crd.status.conditions or [] if found.type == type_), None)


def _described(crd: CRD) -> str:
    """Returns the conditions, for an error message."""
    conditions = [f"{found.type} is {found.status} ({found.reason})" for found in crd.status.conditions or []]
    return _refusal(crd) or ", ".join(conditions) or "it has no conditions; is the API server's CRD controller running?"
