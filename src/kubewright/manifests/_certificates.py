"""The certificate of the webhook server, and how the API server comes to trust it. Three ways, one setting.

- `self-managed`: the operator makes its own CA and certificate, keeps both in a Secret, and writes the CA into the
  webhook configurations and definitions. It may touch that Secret and those objects, by name, and no others.
- `cert-manager`: cert-manager fills the Secret, and its injector writes the CA where an annotation asks for it.
- `files`: somebody else fills the Secret; the CA is part of the manifests, or added by somebody else too.
"""

from __future__ import annotations

from typing import Final

from kubewright.api import Model, ObjectMeta, Resource, core
from kubewright.api._resource import resource
from kubewright.controller._permissions import CLUSTER, OWN, Permission
from kubewright.manifests._manager import Addition
from kubewright.manifests._project import Project, definition_name
from kubewright.manifests._webhooks import has_mutating, has_validating, webhook_service_name

__all__ = [
    "INJECT",
    "Certificate",
    "Issuer",
    "certificate",
    "certificate_addition",
    "certificate_permissions",
    "injected_from",
    "issuer",
]

INJECT: Final = "cert-manager.io/inject-ca-from"
_FOLDER: Final = "/var/run/kubewright/webhook"
_VOLUME: Final = "webhook-certificate"


class SelfSigned(Model):
    """No settings."""


class IssuerSpec(Model):
    """Who signs; the fields that are needed here."""

    self_signed: SelfSigned


class IssuerReference(Model):
    """The issuer of a certificate."""

    kind: str
    name: str


class PrivateKey(Model):
    """How the key is made."""

    algorithm: str
    rotation_policy: str


class CertificateSpec(Model):
    """What is certified; the fields that are needed here."""

    dns_names: list[str]
    issuer_ref: IssuerReference
    private_key: PrivateKey
    secret_name: str


@resource("cert-manager.io/v1")
class Issuer(Resource[IssuerSpec, None]):
    """cert-manager's word for who signs."""


@resource("cert-manager.io/v1")
class Certificate(Resource[CertificateSpec, None]):
    """cert-manager's word for a certificate that it keeps in a Secret and renews."""


def certificate_addition(project: Project) -> Addition:
    """How the manager finds its certificate."""
    if project.certificates == "self-managed":
        return Addition(env=[core.EnvVar(name="KUBEWRIGHT_WEBHOOK_SECRET", value=project.certificate_secret)])
    return Addition(
        env=[core.EnvVar(name="KUBEWRIGHT_WEBHOOK_CERTIFICATES", value=_FOLDER)],
        mounts=[core.VolumeMount(name=_VOLUME, mount_path=_FOLDER, read_only=True)],
        volumes=[core.Volume(name=_VOLUME, secret=core.SecretVolumeSource(secret_name=project.certificate_secret))],
    )


def certificate_permissions(project: Project) -> list[Permission]:
    """What a self-managed certificate asks for: its Secret, and the objects that the CA is written into."""
    why = "webhook certificate"
    found = [Permission(resource="secrets", verb="create", where=OWN, why=why, rare=True)]
    found += [
        Permission(resource="secrets", verb=verb, name=project.certificate_secret, where=OWN, why=why, rare=True)
        for verb in ("get", "list", "patch", "update", "watch")
    ]
    for group, plural, names in (
        ("admissionregistration.k8s.io", "mutatingwebhookconfigurations", [project.prefix] * has_mutating(project)),
        ("admissionregistration.k8s.io", "validatingwebhookconfigurations", [project.prefix] * has_validating(project)),
        (
            "apiextensions.k8s.io",
            "customresourcedefinitions",
            sorted(definition_name(one.kind) for one in project.conversions),
        ),
    ):
        found += [
            Permission(group=group, resource=plural, verb=verb, name=name, where=CLUSTER, why=why, rare=True)
            for name in names
            for verb in ("get", "list", "patch", "watch")
        ]
    return found


def issuer(project: Project) -> Issuer:
    """Signs the certificate with its own key: the API server trusts it because its injector says so."""
    return Issuer(metadata=_meta(project), spec=IssuerSpec(self_signed=SelfSigned()))


def certificate(project: Project) -> Certificate:
    """The certificate of the webhook Service, with a new key each time it is renewed."""
    host = f"{webhook_service_name(project)}.{project.namespace}.svc"
    return Certificate(
        metadata=_meta(project),
        spec=CertificateSpec(
            dns_names=[host, f"{host}.cluster.local"],
            issuer_ref=IssuerReference(kind="Issuer", name=webhook_service_name(project)),
            private_key=PrivateKey(algorithm="ECDSA", rotation_policy="Always"),
            secret_name=project.certificate_secret,
        ),
    )


def injected_from(project: Project) -> dict[str, str]:
    """The annotation that asks cert-manager's injector for the CA."""
    return {INJECT: f"{project.namespace}/{webhook_service_name(project)}"}


def _meta(project: Project) -> ObjectMeta:
    return ObjectMeta(name=webhook_service_name(project), namespace=project.namespace, labels=project.labels)
