"""OLM's part, played by an operator: Subscriptions become InstallPlans, and these ClusterServiceVersions.

Only what `run` waits for: no catalog is asked, nothing is installed. OLM itself needs nodes that run its catalogs.
"""

from __future__ import annotations

import contextlib
import secrets
from dataclasses import dataclass
from typing import Any

import kubewright as kw
from kubewright.api import Object, Untyped, from_dict, info_of
from kubewright.client import AlreadyExists, Client, MergePatch
from kubewright.olm import CatalogSource, ClusterServiceVersion, InstallPlan, Subscription

__all__ = ["Plan", "fake_olm"]

_NOW = "2030-01-01T00:00:00Z"


@dataclass
class Plan:
    """How it goes. `stop_at` is where nothing happens any more."""

    stop_at: str = ""
    message: str = ""


def fake_olm(client: Client, namespace: str, plan: Plan) -> kw.Operator:
    """An operator that does what OLM does, for the Subscriptions of a namespace."""
    olm = kw.Operator("fake-olm", namespaces=[namespace], leader_elect=False, install_crds=False)

    @olm.reconciles(Subscription)
    async def resolve(subscription: Subscription, ctx: kw.Context[Subscription]) -> None:
        wanted = subscription.spec.starting_csv or ""
        if subscription.status.current_csv == wanted:
            return
        if plan.stop_at == "catalog":
            await _status(
                client, CatalogSource, subscription.spec.source, namespace, connectionState=_state("CONNECTING")
            )
            return
        await _status(client, CatalogSource, subscription.spec.source, namespace, connectionState=_state("READY"))
        if plan.stop_at == "subscription":
            failed = {"type": "ResolutionFailed", "status": "True", "reason": "Unsatisfiable", "message": plan.message}
            await _status(
                client, Subscription, subscription.metadata.name, namespace, lastUpdated=_NOW, conditions=[failed]
            )
            return
        name = f"install-{secrets.token_hex(3)}"
        spec = {"approval": "Automatic", "approved": True, "clusterServiceVersionNames": [wanted]}
        await client.create(from_dict(InstallPlan, {"metadata": {"name": name, "namespace": namespace}, "spec": spec}))
        reference = {"apiVersion": "operators.coreos.com/v1alpha1", "kind": "InstallPlan", "name": name}
        await _status(
            client,
            Subscription,
            subscription.metadata.name,
            namespace,
            lastUpdated=_NOW,
            currentCSV=wanted,
            installPlanRef={**reference, "namespace": namespace},
        )

    @olm.reconciles(InstallPlan)
    async def install(installing: InstallPlan, ctx: kw.Context[InstallPlan]) -> None:
        name = installing.metadata.name
        if installing.status.phase in ("Complete", "Failed"):
            return
        if plan.stop_at == "plan":
            failed = {"type": "Installed", "status": "False", "reason": "Refused", "message": plan.message}
            await _status(client, InstallPlan, name, namespace, phase="Failed", catalogSources=[], conditions=[failed])
            return
        for wanted in installing.spec.cluster_service_version_names or []:
            install_spec = {"strategy": "deployment", "spec": {"deployments": []}}
            content = {
                "metadata": {"name": wanted, "namespace": namespace},
                "spec": {"displayName": "Shelf", "install": install_spec},
            }
            with contextlib.suppress(AlreadyExists):
                await client.create(from_dict(_untyped(ClusterServiceVersion), content))
        await _status(client, InstallPlan, name, namespace, phase="Complete", catalogSources=[])

    @olm.reconciles(ClusterServiceVersion)
    async def succeed(version: ClusterServiceVersion, ctx: kw.Context[ClusterServiceVersion]) -> None:
        if plan.stop_at == "version":
            unmet = {
                "group": "apiextensions.k8s.io",
                "version": "v1",
                "kind": "CustomResourceDefinition",
                "name": "shelves",
                "status": "NotPresent",
                "message": "CRD is not present",
            }
            await _status(
                client,
                ClusterServiceVersion,
                version.metadata.name,
                namespace,
                phase="Pending",
                reason="RequirementsNotMet",
                message=plan.message,
                requirementStatus=[unmet],
            )
        elif version.status.phase != "Succeeded":
            await _status(client, ClusterServiceVersion, version.metadata.name, namespace, phase="Succeeded")

    return olm


def _state(state: str) -> dict[str, str]:
    return {"lastObservedState": state, "lastConnect": _NOW, "address": "nowhere:50051"}


def _untyped(kind: type[Object]) -> type[Untyped]:
    info = info_of(kind)
    return Untyped.kind_of(info.api_version, info.kind, plural=info.plural, subresources=frozenset(["status"]))


async def _status(client: Client, kind: type[Object], name: str | None, namespace: str, **status: Any) -> None:
    """Write a status as OLM does: all at once, with fields that the class here does not name."""
    await client.patch(_untyped(kind), name or "", MergePatch({"status": status}), namespace, subresource="status")
