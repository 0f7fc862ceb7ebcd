"""`run` and `remove`: install a bundle with OLM, and delete it again."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Final

from kubewright.api import Object, ObjectMeta, apiextensions, core, from_dict
from kubewright.client import Client, NotFound
from kubewright.deployment import ReportStep, object_title, uninstall
from kubewright.durations import format_duration
from kubewright.olm._diagnosis import what_is_missing
from kubewright.olm._kinds import (
    ClusterServiceVersion,
    ClusterServiceVersionSpec,
    Condition,
    InstallPlan,
    OperatorGroup,
    Subscription,
)
from kubewright.olm._objects import PACKAGE_LABEL, Installation

__all__ = ["NotInstalled", "remove", "run"]

FIELD_MANAGER: Final = "kubewright-run-bundle"


class NotInstalled(Exception):
    """OLM has not installed a bundle. The message says how far it got and what is missing."""


async def run(client: Client, installation: Installation, report: ReportStep, *, timeout: float = 300.0) -> None:
    """Installs a bundle with OLM, and waits until the ClusterServiceVersion has `Succeeded`.

    Another run changes only what differs. A newer version that replaces the installed one is an upgrade. Raises
    `NotInstalled` if the cluster has no OLM, if OLM fails, or after `timeout` seconds.
    """
    await _require_olm(client, installation)
    applying = client.writing_as(FIELD_MANAGER)
    group = await _other_group(client, installation)
    await _make_namespace(client, installation, report)
    for obj in installation.objects():
        if group is not None and isinstance(obj, OperatorGroup):
            report("kept", object_title(group))
            continue
        await applying.apply(obj, force=True)
        report("applied", object_title(obj))
    try:
        async with asyncio.timeout(timeout):
            await _installed(client, installation, report)
    except TimeoutError:
        missing = await what_is_missing(client, installation)
        raise NotInstalled(
            f"{installation.bundle.name} is not installed after {format_duration(timeout)}: {missing}"
        ) from None


async def remove(
    client: Client, installation: Installation, report: ReportStep, *, definitions: bool = True, timeout: float = 60.0
) -> None:
    """Deletes what `run` created, and what OLM created for it. Objects that do not exist are skipped.

    The definitions are deleted first, with all their objects, while the operator can finalize them; with
    `definitions=False` they stay. A namespace and an OperatorGroup that `run` did not create stay.
    """
    await _require_olm(client, installation)
    if definitions:
        owned = [from_dict(_Definition, one) for _, one in installation.bundle.of_kind("CustomResourceDefinition")]
        await uninstall(client, owned, report, timeout=timeout)
    versions = await _versions_of(client, installation)
    # The Subscription first: OLM would use it to reinstall what is deleted.
    await _delete(client, installation.subscription(), report)
    for name in versions:
        await _delete(client, _version(name, installation.namespace), report)
    for obj in reversed([*installation.catalog_objects(), installation.operator_group()]):
        if not isinstance(obj, OperatorGroup) or await _is_ours(client, obj, installation):
            await _delete(client, obj, report)
    namespace = _namespace(installation)
    if await _is_ours(client, namespace, installation):
        await _delete(client, namespace, report)


def _version(name: str, namespace: str) -> ClusterServiceVersion:
    metadata = ObjectMeta(name=name, namespace=namespace)
    return ClusterServiceVersion(metadata=metadata, spec=ClusterServiceVersionSpec())


_Definition = apiextensions.CustomResourceDefinition


async def _require_olm(client: Client, installation: Installation) -> None:
    try:
        await client.list_page(Subscription, installation.namespace, size=1)
    except NotFound:
        raise NotInstalled(
            "the Operator Lifecycle Manager is not installed in this cluster: it has no Subscriptions. Install OLM"
            " first, or use `kubewright deploy`, which does not need it"
        ) from None


async def _other_group(client: Client, installation: Installation) -> OperatorGroup | None:
    """Returns the OperatorGroup that another owner created in the namespace, which may have only one.

    Raises `NotInstalled` if it selects other namespaces.
    """
    found = await client.list(OperatorGroup, installation.namespace)
    others = [one for one in found if (one.metadata.labels or {}).get(PACKAGE_LABEL) != installation.package]
    if not others:
        return None
    wanted = installation.target_namespaces()
    selected = sorted(others[0].spec.target_namespaces or []) if others[0].spec else []
    if selected != (wanted or []):
        raise NotInstalled(
            f"{object_title(others[0])} selects {', '.join(selected) or 'all namespaces'}, but the bundle is to be"
            f" installed for {', '.join(wanted or []) or 'all namespaces'}: choose another namespace, or the install"
            " mode that fits"
        )
    return others[0]


def _namespace(installation: Installation) -> core.Namespace:
    return core.Namespace(metadata=ObjectMeta(name=installation.namespace, labels=installation.labels))


async def _make_namespace(client: Client, installation: Installation, report: ReportStep) -> None:
    try:
        await client.get(core.Namespace, installation.namespace)
    except NotFound:
        namespace = await client.create(_namespace(installation), field_manager=FIELD_MANAGER)
        report("applied", object_title(namespace))


async def _installed(client: Client, installation: Installation, report: ReportStep) -> None:
    """Waits for OLM: Subscription, InstallPlan, ClusterServiceVersion."""
    where, wanted = installation.namespace, installation.bundle.name
    report_phase = _PhaseReporter(report)

    def is_planned(subscription: Subscription) -> bool:
        status = subscription.status
        return bool(status.current_csv == wanted and status.install_plan_ref and status.install_plan_ref.name)

    def is_decided(plan: InstallPlan) -> bool:
        report_phase("InstallPlan", plan.metadata.name, plan.status.phase)
        return plan.status.phase in ("Complete", "Failed")

    def has_succeeded(version: ClusterServiceVersion) -> bool:
        report_phase("ClusterServiceVersion", wanted, version.status.phase, version.status.message)
        return version.status.phase == "Succeeded"

    subscription = await client.wait_for(Subscription, installation.package, is_planned, where)
    reference = subscription.status.install_plan_ref
    name = (reference.name if reference else None) or ""
    plan = await client.wait_for(InstallPlan, name, is_decided, where)
    if plan.status.phase == "Failed":
        raise NotInstalled(f"InstallPlan {where}/{name} failed: {_reasons(plan.status.conditions)}")
    await client.wait_for(ClusterServiceVersion, wanted, has_succeeded, where)


class _PhaseReporter:
    """Reports each change of a phase once."""

    def __init__(self, report: ReportStep) -> None:
        self._report, self._reported = report, ""

    def __call__(self, kind: str, name: str | None, phase: str | None, message: str | None = None) -> None:
        text = f"{kind} {name}: {phase or 'no phase yet'}"
        if text != self._reported:
            self._reported = text
            self._report("waiting", f"{text} ({message})" if message and phase != "Succeeded" else text)


def _reasons(conditions: Iterable[Condition] | None) -> str:
    reasons = [f"{one.type}: {one.message or one.reason}" for one in conditions or () if one.message or one.reason]
    return "; ".join(reasons) or "no reason given"


async def _versions_of(client: Client, installation: Installation) -> list[str]:
    """Returns the versions to delete: those that the Subscription names, and the bundle's."""
    names = {installation.bundle.name}
    try:
        found = await client.get(Subscription, installation.package, installation.namespace)
        names |= {name for name in (found.status.current_csv, found.status.installed_csv) if name}
    except NotFound:
        pass
    return sorted(names)


async def _is_ours(client: Client, obj: Object, installation: Installation) -> bool:
    try:
        found = await client.get(type(obj), obj.metadata.name or "", obj.metadata.namespace)
    except NotFound:
        return False
    return (found.metadata.labels or {}).get(PACKAGE_LABEL) == installation.package


async def _delete(client: Client, obj: Object, report: ReportStep) -> None:
    try:
        await client.delete(type(obj), obj.metadata.name or "", obj.metadata.namespace)
    except NotFound:
        report("absent", object_title(obj))
    else:
        report("removed", object_title(obj))
