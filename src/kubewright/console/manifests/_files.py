"""The console in a cluster: a kustomize folder for `kubectl apply -k`.

It contains a Deployment with one replica (sessions are in memory), a Service on port 443, a NetworkPolicy, and a
service account that may only read. It may not read Secrets by default. Only the console's caches use this account:
viewers sign in with their own tokens and see only what these tokens allow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal
from urllib.parse import urlsplit

from kubewright.api import Object, ObjectMeta, Quantity, apps, core, meta, networking, rbac
from kubewright.console.oidc import OIDC
from kubewright.manifests import File, text_file, write, yaml_file
from kubewright.version import VERSION

__all__ = [
    "BASE_IMAGE",
    "CLIENT_LABEL",
    "NAME",
    "NAMESPACE",
    "OIDC_SECRET",
    "PORT",
    "TLS_SECRET",
    "CertificateSource",
    "manifest_files",
    "write_manifests",
]

CertificateSource = Literal["self-signed", "cert-manager", "secret", "none"]
"""The source of the TLS certificate of a console in a cluster."""

NAME: Final = "kubewright-console"
NAMESPACE: Final = "kubewright-console"
PORT: Final = 8080
"""The port of the container."""
TLS_SECRET: Final = f"{NAME}-tls"
"""The Secret with `tls.crt` and `tls.key`, where cert-manager or you provide the certificate."""
OIDC_SECRET: Final = f"{NAME}-oidc"
"""The Secret with `client-secret` and `ca.crt` of the OpenID Connect provider, where these are needed."""
CLIENT_LABEL: Final = {"console": "enabled"}
"""The label of namespaces whose pods may connect, such as that of an Ingress controller."""
BASE_IMAGE: Final = "python:3.13-slim"

_LABELS: Final = {"app.kubernetes.io/name": NAME, "app.kubernetes.io/part-of": "kubewright"}
_SELECTOR: Final = {"app.kubernetes.io/name": NAME}

_TLS_FOLDER: Final = "/tls"
_OIDC_FOLDER: Final = "/oidc"
# The core group without Secrets; RBAC rules cannot exclude a resource.
_CORE: Final = frozenset(
    {
        *("configmaps", "endpoints", "events", "limitranges", "namespaces", "nodes", "persistentvolumeclaims"),
        *("persistentvolumes", "pods", "podtemplates", "replicationcontrollers", "resourcequotas"),
        *("serviceaccounts", "services"),
    }
)
_BUILT_IN_GROUPS: Final = (
    *("admissionregistration.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io", "apps", "autoscaling"),
    *("batch", "certificates.k8s.io", "coordination.k8s.io", "discovery.k8s.io", "events.k8s.io"),
    *("flowcontrol.apiserver.k8s.io", "networking.k8s.io", "node.k8s.io", "policy", "rbac.authorization.k8s.io"),
    *("resource.k8s.io", "scheduling.k8s.io", "storage.k8s.io", "storagemigration.k8s.io"),
)

_DOCKERFILE: Final = f"""FROM @base@
RUN pip install --no-cache-dir 'kubewright[console]=={VERSION}'
ENV PYTHONUNBUFFERED=1
USER 65532:65532
ENTRYPOINT ["kubewright"]
CMD ["ui", "--bind", "0.0.0.0", "--port", "{PORT}"]
"""


def write_manifests(
    folder: Path,
    *,
    image: str | None = None,
    base_image: str = BASE_IMAGE,
    kinds: Sequence[str] = (),
    groups: Sequence[str] = (),
    secrets: bool = False,
    certificates: CertificateSource = "self-signed",
    read_only: bool = False,
    extensions: Sequence[str] = (),
    oidc: OIDC | None = None,
) -> list[str]:
    """Writes the folder and returns the paths of changed files. The parameters are those of `manifest_files`.

    Raises `ForeignFile` for a file that was not generated.
    """
    files = manifest_files(
        image=image,
        base_image=base_image,
        kinds=kinds,
        groups=groups,
        secrets=secrets,
        certificates=certificates,
        read_only=read_only,
        extensions=extensions,
        oidc=oidc,
    )
    return [*write(folder, files).written]


def manifest_files(
    *,
    image: str | None = None,
    base_image: str = BASE_IMAGE,
    kinds: Sequence[str] = (),
    groups: Sequence[str] = (),
    secrets: bool = False,
    certificates: CertificateSource = "self-signed",
    read_only: bool = False,
    extensions: Sequence[str] = (),
    oidc: OIDC | None = None,
) -> list[File]:
    """Returns all files.

    Args:
        image: the container image, with a digest to pin it. Default: `kubewright-console` with this
            release as its tag.
        base_image: the image that the Dockerfile starts from, with a digest to pin it.
        kinds: the only kinds to show, as `example.com/foos`, `core/pods`, or `example.com/*` for a group. Default: the
            built-in kinds, and custom resources that the ClusterRole `view` or `groups` let the console read.
        groups: API groups of custom resources that the console may read, as `example.com`.
        secrets: whether the console may read Secrets, and everything else in the cluster unless `kinds` are named.
        certificates: where the TLS certificate comes from: `self-signed` (made when the console starts),
            `cert-manager`, `secret` (you create the Secret `kubewright-console-tls`), or `none` for plain HTTP.
        read_only: whether the console rejects every write.
        extensions: pages and actions to add, as `fleet.ui:fleet`. The image must contain their modules.
        oidc: the OpenID Connect provider with which users sign in. Of its files, only the keys in the Secret
            `kubewright-console-oidc` are named; you create that Secret.
    """
    parts = _Parts(certificates, oidc)
    options = [*(f"--kind={kind}" for kind in kinds), *(f"--extension={name}" for name in extensions)]
    options += ["--read-only"] if read_only else []
    files: dict[str, list[Object | dict[str, Any]]] = {
        "namespace.yaml": [_namespace()],
        "rbac.yaml": [_account(), _role(kinds, groups, secrets=secrets), *_bindings(view=not kinds)],
        "deployment.yaml": [_deployment(image or f"{NAME}:{VERSION}", parts, options)],
        "service.yaml": [_service(parts)],
        "network-policy.yaml": [_network_policy(parts)],
    }
    if certificates == "cert-manager":
        files["certificate.yaml"] = _cert_manager()
    kustomization = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": [*files],
    }
    made = [yaml_file(path, *documents) for path, documents in files.items()]
    dockerfile = text_file("Dockerfile", _DOCKERFILE.replace("@base@", base_image))
    return [*made, yaml_file("kustomization.yaml", kustomization), dockerfile]


@dataclass(frozen=True)
class _Parts:
    """The settings that depend on the source of the certificate, and on the OpenID Connect provider."""

    certificates: CertificateSource
    oidc: OIDC | None = None

    @property
    def port_name(self) -> str:
        return "http" if self.certificates == "none" else "https"

    @property
    def mounted(self) -> bool:
        return self.certificates in ("cert-manager", "secret")

    @property
    def has_oidc_files(self) -> bool:
        return self.oidc is not None and bool(self.oidc.client_secret_file or self.oidc.ca_file)

    @property
    def ports(self) -> list[int]:
        """The ports that the console connects to: those of API servers, and that of the provider."""
        provider = None if self.oidc is None else urlsplit(self.oidc.issuer).port
        return [443, 6443, *([provider] if provider not in (None, 443, 6443) else [])]

    @property
    def arguments(self) -> list[str]:
        return [*self._tls_arguments, *self._oidc_arguments]

    @property
    def _oidc_arguments(self) -> list[str]:
        oidc = self.oidc
        if oidc is None:
            return []
        made = [f"--oidc-issuer={oidc.issuer}", f"--oidc-client-id={oidc.client_id}"]
        made += [f"--oidc-scope={scope}" for scope in oidc.scopes if scope not in ("openid", "email", "profile")]
        made += [f"--oidc-name={oidc.name}"] if oidc.name else []
        made += [f"--oidc-client-secret-file={_OIDC_FOLDER}/client-secret"] if oidc.client_secret_file else []
        return made + ([f"--oidc-ca-file={_OIDC_FOLDER}/ca.crt"] if oidc.ca_file else [])

    @property
    def _tls_arguments(self) -> list[str]:
        if self.certificates == "none":
            return []
        url = f"--url=https://{NAME}.{NAMESPACE}.svc"
        if self.mounted:
            return [url, f"--tls-certificate={_TLS_FOLDER}/tls.crt", f"--tls-key={_TLS_FOLDER}/tls.key"]
        return [url, "--tls-self-signed"]


def _namespace() -> core.Namespace:
    labels = {**_LABELS, "pod-security.kubernetes.io/enforce": "restricted"}
    return core.Namespace(metadata=ObjectMeta(name=NAMESPACE, labels=labels))


def _meta(**more: Any) -> ObjectMeta:
    return ObjectMeta(name=NAME, namespace=NAMESPACE, labels=dict(_LABELS), **more)


def _account() -> core.ServiceAccount:
    return core.ServiceAccount(metadata=_meta())


def _role(kinds: Sequence[str], groups: Sequence[str], *, secrets: bool) -> rbac.ClusterRole:
    rules: dict[str, set[str]] = {
        # Namespaces, events, and the definitions with their columns are always needed.
        "": {"namespaces", "events"},
        "events.k8s.io": {"events"},
        "apiextensions.k8s.io": {"customresourcedefinitions"},
    }
    if kinds:
        for kind in kinds:
            group, _, plural = kind.partition("/")
            whole_core = group == "core" and plural == "*" and not secrets
            rules.setdefault("" if group == "core" else group, set()).update(_CORE if whole_core else {plural})
    elif secrets:
        rules = {"*": {"*"}}
    else:
        rules = {"": set(_CORE), **{group: {"*"} for group in (*_BUILT_IN_GROUPS, *groups)}}
    reading = ["get", "list", "watch"]
    return rbac.ClusterRole(
        metadata=ObjectMeta(name=NAME, labels=dict(_LABELS)),
        rules=[
            rbac.PolicyRule(api_groups=[group], resources=sorted(plurals), verbs=reading)
            for group, plurals in sorted(rules.items())
        ],
    )


def _bindings(*, view: bool) -> list[rbac.ClusterRoleBinding]:
    """Binds the console's own role and the ClusterRole `view`, which includes custom resources but not Secrets."""
    return [
        rbac.ClusterRoleBinding(
            metadata=ObjectMeta(name=name, labels=dict(_LABELS)),
            role_ref=rbac.RoleRef(api_group="rbac.authorization.k8s.io", kind="ClusterRole", name=role),
            subjects=[rbac.Subject(kind="ServiceAccount", name=NAME, namespace=NAMESPACE)],
        )
        for name, role in ((NAME, NAME), *([(f"{NAME}-view", "view")] if view else []))
    ]


def _network_policy(parts: _Parts) -> networking.NetworkPolicy:
    """Allows ingress from the console's own namespace and from labeled ones, and egress to DNS, the API server and the
    OpenID Connect provider.
    """
    own = networking.NetworkPolicyPeer(pod_selector=meta.LabelSelector())
    labeled = networking.NetworkPolicyPeer(namespace_selector=meta.LabelSelector(match_labels=CLIENT_LABEL))
    return networking.NetworkPolicy(
        metadata=_meta(),
        spec=networking.NetworkPolicySpec(
            pod_selector=meta.LabelSelector(match_labels=dict(_SELECTOR)),
            policy_types=["Ingress", "Egress"],
            ingress=[networking.NetworkPolicyIngressRule(from_=[own, labeled], ports=[_port(PORT)])],
            egress=[
                networking.NetworkPolicyEgressRule(ports=[_port(53, "UDP"), _port(53)]),
                networking.NetworkPolicyEgressRule(ports=[_port(number) for number in parts.ports]),
            ],
        ),
    )


def _port(number: int, protocol: str = "TCP") -> networking.NetworkPolicyPort:
    return networking.NetworkPolicyPort(port=number, protocol=protocol)


def _cert_manager() -> list[Object | dict[str, Any]]:
    about = {"name": NAME, "namespace": NAMESPACE, "labels": dict(_LABELS)}
    version = "cert-manager.io/v1"
    certificate = {
        "secretName": TLS_SECRET,
        "dnsNames": ["localhost", f"{NAME}.{NAMESPACE}.svc"],
        "issuerRef": {"kind": "Issuer", "name": NAME},
        "privateKey": {"algorithm": "ECDSA", "rotationPolicy": "Always"},
        "usages": ["server auth"],
    }
    return [
        {"apiVersion": version, "kind": "Issuer", "metadata": about, "spec": {"selfSigned": {}}},
        {"apiVersion": version, "kind": "Certificate", "metadata": about, "spec": certificate},
    ]


def _service(parts: _Parts) -> core.Service:
    number = 80 if parts.port_name == "http" else 443
    ports = [core.ServicePort(name=parts.port_name, port=number, target_port=parts.port_name, protocol="TCP")]
    return core.Service(metadata=_meta(), spec=core.ServiceSpec(selector=dict(_SELECTOR), ports=ports))


def _deployment(image: str, parts: _Parts, options: Sequence[str]) -> apps.Deployment:
    volumes = [core.Volume(name="tmp", empty_dir=core.EmptyDirVolumeSource())]
    if parts.mounted:
        volumes.append(core.Volume(name="tls", secret=core.SecretVolumeSource(secret_name=TLS_SECRET)))
    if parts.has_oidc_files:
        volumes.append(core.Volume(name="oidc", secret=core.SecretVolumeSource(secret_name=OIDC_SECRET)))
    return apps.Deployment(
        metadata=_meta(),
        spec=apps.DeploymentSpec(
            replicas=1,
            selector=meta.LabelSelector(match_labels=dict(_SELECTOR)),
            template=core.PodTemplateSpec(
                metadata=ObjectMeta(labels=dict(_LABELS)),
                spec=core.PodSpec(
                    service_account_name=NAME,
                    enable_service_links=False,
                    security_context=core.PodSecurityContext(
                        run_as_non_root=True, seccomp_profile=core.SeccompProfile(type="RuntimeDefault")
                    ),
                    containers=[_container(image, parts, options)],
                    volumes=volumes,
                ),
            ),
        ),
    )


def _container(image: str, parts: _Parts, options: Sequence[str]) -> core.Container:
    asked = core.HTTPGetAction(path="/healthz", port=parts.port_name, scheme=parts.port_name.upper())
    probe = core.Probe(http_get=asked, period_seconds=10)
    mounts = [core.VolumeMount(name="tmp", mount_path="/tmp")]  # noqa: S108  # the only writable path
    if parts.mounted:
        mounts.append(core.VolumeMount(name="tls", mount_path=_TLS_FOLDER, read_only=True))
    if parts.has_oidc_files:
        mounts.append(core.VolumeMount(name="oidc", mount_path=_OIDC_FOLDER, read_only=True))
    return core.Container(
        name="console",
        image=image,
        command=["kubewright", "ui"],
        args=["--bind=0.0.0.0", f"--port={PORT}", "--audit-log=-", *parts.arguments, *options],
        env=[core.EnvVar(name="PYTHONDONTWRITEBYTECODE", value="1")],
        ports=[core.ContainerPort(name=parts.port_name, container_port=PORT, protocol="TCP")],
        liveness_probe=probe,
        readiness_probe=probe,
        resources=core.ResourceRequirements(
            requests={"cpu": Quantity("20m"), "memory": Quantity("160Mi")}, limits={"memory": Quantity("1Gi")}
        ),
        security_context=core.SecurityContext(
            allow_privilege_escalation=False,
            read_only_root_filesystem=True,
            capabilities=core.Capabilities(drop=["ALL"]),
        ),
        volume_mounts=mounts,
    )
