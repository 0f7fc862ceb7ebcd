"""The names of certificate sources in settings and manifests."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias, get_args

__all__ = ["CERTIFICATE_FOLDER", "CERTIFICATE_SOURCES", "CertificateSourceName"]

CertificateSourceName: TypeAlias = Literal["self-managed", "cert-manager", "olm", "files"]
"""The name of a certificate source."""

CERTIFICATE_SOURCES: Final[tuple[CertificateSourceName, ...]] = get_args(CertificateSourceName)

CERTIFICATE_FOLDER: Final = "/var/run/kubewright/webhook"
"""The folder where manifests mount the Secret of a certificate that is not self-managed."""
