"""`add_certificates`: enables CertificateSigningRequests on a server."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from kubewright.cluster.certificates._admission import (
    CertificateApproval,
    CertificateSigning,
    Requestor,
    SubjectRestriction,
)
from kubewright.cluster.certificates._strategy import SigningRequestStrategy

if TYPE_CHECKING:
    from kubewright.cluster.dispatch._dispatcher import Dispatcher

__all__ = ["add_certificates"]


def add_certificates(dispatcher: Dispatcher) -> None:
    """Makes the server accept requests, approvals and certificates."""
    state, authorizer = dispatcher.state, dispatcher.access.authorizer
    found = state.types.find("certificates.k8s.io", "v1", "certificatesigningrequests")
    assert found is not None
    found.make_strategy = partial(SigningRequestStrategy, found, state)
    for plugin in (
        CertificateApproval(authorizer),
        CertificateSigning(authorizer),
        SubjectRestriction(),
        Requestor(),
    ):
        state.admission.add(plugin)
