"""The fields of spec and status that an object's page shows."""

from __future__ import annotations

from typing import Any

import pytest

from kubewright.api import Untyped, info_of
from kubewright.client import ServedResource
from kubewright.console.kinds import Kind, kinds_of
from kubewright.console.objects import Fact, facts_of

PROPERTIES = {
    "spec": {
        "properties": {
            "sizeGB": {"description": "The size."},
            "tags": {},
            "mode": {"title": "Write mode"},
            "token": {"format": "password"},
        }
    }
}


def disk(form: str = "{}") -> Kind:
    """Returns a custom kind with columns and a form."""
    version = {
        "name": "v1",
        "served": True,
        "schema": {"openAPIV3Schema": {"properties": PROPERTIES}},
        "additionalPrinterColumns": [
            {"name": "Disk size", "type": "integer", "jsonPath": ".spec.sizeGB"},
            {"name": "First tag", "type": "string", "jsonPath": ".spec.tags[0]"},
        ],
    }
    definition: dict[str, Any] = {
        "metadata": {"name": "disks.example.com", "annotations": {"console.kubewright.dev/form": form}},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"kind": "Disk", "plural": "disks"},
            "versions": [version],
        },
        "status": {"conditions": [{"type": "Established", "status": "True"}]},
    }
    [kind] = kinds_of([definition], [])
    return kind


def shown(kind: Kind, obj: dict[str, Any]) -> dict[str, dict[str, str]]:
    return {group.title: {fact.name: fact.value for fact in group.facts} for group in facts_of(kind, obj)}


OBJ: dict[str, Any] = {
    "metadata": {"name": "a"},
    "spec": {
        "mode": "sync",
        "token": "hunter2",
        "tags": ["a", "b"],
        "mounts": [{"path": "/"}, {"path": "/x"}],
        "nothing": None,
        "sizeGB": 3,
        "backup": {"enabled": True, "target": {"url": "s3://x", "deep": {"deeper": {"most": 1}}}},
    },
    "status": {"readyReplicas": 2, "observedGeneration": 4, "conditions": [{"type": "Ready"}]},
}


@pytest.mark.promise(
    "Objects and operators in the console",
    "The overview shows spec and status with the names of columns, form sections, labels and the schema.",
)
def test_names_fields_by_columns_form_and_schema() -> None:
    assert shown(disk(), OBJ) == {
        "Summary": {"First tag": "a"},
        "Spec": {
            "Disk size": "3",
            "Write mode": "sync",
            "Token": "••••••••",
            "Tags": "a, b",
            "Mounts": "2 items",
            "Backup / enabled": "yes",
            "Backup / target / url": "s3://x",
            "Backup / target / deep": "1 field",
        },
        "Status": {"Ready replicas": "2"},
    }
    first = facts_of(disk(), OBJ)[1].facts[0]
    assert first == Fact("Disk size", "3", "spec.sizeGB", "The size.")
    form = '{"sections":[{"title":"Backups","fields":[".spec.backup"]}],"labels":{".spec.mode":"Mode of writing"}}'
    declared = shown(disk(form), OBJ)
    assert [*declared] == ["Summary", "Backups", "Spec", "Status"]
    assert next(iter(declared["Backups"])) == "Backup / enabled"
    assert declared["Spec"]["Mode of writing"] == "sync"


def test_summarizes_built_in_kinds() -> None:
    deployment = Untyped.kind_of("apps/v1", "Deployment", plural="deployments")
    served = ServedResource(info=info_of(deployment), verbs=frozenset(["list", "watch"]))
    [kind] = kinds_of([], [served])
    template = {"spec": {"containers": [{"name": "web", "image": "nginx"}]}}
    spec = {"replicas": 3, "selector": {"matchLabels": {"app": "web"}}, "template": template}
    found = shown(kind, {"metadata": {"name": "web"}, "spec": spec, "status": {"readyReplicas": 1, "replicas": 3}})
    assert (found["Summary"]["Ready"], found["Summary"]["Images"]) == ("1/3", "nginx")
    assert found["Spec"]["Template / spec / containers"] == "1 item"
    assert found["Status"]["Ready replicas"] == "1"


def test_bounds_untrusted_objects() -> None:
    many = {f"field{at}": "x" * 1_000 for at in range(1_000)}
    deep: dict[str, Any] = {}
    for _ in range(500):
        deep = {"a": deep}
    [group] = facts_of(disk(), {"spec": many, "status": "odd"})
    assert len(group.facts) == 24
    assert group.omitted == 376
    assert all(len(fact.value) <= 201 for fact in group.facts)
    assert shown(disk(), {"spec": {"tags": [*range(9)], "deep": deep}})["Spec"] == {
        "Tags": "0, 1, 2, 3, 4 and 4 more",
        "Deep / a / a": "1 field",
    }
    assert facts_of(disk(), {"spec": [], "status": None}) == []
