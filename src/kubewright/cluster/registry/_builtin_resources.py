"""The built-in resources, from recorded discovery data of the real server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any, Final

import msgspec

from kubewright.cluster.conversion._builtin import CONVERSIONS, STORED_AS
from kubewright.cluster.data import read_data
from kubewright.cluster.machinery._resources import JSONObject, ResourceType, Subresource
from kubewright.cluster.registry.strategies._behavior import DEPRECATED
from kubewright.cluster.registry.strategies._lookup import strategy_for
from kubewright.columns import builtin_printer

__all__ = ["builtin_types", "group_order", "server_version"]

_ALL_VERBS: Final = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")


class _Fact(msgspec.Struct, rename="camel"):
    kind: str
    singular: str = ""
    namespaced: bool = False
    verbs: tuple[str, ...] = ()
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    hash: str = ""
    subresources: dict[str, tuple[tuple[str, ...], str, str, str]] = {}


@cache
def _document() -> dict[str, Any]:
    document: dict[str, Any] = msgspec.json.decode(read_data("resources.json"))
    return document


def server_version() -> JSONObject:
    """Returns the response of `/version`: the version of the real server that the data was recorded from."""
    version: JSONObject = _document()["version"]
    return version


def group_order() -> list[str]:
    """Returns the group versions in the order of the real server's discovery."""
    order: list[str] = _document()["order"]
    return order


def builtin_types() -> Iterator[ResourceType]:
    """Yields a new `ResourceType` for each built-in resource."""
    for api_version in group_order():
        for plural, fact in _facts_of(api_version):
            yield _made(api_version, plural, fact)


@cache
def _facts_of(api_version: str) -> list[tuple[str, _Fact]]:
    prefix = f"{api_version}/"
    return [
        (name.removeprefix(prefix), msgspec.convert(fact, _Fact))
        for name, fact in _document().items()
        if name.startswith(prefix) and "/" not in name.removeprefix(prefix)
    ]


def _made(api_version: str, plural: str, fact: _Fact) -> ResourceType:
    group, _, version = api_version.rpartition("/")
    resource = f"{plural}.{group}" if group else plural
    return ResourceType(
        group=group,
        version=version,
        kind=fact.kind,
        plural=plural,
        singular=fact.singular,
        namespaced=fact.namespaced,
        short_names=fact.short_names,
        categories=fact.categories,
        verbs=fact.verbs,
        subresources={name: _subresource(resource, name, *sub) for name, sub in fact.subresources.items()},
        make_strategy=partial(strategy_for, api_version, fact.kind, resource),
        storage=STORED_AS.get(resource, ""),
        storage_version_hash=fact.hash,
        conversion=CONVERSIONS.get((api_version, plural)),
        schema=_schema(api_version, fact.kind),
        printer=builtin_printer(api_version, plural),
        deprecation_warning=DEPRECATED.get(resource, ""),
    )


def _schema(api_version: str, kind: str) -> Callable[[], Any]:
    def schema() -> Any:
        from kubewright.cluster.schema import builtin_schema

        return builtin_schema(api_version, kind)

    return schema


def _subresource(resource: str, name: str, verbs: tuple[str, ...], group: str, version: str, kind: str) -> Subresource:
    selector = "" if name != "scale" else ".spec.selector"
    return Subresource(name=name, verbs=verbs, group=group, version=version, kind=kind, label_selector=selector)
