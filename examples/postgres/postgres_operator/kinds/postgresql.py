"""`Postgresql`: one cluster."""

from enum import StrEnum
from typing import Annotated

import msgspec

import kubewright as kw
from kubewright.api import core, meta
from postgres_operator.kinds.form import FORM
from postgres_operator.kinds.unsupported import UnsupportedFields, UnsupportedVolumeFields

GROUP = "acid.zalan.do"

_FLAGS = ("superuser", "createdb", "createrole", "inherit", "login", "replication", "bypassrls")
FLAGS = tuple(f"{no}{flag}" for flag in _FLAGS for no in ("", "no"))
"""The flags of a user, in lower case."""

Flag = Annotated[str, kw.Choices(*FLAGS, *(flag.upper() for flag in FLAGS))]
Size = Annotated[str, kw.Pattern(r"^(\d+(e\d+)?|\d+(\.\d+)?(e\d+)?[EPTGMK]i?)$")]
Cpu = Annotated[str, kw.Pattern(r"^(\d+m|\d+(\.\d{1,3})?)$")]


class State(StrEnum):
    """The states of a cluster, in `status.PostgresClusterStatus`."""

    CREATING = "Creating"
    RUNNING = "Running"
    UPDATING = "Updating"
    CREATE_FAILED = "CreateFailed"
    UPDATE_FAILED = "UpdateFailed"
    SYNC_FAILED = "SyncFailed"
    INVALID = "Invalid"


class Volume(UnsupportedVolumeFields):
    """The volume of each instance."""

    size: Size
    """The size. It can grow, and never shrinks."""
    storage_class: str | None = None
    """The StorageClass. It cannot be changed."""
    sub_path: str | None = None
    """The folder of the data in the volume."""


class PostgresqlParameters(kw.Model):
    """The version and the parameters of PostgreSQL."""

    version: Annotated[str, kw.Choices("13", "14", "15", "16", "17")]
    """The major version. A change is refused: the data directory belongs to one major version."""
    parameters: dict[str, str] | None = None
    """Parameters of the server. Patroni reloads or restarts the instances, as each parameter requires."""


class ResourceAmounts(kw.Model):
    """CPU and memory."""

    cpu: Cpu | None = None
    memory: Size | None = None
    hugepages_2mi: Size | None = msgspec.field(name="hugepages-2Mi", default=None)
    hugepages_1gi: Size | None = msgspec.field(name="hugepages-1Gi", default=None)


class Resources(kw.Model):
    """Requests and limits of a container."""

    requests: ResourceAmounts | None = None
    limits: ResourceAmounts | None = None


class PreparedSchema(kw.Model):
    """A schema of a prepared database."""

    default_roles: bool = True
    """Whether the schema has the roles owner, reader and writer."""
    default_users: bool = False
    """Whether it has login users for these roles, too."""


class PreparedDatabase(kw.Model):
    """A database with schemas, roles and default privileges."""

    schemas: dict[str, PreparedSchema] | None = None
    """The schemas. Default: one schema named data."""
    default_users: bool = False
    """Whether the database has login users for its roles."""
    extensions: dict[str, str] | None = None
    """The schema of each extension."""
    secret_namespace: str | None = None
    """Not supported: Secrets are in the namespace of the cluster."""


class Sidecar(kw.Model):
    """A container beside PostgreSQL in each pod."""

    name: str
    image: str
    command: list[str] | None = None
    env: list[core.EnvVar] | None = None
    ports: list[core.ContainerPort] | None = None
    resources: Resources | None = None


class Patroni(kw.Model):
    """Settings of Patroni. Absent ones have Patroni's defaults."""

    initdb: dict[str, str] | None = None
    """Options of initdb. Used only when the cluster is created."""
    pg_hba: list[str] | None = msgspec.field(name="pg_hba", default=None)
    ttl: int | None = None
    loop_wait: int | None = msgspec.field(name="loop_wait", default=None)
    retry_timeout: int | None = msgspec.field(name="retry_timeout", default=None)
    maximum_lag_on_failover: int | None = msgspec.field(name="maximum_lag_on_failover", default=None)
    slots: dict[str, dict[str, str]] | None = None
    synchronous_mode: bool | None = msgspec.field(name="synchronous_mode", default=None)
    synchronous_mode_strict: bool | None = msgspec.field(name="synchronous_mode_strict", default=None)
    synchronous_node_count: int | None = msgspec.field(name="synchronous_node_count", default=None)
    failsafe_mode: bool | None = msgspec.field(name="failsafe_mode", default=None)


class Clone(kw.Model):
    """Which cluster a new cluster copies its data from. It has an effect only when the cluster is created."""

    cluster: Annotated[str, kw.Length(1)]
    """The name of a running cluster in the same namespace."""
    uid: str | None = None
    """The uid of that cluster. If it has another one, the clone is not created."""
    timestamp: str | None = None
    """Not supported: a state of the past needs an archive of the write-ahead log."""
    s3_wal_path: str | None = msgspec.field(name="s3_wal_path", default=None)
    s3_endpoint: str | None = msgspec.field(name="s3_endpoint", default=None)
    s3_access_key_id: str | None = msgspec.field(name="s3_access_key_id", default=None)
    s3_secret_access_key: str | None = msgspec.field(name="s3_secret_access_key", default=None)
    s3_force_path_style: bool | None = msgspec.field(name="s3_force_path_style", default=None)


class PostgresqlSpec(UnsupportedFields):
    """The desired state."""

    team_id: Annotated[str, kw.Length(1)]
    """The team. The name of the cluster starts with it and a dash."""
    number_of_instances: Annotated[int, kw.Range(0)]
    """The number of instances: one primary, the others are replicas. 0 stops the cluster and keeps the data."""
    volume: Volume
    postgresql: PostgresqlParameters
    users: dict[str, Annotated[list[Flag] | None, kw.Nullable()]] | None = None
    """The users by name, with their flags. Each has a Secret with its password. A removed user loses its login."""
    databases: dict[str, str] | None = None
    """The owner of each database. A removed database is kept."""
    prepared_databases: dict[str, PreparedDatabase] | None = None
    clone: Clone | None = None
    """The cluster whose data a new cluster starts with."""
    resources: Resources | None = None
    allowed_source_ranges: list[str] | None = None
    """The clients of load balancers, as CIDRs."""
    enable_master_load_balancer: bool | None = None
    enable_replica_load_balancer: bool | None = None
    docker_image: str | None = None
    """The image of the pods. Default: the one of the configuration."""
    env: list[core.EnvVar] | None = None
    sidecars: list[Sidecar] | None = None
    init_containers: list[core.Container] | None = None
    tolerations: list[core.Toleration] | None = None
    node_affinity: core.NodeAffinity | None = None
    pod_annotations: dict[str, str] | None = None
    pod_priority_class_name: str | None = None
    service_annotations: dict[str, str] | None = None
    scheduler_name: str | None = None
    spilo_run_as_user: int | None = None
    spilo_run_as_group: int | None = None
    spilo_fs_group: int | None = msgspec.field(name="spiloFSGroup", default=None)
    enable_shm_volume: bool | None = None
    """Whether shared memory is a volume in memory. Default: true."""
    patroni: Patroni | None = None


class PostgresqlStatus(kw.Model):
    """The observed state."""

    state: State | None = msgspec.field(name="PostgresClusterStatus", default=None)
    """Creating, Running, Updating, CreateFailed, UpdateFailed, SyncFailed or Invalid."""
    message: str | None = None
    """The reason of a state that needs attention, and what to do."""
    observed_generation: int | None = None
    """The generation of the spec that the state describes."""
    number_of_instances: int | None = None
    """The number of pods."""
    label_selector: str | None = None
    """The selector of the pods."""
    primary: str | None = None
    """The pod of the primary."""
    conditions: list[meta.Condition] | None = None


@kw.resource(
    f"{GROUP}/v1",
    kind="postgresql",
    plural="postgresqls",
    short_names=["pg"],
    categories=["all"],
    scale_subresource=kw.Scale(
        spec=".spec.numberOfInstances", status=".status.numberOfInstances", selector=".status.labelSelector"
    ),
    columns={
        "Team": ".spec.teamId",
        "Version": ".spec.postgresql.version",
        "Pods": ".spec.numberOfInstances",
        "Volume": ".spec.volume.size",
        "CPU-Request": ".spec.resources.requests.cpu",
        "Memory-Request": ".spec.resources.requests.memory",
        "Age": ".metadata.creationTimestamp",
        "Status": ".status.PostgresClusterStatus",
    },
    states=kw.States(
        ".status.PostgresClusterStatus",
        ready=(State.RUNNING,),
        failing=(State.CREATE_FAILED, State.UPDATE_FAILED, State.SYNC_FAILED, State.INVALID),
    ),
    form=FORM,
)
class Postgresql(kw.Resource[PostgresqlSpec, PostgresqlStatus]):
    """A PostgreSQL cluster: a primary with streaming replicas and automatic failover."""
