"""The Services of a cluster."""

from kubewright.api import core, meta
from postgres_operator.children.names import labels_of, selector_of
from postgres_operator.kinds import Configuration, Postgresql
from postgres_operator.patroni import POSTGRES_PORT, REPLICA, ROLE_LABEL

NO_CLIENTS = ["127.0.0.1/32"]
"""The clients of a load balancer without `allowedSourceRanges`: none."""


def master_service_of(cluster: Postgresql, config: Configuration) -> core.Service:
    """Returns the Service of the primary. It has no selector: Patroni writes its Endpoints."""
    default = config.load_balancer.enable_master_load_balancer
    spec = _spec(cluster, config, cluster.spec.enable_master_load_balancer, default)
    return core.Service(metadata=_metadata(cluster, config, cluster.metadata.name), spec=spec)


def replica_service_of(cluster: Postgresql, config: Configuration) -> core.Service:
    """Returns the Service of the replicas, by the label that Patroni sets."""
    default = config.load_balancer.enable_replica_load_balancer
    spec = _spec(cluster, config, cluster.spec.enable_replica_load_balancer, default)
    spec.selector = {**selector_of(cluster), ROLE_LABEL: REPLICA}
    return core.Service(metadata=_metadata(cluster, config, f"{cluster.metadata.name}-repl"), spec=spec)


def config_service_of(cluster: Postgresql) -> core.Service:
    """Returns the Service of the Endpoints in which Patroni keeps its configuration, so that they are not orphans."""
    metadata = meta.ObjectMeta(name=f"{cluster.metadata.name}-config", labels=labels_of(cluster))
    return core.Service(metadata=metadata, spec=core.ServiceSpec(cluster_ip="None"))


def _spec(cluster: Postgresql, config: Configuration, wanted: bool | None, default: bool) -> core.ServiceSpec:
    spec = core.ServiceSpec(
        type="ClusterIP",
        ports=[core.ServicePort(name="postgresql", port=POSTGRES_PORT, target_port=POSTGRES_PORT, protocol="TCP")],
    )
    if default if wanted is None else wanted:
        spec.type = "LoadBalancer"
        spec.external_traffic_policy = config.load_balancer.external_traffic_policy
        spec.load_balancer_source_ranges = cluster.spec.allowed_source_ranges or NO_CLIENTS
    return spec


def _metadata(cluster: Postgresql, config: Configuration, name: str) -> meta.ObjectMeta:
    annotations = {
        **(config.load_balancer.custom_service_annotations or {}),
        **(cluster.spec.service_annotations or {}),
    }
    return meta.ObjectMeta(name=name, labels=labels_of(cluster), annotations=annotations)
