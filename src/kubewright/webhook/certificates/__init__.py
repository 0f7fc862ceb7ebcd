"""The certificate of the webhook server: where it comes from, and how it stays valid. Four ways, one setting.

- `self-managed`: the operator makes an authority and a certificate, keeps both in a Secret, and writes the authority
  into the webhook configurations and definitions that name its Service. All replicas do so together, without a leader.
  What expires is renewed at two thirds of its life; what somebody deletes or changes is repaired. A new authority is
  trusted before it signs what is served, and an old one until all that it has signed has expired: no request fails.
- `cert-manager`: cert-manager fills a Secret, which is mounted; its injector tells the API server whom to trust.
- `olm`: the Operator Lifecycle Manager does both, and mounts the certificate at places of its own.
- `files`: somebody else writes `tls.crt` and `tls.key`. They are read again when they change; a pair that does not fit
  together never takes the place of one that does.

`source_for(way, served)` makes the source (`CertificateSource`), from which the server takes its certificate at each
new connection. `expiry_problem(source, now)` is for readiness. No private key is logged, or shown by any object here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kubewright.lazy import lazy_exports
from kubewright.webhook.certificates._errors import CertificateError
from kubewright.webhook.certificates._permissions import certificate_permissions
from kubewright.webhook.certificates._ways import FOLDER, WAYS, Way

if TYPE_CHECKING:
    from kubewright.webhook.certificates._expiry import expiry_problem
    from kubewright.webhook.certificates._files import CertificateFiles, Place
    from kubewright.webhook.certificates._plan import Terms
    from kubewright.webhook.certificates._self_managed import SelfManaged
    from kubewright.webhook.certificates._sources import source_for

__all__ = [
    "FOLDER",
    "WAYS",
    "CertificateError",
    "CertificateFiles",
    "Place",
    "SelfManaged",
    "Terms",
    "Way",
    "certificate_permissions",
    "expiry_problem",
    "source_for",
]

# What needs cryptography is imported on first use: manifests are written without it.
_HOMES = {
    "CertificateFiles": "_files",
    "Place": "_files",
    "SelfManaged": "_self_managed",
    "Terms": "_plan",
    "expiry_problem": "_expiry",
    "source_for": "_sources",
}

if not TYPE_CHECKING:  # who checks types is told of names that are not there
    __getattr__ = lazy_exports(__name__, _HOMES)
