"""The binaries of the control plane: etcd, kube-apiserver, kube-controller-manager and kubectl of pinned versions.

`setup_binaries` finds, downloads or builds them once per machine. The build uses the Go toolchain that `find_go` finds
or installs; `download_module` returns the source of a Go module. Everything is stored below `cache_directory`, which
concurrent processes change under `lock`. Failures are `SetupError`s that say what to do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kubewright.lazy import lazy_exports

if TYPE_CHECKING:
    from kubewright.testing.binaries._cache import cache_directory, lock, scratch
    from kubewright.testing.binaries._go import Go, download_module, find_go
    from kubewright.testing.binaries._setup import binaries_folder, find_binaries, setup_binaries
    from kubewright.testing.binaries._versions import (
        BINARIES,
        ETCD,
        ETCD_VERSION,
        KUBE_APISERVER,
        KUBE_CONTROLLER_MANAGER,
        KUBECTL,
        KUBERNETES_VERSION,
        kubernetes_version,
        platform_name,
    )

__all__ = [
    "BINARIES",
    "ETCD",
    "ETCD_VERSION",
    "KUBECTL",
    "KUBERNETES_VERSION",
    "KUBE_APISERVER",
    "KUBE_CONTROLLER_MANAGER",
    "Go",
    "binaries_folder",
    "cache_directory",
    "download_module",
    "find_binaries",
    "find_go",
    "kubernetes_version",
    "lock",
    "platform_name",
    "scratch",
    "setup_binaries",
]

_MODULES = {
    "BINARIES": "_versions",
    "ETCD": "_versions",
    "ETCD_VERSION": "_versions",
    "KUBECTL": "_versions",
    "KUBERNETES_VERSION": "_versions",
    "KUBE_APISERVER": "_versions",
    "KUBE_CONTROLLER_MANAGER": "_versions",
    "Go": "_go",
    "binaries_folder": "_setup",
    "cache_directory": "_cache",
    "download_module": "_go",
    "find_binaries": "_setup",
    "find_go": "_go",
    "kubernetes_version": "_versions",
    "lock": "_cache",
    "platform_name": "_versions",
    "scratch": "_cache",
    "setup_binaries": "_setup",
}

if not TYPE_CHECKING:  # type checkers report unknown names
    __getattr__ = lazy_exports(__name__, _MODULES)
