"""Field sets of the server: extracting content, splitting, and taking over former updates of the status."""

from __future__ import annotations

from typing import Any

from kubewright.controller.fields import content_of, part_in, status_fields, status_taken_over, union

READY = 'k:{"type":"Ready"}'
OPEN = 'k:{"type":"Open"}'
STATUS = {
    "size": 3,
    "labels": {"a": "1", "b": "2"},
    "conditions": [{"type": "Ready", "status": "True"}, {"type": "Open", "status": "False"}],
    "tags": ["x", "y"],
    "nodes": ["n1", "n2"],
}


def entry(manager: str, operation: str, fields: dict[str, Any], subresource: str = "status") -> dict[str, Any]:
    return {
        "manager": manager,
        "operation": operation,
        "apiVersion": "example.com/v1",
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:status": fields},
        "subresource": subresource,
    }


def test_extracts_the_content_that_a_manager_owns() -> None:
    fields: dict[str, Any] = {
        "f:size": {},
        "f:labels": {".": {}, "f:a": {}},
        "f:conditions": {".": {}, READY: {".": {}, "f:type": {}, "f:status": {}}},
        "f:tags": {'v:"y"': {}},
        "f:nodes": {},
        "f:gone": {},
    }
    assert content_of(STATUS, fields) == {
        "size": 3,
        "labels": {"a": "1"},
        "conditions": [{"type": "Ready", "status": "True"}],
        "tags": ["y"],
        "nodes": ["n1", "n2"],
    }


def test_splits_a_field_set_by_the_content_that_is_declared() -> None:
    fields: dict[str, Any] = {
        ".": {},
        "f:size": {},
        "f:nodes": {},
        "f:conditions": {".": {}, READY: {".": {}, "f:status": {}}, OPEN: {"f:status": {}}},
    }
    taken, rest = part_in(fields, {"size": 1, "conditions": [{"type": "Ready", "status": "False"}]})
    assert taken == {"f:size": {}, "f:conditions": {READY: {"f:status": {}}}}
    assert rest == {".": {}, "f:nodes": {}, "f:conditions": {".": {}, OPEN: {"f:status": {}}}}


def test_unites_field_sets() -> None:
    assert union({"f:a": {"f:b": {}}}, {"f:a": {"f:c": {}}, "f:d": {}}) == {"f:a": {"f:b": {}, "f:c": {}}, "f:d": {}}


def test_takes_over_the_updates_of_the_former_manager() -> None:
    others = entry("kubectl", "Update", {"f:note": {}})
    entries = [others, entry("op", "Update", {"f:size": {}, "f:old": {}})]
    taken = status_taken_over(entries, "op-site-status", "op", "example.com/v1")
    assert taken is not None
    assert taken[0] == others
    assert status_fields(taken, "op-site-status") == {"f:size": {}, "f:old": {}}
    assert status_fields(taken, "op", "Update") == {}
    assert status_taken_over(taken, "op-site-status", "op", "example.com/v1") is None, "once"


def test_leaves_the_fields_of_other_controllers_to_them() -> None:
    entries = [entry("op", "Update", {"f:size": {}, "f:other": {}}), entry("op-a-status", "Apply", {"f:mine": {}})]
    taken = status_taken_over(entries, "op-a-status", "op", "example.com/v1", only={"size": 1})
    assert taken is not None
    assert status_fields(taken, "op-a-status") == {"f:mine": {}, "f:size": {}}
    assert status_fields(taken, "op", "Update") == {"f:other": {}}


def test_takes_over_nothing_that_was_not_written_at_the_status() -> None:
    entries = [entry("op", "Update", {"f:size": {}}, subresource=""), entry("op", "Apply", {"f:size": {}})]
    assert status_taken_over(entries, "op-site-status", "op", "example.com/v1") is None
