"""Endpoints and EndpointSlices of Services: the addresses of the selected pods."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import kubewright as kw
from kubewright.api import Selector, core, discovery, format_time, is_controlled_by, meta
from kubewright.cache import ObjectKey
from kubewright.client import AlreadyExists
from kubewright.cluster.services import target_port
from kubewright.cluster.workloads._pace import Pace
from kubewright.cluster.workloads._pods import has_ended, is_ready
from kubewright.cluster.workloads._selecting import SelectorIndex
from kubewright.controller import Reader

__all__ = ["register"]

_SERVICE_NAME: Final = "kubernetes.io/service-name"
_SLICE_MANAGED_BY: Final = "endpointslice.kubernetes.io/managed-by"
_SLICE_CONTROLLER: Final = "endpointslice-controller.k8s.io"
_MANAGED_BY: Final = "endpoints.kubernetes.io/managed-by"
_CONTROLLER: Final = "endpoint-controller"
_HEADLESS: Final = "service.kubernetes.io/headless"
_TRIGGERED: Final = "endpoints.kubernetes.io/last-change-trigger-time"
_PER_SLICE: Final = 100


def register(operator: kw.Operator) -> None:
    """Registers the controller of endpoints."""

    services = SelectorIndex(operator, core.Service, _selector)

    def services_of(pod: core.Pod, reader: Reader) -> list[ObjectKey]:
        return services.matching(reader, pod.metadata.namespace, pod.metadata.labels)

    def service_of(endpoints: core.Endpoints) -> list[ObjectKey]:
        return [ObjectKey.of(endpoints)]

    watches: list[kw.Watch[Any]] = [
        kw.Watch(core.Pod, map=services_of),
        kw.Watch(core.Endpoints, map=service_of, when=lambda change: change.new is None),
    ]
    pace = Pace()

    async def reconcile(service: core.Service, ctx: kw.Context[core.Service]) -> kw.Result | None:
        """Reconciles, but large Services not too often."""
        if (later := pace.wait(ctx)) is None:
            pace.record(ctx, await sync(service, ctx))
        return later

    operator.reconciles(core.Service, owns=[discovery.EndpointSlice], watches=watches)(reconcile)
    operator.deleted(core.Service)(forget)


def _selector(service: core.Service) -> Selector:
    given = service.spec.selector
    return Selector.from_labels(given) if given else Selector.nothing()


async def forget(service: core.Service, ctx: kw.Context[core.Service]) -> None:
    """Deletes the Endpoints of a deleted Service; slices have it as their owner."""
    found = ctx.get(core.Endpoints, service.metadata.name)
    if found is not None and found.metadata.labels.get(_MANAGED_BY) == _CONTROLLER:
        await ctx.delete(found)


async def sync(service: core.Service, ctx: kw.Context[core.Service]) -> int:
    """Writes the addresses of the selected pods. Returns the number of pods."""
    if not service.spec.selector or service.spec.type == "ExternalName":
        return 0
    selected = ctx.list(core.Pod, ctx.key.namespace, labels=Selector.from_labels(service.spec.selector))
    pods = [pod for pod in selected if pod.status.pod_ip and not has_ended(pod)]
    targets = [Target(pod, _ports(service, pod)) for pod in pods]
    await _write_slices(service, targets, ctx)
    await _write_endpoints(service, targets, ctx)
    return len(selected)


@dataclass(frozen=True)
class Port:
    """A port of a Service for one pod."""

    name: str
    number: int
    protocol: str
    app_protocol: str | None


@dataclass(frozen=True)
class Target:
    """A pod behind a Service."""

    pod: core.Pod
    ports: tuple[Port, ...]

    @property
    def reference(self) -> core.ObjectReference:
        """Returns the reference to the pod in endpoints."""
        metadata = self.pod.metadata
        return core.ObjectReference(kind="Pod", namespace=metadata.namespace, name=metadata.name, uid=metadata.uid)

    def host_name(self, service: core.Service) -> str | None:
        """Returns the host name of the pod for a headless Service."""
        spec = self.pod.spec
        return spec.hostname if spec.hostname and spec.subdomain == service.metadata.name else None


def _ports(service: core.Service, pod: core.Pod) -> tuple[Port, ...]:
    """Returns the target ports of the Service; a named port that the pod does not have is omitted."""
    return tuple(
        Port(port.name or "", target, port.protocol or "TCP", port.app_protocol)
        for port in service.spec.ports or ()
        if (target := target_port(port, pod)) is not None
    )


def _labels(service: core.Service, **own: str) -> dict[str, str]:
    made = {name: value for name, value in service.metadata.labels.items() if name != _HEADLESS}
    if service.spec.cluster_ip == "None":
        made[_HEADLESS] = ""
    return made | own


def _triggered(service: core.Service, targets: Sequence[Target]) -> dict[str, str]:
    """Returns the time of the change: the last change of readiness, or the creation of the Service."""
    times = [
        condition.last_transition_time
        for target in targets
        for condition in target.pod.status.conditions or ()
        if condition.type == "Ready" and condition.last_transition_time is not None
    ]
    made = service.metadata.creation_timestamp
    latest = max([*times, *([made] if made is not None else [])])
    return {_TRIGGERED: format_time(latest)}


def _grouped(targets: Sequence[Target]) -> list[tuple[tuple[Port, ...], list[Target]]]:
    """Groups targets with the same ports, each group sorted by name."""
    groups: dict[tuple[Port, ...], list[Target]] = {}
    for target in sorted(targets, key=lambda each: each.pod.metadata.name):
        groups.setdefault(target.ports, []).append(target)
    return list(groups.items())


# EndpointSlices


async def _write_slices(service: core.Service, targets: Sequence[Target], ctx: kw.Context[core.Service]) -> None:
    wanted = [
        (ports, group[start : start + _PER_SLICE])
        for ports, group in _grouped(targets)
        for start in range(0, len(group), _PER_SLICE)
    ] or [((), [])]
    found = [each for each in ctx.owned(discovery.EndpointSlice) if is_controlled_by(each, service)]
    annotations = _triggered(service, targets)
    for number, (ports, group) in enumerate(wanted):
        endpoints = [_endpoint(service, target) for target in group]
        made_ports = [
            discovery.EndpointPort(name=p.name, port=p.number, protocol=p.protocol, app_protocol=p.app_protocol)
            for p in ports
        ]
        labels = _labels(service, **{_SERVICE_NAME: service.metadata.name, _SLICE_MANAGED_BY: _SLICE_CONTROLLER})
        if number < len(found):
            slice_ = found[number]
            if (slice_.endpoints or [], slice_.ports or [], slice_.metadata.labels) == (endpoints, made_ports, labels):
                continue
            slice_.endpoints, slice_.ports, slice_.metadata.labels = endpoints, made_ports, labels
            slice_.metadata.annotations |= annotations
            await ctx.update(slice_)
            continue
        metadata = meta.ObjectMeta(generate_name=f"{service.metadata.name}-", labels=labels, annotations=annotations)
        await ctx.create(
            discovery.EndpointSlice(metadata=metadata, address_type="IPv4", endpoints=endpoints, ports=made_ports)
        )
    for surplus in found[len(wanted) :]:
        await ctx.delete(surplus)


def _endpoint(service: core.Service, target: Target) -> discovery.Endpoint:
    pod = target.pod
    serving, terminating = is_ready(pod), pod.metadata.deletion_timestamp is not None
    ready = bool(service.spec.publish_not_ready_addresses) or (serving and not terminating)
    return discovery.Endpoint(
        addresses=[pod.status.pod_ip or ""],
        conditions=discovery.EndpointConditions(ready=ready, serving=serving, terminating=terminating),
        hostname=target.host_name(service),
        node_name=pod.spec.node_name,
        target_ref=target.reference,
    )


# Endpoints


async def _write_endpoints(service: core.Service, targets: Sequence[Target], ctx: kw.Context[core.Service]) -> None:
    anyway = bool(service.spec.publish_not_ready_addresses)
    staying = [each for each in targets if anyway or each.pod.metadata.deletion_timestamp is None]
    subsets = [_subset(service, ports, group) for ports, group in _grouped(staying)] or None
    labels = _labels(service, **{_MANAGED_BY: _CONTROLLER})
    annotations = _triggered(service, targets)
    found = ctx.get(core.Endpoints, service.metadata.name)
    if found is None:
        metadata = meta.ObjectMeta(name=service.metadata.name, labels=labels, annotations=annotations)
        try:
            await ctx.create(core.Endpoints(metadata=metadata, subsets=subsets), owned=False)
        except AlreadyExists:
            return  # the cache is outdated; the watch triggers another reconciliation
    elif (found.subsets or None, found.metadata.labels) != (subsets, labels):
        found.subsets, found.metadata.labels = subsets, labels
        found.metadata.annotations |= annotations
        await ctx.update(found)


def _subset(service: core.Service, ports: tuple[Port, ...], group: Sequence[Target]) -> core.EndpointSubset:
    def address(target: Target) -> core.EndpointAddress:
        return core.EndpointAddress(
            ip=target.pod.status.pod_ip or "",
            hostname=target.host_name(service),
            node_name=target.pod.spec.node_name,
            target_ref=target.reference,
        )

    anyway = bool(service.spec.publish_not_ready_addresses)
    ordered = sorted(group, key=lambda each: tuple(int(part) for part in (each.pod.status.pod_ip or "0").split(".")))
    return core.EndpointSubset(
        addresses=[address(each) for each in ordered if anyway or is_ready(each.pod)] or None,
        not_ready_addresses=[address(each) for each in ordered if not anyway and not is_ready(each.pod)] or None,
        ports=[
            core.EndpointPort(name=p.name or None, port=p.number, protocol=p.protocol, app_protocol=p.app_protocol)
            for p in ports
        ]
        or None,
    )
