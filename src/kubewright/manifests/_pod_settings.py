"""`PodSettings`: the settings of a `Project` that have the names and values of fields of a pod.

They are the same in the objects, the kustomize tree, the chart and the bundle: every package gets its Deployment from
`manager.deployment`, and the chart's values contain them under Helm's usual names.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from kubewright.api import core
from kubewright.arguments import is_string_collection

__all__ = ["MANAGER_CONTAINER", "TMP_MOUNT", "TMP_VOLUME", "PodSettings"]

MANAGER_CONTAINER: Final = "manager"
TMP_VOLUME: Final = "tmp"
TMP_MOUNT: Final = "/tmp"  # noqa: S108  # the pod's own

_OWN_VOLUMES: Final = frozenset([TMP_VOLUME, "webhook-certificate", "metrics-certificate"])
_OWN_VARIABLES: Final = frozenset(
    [
        "PYTHONDONTWRITEBYTECODE",
        "KUBEWRIGHT_NAMESPACES",
        "KUBEWRIGHT_WEBHOOK_CERTIFICATES",
        "KUBEWRIGHT_WEBHOOK_FOLDER",
        "KUBEWRIGHT_WEBHOOK_SECRET",
    ]
)
# The options that the Deployment sets, and the setting to use instead.
_OWN_OPTIONS: Final = {
    "--leader-elect": "leader_elect of the Operator",
    "--no-leader-elect": "leader_elect of the Operator",
    "--namespace": "namespaces of the Operator",
    "--health-bind": "bind_address",
    "--metrics-bind": "metrics and bind_address",
    "--metrics-secure": "metrics_secure",
    "--no-metrics-secure": "metrics_secure",
    "--metrics-cert-path": "metrics_certificates",
    "--webhook-bind": "bind_address",
}


@dataclass(frozen=True, kw_only=True)
class PodSettings:
    """Settings of the manager's container and pod. An invalid one raises ValueError.

    Args:
        env: environment variables of the manager, in this order: a value, or its source.
        env_from: ConfigMaps and Secrets whose keys become environment variables of the manager.
        args: further options of `kubewright run`, such as `--log-level=debug`.
        volumes: further volumes of the pod.
        mounts: where the manager mounts them.
        pull_secrets: the names of the Secrets with the credentials of image registries.
        node_selector: labels that a node must have.
        tolerations: tolerated taints of nodes.
        affinity: preferred and required nodes, and pods to run beside or apart from.
        priority_class: the name of the PriorityClass of the pods.
        containers: further containers of the pod. A container without a security context gets the manager's.
        init_containers: containers that run before the manager; with `restart_policy="Always"`, beside it. Likewise.
    """

    env: Mapping[str, str | core.EnvVarSource] = field(default_factory=dict)
    env_from: Sequence[core.EnvFromSource] = ()
    args: Sequence[str] = ()
    volumes: Sequence[core.Volume] = ()
    mounts: Sequence[core.VolumeMount] = ()
    pull_secrets: Sequence[str] = ()
    node_selector: Mapping[str, str] = field(default_factory=dict)
    tolerations: Sequence[core.Toleration] = ()
    affinity: core.Affinity | None = None
    priority_class: str = ""
    containers: Sequence[core.Container] = ()
    init_containers: Sequence[core.Container] = ()

    def variables(self) -> list[core.EnvVar]:
        """Returns `env` as a container has it."""
        return [
            core.EnvVar(name=name, value=value) if isinstance(value, str) else core.EnvVar(name=name, value_from=value)
            for name, value in self.env.items()
        ]

    def references(self) -> list[core.LocalObjectReference]:
        """Returns `pull_secrets` as a pod has them."""
        return [core.LocalObjectReference(name=name) for name in self.pull_secrets]

    def _check_pod(self) -> None:
        for name, value in self.env.items():
            if name in _OWN_VARIABLES:
                raise ValueError(f"env[{name!r}] is set by the Deployment itself; remove it")
            if not isinstance(value, str | core.EnvVarSource):
                raise ValueError(f"env[{name!r}] must be a string or a core.EnvVarSource, not {value!r}")
        for what, strings in (("args", self.args), ("pull_secrets", self.pull_secrets)):
            if not is_string_collection(strings):
                raise ValueError(f"{what} must be a list of strings, not {strings!r}")
        for argument in self.args:
            option = argument.partition("=")[0]
            if option in _OWN_OPTIONS:
                raise ValueError(f"args contain {argument!r}, which the Deployment sets; use {_OWN_OPTIONS[option]}")
        _check_names("volumes", [volume.name for volume in self.volumes], _OWN_VOLUMES)
        names = [one.name for one in (*self.containers, *self.init_containers)]
        _check_names("containers", names, [MANAGER_CONTAINER])
        _check_names("mounts", [mount.mount_path for mount in self.mounts], [TMP_MOUNT])
        self._check_mounts()

    def _check_mounts(self) -> None:
        there = {TMP_VOLUME, *(volume.name for volume in self.volumes)}
        others = (*self.containers, *self.init_containers)
        for where, mounts in (
            ("mounts", self.mounts),
            *((f"container {one.name!r}", one.volume_mounts or ()) for one in others),
        ):
            for mount in mounts:
                if mount.name not in there | _OWN_VOLUMES:
                    raise ValueError(
                        f"{where}: {mount.mount_path} mounts the volume {mount.name!r}, which is not in volumes:"
                        f" {', '.join(sorted(there))}"
                    )

    def _pod_warnings(self) -> list[str]:
        """Returns warnings about settings that the namespace's Pod Security level does not allow."""
        return [
            f"the volume {volume.name!r} is a hostPath, which the Pod Security level restricted of the operator's"
            " namespace rejects"
            for volume in self.volumes
            if volume.host_path is not None
        ]


def _check_names(what: str, names: Sequence[str], taken: Iterable[str]) -> None:
    for name in names:
        if name in taken:
            raise ValueError(f"{what}: {name!r} is used by the Deployment itself; choose another one")
        if names.count(name) > 1:
            raise ValueError(f"{what}: {name!r} is listed twice")
