"""The pinned versions of the control plane, its binaries, and the supported platforms."""

from __future__ import annotations

import platform
import sys

from kubewright.testing._errors import SetupError

__all__ = ["BINARIES", "ETCD_VERSION", "KUBERNETES_VERSION", "platform_name"]

KUBERNETES_VERSION = "1.36.3"
ETCD_VERSION = "3.6.8"

ETCD = "etcd"
KUBE_APISERVER = "kube-apiserver"
KUBE_CONTROLLER_MANAGER = "kube-controller-manager"
KUBECTL = "kubectl"
BINARIES = (ETCD, KUBE_APISERVER, KUBE_CONTROLLER_MANAGER, KUBECTL)

_ARCHITECTURES = {"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64"}


def platform_name() -> str:
    """Returns operating system and architecture in the spelling of Go and envtest archives, such as `linux-amd64`."""
    machine = platform.machine().lower()
    if sys.platform not in ("linux", "darwin") or machine not in _ARCHITECTURES:
        raise SetupError(
            f"the control plane runs on Linux and macOS, on x86_64 and aarch64; this is {sys.platform} on {machine}"
        )
    return f"{sys.platform}-{_ARCHITECTURES[machine]}"
