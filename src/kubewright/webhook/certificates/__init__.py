"""The sources of the webhook server's certificate. The setting `webhook_certificates` selects one:

- `self-managed`: the operator creates a CA and a certificate, stores both in a Secret, and writes the CA into the
  webhook configurations and CustomResourceDefinitions that name its Service. All replicas do so, without a leader.
  Certificates are renewed at two thirds of their lifetime; deleted or changed objects are repaired. A new CA is trusted
  before it signs the served certificate, and an old one until all its certificates have expired, so no request fails.
- `cert-manager`: cert-manager fills a Secret, which is mounted; its injector writes the CA bundle.
- `olm`: the Operator Lifecycle Manager does both, and mounts the certificate at its own paths.
- `files`: another program writes `tls.crt` and `tls.key`. They are reloaded when they change. A pair that does not
  match never replaces one that does.

`source_for(name, deployment)` makes the source (`CertificateSource`). The server gets its certificate from the source
for each new connection. `expiry_problem(source, now)` is for the readiness check. `decide` plans the next step of a
`StoredCertificate` as a pure function; `CertificateReconciler` carries it out. No private key is logged, or shown by
any object here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kubewright.lazy import lazy_exports
from kubewright.webhook.certificates._errors import CertificateError
from kubewright.webhook.certificates._permissions import certificate_permissions
from kubewright.webhook.certificates._source_names import CERTIFICATE_FOLDER, CERTIFICATE_SOURCES, CertificateSourceName

if TYPE_CHECKING:
    from kubewright.webhook.certificates._expiry import expiry_problem
    from kubewright.webhook.certificates._files import CertificateFiles, CertificatePaths
    from kubewright.webhook.certificates._plan import CertificatePolicy, Change, decide, next_time
    from kubewright.webhook.certificates._reconciler import CertificateReconciler
    from kubewright.webhook.certificates._self_managed import SelfManaged
    from kubewright.webhook.certificates._sources import paths_for, source_for
    from kubewright.webhook.certificates._stored import StoredCertificate
    from kubewright.webhook.certificates._validation import Unusable

__all__ = [
    "CERTIFICATE_FOLDER",
    "CERTIFICATE_SOURCES",
    "CertificateError",
    "CertificateFiles",
    "CertificatePaths",
    "CertificatePolicy",
    "CertificateReconciler",
    "CertificateSourceName",
    "Change",
    "SelfManaged",
    "StoredCertificate",
    "Unusable",
    "certificate_permissions",
    "decide",
    "expiry_problem",
    "next_time",
    "paths_for",
    "source_for",
]

# Imported on first use, because they need cryptography, which manifests do not.
_MODULES = {
    "paths_for": "_sources",
    "Unusable": "_validation",
    "CertificateReconciler": "_reconciler",
    "StoredCertificate": "_stored",
    "Change": "_plan",
    "decide": "_plan",
    "next_time": "_plan",
    "CertificateFiles": "_files",
    "CertificatePaths": "_files",
    "SelfManaged": "_self_managed",
    "CertificatePolicy": "_plan",
    "expiry_problem": "_expiry",
    "source_for": "_sources",
}

if not TYPE_CHECKING:  # type checkers report unknown names
    __getattr__ = lazy_exports(__name__, _MODULES)
