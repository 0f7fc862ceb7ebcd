"""The command lines of etcd, kube-apiserver and kube-controller-manager."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

__all__ = ["apiserver_flags", "command", "controller_manager_flags", "etcd_flags"]

Flags = Mapping[str, str]


def command(binary: Path, flags: Flags) -> list[str]:
    """The binary and its flags, as one argument each."""
    return [str(binary), *(f"--{name}={value}" for name, value in flags.items())]


def etcd_flags(files: Path, port: int) -> dict[str, str]:
    """Durable nowhere, reachable by the control plane alone."""
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
    """A kube-apiserver as of a production cluster, on loopback.

    Without kube-controller-manager nobody creates the service account of a new namespace, so the admission plugin
    that insists on one for every pod is on only with `service_accounts`.
    """
    flags = {
        "etcd-servers": f"https://127.0.0.1:{etcd_port}",
        "etcd-cafile": str(files / "etcd-ca.crt"),
        "etcd-certfile": str(files / "etcd-client.crt"),
        "etcd-keyfile": str(files / "etcd-client.key"),
        "bind-address": "127.0.0.1",
        # Otherwise the address of the default route is looked for, which a machine without a network does not have.
        "advertise-address": "127.0.0.1",
        "secure-port": str(port),
        "tls-cert-file": str(files / "apiserver.crt"),
        "tls-private-key-file": str(files / "apiserver.key"),
        "client-ca-file": str(files / "ca.crt"),
        "authorization-mode": "RBAC",
        "service-account-issuer": "https://kubernetes.default.svc.cluster.local",
        "service-account-key-file": str(files / "service-accounts.pub"),
        "service-account-signing-key-file": str(files / "service-accounts.key"),
        "service-cluster-ip-range": "10.96.0.0/16",
        # A loopback address may not be an endpoint; without this it would be tried, and logged, for ever.
        "endpoint-reconciler-type": "none",
        # Without this an orderly end waits a minute for open watches, and then breaks them all the same.
        "shutdown-watch-termination-grace-period": "1s",
        "allow-privileged": "true",
        "profiling": "false",
    }
    if not service_accounts:
        flags["disable-admission-plugins"] = "ServiceAccount"
    return flags


def controller_manager_flags(files: Path) -> dict[str, str]:
    """Every controller that runs by default, alone and in a hurry."""
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
