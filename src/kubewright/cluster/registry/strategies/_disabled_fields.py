"""Fields of feature gates that are off by default. The real server drops them, and so does this one."""

from __future__ import annotations

from kubewright.cluster.machinery._resources import JSONObject

__all__ = ["drop_disabled_mappings", "drop_disabled_node_fields", "drop_disabled_pod_fields"]


def drop_disabled_pod_fields(spec: JSONObject) -> None:
    """Drops the stop signals of the containers of a pod (ContainerStopSignals)."""
    for field in ("containers", "initContainers", "ephemeralContainers"):
        for container in spec.get(field) or ():
            lifecycle = container.get("lifecycle")
            if lifecycle and lifecycle.pop("stopSignal", None) is not None and not lifecycle:
                del container["lifecycle"]


def drop_disabled_mappings(spec: JSONObject) -> None:
    """Drops the resources of the node that devices of a ResourceSlice use (DRANodeAllocatableResources)."""
    for device in spec.get("devices") or ():
        device.pop("nodeAllocatableResourceMappings", None)


def drop_disabled_node_fields(node: JSONObject) -> None:
    """Drops the dynamic configuration of a kubelet, which Kubernetes 1.26 removed."""
    (node.get("spec") or {}).pop("configSource", None)
    (node.get("status") or {}).pop("config", None)
