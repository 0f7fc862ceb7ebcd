"""The kinds that a request body may have: those in the schemes of the real server.

A scheme is the real server's table of kinds. Objects and DeleteOptions are decoded with different ones. A body of a
known, but wrong kind is a conversion error; a body of an unknown kind is not registered.
"""

from __future__ import annotations

from typing import Final

from kubewright.cluster.machinery._failures import bad_request
from kubewright.cluster.machinery._go_types import go_type_of
from kubewright.cluster.machinery._resources import JSONObject, ResourceType
from kubewright.cluster.registry._builtin_resources import group_order

__all__ = ["check_delete_options", "wrong_kind"]

_META: Final = "meta.k8s.io/v1"
_UNVERSIONED: Final = frozenset({"APIGroup", "APIGroupList", "APIResourceList", "APIVersions", "Status"})
"""Kinds in every version of every group, even of unknown groups."""
_OPTIONS: Final = frozenset({"CreateOptions", "DeleteOptions", "UpdateOptions"})
_IN_EVERY_VERSION: Final = _OPTIONS | {"GetOptions", "ListOptions", "PatchOptions", "WatchEvent"}
"""Kinds that every version of a built-in group has."""
_OF_META: Final = frozenset(
    {
        "GetOptions",
        "ListOptions",
        "PartialObjectMetadata",
        "PartialObjectMetadataList",
        "PatchOptions",
        "Table",
        "TableOptions",
        "WatchEvent",
    }
)


def wrong_kind(type_: ResourceType, version: str, kind: str) -> str:
    """Returns why a body of that kind is not an object of a built-in resource."""
    package = version.rpartition("/")[2]
    built_in = version in group_order()
    # The scheme of CustomResourceDefinitions is a separate one.
    unversioned = _UNVERSIONED | {"WatchEvent"} if type_.group == "apiextensions.k8s.io" else _UNVERSIONED
    if kind in unversioned or (built_in and kind in _IN_EVERY_VERSION):
        package = "v1"
    elif not built_in or go_type_of(version, kind) is None:
        return _not_registered(version, kind)
    return f"converting ({package}.{kind}) to ({type_.go_name}): unknown conversion"


def check_delete_options(body: JSONObject) -> None:
    """Raises a 400 unless the body of a delete has the kind DeleteOptions, of any group and version, or none."""
    kind, version = body.get("kind") or "DeleteOptions", body.get("apiVersion") or _META
    if kind == "DeleteOptions":
        return
    if kind in _UNVERSIONED | _OPTIONS or (version == _META and kind in _OF_META):
        raise bad_request(f"converting (v1.{kind}) to (v1.DeleteOptions): unknown conversion")
    raise bad_request(_not_registered(version, kind))


def _not_registered(version: str, kind: str) -> str:
    return f'no kind "{kind}" is registered for version "{version}" in scheme "pkg/runtime/scheme.go:111"'
