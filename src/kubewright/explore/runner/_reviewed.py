"""`ReviewedUser`: a user whose requests pass the webhooks of the operator."""

from __future__ import annotations

from typing import Any

import msgspec

from kubewright.cluster import Cluster
from kubewright.cluster.merge import Refused as DoesNotApply
from kubewright.cluster.merge import json_patch
from kubewright.explore.runner._actors import Actor, Refused
from kubewright.webhook import SimulatedWebhooks

__all__ = ["ReviewedUser"]


class ReviewedUser(Actor):
    """Creates, changes and deletes objects as the operator's webhooks allow it. They are called in this process."""

    def __init__(self, cluster: Cluster, name: str, webhooks: SimulatedWebhooks) -> None:
        super().__init__(cluster, name)
        self._webhooks = webhooks

    async def create(self, obj: dict[str, Any]) -> None:
        """Creates an object. Raises `Refused`."""
        if self._webhooks.handles(obj["apiVersion"], obj["kind"]):
            obj = await self._reviewed("CREATE", obj, None)
        await super().create(obj)

    async def json_patch(self, resource: str, namespace: str, name: str, patch: list[dict[str, Any]]) -> None:
        """Applies a JSON Patch. Raises `Refused`."""
        old = await self.get(resource, namespace, name)
        if self._webhooks.handles(old["apiVersion"], old["kind"]):
            try:
                new = json_patch(old, msgspec.json.encode(patch))
            except DoesNotApply as error:
                raise Refused(str(error)) from None
            reviewed = await self._reviewed("UPDATE", new, old)
            if reviewed.get("spec") != new.get("spec"):
                patch = [*patch, {"op": "add", "path": "/spec", "value": reviewed.get("spec")}]
        await super().json_patch(resource, namespace, name, patch)

    async def delete(self, resource: str, namespace: str, name: str) -> None:
        """Deletes an object. Raises `Refused`."""
        old = await self.get(resource, namespace, name)
        if self._webhooks.handles(old["apiVersion"], old["kind"]):
            await self._reviewed("DELETE", None, old)
        await super().delete(resource, namespace, name)

    async def _reviewed(self, operation: str, obj: dict[str, Any] | None, old: dict[str, Any] | None) -> dict[str, Any]:
        made, problem = await self._webhooks.review(operation, obj, old, json_patch)
        if problem:
            raise Refused(f"a webhook of the operator refuses it: {problem}")
        return made or {}
