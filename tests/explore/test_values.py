"""Changes of a spec, drawn from its schema."""

from __future__ import annotations

from typing import Any

from kubewright.explore.model import MISSING_IMAGE
from kubewright.explore.workloads import changed, changes_of, entries_of, missing_images_of


def drawn(value: Any, schema: dict[str, Any], *, required: bool = False) -> list[Any]:
    """Returns the new values of a field; None for its removal."""
    spec = {"type": "object", "properties": {"field": schema}, "required": ["field"] if required else []}
    obj = {"spec": {} if value is None else {"field": value}}
    found = changes_of(obj, {"properties": {"spec": spec}})
    return [None if change.remove else change.value for change in found if change.path == ("spec", "field")]


def test_draws_numbers_within_their_bounds() -> None:
    assert drawn(2, {"type": "integer", "minimum": 1, "maximum": 3}, required=True) == [3, 1, 1, 3]
    assert drawn(None, {"type": "integer"}) == [2, 0]


def test_draws_every_other_value_of_an_enum() -> None:
    assert drawn("a", {"type": "string", "enum": ["a", "b", "c"]}, required=True) == ["b", "c"]


def test_removes_optional_fields_only() -> None:
    assert None in drawn("a", {"type": "string"})
    assert None not in drawn("a", {"type": "string"}, required=True)


def test_adds_and_removes_entries_of_lists_and_maps() -> None:
    assert drawn(["a"], {"type": "array", "items": {"type": "string"}}, required=True) == [[], ["a", "a-2"]]
    schema = {"type": "object", "additionalProperties": {"type": "string"}}
    assert drawn({"k": "v"}, schema, required=True) == [{"k": "v", "explored": "explored"}, {}]


def test_varies_quantities() -> None:
    assert drawn("1Gi", {"type": "string"}, required=True) == ["2Gi", "1024Mi"]
    assert drawn("64Mi", {"x-kubernetes-int-or-string": True}, required=True) == ["65Mi", "65536Ki"]
    assert drawn("web", {"type": "string", "minLength": 1}, required=True) == ["web-2"]


def test_varies_fractions() -> None:
    assert 500.5 in drawn(500, {"type": "number"}, required=True)
    assert 500.5 not in drawn(500, {"type": "number", "maximum": 500}, required=True)


def test_a_change_can_be_reverted() -> None:
    obj = {"spec": {"a": 1, "list": ["x", "y"]}}
    schema = {
        "properties": {
            "spec": {
                "properties": {
                    "a": {"type": "integer"},
                    "b": {"type": "boolean"},
                    "list": {"type": "array", "items": {"type": "string"}},
                }
            }
        }
    }
    for change in changes_of(obj, schema):
        assert changed(obj, change) != obj
        assert changed(changed(obj, change), change.back()) == obj


def test_changes_plain_entries_of_a_configmap() -> None:
    data = {"color": "blue", "count": "3", "debug": "true", "script": "a=1\nb=2", "json": '{"a": 1}', "none": ""}
    found = entries_of({"kind": "ConfigMap", "data": data})
    assert [(change.path, change.value) for change in found] == [
        (("data", "color"), "blue-2"),
        (("data", "count"), "4"),
        (("data", "debug"), "false"),
    ]


def test_changes_entries_of_a_secret_in_base64() -> None:
    secret = {"kind": "Secret", "stringData": {"user": "root"}, "data": {"key": "//8="}}
    (change,) = entries_of(secret)
    assert (change.path, change.value, change.before) == (("data", "user"), "cm9vdC0y", "cm9vdA==")


def test_changes_each_image_to_one_that_is_missing() -> None:
    spec = {"image": "nginx", "sidecars": [{"baseImage": "busybox", "name": "log"}], "imagePullPolicy": "Always"}
    found = list(missing_images_of(spec))
    assert [change.path for change in found] == [("spec", "image"), ("spec", "sidecars", 0, "baseImage")]
    assert {change.value for change in found} == {MISSING_IMAGE}
    assert [change.back().value for change in found] == ["nginx", "busybox"]
