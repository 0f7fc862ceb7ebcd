"""Mirrors Endpoints that users write to EndpointSlices, for Services without a selector."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import kubewright as kw
from kubewright.api import Selector, SelectorError, core, discovery, meta
from kubewright.cache import ObjectKey

__all__ = ["register"]

_SERVICE_NAME: Final = "kubernetes.io/service-name"
_MANAGED_BY: Final = "endpointslice.kubernetes.io/managed-by"
_CONTROLLER: Final = "endpointslicemirroring-controller.k8s.io"
_SKIP: Final = "endpointslice.kubernetes.io/skip-mirror"
_LEADER: Final = "control-plane.alpha.kubernetes.io/leader"
_NOT_COPIED: Final = (
    "endpoints.kubernetes.io/last-change-trigger-time",
    "kubectl.kubernetes.io/last-applied-configuration",
)
_MAX_ADDRESSES: Final = 1000  # addresses of a subset


class _Port(NamedTuple):
    name: str
    number: int
    protocol: str
    app_protocol: str | None


class _Address(NamedTuple):
    """An address of a subset. Compared by IP and target, as the real controller does."""

    ip: str
    uid: str


class _Key(NamedTuple):
    """The fields by which the slices of one Endpoints object differ."""

    family: str
    ports: tuple[_Port, ...]


def register(operator: kw.Operator) -> None:
    """Registers the controller that mirrors Endpoints."""

    def endpoints_of(obj: Any) -> list[ObjectKey]:
        return [ObjectKey.of(obj)]

    async def reconcile(endpoints: core.Endpoints, ctx: kw.Context[core.Endpoints]) -> None:
        """Creates, updates and deletes the slices of Endpoints."""
        await sync(endpoints, ctx)

    watches: list[kw.Watch[Any]] = [kw.Watch(core.Service, map=endpoints_of)]
    operator.reconciles(core.Endpoints, owns=[discovery.EndpointSlice], watches=watches)(reconcile)
    operator.deleted(core.Endpoints)(forget)


async def forget(endpoints: core.Endpoints, ctx: kw.Context[core.Endpoints]) -> None:
    """Deletes the slices of deleted Endpoints."""
    for each in _mirrored(ctx):
        await ctx.delete(each)


async def sync(endpoints: core.Endpoints, ctx: kw.Context[core.Endpoints]) -> None:
    """Writes the slices, or deletes them if the Endpoints are not to be mirrored."""
    service = ctx.get(core.Service, endpoints.metadata.name)
    metadata, found = endpoints.metadata, _mirrored(ctx)
    skipped = metadata.labels.get(_SKIP) == "true" or _LEADER in metadata.annotations
    wanted: dict[_Key, list[discovery.Endpoint]] = {}
    if not skipped and service is not None and not service.spec.selector:
        wanted = _wanted(endpoints, ctx)
    for key, members in wanted.items():
        made = _slice(endpoints, key, members)
        known = _reusable(found, key, wanted)
        if known is None:
            await ctx.create(made)
            continue
        found.remove(known)
        if _content(known) != _content(made):
            known.endpoints, known.ports = made.endpoints, made.ports
            known.metadata.labels, known.metadata.annotations = made.metadata.labels, made.metadata.annotations
            await ctx.update(known)
    for surplus in found:
        await ctx.delete(surplus)


def _mirrored(ctx: kw.Context[core.Endpoints]) -> list[discovery.EndpointSlice]:
    """Returns the slices of the Endpoints that this controller wrote."""
    try:
        selector = Selector.from_labels({_SERVICE_NAME: ctx.key.name, _MANAGED_BY: _CONTROLLER})
    except SelectorError:
        return []  # Endpoints may have a longer name than a label's value
    return ctx.list(discovery.EndpointSlice, ctx.key.namespace, selector)


def _reusable(
    found: list[discovery.EndpointSlice], key: _Key, wanted: dict[_Key, list[discovery.Endpoint]]
) -> discovery.EndpointSlice | None:
    """Returns the slice with these ports, or one of the same family that would be deleted."""
    same = [each for each in found if _key_of(each) == key]
    free = [each for each in found if each.address_type == key.family and _key_of(each) not in wanted]
    return next(iter([*same, *free]), None)


def _key_of(slice_: discovery.EndpointSlice) -> _Key:
    ports = (_Port(p.name or "", p.port or 0, p.protocol or "TCP", p.app_protocol) for p in slice_.ports or ())
    return _Key(slice_.address_type, tuple(sorted(ports, key=repr)))


def _content(slice_: discovery.EndpointSlice) -> Any:
    members = sorted(slice_.endpoints or (), key=repr)
    return members, _key_of(slice_), slice_.metadata.labels, slice_.metadata.annotations


def _slice(endpoints: core.Endpoints, key: _Key, members: list[discovery.Endpoint]) -> discovery.EndpointSlice:
    given = endpoints.metadata
    metadata = meta.ObjectMeta(
        generate_name=f"{given.name}-",
        labels={**given.labels, _SERVICE_NAME: given.name, _MANAGED_BY: _CONTROLLER},
        annotations={name: value for name, value in given.annotations.items() if name not in _NOT_COPIED},
    )
    ports = [
        discovery.EndpointPort(name=p.name, port=p.number, protocol=p.protocol, app_protocol=p.app_protocol)
        for p in key.ports
    ]
    return discovery.EndpointSlice(metadata=metadata, address_type=key.family, endpoints=members, ports=ports)


def _wanted(endpoints: core.Endpoints, ctx: kw.Context[core.Endpoints]) -> dict[_Key, list[discovery.Endpoint]]:
    """Returns the endpoints of each slice; at most a thousand addresses of a subset."""
    known = {_identity(each): each for subset in endpoints.subsets or () for each, _ in _members(subset)}
    wanted: dict[_Key, list[discovery.Endpoint]] = {}
    skipped = 0
    for ports, members in _repacked(endpoints):
        # Ready addresses come first, and are the last to be skipped.
        ordered = sorted(members.items(), key=lambda each: (not each[1], each[0]))
        skipped += max(len(ordered) - _MAX_ADDRESSES, 0)
        for identity, ready in ordered[:_MAX_ADDRESSES]:
            family = "IPv6" if ":" in identity.ip else "IPv4"
            wanted.setdefault(_Key(family, ports), []).append(_endpoint(known[identity], identity.ip, ready))
    if skipped:
        rule = f"A max of {_MAX_ADDRESSES} addresses can be mirrored to EndpointSlices per Endpoints subset"
        ctx.record("TooManyAddressesToMirror", f"{rule}. {skipped} addresses were skipped", "Warning")
    return wanted


def _members(subset: core.EndpointSubset) -> Iterator[tuple[core.EndpointAddress, bool]]:
    yield from ((each, True) for each in subset.addresses or ())
    yield from ((each, False) for each in subset.not_ready_addresses or ())


def _identity(address: core.EndpointAddress) -> _Address:
    reference = address.target_ref
    return _Address(str(ipaddress.ip_address(address.ip)), (reference.uid if reference is not None else None) or "")


def _repacked(endpoints: core.Endpoints) -> list[tuple[tuple[_Port, ...], dict[_Address, bool]]]:
    """Groups the ports that have the same addresses, also those of different subsets. Not ready wins over ready."""
    by_port: dict[_Port | None, dict[_Address, bool]] = {}
    for subset in endpoints.subsets or ():
        ports: list[_Port | None] = [
            _Port(p.name or "", p.port, p.protocol or "TCP", p.app_protocol) for p in subset.ports or ()
        ]
        for port in ports or [None]:
            addresses = by_port.setdefault(port, {})
            for address, ready in _members(subset):
                identity = _identity(address)
                addresses[identity] = ready and addresses.get(identity, True)
    groups: dict[frozenset[tuple[_Address, bool]], list[_Port]] = {}
    for one, addresses in by_port.items():
        groups.setdefault(frozenset(addresses.items()), []).extend([] if one is None else [one])
    return [(tuple(sorted(ports, key=repr)), dict(members)) for members, ports in groups.items() if members]


def _endpoint(address: core.EndpointAddress, ip: str, ready: bool) -> discovery.Endpoint:
    return discovery.Endpoint(
        addresses=[ip],
        conditions=discovery.EndpointConditions(ready=ready),
        hostname=address.hostname or None,
        node_name=address.node_name,
        target_ref=address.target_ref,
    )
