"""`source_for`: makes the certificate source that the settings name."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from kubewright.webhook._certificate_source import CertificateSource, WebhookDeployment
from kubewright.webhook.certificates._files import CertificateFiles, CertificatePaths
from kubewright.webhook.certificates._self_managed import SelfManaged
from kubewright.webhook.certificates._source_names import CERTIFICATE_FOLDER, CERTIFICATE_SOURCES

__all__ = ["paths_for", "source_for"]

_OLM: Final = (
    # Both have the same content; the second is the older path.
    CertificatePaths(
        Path("/tmp/k8s-webhook-server/serving-certs/tls.crt"),  # noqa: S108  # OLM mounts it there
        Path("/tmp/k8s-webhook-server/serving-certs/tls.key"),  # noqa: S108
    ),
    CertificatePaths(
        Path("/apiserver.local.config/certificates/apiserver.crt"),
        Path("/apiserver.local.config/certificates/apiserver.key"),
    ),
)


def source_for(
    name: str, deployment: WebhookDeployment, *, folder: str | os.PathLike[str] | None = None
) -> CertificateSource:
    """Returns the certificate source that the setting `webhook_certificates` names.

    `folder` is the folder of `tls.crt` and `tls.key` for sources that read files. For OLM, the files may also be named
    `apiserver.crt` and `apiserver.key`.
    """
    if name not in CERTIFICATE_SOURCES:
        raise ValueError(f"webhook_certificates must be one of {', '.join(CERTIFICATE_SOURCES)}, not {name!r}")
    if name == "self-managed":
        return SelfManaged(deployment)
    return CertificateFiles(paths_for(name, folder), clock=deployment.clock)


def paths_for(name: str, folder: str | os.PathLike[str] | None = None) -> tuple[CertificatePaths, ...]:
    """Returns the paths that a source reads."""
    at = Path(folder or CERTIFICATE_FOLDER)
    if name != "olm":
        return (CertificatePaths(at / "tls.crt", at / "tls.key", at / "ca.crt"),)
    if folder is None:
        return _OLM
    return CertificatePaths(at / "tls.crt", at / "tls.key"), CertificatePaths(
        at / "apiserver.crt", at / "apiserver.key"
    )
