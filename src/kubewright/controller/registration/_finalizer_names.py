"""Names of finalizers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kubewright.arguments import check_string

if TYPE_CHECKING:
    from kubewright.api import ResourceInfo

__all__ = ["finalizer_name"]

_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?/[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")


def finalizer_name(info: ResourceInfo, operator: str, name: str | None) -> str:
    """Returns the name of a finalizer. Default: group and operator, `example.com/sample-controller`."""
    if name is None:
        if "." not in info.group:
            raise ValueError(
                f"the finalizer of {info} needs a name, because its group is not a domain of yours: "
                f'finalizes({info.kind}, name="example.com/{operator}")'
            )
        name = f"{info.group}/{operator}"
    if not _NAME.fullmatch(check_string(f"finalizes({info.kind}): name", name, "example.com/cleanup")):
        raise ValueError(f"finalizer {name!r} must be a name under a domain, such as example.com/cleanup")
    return name
