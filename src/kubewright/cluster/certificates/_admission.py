"""Admission plugins of CertificateSigningRequests: who may approve and sign, and which subjects are allowed."""

from __future__ import annotations

from kubewright.cluster.access import AccessRequest, Authorizer, user_info
from kubewright.cluster.admission import Attributes, Plugin
from kubewright.cluster.certificates._pem import InvalidRequest, parse_request
from kubewright.cluster.certificates._signers import CLIENT, organizations

__all__ = ["RESOURCE", "CertificateApproval", "CertificateSigning", "Requestor", "SubjectRestriction"]

RESOURCE = "certificatesigningrequests.certificates.k8s.io"


class _SignerPermission(Plugin):
    """Requires a permission for the signer of a request: `verb` on `signers`, by its name or by `DOMAIN/*`."""

    verb = ""
    subresource = ""

    def __init__(self, authorizer: Authorizer) -> None:
        self._authorizer = authorizer

    def handles(self, attributes: Attributes) -> bool:
        """Returns whether the subresource is written."""
        return (
            attributes.subresource == self.subresource
            and attributes.operation == "UPDATE"
            and attributes.type.qualified == RESOURCE
        )

    def validate(self, attributes: Attributes) -> None:
        """Checks the permission for the signer of the stored request."""
        assert attributes.old is not None
        signer = attributes.old["spec"]["signerName"]
        domain = signer.partition("/")[0]
        if not any(self._allowed(attributes, name) for name in (signer, f"{domain}/*")):
            raise attributes.forbidden(f'user not permitted to {self.verb} requests with signerName "{signer}"')

    def _allowed(self, attributes: Attributes, name: str) -> bool:
        asked = AccessRequest(
            user=attributes.user, verb=self.verb, group="certificates.k8s.io", resource="signers", name=name
        )
        return self._authorizer.decide(asked).allowed


class CertificateApproval(_SignerPermission):
    """Requires the permission to `approve` for writes to `approval`."""

    name = "CertificateApproval"
    verb = "approve"
    subresource = "approval"


class CertificateSigning(_SignerPermission):
    """Requires the permission to `sign` for changes of the certificate and the conditions."""

    name = "CertificateSigning"
    verb = "sign"
    subresource = "status"

    def validate(self, attributes: Attributes) -> None:
        """Checks the permission if the status changes."""
        assert attributes.object is not None
        assert attributes.old is not None
        if (attributes.object.get("status") or {}) != (attributes.old.get("status") or {}):
            super().validate(attributes)


class SubjectRestriction(Plugin):
    """Rejects client certificates for the group `system:masters`."""

    name = "CertificateSubjectRestriction"

    def handles(self, attributes: Attributes) -> bool:
        """Returns whether a request is created."""
        return attributes.operation == "CREATE" and attributes.type.qualified == RESOURCE

    def validate(self, attributes: Attributes) -> None:
        """Checks the organizations of the subject."""
        assert attributes.object is not None
        spec = attributes.object["spec"]
        if spec.get("signerName") != CLIENT:
            return
        try:
            groups = organizations(parse_request(spec["request"]))
        except InvalidRequest as error:
            raise attributes.forbidden(f"failed to parse CSR: {error}") from None
        if "system:masters" in groups:
            raise attributes.forbidden(f"use of {CLIENT} signer with system:masters group is not allowed")


class Requestor(Plugin):
    """Records the user that creates a request, in place of what the client sent."""

    name = "Requestor"

    def handles(self, attributes: Attributes) -> bool:
        """Returns whether a request is created."""
        return attributes.operation == "CREATE" and attributes.type.qualified == RESOURCE

    def mutate(self, attributes: Attributes) -> None:
        """Sets the user after all other mutating plugins."""
        assert attributes.object is not None
        spec = attributes.object.get("spec") or {}
        kept = {name: value for name, value in spec.items() if name not in ("username", "uid", "groups", "extra")}
        attributes.object = {**attributes.object, "spec": {**kept, **user_info(attributes.user)}}
