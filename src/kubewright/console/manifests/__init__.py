"""The manifests that run the console in a cluster: a kustomize folder for `kubectl apply -k`."""

from __future__ import annotations

from kubewright.console.manifests._files import (
    BASE_IMAGE,
    CLIENT_LABEL,
    NAME,
    NAMESPACE,
    OIDC_SECRET,
    PORT,
    TLS_SECRET,
    CertificateSource,
    manifest_files,
    write_manifests,
)

__all__ = [
    "BASE_IMAGE",
    "CLIENT_LABEL",
    "NAME",
    "NAMESPACE",
    "OIDC_SECRET",
    "PORT",
    "TLS_SECRET",
    "CertificateSource",
    "manifest_files",
    "write_manifests",
]
