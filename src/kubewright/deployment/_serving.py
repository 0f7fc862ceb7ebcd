"""Finds the kinds of a deployment that the cluster does not serve, such as those of missing add-ons."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kubewright.api import Object, ResourceInfo, apiextensions, info_of
from kubewright.api.kinds import BUILT_IN_GROUPS
from kubewright.client import Client, NotFound
from kubewright.deployment._finding import Finding

__all__ = ["NotServed", "check_served", "not_served"]

_ADVICE: Final = {
    "cert-manager.io": "install cert-manager (https://cert-manager.io/docs/installation/), or let the operator"
    ' create its own certificates: Project(certificates="self-managed")',
    "monitoring.coreos.com": "install the Prometheus operator, or remove Project(service_monitor=True)",
}


class NotServed(Exception):
    """The cluster does not serve kinds of the deployment. The message lists them with the fix."""


async def check_served(client: Client, wanted: Sequence[Object]) -> None:
    """Raises `NotServed` if the cluster lacks a kind that the deployment does not define itself."""
    if missing := await not_served(client, wanted):
        each = "; ".join(f"{one.what}: {one.advice}" for one in missing)
        raise NotServed(f"{each}. Nothing was changed")


async def not_served(client: Client, wanted: Sequence[Object]) -> list[Finding]:
    """Returns a finding for each kind of these objects that the cluster does not serve."""
    own = {obj.spec.group for obj in wanted if isinstance(obj, apiextensions.CustomResourceDefinition)}
    infos: dict[tuple[str, str], ResourceInfo] = {}
    for obj in wanted:
        info = info_of(obj)
        if info.group not in BUILT_IN_GROUPS and info.group not in own:
            infos.setdefault((info.group, info.kind), info)
    found = []
    for info in infos.values():
        try:
            await client.discovery.find(info.api_version, info.kind)
        except NotFound:
            advice = _ADVICE.get(info.group, f"install the add-on that defines {info.plural}.{info.group}")
            found.append(Finding("error", f"the cluster does not serve {info.kind} ({info.api_version})", advice))
    return found
