"""The certificates and keys of a control plane."""

from __future__ import annotations

import ipaddress
from pathlib import Path

from kubewright.certificates import CertificateAuthority, KeyPair, new_signing_key, write_private
from kubewright.testing._flags import SERVICE_RANGE, SERVICE_RANGE_FLAG, Flags

__all__ = ["ADMIN", "write_credentials"]

ADMIN = ("kubewright-admin", ("system:masters",))
_KUBELET_CLIENT = ("kube-apiserver-kubelet-client", ("system:masters",))
_HOSTS = ("127.0.0.1", "localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc")


def write_credentials(files: Path, apiserver_flags: Flags) -> tuple[CertificateAuthority, KeyPair]:
    """Writes all certificates and keys of the servers. Returns the CA of the API server, and the admin's key pair.

    The API server's certificate is valid for the address of the Service `kubernetes`: the first one of the range.
    """
    service_range = apiserver_flags.get(SERVICE_RANGE_FLAG, SERVICE_RANGE).partition(",")[0]
    first = str(ipaddress.ip_network(service_range)[1])
    authority = CertificateAuthority()
    # A separate CA, so that no user's certificate gives access to etcd.
    etcd_authority = CertificateAuthority("kubewright-etcd")
    write_private(files / "etcd-ca.crt", etcd_authority.pair.certificate)
    etcd_authority.issue("etcd", hosts=("127.0.0.1",)).write(files, "etcd")
    etcd_authority.issue("kube-apiserver").write(files, "etcd-client")
    authority.pair.write(files, "ca")
    authority.issue("kube-apiserver", hosts=(*_HOSTS, first)).write(files, "apiserver")
    authority.issue(*_KUBELET_CLIENT).write(files, "kubelet-client")
    admin = authority.issue(*ADMIN)
    admin.write(files, "admin")
    signing_key, public_key = new_signing_key()
    write_private(files / "service-accounts.key", signing_key)
    write_private(files / "service-accounts.pub", public_key)
    return authority, admin
