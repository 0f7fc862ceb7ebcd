"""Webhooks: the API server asks the program before it stores an object, and to convert one between versions.

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

Handlers belong to their operator, async or plain; plain ones run in threads. What is promised:

- `WebhookServer` answers every review, whatever is in it and whatever a handler does: with a patch of exactly what the
  handler changed, with a refusal that names the fields (`FieldError`, `Refused`), with warnings (`AdmissionWarning`).
- From each handler follows a `WebhookDeclaration`, and from that what the API server is told: in the manifests by the
  name of a Service, in tests by URL.
- `Conversions` go through the stored version; metadata and unknown fields are carried over (`ConversionError` if not).
- The certificate may change while the server runs (`CertificateSource`); every replica serves, not only the leader.
  `serving_context` makes a TLS context of such a source for any other server.
"""

from __future__ import annotations

from kubewright.webhook._certificates_protocol import CertificateSource, Served
from kubewright.webhook._conversion import ConversionError, Conversions
from kubewright.webhook._declarations import ConversionDeclaration, WebhookDeclaration, rule_for
from kubewright.webhook._decorators import ConvertDecorator, DefaultDecorator, ValidateDecorator
from kubewright.webhook._refusals import AdmissionWarning, FieldError, Refused
from kubewright.webhook._registering import AdmissionOptions, Webhooks
from kubewright.webhook._request import AdmissionRequest, Operation
from kubewright.webhook._reviews import GroupVersionKind, GroupVersionResource, User
from kubewright.webhook._server import WebhookServer
from kubewright.webhook._throw_away import ThrowAwayCertificate
from kubewright.webhook._tls import serving_context

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
    "FieldError",
    "GroupVersionKind",
    "GroupVersionResource",
    "Operation",
    "Refused",
    "Served",
    "ThrowAwayCertificate",
    "User",
    "ValidateDecorator",
    "WebhookDeclaration",
    "WebhookServer",
    "Webhooks",
    "rule_for",
    "serving_context",
]
