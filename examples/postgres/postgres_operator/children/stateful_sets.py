"""The StatefulSet of a cluster."""

from collections.abc import Sequence

import msgspec

import kubewright as kw
from kubewright.api import apps, core, meta
from kubewright.durations import parse_duration
from postgres_operator.children.names import VOLUME, account_name, instances_of, labels_of, selector_of
from postgres_operator.kinds import GROUP, Configuration, Postgresql, ResourceAmounts, Resources, Sidecar
from postgres_operator.patroni import DATA_PATH, POSTGRES_PORT, REST_PORT, readiness_probe

CONTAINER = "postgres"
CREDENTIALS_ANNOTATION = f"{GROUP}/credentials"


def stateful_set(
    cluster: Postgresql,
    config: Configuration,
    environment: Sequence[core.EnvVar],
    *,
    replicas: int | None = None,
    credentials: str = "",
    template: core.PersistentVolumeClaim | None = None,
) -> apps.StatefulSet:
    """Returns the StatefulSet of a cluster.

    Pods are replaced by the operator, replicas first, so the update strategy is OnDelete.

    Args:
        cluster: the cluster.
        config: the configuration.
        environment: the variables that Patroni needs.
        replicas: the number of pods. Default: that of the spec.
        credentials: changes with the passwords in the variables, so that pods with others are replaced.
        template: the claim template of the existing StatefulSet. It is immutable; claims grow one by one instead.
    """
    settings, spec = config.kubernetes, cluster.spec
    retention = settings.persistent_volume_claim_retention_policy
    annotations = {**(settings.custom_pod_annotations or {}), **(spec.pod_annotations or {})}
    if credentials:
        annotations[CREDENTIALS_ANNOTATION] = credentials
    return apps.StatefulSet(
        metadata=meta.ObjectMeta(name=cluster.metadata.name, labels=labels_of(cluster)),
        spec=apps.StatefulSetSpec(
            replicas=instances_of(cluster, config) if replicas is None else replicas,
            service_name=cluster.metadata.name,
            selector=meta.LabelSelector(match_labels=selector_of(cluster)),
            update_strategy=apps.StatefulSetUpdateStrategy(type="OnDelete"),
            pod_management_policy="Parallel" if settings.pod_management_policy == "parallel" else "OrderedReady",
            persistent_volume_claim_retention_policy=apps.StatefulSetPersistentVolumeClaimRetentionPolicy(
                when_deleted=retention.when_deleted.capitalize(), when_scaled=retention.when_scaled.capitalize()
            ),
            template=core.PodTemplateSpec(
                metadata=meta.ObjectMeta(labels=labels_of(cluster), annotations=annotations),
                spec=_pod(cluster, config, environment),
            ),
            volume_claim_templates=[template or claim_of(cluster)],
        ),
    )


def claim_of(cluster: Postgresql) -> core.PersistentVolumeClaim:
    """Returns the claim of each pod."""
    volume = cluster.spec.volume
    return core.PersistentVolumeClaim(
        metadata=meta.ObjectMeta(name=VOLUME),
        spec=core.PersistentVolumeClaimSpec(
            access_modes=["ReadWriteOnce"],
            storage_class_name=volume.storage_class,
            resources=core.VolumeResourceRequirements(requests={"storage": kw.Quantity(volume.size)}),
        ),
    )


def _pod(cluster: Postgresql, config: Configuration, environment: Sequence[core.EnvVar]) -> core.PodSpec:
    settings, spec = config.kubernetes, cluster.spec
    volumes, mounts = [], [core.VolumeMount(name=VOLUME, mount_path=DATA_PATH, sub_path=spec.volume.sub_path)]
    if config.enable_shm_volume if spec.enable_shm_volume is None else spec.enable_shm_volume:
        volumes.append(core.Volume(name="dshm", empty_dir=core.EmptyDirVolumeSource(medium="Memory")))
        mounts.append(core.VolumeMount(name="dshm", mount_path="/dev/shm"))  # PostgreSQL's shared memory
    return core.PodSpec(
        service_account_name=account_name(cluster, config),
        termination_grace_period_seconds=int(parse_duration(settings.pod_terminate_grace_period)),
        priority_class_name=spec.pod_priority_class_name or settings.pod_priority_class_name,
        scheduler_name=spec.scheduler_name,
        tolerations=spec.tolerations,
        affinity=_affinity(cluster, config),
        security_context=core.PodSecurityContext(
            run_as_user=_first(spec.spilo_run_as_user, settings.spilo_runasuser),
            run_as_group=_first(spec.spilo_run_as_group, settings.spilo_runasgroup),
            fs_group=_first(spec.spilo_fs_group, settings.spilo_fsgroup),
        ),
        init_containers=spec.init_containers,
        containers=[
            _postgres(cluster, config, environment, mounts),
            *(_sidecar(sidecar) for sidecar in spec.sidecars or []),
        ],
        volumes=volumes,
    )


def _postgres(
    cluster: Postgresql, config: Configuration, environment: Sequence[core.EnvVar], mounts: list[core.VolumeMount]
) -> core.Container:
    own = {variable.name for variable in environment}
    return core.Container(
        name=CONTAINER,
        image=cluster.spec.docker_image or config.docker_image,
        env=[*environment, *(variable for variable in cluster.spec.env or [] if variable.name not in own)],
        ports=[
            core.ContainerPort(name="patroni", container_port=REST_PORT, protocol="TCP"),
            core.ContainerPort(name="postgresql", container_port=POSTGRES_PORT, protocol="TCP"),
        ],
        resources=_resources(cluster.spec.resources, config),
        readiness_probe=readiness_probe(),
        security_context=core.SecurityContext(allow_privilege_escalation=False),
        volume_mounts=mounts,
    )


def _sidecar(sidecar: Sidecar) -> core.Container:
    return core.Container(
        name=sidecar.name,
        image=sidecar.image,
        command=sidecar.command,
        env=sidecar.env,
        ports=sidecar.ports,
        resources=_resources(sidecar.resources, None),
    )


def _resources(given: Resources | None, config: Configuration | None) -> core.ResourceRequirements:
    """Returns requests and limits, those of the configuration where none are given."""
    amounts: dict[str, dict[str, kw.Quantity]] = {"request": {}, "limit": {}}
    defaults = config.postgres_pod_resources if config is not None else None
    for sort, part in (("request", given and given.requests), ("limit", given and given.limits)):
        for field in msgspec.structs.fields(ResourceAmounts):
            value = getattr(part, field.name, None) or getattr(defaults, f"default_{field.name}_{sort}", None)
            if value:
                amounts[sort][field.encode_name] = kw.Quantity(value)
    return core.ResourceRequirements(requests=amounts["request"] or None, limits=amounts["limit"] or None)


def _affinity(cluster: Postgresql, config: Configuration) -> core.Affinity | None:
    affinity = core.Affinity(node_affinity=cluster.spec.node_affinity)
    if config.kubernetes.enable_pod_antiaffinity:
        term = core.PodAffinityTerm(
            label_selector=meta.LabelSelector(match_labels=selector_of(cluster)),
            topology_key=config.kubernetes.pod_antiaffinity_topology_key,
        )
        affinity.pod_anti_affinity = core.PodAntiAffinity(required_during_scheduling_ignored_during_execution=[term])
    return affinity if affinity != core.Affinity() else None


def _first(*values: int | None) -> int | None:
    return next((value for value in values if value is not None), None)
