"""The certificates and keys of a control plane."""

from __future__ import annotations

from pathlib import Path

from kubewright.certificates import CertificateAuthority, KeyPair, new_signing_key, write_private

__all__ = ["ADMIN", "write_credentials"]

ADMIN = ("kubewright-admin", ("system:masters",))
_KUBELET_CLIENT = ("kube-apiserver-kubelet-client", ("system:masters",))
_HOSTS = ("127.0.0.1", "localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "10.96.0.1")


def write_credentials(files: Path) -> tuple[CertificateAuthority, KeyPair]:
    """Writes all certificates and keys of the servers. Returns the CA of the API server, and the admin's key pair."""
    authority = CertificateAuthority()
    # A separate CA, so that no user's certificate gives access to etcd.
    etcd_authority = CertificateAuthority("kubewright-etcd")
    write_private(files / "etcd-ca.crt", etcd_authority.pair.certificate)
    etcd_authority.issue("etcd", hosts=("127.0.0.1",)).write(files, "etcd")
    etcd_authority.issue("kube-apiserver").write(files, "etcd-client")
    authority.pair.write(files, "ca")
    authority.issue("kube-apiserver", hosts=_HOSTS).write(files, "apiserver")
    authority.issue(*_KUBELET_CLIENT).write(files, "kubelet-client")
    admin = authority.issue(*ADMIN)
    admin.write(files, "admin")
    signing_key, public_key = new_signing_key()
    write_private(files / "service-accounts.key", signing_key)
    write_private(files / "service-accounts.pub", public_key)
    return authority, admin
