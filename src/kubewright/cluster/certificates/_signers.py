"""The rules of Kubernetes' signers: which requests each of them signs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from cryptography import x509

__all__ = [
    "CLIENT",
    "KUBELET_CLIENT",
    "LEGACY",
    "SIGNERS",
    "common_name",
    "is_kubelet_client",
    "organizations",
    "signer_problem",
]

CLIENT: Final = "kubernetes.io/kube-apiserver-client"
KUBELET_CLIENT: Final = "kubernetes.io/kube-apiserver-client-kubelet"
KUBELET_SERVING: Final = "kubernetes.io/kubelet-serving"
LEGACY: Final = "kubernetes.io/legacy-unknown"
SIGNERS: Final = frozenset({CLIENT, KUBELET_CLIENT, KUBELET_SERVING})
"""The signers that the cluster runs. The API rejects requests for the legacy one."""

_NODE: Final = "system:node:"
_OPTIONAL: Final = ("digital signature", "key encipherment")


def signer_problem(signer: str, request: x509.CertificateSigningRequest, usages: Sequence[str]) -> str:
    """Returns why a signer refuses a request, in the words of kube-controller-manager. Empty if it signs it."""
    if signer == CLIENT:
        return _client_problem(usages)
    if signer == KUBELET_CLIENT:
        return _kubelet_client_problem(request, usages)
    return _kubelet_serving_problem(request, usages)


def is_kubelet_client(request: x509.CertificateSigningRequest, usages: Sequence[str]) -> bool:
    """Returns whether a kubelet requests its client certificate, which can be approved automatically."""
    return not _kubelet_client_problem(request, usages)


def organizations(request: x509.CertificateSigningRequest) -> list[str]:
    """Returns the organizations of the subject, which become the groups of the user."""
    from cryptography.x509.oid import NameOID

    return [str(each.value) for each in request.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)]


def common_name(request: x509.CertificateSigningRequest) -> str:
    """Returns the common name of the subject, which becomes the name of the user."""
    from cryptography.x509.oid import NameOID

    names = request.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    return str(names[-1].value) if names else ""


def _client_problem(usages: Sequence[str]) -> str:
    for usage in usages:
        if usage not in (*_OPTIONAL, "client auth"):
            return f"invalid usage for client certificate: {usage}"
    return "" if "client auth" in usages else "missing required usage for client certificate: client auth"


def _kubelet_client_problem(request: x509.CertificateSigningRequest, usages: Sequence[str]) -> str:
    if organizations(request) != ["system:nodes"]:
        return "subject organization is not system:nodes"
    for kind, names in _alternative_names(request).items():
        if names:
            return f"{kind} subjectAltNames are not allowed"
    return _name_problem(request) or _usage_problem(usages, "client auth")


def _kubelet_serving_problem(request: x509.CertificateSigningRequest, usages: Sequence[str]) -> str:
    if organizations(request) != ["system:nodes"]:
        return "subject organization is not system:nodes"
    names = _alternative_names(request)
    if not names["DNS"] and not names["IP"]:
        return "DNS or IP subjectAltName is required"
    for kind in ("Email", "URI"):
        if names[kind]:
            return f"{kind} subjectAltNames are not allowed"
    return _usage_problem(usages, "server auth") or _name_problem(request)


def _usage_problem(usages: Sequence[str], purpose: str) -> str:
    required = {"digital signature", "key encipherment", purpose}
    if set(usages) in (required, required - {"key encipherment"}):
        return ""
    return f"usages did not match [{' '.join(sorted(required))}]"


def _name_problem(request: x509.CertificateSigningRequest) -> str:
    if common_name(request).startswith(_NODE):
        return ""
    return "subject common name does not begin with system:node:"


def _alternative_names(request: x509.CertificateSigningRequest) -> dict[str, list[object]]:
    """Returns the alternative names by kind, in the order in which the signers check them."""
    from cryptography import x509

    kinds: dict[str, type[x509.GeneralName]] = {
        "DNS": x509.DNSName,
        "Email": x509.RFC822Name,
        "IP": x509.IPAddress,
        "URI": x509.UniformResourceIdentifier,
    }
    try:
        found: list[x509.GeneralName] = list(
            request.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        )
    except x509.ExtensionNotFound:
        found = []
    return {kind: [name for name in found if isinstance(name, type_)] for kind, type_ in kinds.items()}
