"""Tests of the custom resources: upstream's manifests, and what is refused or named."""

from __future__ import annotations

from typing import Any

import pytest
from postgres_operator.kinds import (
    Clone,
    Configuration,
    OperatorConfiguration,
    Postgresql,
    Volume,
    problems_of,
    unsupported_in,
    unsupported_settings,
    without_effect,
)
from worlds import MANIFESTS, minimal

import kubewright as kw
from kubewright.api import JSON, from_yaml, info_of, to_dict
from kubewright.crd import crd_of


def test_kinds_have_the_names_of_upstream() -> None:
    names = crd_of(Postgresql).spec.names
    assert (names.kind, names.plural, names.short_names, info_of(Postgresql).namespaced) == (
        "postgresql",
        "postgresqls",
        ["pg"],
        True,
    )
    names = crd_of(OperatorConfiguration).spec.names
    assert (names.kind, names.plural, names.short_names) == (
        "OperatorConfiguration",
        "operatorconfigurations",
        ["opconfig"],
    )


def test_columns_are_those_of_upstream() -> None:
    columns = crd_of(Postgresql).spec.versions[0].additional_printer_columns or []
    assert [column.name for column in columns] == [
        "Team",
        "Version",
        "Pods",
        "Volume",
        "CPU-Request",
        "Memory-Request",
        "Age",
        "Status",
    ]


@pytest.mark.parametrize("name", ["minimal", "complete"])
def test_manifests_are_valid(name: str) -> None:
    cluster = from_yaml(Postgresql, (MANIFESTS / f"{name}.yaml").read_text())
    kw.validate(cluster)
    assert problems_of(cluster, Configuration()) == []


def test_names_fields_without_an_effect() -> None:
    cluster = from_yaml(Postgresql, (MANIFESTS / "complete.yaml").read_text())
    assert unsupported_in(cluster.spec, cluster.spec.volume) == [
        "spec.additionalVolumes",
        "spec.connectionPooler",
        "spec.enableConnectionPooler",
        "spec.maintenanceWindows",
        "spec.tls",
    ]
    off = minimal(enable_logical_backup=False).spec
    assert unsupported_in(off, off.volume) == []  # asks for nothing
    assert unsupported_in(off, Volume(size="1Gi", iops=3000)) == ["spec.volume.iops"]


UPSTREAM = [
    "additionalVolumes",
    "allowedSourceRanges",
    "clone",
    "connectionPooler",
    "databases",
    "dockerImage",
    "enableConnectionPooler",
    "enableLogicalBackup",
    "enableMasterLoadBalancer",
    "enableMasterPoolerLoadBalancer",
    "enableReplicaConnectionPooler",
    "enableReplicaLoadBalancer",
    "enableReplicaPoolerLoadBalancer",
    "enableShmVolume",
    "env",
    "initContainers",
    "init_containers",
    "logicalBackupRetention",
    "logicalBackupSchedule",
    "maintenanceWindows",
    "masterServiceAnnotations",
    "nodeAffinity",
    "numberOfInstances",
    "patroni",
    "podAnnotations",
    "podPriorityClassName",
    "pod_priority_class_name",
    "postgresql",
    "preparedDatabases",
    "replicaLoadBalancer",
    "replicaServiceAnnotations",
    "resources",
    "schedulerName",
    "serviceAnnotations",
    "sidecars",
    "spiloFSGroup",
    "spiloRunAsGroup",
    "spiloRunAsUser",
    "standby",
    "streams",
    "teamId",
    "tls",
    "tolerations",
    "useLoadBalancer",
    "users",
    "usersIgnoringSecretRotation",
    "usersWithInPlaceSecretRotation",
    "usersWithSecretRotation",
    "volume",
]

UPSTREAM_BELOW = {
    "clone.properties": "cluster uid timestamp s3_wal_path s3_endpoint s3_access_key_id s3_secret_access_key"
    " s3_force_path_style",
    "patroni.properties": "initdb pg_hba ttl loop_wait retry_timeout maximum_lag_on_failover slots synchronous_mode"
    " synchronous_mode_strict synchronous_node_count failsafe_mode",
    "postgresql.properties": "version parameters",
    "preparedDatabases.additionalProperties.properties": "defaultUsers extensions schemas secretNamespace",
    "preparedDatabases.additionalProperties.properties.schemas.additionalProperties.properties": "defaultUsers"
    " defaultRoles",
    "resources.properties.limits.properties": "cpu memory hugepages-2Mi hugepages-1Gi",
    "resources.properties.requests.properties": "cpu memory hugepages-2Mi hugepages-1Gi",
    "sidecars.items.properties": "name image ports env resources command",
    "volume.properties": "size storageClass subPath isSubPathExpr iops throughput selector type",
}
"""Fields below those of the spec, by their path in the schema."""


@pytest.mark.promise("Postgres example", "Every field of the public API is supported, or named if it has no effect.")
def test_schema_has_every_field_of_the_public_api() -> None:
    [version] = crd_of(Postgresql).spec.versions
    assert version.schema is not None
    schema = to_dict(version.schema)["openAPIV3Schema"]["properties"]["spec"]["properties"]
    assert [name for name in UPSTREAM if name not in schema] == []
    for path, names in UPSTREAM_BELOW.items():
        below = schema
        for step in path.split("."):
            below = below[step]
        assert [name for name in names.split() if name not in below] == [], path


def test_names_settings_without_an_effect() -> None:
    content: JSON = {
        "docker_image": "x",
        "etcd_host": "",
        "kubernetes": {"pdb_name_format": "{cluster}", "watched_namespace": "*"},
        "aws_or_gcp": {"aws_region": "eu-central-1"},
    }
    assert unsupported_settings(Configuration, content) == [
        "configuration.etcd_host",
        "configuration.kubernetes.watched_namespace",
        "configuration.aws_or_gcp",
    ]


def test_names_every_setting_without_an_effect_in_messages_that_fit_into_events() -> None:
    names = unsupported_settings(Configuration, {"kubernetes": {f"setting-number-{n}": n for n in range(100)}})
    messages = without_effect("settings", names)
    assert all(message.startswith("these settings have no effect: configuration.kubernetes.") for message in messages)
    assert [name for message in messages for name in message.partition(": ")[2].split(", ")] == names
    assert max(map(len, messages)) < 1024
    assert without_effect("settings", []) == []


def test_number_of_messages_is_bounded() -> None:
    messages = without_effect("settings", [f"configuration.setting{n}" for n in range(5_000)])
    named = sum(message.count("configuration.setting") for message in messages)
    assert (len(messages), messages[-1].endswith(f", and {5_000 - named} more")) == (8, True)


def test_configuration_has_snake_case_names_and_defaults() -> None:
    content = to_dict(OperatorConfiguration())["configuration"]
    assert content["kubernetes"]["persistent_volume_claim_retention_policy"]["when_deleted"] == "retain"
    assert content["enable_team_id_clustername_prefix"] is True


@pytest.mark.parametrize(
    ("name", "spec", "problem"),
    [
        ("other-cluster", {}, "metadata.name must start with the team and a dash: acid-"),
        ("acid-", {}, "metadata.name must start with the team"),
        (f"acid-{'x' * 60}", {}, "metadata.name has 65 characters"),
        ("acid-a.b", {}, "metadata.name must be the name of a Service"),
        (
            "acid-a",
            {"clone": Clone(cluster="acid-b", timestamp="2026-11-18T00:00:00+00:00")},
            "spec.clone.timestamp is not supported",
        ),
        ("acid-a", {"clone": Clone(cluster="acid-b", s3_wal_path="s3://b")}, "spec.clone.s3_wal_path is not supported"),
        ("acid-a", {"clone": Clone(cluster="acid-a", timestamp="")}, "spec.clone.cluster is the cluster itself"),
        ("acid-a", {"standby": {"s3_wal_path": "s3://b"}}, "spec.standby is not supported"),
        ("acid-a", {"databases": {"foo": "stranger"}}, "spec.databases.foo: the owner stranger is not in spec.users"),
        ("acid-a", {"databases": {"1foo": "zalando"}}, "spec.databases.1foo: a database name"),
        ("acid-a", {"users": {"a_b": [], "a-b": []}, "databases": {}}, "the Secret of user a_b has the same name"),
        ("acid-a", {"users": {"Zalando": []}, "databases": {}}, "spec.users.Zalando: a user name"),
        ("acid-a", {"users": {"postgres": []}, "databases": {}}, "the operator manages this user"),
        ("acid-a", {"users": {"admin": []}, "databases": {}}, "the configuration protects this role"),
        ("acid-a", {"users": {"a": ["LOGIN", "nologin"]}, "databases": {}}, "contradict each other"),
        ("acid-a", {"databases": {"bar": "zalando"}}, "spec.preparedDatabases.bar is in spec.databases, too"),
    ],
)
def test_names_problem_with_field_and_fix(name: str, spec: dict[str, Any], problem: str) -> None:
    assert any(problem in found for found in problems_of(minimal(name, **spec), Configuration()))


def test_team_prefix_rule_can_be_disabled_and_ignores_case() -> None:
    config = Configuration(enable_team_id_clustername_prefix=False)
    assert problems_of(minimal("other-cluster"), config) == []
    assert problems_of(minimal(team_id="ACID"), Configuration()) == []
