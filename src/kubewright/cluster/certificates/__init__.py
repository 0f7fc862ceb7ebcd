"""CertificateSigningRequests: their rules, admission, and the certificates that the cluster's CA signs.

`add_certificates` makes a server accept the kind. Approval and signing run in `kubewright.cluster.controllers`, with
the rules of kube-controller-manager: `signer_problem` says whether a signer signs a request, `signed_certificate` signs
it.

Requests and certificates are untrusted input. `cryptography` parses them, and is imported on first use.
"""

from __future__ import annotations

from kubewright.cluster.certificates._install import add_certificates
from kubewright.cluster.certificates._pem import (
    InvalidRequest,
    certificate_problem,
    parse_request,
    pem_blocks,
    request_problem,
)
from kubewright.cluster.certificates._signers import (
    KUBELET_CLIENT,
    SIGNERS,
    common_name,
    is_kubelet_client,
    signer_problem,
)
from kubewright.cluster.certificates._signing import expiry_of, signed_certificate

__all__ = [
    "KUBELET_CLIENT",
    "SIGNERS",
    "InvalidRequest",
    "add_certificates",
    "certificate_problem",
    "common_name",
    "expiry_of",
    "is_kubelet_client",
    "parse_request",
    "pem_blocks",
    "request_problem",
    "signed_certificate",
    "signer_problem",
]
