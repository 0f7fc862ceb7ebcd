"""Tests of the objects of a cluster: pure functions of its spec and the configuration."""

from __future__ import annotations

import json

from postgres_operator import children
from postgres_operator.kinds import Configuration, Postgresql, PostgresqlParameters, Resources
from postgres_operator.kinds.configuration import KubernetesSettings, LoadBalancerSettings, RetentionPolicy
from postgres_operator.kinds.postgresql import ResourceAmounts
from worlds import MANIFESTS, minimal

import kubewright as kw
from kubewright.api import apps, core, from_yaml

CONFIG = Configuration()
NAME = "acid-minimal-cluster"


def stateful_set(
    cluster: Postgresql, config: Configuration = CONFIG, existing: apps.StatefulSet | None = None
) -> apps.StatefulSet:
    return children.stateful_set(cluster, config, children.environment_of(cluster, "17", existing))


def pod_of(made: apps.StatefulSet) -> core.PodSpec:
    assert made.spec.template.spec is not None
    return made.spec.template.spec


def test_stateful_set_is_replaced_by_the_operator_alone() -> None:
    made = stateful_set(minimal())
    assert made.spec.update_strategy is not None
    assert (made.spec.update_strategy.type, made.spec.replicas, made.spec.service_name) == ("OnDelete", 2, NAME)
    assert made.spec.selector.match_labels == {"application": "spilo", "cluster-name": NAME}
    assert pod_of(made).service_account_name == f"postgres-pod-{NAME}"


def test_readiness_does_not_depend_on_a_primary() -> None:
    """An ordered StatefulSet creates the pod that can become the primary only if the pods before it are ready."""
    [container] = pod_of(stateful_set(minimal())).containers
    assert container.readiness_probe is not None
    assert container.readiness_probe.http_get is not None
    assert container.readiness_probe.http_get.path == "/health"


def test_volumes_are_kept_unless_the_configuration_deletes_them() -> None:
    kept = stateful_set(minimal()).spec.persistent_volume_claim_retention_policy
    assert kept is not None
    assert (kept.when_deleted, kept.when_scaled) == ("Retain", "Retain")
    settings = KubernetesSettings(persistent_volume_claim_retention_policy=RetentionPolicy(when_deleted="delete"))
    deleted = stateful_set(minimal(), Configuration(kubernetes=settings)).spec.persistent_volume_claim_retention_policy
    assert deleted is not None
    assert deleted.when_deleted == "Delete"


def test_resources_have_the_defaults_of_the_configuration() -> None:
    resources = Resources(requests=ResourceAmounts(cpu="10m"))
    [container] = pod_of(stateful_set(minimal(resources=resources))).containers
    assert container.resources is not None
    assert container.resources.requests == {"cpu": kw.Quantity("10m"), "memory": kw.Quantity("100Mi")}
    assert container.resources.limits == {"cpu": kw.Quantity("1"), "memory": kw.Quantity("500Mi")}


def test_huge_pages_reach_the_container() -> None:
    pages = ResourceAmounts(hugepages_2mi="128Mi", hugepages_1gi="1Gi")
    [container] = pod_of(stateful_set(minimal(resources=Resources(limits=pages)))).containers
    assert container.resources is not None
    limits = container.resources.limits or {}
    assert (limits["hugepages-2Mi"], limits["hugepages-1Gi"]) == (kw.Quantity("128Mi"), kw.Quantity("1Gi"))


def test_every_supported_field_reaches_the_pod() -> None:
    cluster = from_yaml(Postgresql, (MANIFESTS / "complete.yaml").read_text())
    made = stateful_set(cluster)
    pod = pod_of(made)
    assert [container.name for container in pod.containers] == ["postgres", "exporter"]
    assert [container.name for container in pod.init_containers or []] == ["date"]
    assert {variable.name for variable in pod.containers[0].env or []} >= {"SCOPE", "USEFUL_VAR", "PGVERSION"}
    assert pod.security_context is not None
    assert (pod.security_context.run_as_user, pod.security_context.fs_group) == (101, 103)
    assert [toleration.key for toleration in pod.tolerations or []] == ["postgres"]
    assert pod.affinity is not None
    assert pod.affinity.node_affinity == cluster.spec.node_affinity
    assert made.spec.template.metadata is not None
    assert made.spec.template.metadata.annotations == {"example.com/owner": "acid"}
    assert "dshm" in {volume.name for volume in pod.volumes or []}


def test_own_variables_cannot_be_replaced() -> None:
    env = [core.EnvVar(name="SCOPE", value="other")]
    [container] = pod_of(stateful_set(minimal(env=env))).containers
    assert [variable.value for variable in container.env or [] if variable.name == "SCOPE"] == [NAME]


def test_change_of_a_parameter_does_not_replace_pods() -> None:
    before = stateful_set(minimal())
    parameters = PostgresqlParameters(version="17", parameters={"work_mem": "8MB"})
    assert stateful_set(minimal(postgresql=parameters), CONFIG, before) == before


def test_primary_has_a_service_without_a_selector() -> None:
    service = children.master_service_of(minimal(), CONFIG)
    assert service.spec is not None
    assert (service.spec.selector, service.spec.type) == (None, "ClusterIP")
    replicas = children.replica_service_of(minimal(), CONFIG)
    assert replicas.spec is not None
    assert (replicas.spec.selector or {})["spilo-role"] == "replica"


def test_load_balancer_without_ranges_has_no_clients() -> None:
    service = children.master_service_of(minimal(enable_master_load_balancer=True), CONFIG)
    assert service.spec is not None
    assert (service.spec.type, service.spec.load_balancer_source_ranges) == ("LoadBalancer", ["127.0.0.1/32"])
    config = Configuration(load_balancer=LoadBalancerSettings(enable_replica_load_balancer=True))
    service = children.replica_service_of(minimal(allowed_source_ranges=["10.0.0.0/8"]), config)
    assert service.spec is not None
    assert (service.spec.type, service.spec.load_balancer_source_ranges) == ("LoadBalancer", ["10.0.0.0/8"])


def test_pods_may_write_only_the_endpoints_of_their_cluster() -> None:
    rules = children.role_of(minimal(), CONFIG).rules or []
    writes = [rule for rule in rules if {"patch", "update"} & set(rule.verbs) and "endpoints" in (rule.resources or [])]
    assert [rule.resource_names for rule in writes] == [[NAME, f"{NAME}-config", f"{NAME}-failover", f"{NAME}-sync"]]
    assert {resource for rule in rules for resource in rule.resources or []} == {"endpoints", "pods"}
    [subject] = children.role_binding_of(minimal(), CONFIG).subjects or []
    assert (subject.kind, subject.name) == ("ServiceAccount", f"postgres-pod-{NAME}")


def test_budget_protects_the_primary_unless_disabled() -> None:
    spec = children.budget_of(minimal(), CONFIG).spec
    assert spec is not None
    assert spec.min_available == 1
    disabled = Configuration(kubernetes=KubernetesSettings(enable_pod_disruption_budget=False))
    for cluster, config in ((minimal(number_of_instances=0), CONFIG), (minimal(), disabled)):
        spec = children.budget_of(cluster, config).spec
        assert spec is not None
        assert spec.min_available == 0


def test_instances_stay_within_the_limits_of_the_configuration() -> None:
    config = Configuration(min_instances=2, max_instances=3)
    assert [children.instances_of(minimal(number_of_instances=n), config) for n in (0, 1, 2, 9)] == [0, 2, 2, 3]


def test_secrets_of_equal_users_differ_by_cluster() -> None:
    names = {children.secret_name("foo_user", name) for name in ("acid-a", "acid-b")}
    assert names == {
        "foo-user.acid-a.credentials.postgresql.acid.zalan.do",
        "foo-user.acid-b.credentials.postgresql.acid.zalan.do",
    }


def test_first_configuration_of_patroni_is_that_of_the_spec() -> None:
    cluster = from_yaml(Postgresql, (MANIFESTS / "complete.yaml").read_text())
    [value] = [one.value for one in children.environment_of(cluster, "17", None) if one.name == "SPILO_CONFIGURATION"]
    bootstrap = json.loads(value or "")["bootstrap"]
    assert bootstrap["dcs"]["postgresql"]["parameters"]["max_connections"] == "10"
    assert {"encoding": "UTF8"} in bootstrap["initdb"]
