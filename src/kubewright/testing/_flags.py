"""The command lines of etcd, kube-apiserver and kube-controller-manager."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

__all__ = [
    "SERVICE_RANGE",
    "SERVICE_RANGE_FLAG",
    "Flags",
    "apiserver_flags",
    "command",
    "controller_manager_flags",
    "etcd_flags",
]

Flags = Mapping[str, str]

SERVICE_RANGE_FLAG: Final = "service-cluster-ip-range"
SERVICE_RANGE: Final = "10.96.0.0/16"


def command(binary: Path, flags: Flags) -> list[str]:
    """Returns the command line: the binary and one argument per flag."""
    return [str(binary), *(f"--{name}={value}" for name, value in flags.items())]


def etcd_flags(files: Path, port: int) -> dict[str, str]:
    """Returns the flags of etcd: without durability, and only for clients with a certificate of the control plane."""
    return {
        "data-dir": str(files / "etcd"),
        "listen-client-urls": f"https://127.0.0.1:{port}",
        "advertise-client-urls": f"https://127.0.0.1:{port}",
        "listen-peer-urls": "http://127.0.0.1:0",
        "cert-file": str(files / "etcd.crt"),
        "key-file": str(files / "etcd.key"),
        "trusted-ca-file": str(files / "etcd-ca.crt"),
        "client-cert-auth": "true",
        "unsafe-no-fsync": "true",
        "quota-backend-bytes": str(8 << 30),
        "log-level": "warn",
    }


def apiserver_flags(files: Path, port: int, etcd_port: int, *, service_accounts: bool) -> dict[str, str]:
    """Returns the flags of kube-apiserver: those of a production cluster, on loopback.

    Without kube-controller-manager, new namespaces have no service account. So the admission plugin that requires one
    for every pod is enabled only with `service_accounts`.
    """
    flags = {
        "etcd-servers": f"https://127.0.0.1:{etcd_port}",
        "etcd-cafile": str(files / "etcd-ca.crt"),
        "etcd-certfile": str(files / "etcd-client.crt"),
        "etcd-keyfile": str(files / "etcd-client.key"),
        "bind-address": "127.0.0.1",
        # The default is the address of the default route, which a machine without a network does not have.
        "advertise-address": "127.0.0.1",
        "secure-port": str(port),
        "tls-cert-file": str(files / "apiserver.crt"),
        "tls-private-key-file": str(files / "apiserver.key"),
        "client-ca-file": str(files / "ca.crt"),
        "kubelet-client-certificate": str(files / "kubelet-client.crt"),
        "kubelet-client-key": str(files / "kubelet-client.key"),
        "kubelet-certificate-authority": str(files / "ca.crt"),
        "kubelet-preferred-address-types": "InternalIP",
        "authorization-mode": "RBAC",
        "service-account-issuer": "https://kubernetes.default.svc.cluster.local",
        "service-account-key-file": str(files / "service-accounts.pub"),
        "service-account-signing-key-file": str(files / "service-accounts.key"),
        SERVICE_RANGE_FLAG: SERVICE_RANGE,
        # A loopback address is not a valid endpoint; the default would retry and log indefinitely.
        "endpoint-reconciler-type": "none",
        # The default lets a graceful stop wait a minute for open watches, and then breaks them anyway.
        "shutdown-watch-termination-grace-period": "1s",
        "allow-privileged": "true",
        "profiling": "false",
    }
    if not service_accounts:
        flags["disable-admission-plugins"] = "ServiceAccount"
    return flags


def controller_manager_flags(files: Path) -> dict[str, str]:
    """Returns the flags of kube-controller-manager: the default controllers, without leader election or rate limits."""
    return {
        "kubeconfig": str(files / "controller-manager.kubeconfig"),
        "leader-elect": "false",
        "secure-port": "0",
        "service-account-private-key-file": str(files / "service-accounts.key"),
        "root-ca-file": str(files / "ca.crt"),
        "cluster-signing-cert-file": str(files / "ca.crt"),
        "cluster-signing-key-file": str(files / "ca.key"),
        "kube-api-qps": "1000",
        "kube-api-burst": "2000",
        "profiling": "false",
    }
