"""The pinned versions of the control plane, its binaries, and the supported platforms."""

from __future__ import annotations

import os
import platform
import re
import sys

from kubewright.testing._errors import SetupError

__all__ = ["BINARIES", "ETCD_VERSION", "KUBERNETES_VERSION", "VERSION_VARIABLE", "kubernetes_version", "platform_name"]

KUBERNETES_VERSION = "1.36.3"
ETCD_VERSION = "3.6.8"
VERSION_VARIABLE = "KUBEWRIGHT_KUBERNETES_VERSION"

ETCD = "etcd"
KUBE_APISERVER = "kube-apiserver"
KUBE_CONTROLLER_MANAGER = "kube-controller-manager"
KUBECTL = "kubectl"
BINARIES = (ETCD, KUBE_APISERVER, KUBE_CONTROLLER_MANAGER, KUBECTL)

_ARCHITECTURES = {"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64"}


def kubernetes_version() -> str:
    """Returns the version of the control plane: `KUBEWRIGHT_KUBERNETES_VERSION`, or the pinned one. Raises SetupError.

    Kubewright is developed with the pinned version. Another one shows how an operator works on your cluster's version.
    """
    wanted = os.environ.get(VERSION_VARIABLE) or KUBERNETES_VERSION
    if not re.fullmatch(r"1\.\d{1,3}\.\d{1,3}", wanted):
        raise SetupError(f"{VERSION_VARIABLE} is {wanted!r}, expected a release such as {KUBERNETES_VERSION}")
    return wanted


def platform_name() -> str:
    """Returns operating system and architecture in the spelling of Go and envtest archives, such as `linux-amd64`."""
    machine = platform.machine().lower()
    if sys.platform not in ("linux", "darwin") or machine not in _ARCHITECTURES:
        raise SetupError(
            f"the control plane runs on Linux and macOS, on x86_64 and aarch64; this is {sys.platform} on {machine}"
        )
    return f"{sys.platform}-{_ARCHITECTURES[machine]}"
