"""Installs definitions into a cluster.

An update replaces the spec of the definition, guarded by its resourceVersion. It keeps labels and annotations of other
clients, and a conversion webhook that another client configured. Changes that would break stored objects are rejected
for all kinds before anything is sent.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from kubewright.api import Object, apiextensions
from kubewright.client import AlreadyExists, Client, Conflict, NotFound
from kubewright.clock import Clock
from kubewright.crd._definition import crds_of
from kubewright.crd._deletion import describe_blockers, objects_with_finalizers
from kubewright.crd._descriptions import Descriptions
from kubewright.crd._errors import InstallError
from kubewright.crd._serving import wait_for_definition
from kubewright.durations import Duration

__all__ = ["check_change", "install"]

CRD = apiextensions.CustomResourceDefinition

_CONFLICT_ATTEMPTS = 5  # at a write with conflicts


async def install(
    client: Client,
    *kinds: type[Object],
    timeout: Duration = 30.0,
    clock: Clock | None = None,
    descriptions: Descriptions = True,
    conversions: Mapping[str, apiextensions.CustomResourceConversion] | None = None,
) -> list[apiextensions.CustomResourceDefinition]:
    """Creates or updates the definitions of these kinds, and waits until the server serves them.

    `conversions` overrides the conversions of the classes, by the name of the definition (`foos.example.com`).

    Sends nothing for a definition that is up to date. Raises `InstallError` for a change that would break stored
    objects, for a definition that is being deleted, and if the server does not accept the names or does not establish
    the definition in time. Raises an `ApiError` if it rejects the definition.
    """
    wanted = crds_of(*kinds, descriptions=descriptions)
    for crd in wanted:
        crd.spec.conversion = (conversions or {}).get(crd.metadata.name, crd.spec.conversion)
    for crd in wanted:
        if (existing := await _read(client, crd.metadata.name)) is not None:
            await _check_stays(client, existing)
            check_change(existing, crd)
    written = [await _write(client, crd) for crd in wanted]
    return [
        await wait_for_definition(client, crd.metadata.name, crd.spec.names.kind, timeout, clock) for crd in written
    ]


def check_change(existing: CRD, wanted: CRD) -> None:
    """Raises `InstallError` for a change that would break stored objects."""
    name = wanted.metadata.name
    if existing.spec.scope != wanted.spec.scope:
        raise InstallError(
            name,
            f"the scope cannot change from {existing.spec.scope} to {wanted.spec.scope}: stored objects depend on it."
            " Use another kind, or delete the definition and with it all its objects",
        )
    if existing.spec.names.kind != wanted.spec.names.kind:
        raise InstallError(name, f"the kind cannot change from {existing.spec.names.kind} to {wanted.spec.names.kind}")
    stored = existing.status.stored_versions or []
    kept = {version.name for version in wanted.spec.versions}
    if missing := [version for version in stored if version not in kept]:
        raise InstallError(
            name,
            f"there may be objects stored in {', '.join(missing)}, which would be unreadable without that version."
            " Keep it (perhaps with served=False), or store all objects in another version and remove it from"
            " status.storedVersions first",
        )


async def _check_stays(client: Client, existing: CRD) -> None:
    """Raises `InstallError` for a definition that is being deleted."""
    if existing.metadata.deletion_timestamp is not None:
        reason = describe_blockers(await objects_with_finalizers(client, existing))
        raise InstallError(existing.metadata.name, f"it is being deleted, and must be gone first: {reason}")


async def _read(client: Client, name: str) -> CRD | None:
    try:
        return await client.get(CRD, name)
    except NotFound:
        return None


async def _write(client: Client, wanted: CRD) -> CRD:
    for attempt in range(1, _CONFLICT_ATTEMPTS + 1):
        existing = await _read(client, wanted.metadata.name)
        try:
            if existing is None:
                return await client.create(wanted)
            await _check_stays(client, existing)
            check_change(existing, wanted)
            return await client.update(_merge(existing, wanted))
        except (AlreadyExists, Conflict):
            if attempt == _CONFLICT_ATTEMPTS:
                raise
    raise AssertionError("unreachable")


def _merge(existing: CRD, wanted: CRD) -> CRD:
    """Returns the existing definition with the wanted spec, labels and annotations."""
    existing.spec = msgspec.structs.replace(wanted.spec, conversion=_conversion(existing, wanted))
    existing.metadata.labels |= wanted.metadata.labels
    existing.metadata.annotations |= wanted.metadata.annotations
    return existing


def _conversion(existing: CRD, wanted: CRD) -> apiextensions.CustomResourceConversion | None:
    """Returns the conversion that the classes declare, else the existing one. Keeps the CA bundle in the cluster."""
    there, declared = existing.spec.conversion, wanted.spec.conversion
    if there is None or there.webhook is None:
        return declared or there
    if declared is None or declared.webhook is None:
        return there
    ours, theirs = declared.webhook.client_config, there.webhook.client_config
    if ours is not None and theirs is not None and ours.ca_bundle is None:
        ours.ca_bundle = theirs.ca_bundle
    return declared
