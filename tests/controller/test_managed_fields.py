"""Which of the server's notes about our field manager become those of an apply. On a server: `test_apply.py`."""

from __future__ import annotations

from typing import Any

import pytest

from kubewright.controller.fields import created_as_applied, released


def entry(manager: str = "wright", operation: str = "Update", version: str = "v1", **more: Any) -> dict[str, Any]:
    named = {"manager": manager, "operation": operation, "apiVersion": version, "fieldsType": "FieldsV1"}
    return named | {"fieldsV1": {"f:data": {"f:a": {}}}} | more


@pytest.mark.promise(
    "Owned objects and `apply`",
    "A field that is no longer asked for goes, also one from the first create.",
)
def test_the_managers_update_becomes_an_apply_in_its_place() -> None:
    before = [entry("one"), entry(time="2030-01-01T00:00:00Z"), entry("two")]
    after = created_as_applied(before, "wright", "v1")
    assert after == [entry("one"), entry(operation="Apply", time="2030-01-01T00:00:00Z"), entry("two")]
    assert before[1]["operation"] == "Update"


def test_what_was_created_to_be_applied_becomes_the_managers_whole_and_its_own_updates_stay() -> None:
    fields = {"f:metadata": {"f:finalizers": {"v:x": {}}}, "f:data": {"f:b": {}}}
    before = [entry(), entry("wright-create", fieldsV1=fields)]
    assert created_as_applied(before, "wright", "v1") == [entry(), entry(operation="Apply", fieldsV1=fields)]


def test_other_managers_subresources_and_versions_are_left() -> None:
    others = [entry("other"), entry(subresource="status"), entry(version="v1beta1"), entry("other", "Apply")]
    assert created_as_applied(others, "wright", "v1") is None


def test_finalizers_stay_with_the_update() -> None:
    finalizers: dict[str, Any] = {"f:metadata": {"f:finalizers": {"v:x": {}}}}
    fields = {"f:metadata": {"f:labels": {"f:a": {}}, **finalizers["f:metadata"]}, "f:data": {}}
    after = created_as_applied([entry(fieldsV1=fields)], "wright", "v1")
    assert after == [
        entry(operation="Apply", fieldsV1={"f:metadata": {"f:labels": {"f:a": {}}}, "f:data": {}}),
        entry(fieldsV1=finalizers),
    ]


def test_what_is_released_is_taken_out_of_the_managers_apply_alone() -> None:
    fields: dict[str, Any] = {"f:spec": {"f:replicas": {}, "f:paused": {}}, "f:data": {"f:a": {}}}
    before = [
        entry("other", "Apply", fieldsV1=fields),
        entry(fieldsV1=fields),
        entry(operation="Apply", fieldsV1=fields),
    ]
    kept: dict[str, Any] = {"f:spec": {"f:paused": {}}, "f:data": {"f:a": {}}}
    assert released(before, "wright", ["spec.replicas"]) == [*before[:2], entry(operation="Apply", fieldsV1=kept)]
    assert before[2]["fieldsV1"] == fields


def test_a_struct_of_which_no_field_is_left_is_released_too() -> None:
    before = [entry(operation="Apply", fieldsV1={"f:spec": {"f:replicas": {}}, "f:data": {"f:a": {}}})]
    assert released(before, "wright", ["spec.replicas"]) == [entry(operation="Apply")]


def test_nothing_changes_where_there_is_nothing_to_release() -> None:
    before = [entry(operation="Apply"), entry(operation="Apply", subresource="status")]
    assert released(before, "wright", ["spec.replicas", "data.b"]) == before
