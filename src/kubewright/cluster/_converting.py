"""Objects from one version of a resource to another."""

from __future__ import annotations

from kubewright.cluster._kinds import JSONObject, ResourceType

__all__ = ["convert"]


async def convert(obj: JSONObject, source: ResourceType, target: ResourceType) -> JSONObject:
    """An object of one version as another version of the same resource shows it; a new object, unless they are one."""
    if source is target:
        return obj
    stored = obj if source.conversion is None else source.conversion.to_storage(obj)
    shown = stored if target.conversion is None else target.conversion.from_storage(stored)
    return {**shown, "apiVersion": target.api_version, "kind": target.kind}
