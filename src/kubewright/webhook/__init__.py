"""Webhooks: the API server calls the program before it stores an object, and to convert one between versions.

    @operator.defaults(Foo)
    def fill_in(foo: Foo) -> None:
        foo.spec.replicas = foo.spec.replicas or 1

    @operator.validates(Foo)
    class FooRules:
        def validate_update(self, old: Foo, new: Foo) -> Iterator[FieldError]:
            if new.spec.deployment_name != old.spec.deployment_name:
                yield FieldError.forbidden("spec.deploymentName", "cannot be changed")

    @operator.converts(FooV1Alpha1, FooV1)
    def upgrade(old: FooV1Alpha1) -> FooV1: ...

Handlers belong to their operator, async or plain; plain ones run in threads. Guarantees:

- `WebhookServer` responds to every review, whatever it contains and whatever a handler does: with a patch of exactly
  the handler's changes, with a rejection that names the fields (`FieldError`, `Refused`), with warnings
  (`AdmissionWarning`).
- Each handler has a `WebhookDeclaration`, from which `configurations` builds the objects of the API server: with the
  name of a Service in manifests, with a URL in tests.
- `Conversions` use the stored version as the hub. Metadata and unknown fields are preserved. A failed conversion is a
  `ConversionError`.
- The certificate may change while the server runs (`CertificateSource`). Every replica serves, not only the leader.
  `serving_context` makes a TLS context of such a source for any other server.

Start to read in `_server.py`. Sub-rooms: `reviews` (what the API server sends and expects), `configurations`
(objects for the API server), `certificates` (sources).
"""

from __future__ import annotations

from kubewright.webhook._certificate_source import CertificateSource, WebhookDeployment
from kubewright.webhook._conversion import ConversionError, Conversions
from kubewright.webhook._declarations import ConversionDeclaration, WebhookDeclaration, rule_for
from kubewright.webhook._decorators import ConvertDecorator, DefaultDecorator, ValidateDecorator
from kubewright.webhook._ephemeral_certificate import EphemeralCertificate
from kubewright.webhook._registration import AdmissionOptions, Webhooks
from kubewright.webhook._request import AdmissionRequest, Operation
from kubewright.webhook._server import WebhookServer
from kubewright.webhook._serving_certificate import ServingCertificate
from kubewright.webhook._simulated import SimulatedWebhooks
from kubewright.webhook._tls import serving_context
from kubewright.webhook.reviews._refusals import AdmissionWarning, FieldError, Refused
from kubewright.webhook.reviews._reviews import GroupVersionKind, GroupVersionResource, User

__all__ = [
    "AdmissionOptions",
    "AdmissionRequest",
    "AdmissionWarning",
    "CertificateSource",
    "ConversionDeclaration",
    "ConversionError",
    "Conversions",
    "ConvertDecorator",
    "DefaultDecorator",
    "EphemeralCertificate",
    "FieldError",
    "GroupVersionKind",
    "GroupVersionResource",
    "Operation",
    "Refused",
    "ServingCertificate",
    "SimulatedWebhooks",
    "User",
    "ValidateDecorator",
    "WebhookDeclaration",
    "WebhookDeployment",
    "WebhookServer",
    "Webhooks",
    "rule_for",
    "serving_context",
]
