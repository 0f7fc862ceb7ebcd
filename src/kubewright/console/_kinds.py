"""`Kind`: a kind that the console shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kubewright.api import Untyped, apiextensions
from kubewright.client import Client

__all__ = ["Kind", "kinds_of"]


@dataclass(frozen=True)
class Kind:
    """One kind, in the version that is shown."""

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool
    resource: type[Untyped]
    """The class for client and cache."""
    crd: apiextensions.CustomResourceDefinition | None = None

    @property
    def path(self) -> str:
        """Its place in addresses: `example.com/foos`; of the core group `core/pods`."""
        return f"{self.group or 'core'}/{self.plural}"

    @property
    def schema(self) -> dict[str, Any] | None:
        """The OpenAPI v3 schema of the version, where a definition has one."""
        raise NotImplementedError


async def kinds_of(client: Client) -> list[Kind]:
    """The kinds of all definitions, in their newest served version."""
    found = []
    async for crd in client.list(apiextensions.CustomResourceDefinition):
        version = next(one for one in crd.spec.versions if one.served)
        names = crd.spec.names
        found.append(
            Kind(
                group=crd.spec.group,
                version=version.name,
                kind=names.kind,
                plural=names.plural,
                namespaced=crd.spec.scope == "Namespaced",
                resource=await client.kind(f"{crd.spec.group}/{version.name}", names.kind),
                crd=crd,
            )
        )
    return sorted(found, key=lambda kind: kind.path)
