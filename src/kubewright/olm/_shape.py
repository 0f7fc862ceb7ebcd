"""The types of the fields of a ClusterServiceVersion that OLM reads. All fields are optional.

OLM cannot read a value of another type at all. `misshapen` finds the first one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from kubewright.api import Model, apps, meta, rbac
from kubewright.api.admissionregistration.v1 import RuleWithOperations
from kubewright.api.wire import dec_hook

__all__ = ["misshapen"]


class Metadata(Model):
    name: str | None = None
    namespace: str | None = None
    annotations: dict[str, str] | None = None
    labels: dict[str, str] | None = None


class Deployment(Model):
    name: str | None = None
    label: dict[str, str] | None = None
    spec: apps.DeploymentSpec | None = None


class Granted(Model):
    service_account_name: str | None = None
    rules: list[rbac.PolicyRule] | None = None


class Details(Model):
    deployments: list[Deployment] | None = None
    permissions: list[Granted] | None = None
    cluster_permissions: list[Granted] | None = None


class Strategy(Model):
    strategy: str | None = None
    spec: Details | None = None


class Descriptor(Model):
    path: str | None = None
    display_name: str | None = None
    description: str | None = None
    x_descriptors: list[str] | None = msgspec.field(default=None, name="x-descriptors")


class Reference(Model):
    kind: str | None = None
    name: str | None = None
    version: str | None = None


class Definition(Model):
    name: str | None = None
    version: str | None = None
    kind: str | None = None
    display_name: str | None = None
    description: str | None = None
    resources: list[Reference] | None = None
    spec_descriptors: list[Descriptor] | None = None
    status_descriptors: list[Descriptor] | None = None
    action_descriptors: list[Descriptor] | None = None


class Definitions(Model):
    owned: list[Definition] | None = None
    required: list[Definition] | None = None


class Webhook(Model):
    generate_name: str | None = None
    type: str | None = None
    deployment_name: str | None = None
    container_port: int | None = None
    target_port: int | str | None = None
    rules: list[RuleWithOperations] | None = None
    failure_policy: str | None = None
    match_policy: str | None = None
    object_selector: meta.LabelSelector | None = None
    side_effects: str | None = None
    timeout_seconds: int | None = None
    admission_review_versions: list[str] | None = None
    reinvocation_policy: str | None = None
    webhook_path: str | None = None
    conversion_crds: list[str] | None = msgspec.field(default=None, name="conversionCRDs")


class InstallMode(Model):
    type: str | None = None
    supported: bool | None = None


class Person(Model):
    name: str | None = None
    email: str | None = None


class Link(Model):
    name: str | None = None
    url: str | None = None


class Icon(Model):
    base64data: str | None = None
    mediatype: str | None = None


class RelatedImage(Model):
    name: str | None = None
    image: str | None = None


class Spec(Model):
    install: Strategy | None = None
    version: str | None = None
    maturity: str | None = None
    customresourcedefinitions: Definitions | None = None
    webhookdefinitions: list[Webhook] | None = None
    min_kube_version: str | None = None
    display_name: str | None = None
    description: str | None = None
    keywords: list[str] | None = None
    maintainers: list[Person] | None = None
    provider: Link | None = None
    links: list[Link] | None = None
    icon: list[Icon] | None = None
    install_modes: list[InstallMode] | None = None
    replaces: str | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    skips: list[str] | None = None
    related_images: list[RelatedImage] | None = None


class ServiceVersion(Model):
    api_version: str | None = None
    kind: str | None = None
    metadata: Metadata | None = None
    spec: Spec | None = None


def misshapen(csv: Mapping[str, Any]) -> tuple[str, str] | None:
    """Returns the first field with a wrong type, and the problem; None if there is none."""
    try:
        msgspec.convert(csv, ServiceVersion, dec_hook=dec_hook)
    except msgspec.ValidationError as error:
        said, _, where = str(error).partition(" - at `$.")
        return where.rstrip("`") or "the whole file", said
    return None
