"""`OperatorConfiguration`: the defaults of all clusters. A change takes effect without a restart."""

from typing import Annotated, Literal

import kubewright as kw

CONFIGURATION_NAME = "postgresql-operator-default-configuration"

Period = Annotated[str, kw.Pattern(r"^[1-9]\d{0,5}[hms](\d{1,6}[ms])*$"), kw.Length(maximum=20)]
"""At least a second, such as 30s, 5m or 1h30m. A shorter one would let the operator check continuously."""


@kw.constrain(kw.PreserveUnknown())
class Settings(kw.Model, rename=str):
    """A group of settings. JSON names are the Python names. Unknown settings are kept, and named in a warning."""


class RetentionPolicy(Settings):
    """Whether volumes are kept."""

    when_deleted: Literal["retain", "delete"] = "retain"
    """After the deletion of a cluster."""
    when_scaled: Literal["retain", "delete"] = "retain"
    """After a scale-down."""


class KubernetesSettings(Settings):
    """Names, labels and protections of the objects of a cluster."""

    custom_pod_annotations: dict[str, str] | None = None
    delete_annotation_date_key: str = ""
    """A cluster is deleted only if this annotation is the current date, YYYY-MM-DD. Default: not required."""
    delete_annotation_name_key: str = ""
    """A cluster is deleted only if this annotation is its name. Default: not required."""
    enable_pod_antiaffinity: bool = False
    enable_pod_disruption_budget: bool = True
    pdb_name_format: str = "postgres-{cluster}-pdb"
    persistent_volume_claim_retention_policy: RetentionPolicy = RetentionPolicy()
    pod_antiaffinity_topology_key: str = "kubernetes.io/hostname"
    pod_management_policy: Literal["ordered_ready", "parallel"] = "ordered_ready"
    pod_priority_class_name: str | None = None
    pod_service_account_name: str = "postgres-pod"
    """The prefix of the service account of the pods: each cluster has its own."""
    pod_terminate_grace_period: Annotated[str, kw.Pattern(r"^(\d+(ms|s|m|h))+$")] = "5m"
    spilo_fsgroup: int | None = None
    spilo_runasgroup: int | None = None
    spilo_runasuser: int | None = None


class PodResources(Settings):
    """Requests and limits of PostgreSQL, where a cluster has none."""

    default_cpu_request: str = "100m"
    default_cpu_limit: str = "1"
    default_memory_request: str = "100Mi"
    default_memory_limit: str = "500Mi"


class LoadBalancerSettings(Settings):
    """Load balancers, where a cluster does not say."""

    enable_master_load_balancer: bool = False
    enable_replica_load_balancer: bool = False
    external_traffic_policy: Literal["Cluster", "Local"] = "Cluster"
    custom_service_annotations: dict[str, str] | None = None


class TeamSettings(Settings):
    """Roles that users of a cluster must not have."""

    protected_role_names: list[str] = ["admin", "cron_admin"]  # noqa: RUF012  # copied for each object


class Configuration(Settings):
    """The settings that this operator uses."""

    docker_image: str = "ghcr.io/zalando/spilo-17:4.0-p3"
    enable_shm_volume: bool = True
    enable_team_id_clustername_prefix: bool = True
    """Whether the name of a cluster must start with its team and a dash."""
    max_instances: int = -1
    """More instances are reduced to this number; -1 means no limit."""
    min_instances: int = -1
    """Fewer instances are raised to this number; -1 means no limit."""
    repair_period: Period = "5m"
    """The time after which a cluster that is not settled is checked again."""
    resync_period: Period = "30m"
    """The time after which the content of a database is compared again."""
    kubernetes: KubernetesSettings = KubernetesSettings()
    postgres_pod_resources: PodResources = PodResources()
    load_balancer: LoadBalancerSettings = LoadBalancerSettings()
    teams_api: TeamSettings = TeamSettings()


@kw.resource(
    "acid.zalan.do/v1",
    short_names=["opconfig"],
    categories=["all"],
    columns={
        "Image": ".configuration.docker_image",
        "Age": ".metadata.creationTimestamp",
    },
)
class OperatorConfiguration(kw.Object):
    """The configuration of the operator."""

    configuration: Configuration = Configuration()
