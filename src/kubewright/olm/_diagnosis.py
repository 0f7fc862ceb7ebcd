"""`what_is_missing`: describes the step of an installation that OLM has not completed, and its cause."""

from __future__ import annotations

from typing import TypeVar

from kubewright.api import Object, apps
from kubewright.client import Client, NotFound
from kubewright.olm._kinds import CatalogSource, ClusterServiceVersion, InstallPlan, Subscription
from kubewright.olm._objects import Installation

__all__ = ["what_is_missing"]

R = TypeVar("R", bound=Object)


async def what_is_missing(client: Client, installation: Installation) -> str:
    """Returns the first step that has not happened yet, with OLM's message about it."""
    version = await _get(client, ClusterServiceVersion, installation.bundle.name, installation)
    if version is not None:
        return _of_version(version)
    subscription = await _get(client, Subscription, installation.package, installation)
    if subscription is None:
        return f"the Subscription {installation.namespace}/{installation.package} has been deleted"
    reference = subscription.status.install_plan_ref
    plan = await _get(client, InstallPlan, reference.name, installation) if reference and reference.name else None
    if plan is not None:
        return _of_plan(plan)
    return await _of_catalog(client, installation) or _of_subscription(subscription)


async def _get(client: Client, kind: type[R], name: str, installation: Installation) -> R | None:
    try:
        return await client.get(kind, name, installation.namespace)
    except NotFound:
        return None


def _of_version(version: ClusterServiceVersion) -> str:
    status = version.status
    description = f"the ClusterServiceVersion {version.metadata.name} is in the phase {status.phase or 'none yet'}"
    if status.reason or status.message:
        description += f" ({': '.join(text for text in (status.reason, status.message) if text)})"
    unmet = [
        f"{one.kind} {one.name}: {one.message or one.status}"
        for one in status.requirement_status or []
        if one.status not in ("Present", "Satisfied")
    ]
    return f"{description}; missing requirements: {', '.join(unmet)}" if unmet else description


def _of_plan(plan: InstallPlan) -> str:
    if plan.spec.approved is False:
        return f"the InstallPlan {plan.metadata.name} waits for approval"
    messages = [one.message or one.reason or "" for one in plan.status.conditions or [] if one.status != "True"]
    why = f" ({'; '.join(text for text in messages if text)})" if any(messages) else ""
    return f"the InstallPlan {plan.metadata.name} is in the phase {plan.status.phase or 'none yet'}{why}"


async def _of_catalog(client: Client, installation: Installation) -> str:
    """Returns why OLM cannot reach the catalog; an empty string if it can."""
    source = await _get(client, CatalogSource, installation.catalog_name, installation)
    if source is None:
        return f"the CatalogSource {installation.catalog_name} has been deleted"
    state = source.status.connection_state.last_observed_state if source.status.connection_state else None
    if state == "READY":
        return ""
    server = await _get(client, apps.Deployment, installation.catalog_name, installation)
    if server is not None and not server.status.available_replicas:
        return (
            f"the server of the catalog, Deployment {installation.namespace}/{installation.catalog_name}, has no"
            f" ready pod; its image is {installation.opm_image}"
        )
    message = source.status.message or "is OLM running?"
    return f"OLM cannot reach the catalog {installation.catalog_name}: its state is {state or 'none yet'} ({message})"


def _of_subscription(subscription: Subscription) -> str:
    messages = [
        f"{one.type}: {one.message or one.reason or ''}"
        for one in subscription.status.conditions or []
        if one.status == "True"
    ]
    why = f" ({'; '.join(messages)})" if messages else ""
    return f"OLM has created no InstallPlan for the Subscription {subscription.metadata.name}{why}"
