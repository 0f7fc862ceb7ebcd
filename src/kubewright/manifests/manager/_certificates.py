"""The certificate of the webhook server, and how the API server trusts it. One setting selects one of three ways.

- `self-managed`: the operator creates its own CA and certificate, stores both in a Secret, and writes the CA into the
  webhook configurations and definitions. It may change only that Secret and those objects, by name.
- `cert-manager`: cert-manager fills the Secret, and its injector writes the CA into annotated objects. The CA is
  separate from the certificate and long-lived, so a renewed certificate is trusted before it is served. A self-signed
  certificate, as in many manifests, would be a new CA each time, trusted later than it is served.
- `files`: another program fills the Secret. The CA is part of the manifests, or added by that program as well.

OLM's way is for bundles: see `webhook_definitions`.
"""

from __future__ import annotations

from typing import Final

import msgspec

from kubewright.api import Model, Object, ObjectMeta, Resource, core
from kubewright.api.kinds import resource
from kubewright.manifests._project import Project, definition_name
from kubewright.manifests.manager._deployment import Addition
from kubewright.manifests.manager._metrics import metrics_service_name
from kubewright.manifests.manager._webhooks import has_mutating, has_validating, webhook_service_name
from kubewright.rbac import Permission
from kubewright.webhook import certificates

__all__ = [
    "INJECT",
    "Certificate",
    "Issuer",
    "cert_manager_objects",
    "certificate_addition",
    "certificate_permissions",
    "injected_from",
    "metrics_cert_manager_objects",
]

INJECT: Final = "cert-manager.io/inject-ca-from"
_VOLUME: Final = "webhook-certificate"
_TEN_YEARS: Final = "87600h"


class SelfSigned(Model):
    """No settings."""


class Authority(Model):
    """A CA in a Secret."""

    secret_name: str


class IssuerSpec(Model):
    """The type of issuer: one of these."""

    self_signed: SelfSigned | None = None
    ca: Authority | None = None


class IssuerReference(Model):
    """The issuer of a certificate."""

    kind: str
    name: str


class PrivateKey(Model):
    """The settings of the private key."""

    algorithm: str
    rotation_policy: str


class CertificateSpec(Model):
    """The requested certificate; the fields that are used here."""

    issuer_ref: IssuerReference
    private_key: PrivateKey
    secret_name: str
    dns_names: list[str] | None = None
    usages: list[str] | None = None
    is_ca: bool | None = msgspec.field(default=None, name="isCA")
    common_name: str | None = None
    duration: str | None = None


@resource("cert-manager.io/v1")
class Issuer(Resource[IssuerSpec, None]):
    """A cert-manager Issuer."""


@resource("cert-manager.io/v1")
class Certificate(Resource[CertificateSpec, None]):
    """A cert-manager Certificate, which is stored in a Secret and renewed."""


def certificate_addition(project: Project) -> Addition:
    """Returns how the manager finds its certificate."""
    way = core.EnvVar(name="KUBEWRIGHT_WEBHOOK_CERTIFICATES", value=project.certificates)
    if project.certificates == "self-managed":
        return Addition(env=[way, core.EnvVar(name="KUBEWRIGHT_WEBHOOK_SECRET", value=project.certificate_secret)])
    folder = certificates.CERTIFICATE_FOLDER
    return Addition(
        env=[way, core.EnvVar(name="KUBEWRIGHT_WEBHOOK_FOLDER", value=folder)],
        mounts=[core.VolumeMount(name=_VOLUME, mount_path=folder, read_only=True)],
        volumes=[core.Volume(name=_VOLUME, secret=core.SecretVolumeSource(secret_name=project.certificate_secret))],
    )


def certificate_permissions(project: Project) -> list[Permission]:
    """Returns the permissions for a self-managed certificate: its Secret, and the objects with its CA."""
    return certificates.certificate_permissions(
        project.certificate_secret,
        mutating=[project.prefix] if has_mutating(project) else [],
        validating=[project.prefix] if has_validating(project) else [],
        definitions=[definition_name(one.kind) for one in project.conversions],
    )


def cert_manager_objects(project: Project) -> list[Object]:
    """Returns the certificate of the webhook Service, and its CA."""
    return _issued(project, webhook_service_name(project), project.certificate_secret)


def metrics_cert_manager_objects(project: Project) -> list[Object]:
    """Returns the certificate of the metrics, and its CA. It also names localhost, for forwarded ports."""
    return _issued(project, metrics_service_name(project), project.metrics_secret, "localhost")


def _issued(project: Project, service: str, secret: str, *names: str) -> list[Object]:
    """Returns a CA of the project, and the certificate of a Service with a new key at each renewal."""
    authority, root = f"{service}-ca", f"{service}-root"
    host = f"{service}.{project.namespace}.svc"
    key = PrivateKey(algorithm="ECDSA", rotation_policy="Always")
    return [
        Issuer(metadata=_meta(project, root), spec=IssuerSpec(self_signed=SelfSigned())),
        Certificate(
            metadata=_meta(project, authority),
            spec=CertificateSpec(
                is_ca=True,
                common_name=f"{project.prefix}-ca",  # at most 64 characters
                duration=_TEN_YEARS,
                secret_name=authority,
                private_key=key,
                issuer_ref=IssuerReference(kind="Issuer", name=root),
            ),
        ),
        Issuer(metadata=_meta(project, authority), spec=IssuerSpec(ca=Authority(secret_name=authority))),
        Certificate(
            metadata=_meta(project, service),
            spec=CertificateSpec(
                dns_names=[host, f"{host}.cluster.local", *names],
                usages=["digital signature", "server auth"],
                secret_name=secret,
                private_key=key,
                issuer_ref=IssuerReference(kind="Issuer", name=authority),
            ),
        ),
    ]


def injected_from(project: Project) -> dict[str, str]:
    """Returns the annotation for cert-manager's CA injector."""
    return {INJECT: f"{project.namespace}/{webhook_service_name(project)}"}


def _meta(project: Project, name: str) -> ObjectMeta:
    return ObjectMeta(name=name, namespace=project.namespace, labels=project.labels)
