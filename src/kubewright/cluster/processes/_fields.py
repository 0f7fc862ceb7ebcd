"""Fields and resources of a pod, as the downward API gives them to containers. No I/O."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import ROUND_CEILING, Decimal
from typing import Any, Final

from kubewright.api import Quantity, core

__all__ = ["InvalidReference", "field_of", "resource_of"]

_KEYED: Final = re.compile(r"metadata\.(labels|annotations)\['([^']{1,1024})'\]")


class InvalidReference(Exception):
    """A reference that cannot be resolved; the message names it."""


def field_of(pod: core.Pod, path: str, *, address: str, host_address: str) -> str:
    """Returns a field of a pod as a string. Raises `InvalidReference`."""
    metadata, spec = pod.metadata, pod.spec
    if keyed := _KEYED.fullmatch(path):
        values = metadata.labels if keyed[1] == "labels" else metadata.annotations
        return (values or {}).get(keyed[2], "")
    fields = {
        "metadata.name": metadata.name,
        "metadata.namespace": metadata.namespace,
        "metadata.uid": metadata.uid,
        "metadata.labels": _lines(metadata.labels),
        "metadata.annotations": _lines(metadata.annotations),
        "spec.nodeName": spec.node_name,
        "spec.serviceAccountName": spec.service_account_name,
        "status.hostIP": host_address,
        "status.hostIPs": host_address,
        "status.podIP": address,
        "status.podIPs": address,
    }
    if path not in fields:
        raise InvalidReference(f"unsupported fieldPath: {path}")
    return fields[path] or ""


def resource_of(
    pod: core.Pod, selector: core.ResourceFieldSelector, container: Any, allocatable: Mapping[str, Quantity]
) -> str:
    """Returns a resource of a container, rounded up to the divisor. Raises `InvalidReference`."""
    if selector.container_name:
        every = [*pod.spec.containers, *(pod.spec.init_containers or ())]
        container = next((each for each in every if each.name == selector.container_name), None)
    if container is None:
        raise InvalidReference(f'container "{selector.container_name}" not found')
    kind, _, name = selector.resource.partition(".")
    if kind not in ("limits", "requests") or not name:
        raise InvalidReference(f"unsupported container resource: {selector.resource}")
    resources = container.resources or core.ResourceRequirements()
    amounts = resources.limits if kind == "limits" else resources.requests
    amount = (amounts or {}).get(name) or (allocatable.get(name) if kind == "limits" else None) or Quantity(0)
    divisor = selector.divisor.as_decimal() if selector.divisor else Decimal(1)
    return str((amount.as_decimal() / (divisor or Decimal(1))).to_integral_value(ROUND_CEILING))


def _lines(values: dict[str, str] | None) -> str:
    return "\n".join(f'{key}="{_escaped(value)}"' for key, value in sorted((values or {}).items()))


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
