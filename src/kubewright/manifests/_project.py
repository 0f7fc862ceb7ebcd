"""`Project`: the model of a deployment, from which the objects, the kustomize tree and the Helm chart are made."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, get_args

from kubewright.api import Object, Quantity, core, info_of
from kubewright.api.networking.v1 import NetworkPolicyEgressRule
from kubewright.arguments import known_fields
from kubewright.crd import Descriptions
from kubewright.manifests._image import Image
from kubewright.manifests._pod_settings import PodSettings
from kubewright.manifests._rules import labels_of, system_namespace
from kubewright.operator import Operator
from kubewright.webhook import ConversionDeclaration, WebhookDeclaration

__all__ = ["Certificates", "MetricsCertificates", "Project", "definition_name", "own_kinds"]

Certificates = Literal["self-managed", "cert-manager", "files"]
"""The provider of the webhook server's certificate: the operator, cert-manager, or another program that fills a
Secret.
"""

MetricsCertificates = Literal["self-signed", "cert-manager", "files"]
"""The certificate of the metrics: self-signed by each process, which cannot be verified, or from a Secret that
cert-manager or another program fills.
"""

PullPolicy = Literal["IfNotPresent", "Always", "Never"]

_LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_SEMVER: Final = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?")
_LONGEST_NAMESPACE: Final = 63
LONGEST_NAME: Final = 55
"""A Service's name has at most 63 characters, and `-webhook` and `-metrics` are appended to the operator's name."""
MANAGER: Final = {"app.kubernetes.io/component": "manager"}


def default_resources() -> core.ResourceRequirements:
    """The default resources: small requests, and a limit that stops a leak."""
    return core.ResourceRequirements(
        requests={"cpu": Quantity("10m"), "memory": Quantity("96Mi")},
        limits={"cpu": Quantity("500m"), "memory": Quantity("256Mi")},
    )


@known_fields
@dataclass(frozen=True, kw_only=True)
class Project(PodSettings):
    """An operator and the settings of its deployment. An invalid setting raises ValueError, an unknown one TypeError.

    Defaults are computed when the object is created. `dataclasses.replace` computes them again: a new version changes
    the default image. `PodSettings` describes the settings of the pod: variables, volumes, placement, containers.

    Args:
        operator: the source of kinds, permissions, namespaces and the grace period.
        target: the argument of `kubewright run` in the image: a file or a module.
        kinds: the kinds whose definitions are deployed. Default: the operator's own kinds.
        descriptions: how much of the docstrings the definitions contain.
        version: the version of the program and of the chart.
        namespace: the operator's namespace. Default: `<name of the operator>-system`.
        image: the image. Default: `<name of the operator>:<version>`.
        pull_policy: when a node pulls the image. `IfNotPresent` also works for images that were loaded into a node.
        replicas: the number of processes; one of them leads.
        resources: the requests and limits of the manager.
        metrics: whether there is a metrics endpoint, with a Service.
        metrics_secure: whether it is HTTPS, for clients that the API server authorizes. The generated ClusterRoles let
            the operator review tokens, and let Prometheus read `/metrics`. Default: the operator's setting, else True.
        metrics_certificates: the source of its certificate. With a Secret, the ServiceMonitor verifies it.
        metrics_secret: the Secret of that certificate. Default: `<name of the operator>-metrics-certificate`.
        service_monitor: whether to create a ServiceMonitor for the Prometheus operator.
        network_policy: whether to restrict traffic to what the operator needs.
        egress: further traffic out of the pod that the network policy allows.
        webhooks: webhooks besides those of the operator's handlers, which are added.
        conversions: kinds that are converted between versions, likewise.
        certificates: the provider of the webhooks' certificate.
        certificate_secret: the Secret of that certificate. Default: `<name of the operator>-webhook-certificate`.
        ca_bundle: with `files`, the PEM certificates that the API server trusts; otherwise they must be added to the
            configurations.
        bind_address: the address on which servers in the pod listen: all addresses. `[::]` in IPv6-only clusters.
    """

    operator: Operator
    target: str
    kinds: Sequence[type[Object]] | None = None
    descriptions: Descriptions = True
    version: str = "0.1.0"
    namespace: str = ""
    image: str = ""
    pull_policy: PullPolicy = "IfNotPresent"
    replicas: int = 1
    resources: core.ResourceRequirements = field(default_factory=default_resources)
    metrics: bool = True
    metrics_secure: bool | None = None
    metrics_certificates: MetricsCertificates = "self-signed"
    metrics_secret: str = ""
    service_monitor: bool = False
    network_policy: bool = False
    egress: Sequence[NetworkPolicyEgressRule] = ()
    webhooks: Sequence[WebhookDeclaration] = ()
    conversions: Sequence[ConversionDeclaration] = ()
    certificates: Certificates = "self-managed"
    certificate_secret: str = ""
    ca_bundle: bytes | None = None
    bind_address: str = "0.0.0.0"  # noqa: S104  # inside the pod, whose probes and scrapes come from outside of it
    prefix: str = field(init=False)
    """The prefix of object names: the operator's name."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "prefix", self.operator.name)
        self._default("namespace", system_namespace(self.operator))
        self._default("image", self.default_image)
        image = Image.parse(self.image)
        if not (image.tag or image.digest):
            object.__setattr__(self, "image", f"{self.image}:latest")  # the resolved default
        self._default("certificate_secret", f"{self.name}-webhook-certificate")
        self._default("metrics_secure", self.operator.settings.metrics_secure is not False)
        self._default("metrics_secret", f"{self.name}-metrics-certificate")
        self._default("kinds", own_kinds(self.operator))
        self._derive_webhooks()
        self._check()

    @property
    def user_kinds(self) -> tuple[type[Object], ...]:
        """The kinds that users get roles for: those of the definitions, and those that the operator defines itself."""
        itself = own_kinds(self.operator) if self.operator.settings.install_crds else ()
        return tuple(dict.fromkeys((*(self.kinds or ()), *itself)))

    def _default(self, attribute: str, value: object) -> None:
        if getattr(self, attribute) in ("", None):
            object.__setattr__(self, attribute, value)

    def _derive_webhooks(self) -> None:
        """Adds the webhooks and conversions of the operator's handlers. Explicit declarations take precedence."""
        declared, converted = self.operator.webhooks.declarations(), self.operator.webhooks.conversion_declarations()
        names = {webhook.name for webhook in self.webhooks}
        added = [webhook for webhook in declared if webhook.name not in names]
        object.__setattr__(self, "webhooks", (*self.webhooks, *added))
        kinds = {definition_name(conversion.kind) for conversion in self.conversions}
        more = [conversion for conversion in converted if definition_name(conversion.kind) not in kinds]
        object.__setattr__(self, "conversions", (*self.conversions, *more))

    def _check(self) -> None:
        if not _LABEL.fullmatch(self.namespace) or len(self.namespace) > _LONGEST_NAMESPACE:
            raise ValueError(f"namespace {self.namespace!r} must be lower case letters, digits and '-', at most 63")
        if len(self.name) > LONGEST_NAME:
            raise ValueError(
                f"the operator's name {self.name!r} has more than {LONGEST_NAME} characters: too long for Services"
            )
        if not _SEMVER.fullmatch(self.version):
            raise ValueError(f"version {self.version!r} must be a semantic version, such as 1.0.0: Helm requires it")
        if self.replicas < 1:
            raise ValueError(f"replicas must be at least 1, not {self.replicas}")
        if self.replicas > 1 and not self.leader_election:
            raise ValueError(
                f"{self.replicas} replicas require leader election, but the operator has leader_elect=False"
            )
        if not self.target or self.target.startswith("-"):
            raise ValueError(
                "target must be the file or module that `kubewright run` gets in the image, such as foo.py"
            )
        for what, word, words in (
            ("certificates", self.certificates, get_args(Certificates)),
            ("metrics_certificates", self.metrics_certificates, get_args(MetricsCertificates)),
            ("pull_policy", self.pull_policy, get_args(PullPolicy)),
        ):
            if word not in words:
                raise ValueError(f"{what} must be one of {', '.join(words)}, not {word!r}")
        if self.service_monitor and not self.metrics:
            raise ValueError("service_monitor requires metrics")
        if self.metrics_certificates != "self-signed" and not (self.metrics and self.metrics_secure):
            raise ValueError(
                f"metrics_certificates={self.metrics_certificates!r} requires metrics and metrics_secure: plain HTTP"
                " has no certificate"
            )
        if self.ca_bundle is not None and self.certificates != "files":
            raise ValueError(f"ca_bundle requires certificates='files'; {self.certificates!r} sets it itself")
        self._check_pod()
        names = [webhook.name for webhook in self.webhooks]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"two webhooks are named {twice[0]!r}")
        defined = {definition_name(kind) for kind in self.kinds or ()}
        for conversion in self.conversions:
            if definition_name(conversion.kind) not in defined:
                raise ValueError(
                    f"{conversion.kind.__name__} is converted, but its definition is not part of the project"
                )

    @property
    def name(self) -> str:
        """The name of the operator."""
        return self.operator.name

    @property
    def default_image(self) -> str:
        """The image of a project that names none."""
        return f"{self.name}:{self.version}"

    @property
    def labels(self) -> dict[str, str]:
        """The labels of every object."""
        return labels_of(self.operator)

    @property
    def selector(self) -> dict[str, str]:
        """The selector of the manager's pods. It cannot be changed after the first deployment."""
        return {"app.kubernetes.io/name": self.name, "app.kubernetes.io/instance": self.prefix, **MANAGER}

    @property
    def serves_webhooks(self) -> bool:
        """Whether the API server calls the program."""
        return bool(self.webhooks or self.conversions)

    @property
    def leader_election(self) -> bool:
        """Whether leader election is on. Default: yes, unless the operator turns it off.

        One replica does not guarantee one process: they overlap during an update, and when a node is disconnected.
        """
        return self.operator.settings.leader_elect is not False

    @property
    def termination_seconds(self) -> int:
        """The termination grace period of a pod: the operator's grace period, and time for everything else.

        Webhooks are served for `DRAIN_SECONDS` seconds of it, and the last requests have five more.
        """
        return math.ceil(self.operator.settings.grace) + 15

    def warnings(self) -> list[str]:
        """Yields warnings about valid but risky settings."""
        image = Image.parse(self.image)
        found = []
        if warning := image.warning():
            found.append(warning)
        if self.certificates == "files" and self.serves_webhooks and self.ca_bundle is None:
            found.append(
                "certificates='files' without ca_bundle: the API server does not trust the webhooks until the bundle"
                " is added to the webhook configurations"
            )
        return [*found, *self._pod_warnings()]


def own_kinds(operator: Operator) -> tuple[type[Object], ...]:
    """Returns the kinds that the operator reconciles, admits or converts and that are not built-in."""
    kinds = {*(registration.kind for registration in operator.registrations()), *operator.webhooks.kinds()}
    return tuple(
        sorted((kind for kind in kinds if hasattr(kind, "__definition__")), key=lambda kind: str(info_of(kind)))
    )


def definition_name(kind: type[Object]) -> str:
    """Returns the name of a kind's definition: `foos.example.com`."""
    info = info_of(kind)
    return f"{info.plural}.{info.group}"
