"""`source_for`: from the setting to the source."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from kubewright.webhook._certificates_protocol import CertificateSource, Served
from kubewright.webhook.certificates._files import CertificateFiles, Place
from kubewright.webhook.certificates._self_managed import SelfManaged
from kubewright.webhook.certificates._ways import FOLDER, WAYS

__all__ = ["places_for", "source_for"]

_OLM: Final = (
    # Both hold the same; the second is the older one.
    Place(
        Path("/tmp/k8s-webhook-server/serving-certs/tls.crt"),  # noqa: S108  # OLM mounts it there
        Path("/tmp/k8s-webhook-server/serving-certs/tls.key"),  # noqa: S108
    ),
    Place(
        Path("/apiserver.local.config/certificates/apiserver.crt"),
        Path("/apiserver.local.config/certificates/apiserver.key"),
    ),
)


def source_for(way: str, served: Served, *, folder: str | os.PathLike[str] | None = None) -> CertificateSource:
    """The certificate source that the setting `webhook_certificates` names.

    `folder` is where `tls.crt` and `tls.key` are, for the ways that read files, instead of where they usually are. For
    OLM the pair may also be called `apiserver.crt` and `apiserver.key`.
    """
    if way not in WAYS:
        raise ValueError(f"webhook certificates come from one of {', '.join(WAYS)}, not {way!r}")
    if way == "self-managed":
        return SelfManaged(served)
    return CertificateFiles(places_for(way, folder), clock=served.clock)


def places_for(way: str, folder: str | os.PathLike[str] | None = None) -> tuple[Place, ...]:
    """The files that a way reads."""
    at = Path(folder or FOLDER)
    if way != "olm":
        return (Place(at / "tls.crt", at / "tls.key", at / "ca.crt"),)
    if folder is None:
        return _OLM
    return Place(at / "tls.crt", at / "tls.key"), Place(at / "apiserver.crt", at / "apiserver.key")
