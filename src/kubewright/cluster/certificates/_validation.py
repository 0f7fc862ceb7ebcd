"""Validation of CertificateSigningRequests, with the messages of the real server."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from kubewright.cluster.certificates._pem import certificate_problem, request_problem
from kubewright.cluster.certificates._signers import LEGACY
from kubewright.cluster.machinery._field_errors import (
    FieldError,
    duplicate,
    forbidden,
    invalid,
    not_supported,
    required,
    too_long,
)
from kubewright.cluster.machinery._resources import JSONObject
from kubewright.names import label_problems, subdomain_problems

__all__ = ["conditions_of", "create_errors", "update_errors"]

USAGES: Final = (
    "any",
    "cert sign",
    "client auth",
    "code signing",
    "content commitment",
    "crl sign",
    "data encipherment",
    "decipher only",
    "digital signature",
    "email protection",
    "encipher only",
    "ipsec end system",
    "ipsec tunnel",
    "ipsec user",
    "key agreement",
    "key encipherment",
    "microsoft sgc",
    "netscape sgc",
    "ocsp signing",
    "s/mime",
    "server auth",
    "signing",
    "timestamping",
)
_SHORTEST: Final = 600
_LONGEST_DOMAIN: Final = 253
_LONGEST_SIGNER: Final = 571
_TRUE_ONLY: Final = ("Approved", "Denied", "Failed")
_CONDITIONS: Final = "status.conditions"
_CERTIFICATE: Final = "status.certificate"


def conditions_of(obj: JSONObject) -> list[JSONObject]:
    """Returns the conditions of a request."""
    return (obj.get("status") or {}).get("conditions") or []


def create_errors(obj: JSONObject) -> list[FieldError]:
    """Returns the errors of a new request."""
    return _errors(obj, None)


def update_errors(obj: JSONObject, old: JSONObject, subresource: str) -> list[FieldError]:
    """Returns the errors of a changed request. Problems that the stored object has already are tolerated."""
    errors = _errors(obj, old)
    for kind in _TRUE_ONLY:
        if _count(obj, kind) < _count(old, kind):
            errors.append(forbidden(_CONDITIONS, f'updates may not remove a condition of type "{kind}"'))
    if subresource != "approval":
        for kind in ("Approved", "Denied"):
            if _count(obj, kind) > _count(old, kind):
                errors.append(forbidden(_CONDITIONS, f'updates may not add a condition of type "{kind}"'))
    certificate, before = _certificate(obj), _certificate(old)
    if certificate != before:
        if subresource != "status":
            errors.append(forbidden(_CERTIFICATE, "updates may not set certificate content"))
        elif before:
            errors.append(forbidden(_CERTIFICATE, "updates may not modify existing certificate content"))
    return errors


def _errors(obj: JSONObject, old: JSONObject | None) -> list[FieldError]:
    spec = obj.get("spec") or {}
    before = None if old is None else old.get("spec") or {}
    errors: list[FieldError] = []
    # The spec of a stored request never changes, and was validated when it was created.
    if before is None and (problem := request_problem(spec.get("request") or "")):
        errors.append(invalid("spec.request", spec.get("request"), problem))
    errors += _usage_errors(spec.get("usages") or ())
    signer = spec.get("signerName") or ""
    if signer == LEGACY and (before is None or before.get("signerName") != LEGACY):
        text = "the legacy signerName is not allowed via this API version"
        errors.append(invalid("spec.signerName", signer, text))
    else:
        errors += _signer_errors(signer)
    seconds = spec.get("expirationSeconds")
    if seconds is not None and seconds < _SHORTEST:
        text = "may not specify a duration less than 600 seconds (10 minutes)"
        errors.append(invalid("spec.expirationSeconds", seconds, text))
    errors += _condition_errors(conditions_of(obj), [] if old is None else conditions_of(old))
    certificate = _certificate(obj)
    if (old is None or certificate != _certificate(old)) and (problem := certificate_problem(certificate)):
        errors.append(invalid(_CERTIFICATE, "<certificate data>", problem))
    return errors


def _usage_errors(usages: Sequence[str]) -> list[FieldError]:
    errors = [] if usages else [required("spec.usages")]
    for index, usage in enumerate(usages):
        if usage not in USAGES:
            errors.append(not_supported(f"spec.usages[{index}]", usage, USAGES))
    for index, usage in enumerate(usages):
        if usage in usages[:index]:
            errors.append(duplicate(f"spec.usages[{index}]", usage))
    return errors


def _signer_errors(signer: str) -> list[FieldError]:
    field = "spec.signerName"
    if not signer:
        return [required(field)]
    domain, slash, path = signer.partition("/")
    if not slash or "/" in path:
        text = "must be a fully qualified domain and path of the form 'example.com/signer-name'"
        return [invalid(field, signer, text)]
    errors = [too_long(field, _LONGEST_DOMAIN)] if len(domain.encode()) > _LONGEST_DOMAIN else []
    labels = domain.split(".")
    errors += _first_problems(field, domain, labels, label_problems)
    if len(labels) < 2:
        errors.append(invalid(field, domain, "should be a domain with at least two segments separated by dots"))
    errors += _first_problems(field, path, path.split("."), subdomain_problems)
    if len(signer.encode()) > _LONGEST_SIGNER:
        errors.append(too_long(field, _LONGEST_SIGNER))
    return errors


def _first_problems(field: str, segment: str, labels: list[str], problems_of: Any) -> list[FieldError]:
    for label in labels:
        if problems := problems_of(label):
            return [invalid(field, segment, f'validating label "{label}": {problem}') for problem in problems]
    return []


def _condition_errors(conditions: list[JSONObject], old: list[JSONObject]) -> list[FieldError]:
    errors: list[FieldError] = []
    had = [each.get("type") or "" for each in old]
    both_allowed = "Approved" in had and "Denied" in had
    seen: list[str] = []
    for index, condition in enumerate(conditions):
        kind, status, path = condition.get("type") or "", condition.get("status") or "", f"{_CONDITIONS}[{index}]"
        if not kind and "" not in had:
            errors.append(required(f"{path}.type"))
        allowed = ["True"] if kind in _TRUE_ONLY else ["False", "True", "Unknown"]
        if not status:
            errors.append(required(f"{path}.status"))
        elif status not in allowed:
            errors.append(not_supported(f"{path}.status", status, allowed))
        opposite = {"Approved": "Denied", "Denied": "Approved"}.get(kind)
        if opposite in seen and not both_allowed:
            errors.append(invalid(_CONDITIONS, kind, "Approved and Denied conditions are mutually exclusive"))
        if kind in seen and len(set(had)) == len(had):
            errors.append(duplicate(f"{path}.type", kind))
        seen.append(kind)
    return errors


def _count(obj: JSONObject, kind: str) -> int:
    return sum(each.get("type") == kind for each in conditions_of(obj))


def _certificate(obj: JSONObject) -> str:
    return (obj.get("status") or {}).get("certificate") or ""
