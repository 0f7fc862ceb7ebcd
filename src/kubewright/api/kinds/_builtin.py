"""`builtin_kind`: the class of a kind that Kubernetes itself serves."""

from __future__ import annotations

import re
from importlib import import_module
from typing import Final

from kubewright.api._groups import BUILT_IN_GROUPS
from kubewright.api._object import Object, ResourceInfo

__all__ = ["builtin_kind"]

_VERSION: Final = re.compile(r"v[1-9][0-9]?((alpha|beta)[1-9][0-9]?)?")
_PACKAGES: Final = {"": "core", "internal.apiserver.k8s.io": "apiserverinternal"}


def builtin_kind(api_version: str, kind: str) -> type[Object] | None:
    """Returns the class of a built-in kind, such as `apps/v1`, `Deployment`; None if there is none."""
    group, _, version = api_version.rpartition("/")
    if group not in BUILT_IN_GROUPS or not _VERSION.fullmatch(version):
        return None
    try:
        module = import_module(f"kubewright.api.{_PACKAGES.get(group, group.partition('.')[0])}.{version}")
    except ModuleNotFoundError:
        return None
    found = getattr(module, kind, None) if kind in module.__all__ else None
    info = getattr(found, "__resource__", None)
    return found if isinstance(info, ResourceInfo) and info.kind == kind else None
