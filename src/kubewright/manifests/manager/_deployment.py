"""The Deployment that runs the operator, its namespace and its disruption budget.

Optional parts (metrics, webhooks) describe what they add to the manager as an `Addition`, so that a kustomize component
and a Helm condition add the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from msgspec.structs import replace

from kubewright.api import ObjectMeta, apps, core, meta, policy, to_dict
from kubewright.manifests._pod_settings import MANAGER_CONTAINER, TMP_MOUNT, TMP_VOLUME
from kubewright.manifests._project import Project

__all__ = ["Addition", "budget", "deployment", "hardened", "health_port", "namespace", "spread"]

RESTRICTED: Final = {"pod-security.kubernetes.io/enforce": "restricted"}
HEALTH_PORT: Final = 8081


@dataclass(frozen=True, kw_only=True)
class Addition:
    """The additions of an optional part to the manager's container and pod."""

    args: Sequence[str] = ()
    env: Sequence[core.EnvVar] = ()
    ports: Sequence[core.ContainerPort] = ()
    mounts: Sequence[core.VolumeMount] = ()
    volumes: Sequence[core.Volume] = ()

    def by_place(self) -> Iterator[tuple[tuple[str | int, ...], list[Any]]]:
        """Yields the lists of a pod's spec that become longer: the path of each, and the new elements as plain JSON.

        Each list has a first element that always exists.
        """
        for path, added in (
            (("containers", 0, "args"), self.args),
            (("containers", 0, "env"), self.env),
            (("containers", 0, "ports"), self.ports),
            (("containers", 0, "volumeMounts"), self.mounts),
            (("volumes",), self.volumes),
        ):
            if added:
                yield path, to_dict(list(added))


def namespace(project: Project) -> core.Namespace:
    """Returns the operator's namespace, which enforces the restricted Pod Security level."""
    return core.Namespace(metadata=ObjectMeta(name=project.namespace, labels={**project.labels, **RESTRICTED}))


def deployment(project: Project, additions: Sequence[Addition] = ()) -> apps.Deployment:
    """Returns the Deployment with what the enabled parts add."""
    labels = {**project.labels, **project.selector}
    return apps.Deployment(
        metadata=ObjectMeta(name=project.prefix, namespace=project.namespace, labels=labels),
        spec=apps.DeploymentSpec(
            replicas=project.replicas,
            selector=meta.LabelSelector(match_labels=project.selector),
            strategy=_strategy(project),
            template=core.PodTemplateSpec(
                metadata=ObjectMeta(
                    labels=labels, annotations={"kubectl.kubernetes.io/default-container": MANAGER_CONTAINER}
                ),
                spec=_pod(project, additions),
            ),
        ),
    )


def _strategy(project: Project) -> apps.DeploymentStrategy:
    if not project.leader_election:
        # Without a lease, nothing else prevents the old and the new process from running at the same time.
        return apps.DeploymentStrategy(type="Recreate")
    # A new replica fills its caches while the old one leads.
    update = apps.RollingUpdateDeployment(max_surge=1, max_unavailable=0)
    return apps.DeploymentStrategy(type="RollingUpdate", rolling_update=update)


def _pod(project: Project, additions: Sequence[Addition]) -> core.PodSpec:
    scratch = core.Volume(name=TMP_VOLUME, empty_dir=core.EmptyDirVolumeSource())
    added = [volume for addition in additions for volume in addition.volumes]
    return core.PodSpec(
        service_account_name=project.prefix,
        # Variables for each Service of the namespace are not needed, and their names may look like settings.
        enable_service_links=False,
        security_context=core.PodSecurityContext(
            run_as_non_root=True, seccomp_profile=core.SeccompProfile(type="RuntimeDefault")
        ),
        containers=[_container(project, additions), *map(hardened, project.containers)],
        init_containers=[hardened(one) for one in project.init_containers] or None,
        # Additions are last in every list: a kustomize component can only append.
        volumes=[scratch, *project.volumes, *added],
        image_pull_secrets=project.references() or None,
        termination_grace_period_seconds=project.termination_seconds,
        node_selector=dict(project.node_selector) or None,
        tolerations=list(project.tolerations) or None,
        affinity=project.affinity,
        priority_class_name=project.priority_class or None,
        topology_spread_constraints=[spread(project)] if project.replicas > 1 else None,
    )


def _container(project: Project, additions: Sequence[Addition]) -> core.Container:
    bind = f"--health-bind={project.bind_address}:{HEALTH_PORT}"
    elect = "--leader-elect" if project.leader_election else "--no-leader-elect"
    return core.Container(
        name=MANAGER_CONTAINER,
        image=project.image,
        image_pull_policy=project.pull_policy,
        command=["kubewright", "run", project.target],
        args=[
            elect,
            # Same as the operator's setting; here it can be changed together with the roles.
            *(f"--namespace={name}" for name in project.operator.namespaces),
            *((f"--namespace-labels={labels}",) if (labels := project.operator.settings.namespace_labels) else ()),
            bind,
            *project.args,
            *(text for addition in additions for text in addition.args),
        ],
        env=[
            # The root file system is read-only.
            core.EnvVar(name="PYTHONDONTWRITEBYTECODE", value="1"),
            *project.variables(),
            *(variable for addition in additions for variable in addition.env),
        ],
        env_from=list(project.env_from) or None,
        ports=[health_port(), *(port for addition in additions for port in addition.ports)],
        liveness_probe=_probe("/healthz", initial_delay=15, period=20),
        readiness_probe=_probe("/readyz", initial_delay=5, period=10),
        resources=project.resources,
        security_context=_security_context(),
        volume_mounts=[
            core.VolumeMount(name=TMP_VOLUME, mount_path=TMP_MOUNT),
            *project.mounts,
            *(mount for addition in additions for mount in addition.mounts),
        ],
    )


def hardened(container: core.Container) -> core.Container:
    """Returns a container with the manager's security context, unless it has one: the namespace requires it."""
    if container.security_context is not None:
        return container
    return replace(container, security_context=_security_context())


def _security_context() -> core.SecurityContext:
    return core.SecurityContext(
        allow_privilege_escalation=False,
        capabilities=core.Capabilities(drop=["ALL"]),
        read_only_root_filesystem=True,
    )


def health_port() -> core.ContainerPort:
    """Returns the port of the kubelet's liveness and readiness probes."""
    return core.ContainerPort(name="health", container_port=HEALTH_PORT, protocol="TCP")


def _probe(path: str, *, initial_delay: int, period: int) -> core.Probe:
    return core.Probe(
        http_get=core.HTTPGetAction(path=path, port="health"),
        initial_delay_seconds=initial_delay,
        period_seconds=period,
        timeout_seconds=5,  # an event loop that is busy for a second must not cause a restart
    )


def spread(project: Project) -> core.TopologySpreadConstraint:
    """Returns the constraint that spreads replicas over nodes, for each version separately."""
    return core.TopologySpreadConstraint(
        max_skew=1,
        topology_key="kubernetes.io/hostname",
        when_unsatisfiable="ScheduleAnyway",
        label_selector=meta.LabelSelector(match_labels=project.selector),
        match_label_keys=["pod-template-hash"],
    )


def budget(project: Project) -> policy.PodDisruptionBudget:
    """Returns the budget: one replica at a time when nodes are drained."""
    return policy.PodDisruptionBudget(
        metadata=ObjectMeta(name=project.prefix, namespace=project.namespace, labels=project.labels),
        spec=policy.PodDisruptionBudgetSpec(
            max_unavailable=1,
            selector=meta.LabelSelector(match_labels=project.selector),
            unhealthy_pod_eviction_policy="AlwaysAllow",
        ),
    )
