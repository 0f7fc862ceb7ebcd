"""Nodes that run pods as processes of this machine, without containers.

`Images` maps images to local programs; nothing else runs. `ProcessNode` is a `FakeNode` whose pods with mapped images
are processes. It uses the API alone, so it works on the embedded cluster and on a real control plane.

This is not a sandbox: programs run with the rights of the node's user.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kubewright.lazy import lazy_exports

if TYPE_CHECKING:
    from kubewright.cluster.processes._api_server import ApiServer, RemoteServerError
    from kubewright.cluster.processes._context import ServiceVariables
    from kubewright.cluster.processes._grpc import grpc_health, read_grpc_message
    from kubewright.cluster.processes._images import Image, Images, ImagesError, Refused
    from kubewright.cluster.processes._memory import measures_memory, memory_excess
    from kubewright.cluster.processes._mounts import MountMode
    from kubewright.cluster.processes._node import ProcessNode
    from kubewright.cluster.processes._project import project_images
    from kubewright.cluster.processes._service_accounts import ServiceAccounts

__all__ = [
    "ApiServer",
    "Image",
    "Images",
    "ImagesError",
    "MountMode",
    "ProcessNode",
    "Refused",
    "RemoteServerError",
    "ServiceAccounts",
    "ServiceVariables",
    "grpc_health",
    "measures_memory",
    "memory_excess",
    "project_images",
    "read_grpc_message",
]

# Imported on first use: a mapping of images needs neither the client nor the API types.
_MODULES = {
    "ApiServer": "_api_server",
    "Image": "_images",
    "Images": "_images",
    "ImagesError": "_images",
    "MountMode": "_mounts",
    "ProcessNode": "_node",
    "Refused": "_images",
    "RemoteServerError": "_api_server",
    "ServiceAccounts": "_service_accounts",
    "ServiceVariables": "_context",
    "grpc_health": "_grpc",
    "measures_memory": "_memory",
    "memory_excess": "_memory",
    "project_images": "_project",
    "read_grpc_message": "_grpc",
}

if not TYPE_CHECKING:  # type checkers would accept any name
    __getattr__ = lazy_exports(__name__, _MODULES)
