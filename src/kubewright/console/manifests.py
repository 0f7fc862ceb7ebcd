"""The console in a cluster: a kustomize folder, for `kubectl apply -k`.

A Deployment with one replica (sessions are in memory), a Service on port 80, and a service account that may read, and
nothing else, what is to be shown. It is the account of the console's shelves; whoever looks signs in with a token of
his own, and what he may not see is not shown to him.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from kubewright import __version__
from kubewright.api import Object, ObjectMeta, Quantity, apps, core, meta, rbac
from kubewright.manifests import File, text_file, write, yaml_file

__all__ = ["NAME", "NAMESPACE", "PORT", "manifest_files", "write_manifests"]

NAME: Final = "kubewright-console"
NAMESPACE: Final = "kubewright-console"
PORT: Final = 8080
"""Where the process in the container listens."""

_LABELS: Final = {"app.kubernetes.io/name": NAME, "app.kubernetes.io/part-of": "kubewright"}
_SELECTOR: Final = {"app.kubernetes.io/name": NAME}

_DOCKERFILE: Final = f"""FROM python:3.13-slim
RUN pip install --no-cache-dir 'kubewright[console]=={__version__}'
ENV PYTHONUNBUFFERED=1
USER 65532:65532
ENTRYPOINT ["kubewright"]
CMD ["ui", "--bind", "0.0.0.0", "--port", "{PORT}"]
"""


def write_manifests(
    folder: Path, *, image: str | None = None, kinds: Sequence[str] = (), read_only: bool = False
) -> list[str]:
    """Write the folder; the paths of what has changed. Raises `ForeignFile` for a file that somebody else wrote."""
    return [*write(folder, manifest_files(image=image, kinds=kinds, read_only=read_only)).written]


def manifest_files(*, image: str | None = None, kinds: Sequence[str] = (), read_only: bool = False) -> list[File]:
    """All files.

    Args:
        image: the container image; `kubewright-console` with this release as its tag unless given.
        kinds: the only kinds to show, as `example.com/foos`, `core/pods`, or `example.com/*` for a group; everything in
            the cluster when empty, Secrets included.
        read_only: whether the console refuses every write.
    """
    files: dict[str, list[Object]] = {
        "namespace.yaml": [_namespace()],
        "rbac.yaml": [_account(), _role(kinds), _binding()],
        "deployment.yaml": [_deployment(image or f"{NAME}:{__version__}", kinds, read_only=read_only)],
        "service.yaml": [_service()],
    }
    kustomization = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": [*files],
    }
    made = [yaml_file(path, *documents) for path, documents in files.items()]
    return [*made, yaml_file("kustomization.yaml", kustomization), text_file("Dockerfile", _DOCKERFILE)]


def _namespace() -> core.Namespace:
    labels = {**_LABELS, "pod-security.kubernetes.io/enforce": "restricted"}
    return core.Namespace(metadata=ObjectMeta(name=NAMESPACE, labels=labels))


def _meta(**more: Any) -> ObjectMeta:
    return ObjectMeta(name=NAME, namespace=NAMESPACE, labels=dict(_LABELS), **more)


def _account() -> core.ServiceAccount:
    return core.ServiceAccount(metadata=_meta())


def _role(kinds: Sequence[str]) -> rbac.ClusterRole:
    reading = ["get", "list", "watch"]
    if not kinds:
        rules = [rbac.PolicyRule(api_groups=["*"], resources=["*"], verbs=reading)]
    else:
        groups: dict[str, set[str]] = {
            # Where there are which namespaces and kinds, whom events are about, and the columns of the kinds.
            "": {"namespaces", "events"},
            "events.k8s.io": {"events"},
            "apiextensions.k8s.io": {"customresourcedefinitions"},
        }
        for kind in kinds:
            group, _, plural = kind.partition("/")
            groups.setdefault("" if group == "core" else group, set()).add(plural)
        rules = [
            rbac.PolicyRule(api_groups=[group], resources=sorted(plurals), verbs=reading)
            for group, plurals in sorted(groups.items())
        ]
    return rbac.ClusterRole(metadata=ObjectMeta(name=NAME, labels=dict(_LABELS)), rules=rules)


def _binding() -> rbac.ClusterRoleBinding:
    return rbac.ClusterRoleBinding(
        metadata=ObjectMeta(name=NAME, labels=dict(_LABELS)),
        role_ref=rbac.RoleRef(api_group="rbac.authorization.k8s.io", kind="ClusterRole", name=NAME),
        subjects=[rbac.Subject(kind="ServiceAccount", name=NAME, namespace=NAMESPACE)],
    )


def _service() -> core.Service:
    ports = [core.ServicePort(name="http", port=80, target_port="http", protocol="TCP")]
    return core.Service(metadata=_meta(), spec=core.ServiceSpec(selector=dict(_SELECTOR), ports=ports))


def _deployment(image: str, kinds: Sequence[str], *, read_only: bool) -> apps.Deployment:
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
                    containers=[_container(image, kinds, read_only=read_only)],
                    volumes=[core.Volume(name="tmp", empty_dir=core.EmptyDirVolumeSource())],
                ),
            ),
        ),
    )


def _container(image: str, kinds: Sequence[str], *, read_only: bool) -> core.Container:
    shown = [f"--kind={kind}" for kind in kinds]
    probe = core.Probe(http_get=core.HTTPGetAction(path="/healthz", port="http"), period_seconds=10)
    return core.Container(
        name="console",
        image=image,
        command=["kubewright", "ui"],
        args=["--bind=0.0.0.0", f"--port={PORT}", *shown, *(["--read-only"] if read_only else [])],
        env=[core.EnvVar(name="PYTHONDONTWRITEBYTECODE", value="1")],
        ports=[core.ContainerPort(name="http", container_port=PORT, protocol="TCP")],
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
        volume_mounts=[core.VolumeMount(name="tmp", mount_path="/tmp")],  # noqa: S108  # the only place to write to
    )
