"""`Project`: the one model of what is deployed. The objects, the kustomize tree and the Helm chart all come from it."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, get_args

from kubewright.api import Object, Quantity, core, info_of
from kubewright.api.networking.v1 import NetworkPolicyEgressRule
from kubewright.crd import Descriptions
from kubewright.manifests._image import Image
from kubewright.manifests._rules import labels_of, system_namespace
from kubewright.operator import Operator
from kubewright.webhook import ConversionDeclaration, WebhookDeclaration

__all__ = ["Certificates", "MetricsCertificates", "Project", "definition_name"]

Certificates = Literal["self-managed", "cert-manager", "files"]
"""Who provides the certificate of the webhook server: the operator itself, cert-manager, or whoever fills a Secret."""

MetricsCertificates = Literal["self-signed", "cert-manager", "files"]
"""The certificate of the metrics: each process makes its own, which nobody can verify; or a Secret has it, which
cert-manager or another program fills."""

PullPolicy = Literal["IfNotPresent", "Always", "Never"]

_LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_SEMVER: Final = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?")
_LONGEST_NAMESPACE: Final = 63
LONGEST_NAME: Final = 55
"""A Service's name has at most 63 characters, and `-webhook` and `-metrics` are put behind the operator's name."""
MANAGER: Final = {"app.kubernetes.io/component": "manager"}


def default_resources() -> core.ResourceRequirements:
    """What the manager gets unless told otherwise: little to start with, and a limit that a leak runs into."""
    return core.ResourceRequirements(
        requests={"cpu": Quantity("10m"), "memory": Quantity("96Mi")},
        limits={"cpu": Quantity("500m"), "memory": Quantity("256Mi")},
    )


@dataclass(frozen=True, kw_only=True)
class Project:
    """What is deployed: an operator, and the settings of its deployment. A wrong setting raises ValueError.

    What is not given is filled in at once, and kept by `dataclasses.replace`: with a new version goes a new image.

    Args:
        operator: whose kinds, permissions, namespaces and grace period count.
        target: what `kubewright run` gets in the image: a file or a module.
        kinds: the kinds whose definitions belong to it; those of your own that the operator reconciles unless given.
        descriptions: how much of the docstrings goes into the definitions.
        version: the version of the program, which is the chart's too.
        namespace: where it runs; `<name of the operator>-system` unless given.
        image: the image; `<name of the operator>:<version>` unless given.
        pull_policy: when a node asks the registry. `IfNotPresent` also works for images that were loaded into a node.
        replicas: how many processes; one of them leads.
        resources: what the manager asks for and may take.
        metrics: whether there is a metrics endpoint, with a Service.
        metrics_secure: whether it is HTTPS, for clients that the API server authorizes. The generated ClusterRoles let
            the operator review tokens, and let Prometheus read `/metrics`. Default: what the operator says, else True.
        metrics_certificates: where its certificate comes from. With a Secret, the ServiceMonitor verifies it.
        metrics_secret: the Secret with that certificate; default: `<name of the operator>-metrics-certificate`.
        service_monitor: whether the Prometheus operator is told about it.
        network_policy: whether traffic is limited to what the operator needs.
        egress: other traffic out of the pod that the network policy lets pass.
        webhooks: the webhooks that the program serves besides those of the operator's handlers, which are added.
        conversions: the kinds that it converts between versions, likewise.
        certificates: who provides the certificate of the webhooks.
        certificate_secret: the Secret with that certificate; `<name of the operator>-webhook-certificate` unless
            given.
        ca_bundle: with `files`, the PEM certificates that the API server trusts; without it, somebody has to add them.
        node_selector: labels that a node must have.
        tolerations: taints of nodes that do not matter.
        bind_address: where the servers in the pod listen: all of its addresses. `[::]` where there is only IPv6.
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
    node_selector: Mapping[str, str] = field(default_factory=dict)
    tolerations: Sequence[core.Toleration] = ()
    bind_address: str = "0.0.0.0"  # noqa: S104  # inside the pod, whose probes and scrapes come from outside of it
    prefix: str = field(init=False)
    """What the names of its objects begin with: the operator's name."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "prefix", self.operator.name)
        self._default("namespace", system_namespace(self.operator))
        self._default("image", f"{self.name}:{self.version}")
        image = Image.parse(self.image)
        if not (image.tag or image.digest):
            object.__setattr__(self, "image", f"{self.image}:latest")  # what it means, said aloud
        self._default("certificate_secret", f"{self.name}-webhook-certificate")
        self._default("metrics_secure", self.operator.settings.metrics_secure is not False)
        self._default("metrics_secret", f"{self.name}-metrics-certificate")
        self._default("kinds", _own_kinds(self.operator))
        self._derive_webhooks()
        self._check()

    def _default(self, attribute: str, value: object) -> None:
        if getattr(self, attribute) in ("", None):
            object.__setattr__(self, attribute, value)

    def _derive_webhooks(self) -> None:
        """Add what follows from the operator's handlers to what is declared by hand, which wins."""
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
            raise ValueError(f"version {self.version!r} must be a semantic version, such as 1.0.0: Helm takes no other")
        if self.replicas < 1:
            raise ValueError(f"replicas must be at least 1, not {self.replicas}")
        if self.replicas > 1 and not self.leader_election:
            raise ValueError(f"{self.replicas} replicas need leader election, and the operator says leader_elect=False")
        if not self.target or self.target.startswith("-"):
            raise ValueError("target is the file or module that `kubewright run` gets in the image, such as foo.py")
        for what, word, words in (
            ("certificates", self.certificates, get_args(Certificates)),
            ("metrics_certificates", self.metrics_certificates, get_args(MetricsCertificates)),
            ("pull_policy", self.pull_policy, get_args(PullPolicy)),
        ):
            if word not in words:
                raise ValueError(f"{what} is one of {', '.join(words)}, not {word!r}")
        if self.service_monitor and not self.metrics:
            raise ValueError("service_monitor needs metrics: there is nothing to monitor without them")
        if self.metrics_certificates != "self-signed" and not (self.metrics and self.metrics_secure):
            raise ValueError(
                f"metrics_certificates={self.metrics_certificates!r} needs metrics and metrics_secure: plain HTTP has"
                " no certificate"
            )
        if self.ca_bundle is not None and self.certificates != "files":
            raise ValueError(f"ca_bundle goes with certificates='files'; {self.certificates!r} fills it in itself")
        names = [webhook.name for webhook in self.webhooks]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"two webhooks are named {twice[0]!r}")
        defined = {definition_name(kind) for kind in self.kinds or ()}
        for conversion in self.conversions:
            if definition_name(conversion.kind) not in defined:
                raise ValueError(f"{conversion.kind.__name__} is converted, but its definition is not part of this")

    @property
    def name(self) -> str:
        """What it is called: the operator's name."""
        return self.operator.name

    @property
    def labels(self) -> dict[str, str]:
        """The labels of every object."""
        return labels_of(self.operator)

    @property
    def selector(self) -> dict[str, str]:
        """The labels by which the manager's pods are selected. They cannot be changed once it is deployed."""
        return {"app.kubernetes.io/name": self.name, "app.kubernetes.io/instance": self.prefix, **MANAGER}

    @property
    def serves_webhooks(self) -> bool:
        """Whether the API server calls the program."""
        return bool(self.webhooks or self.conversions)

    @property
    def leader_election(self) -> bool:
        """Whether processes agree on a leader: unless the operator says otherwise.

        One replica is no promise of one process: an update lets two overlap, and so does a node that is cut off.
        """
        return self.operator.settings.leader_elect is not False

    @property
    def termination_seconds(self) -> int:
        """How long a pod has to end: the operator's grace period, and a while for everything else.

        Webhooks are served for `DRAIN_SECONDS` seconds meanwhile, and the last requests have five more.
        """
        return math.ceil(self.operator.settings.grace) + 15

    def warnings(self) -> list[str]:
        """What is allowed and will hurt later, each in a sentence."""
        image = Image.parse(self.image)
        found = []
        if warning := image.warning():
            found.append(warning)
        if self.certificates == "files" and self.serves_webhooks and self.ca_bundle is None:
            found.append(
                "certificates='files' without ca_bundle: the API server trusts the webhooks only when somebody adds"
                " the bundle to the webhook configurations"
            )
        return found


def _own_kinds(operator: Operator) -> tuple[type[Object], ...]:
    """The kinds that the operator reconciles, admits or converts, and that Kubernetes does not define itself."""
    kinds = {*(registration.kind for registration in operator.registrations()), *operator.webhooks.kinds()}
    return tuple(
        sorted((kind for kind in kinds if hasattr(kind, "__definition__")), key=lambda kind: str(info_of(kind)))
    )


def definition_name(kind: type[Object]) -> str:
    """What the definition of a kind is called: `foos.example.com`."""
    info = info_of(kind)
    return f"{info.plural}.{info.group}"
