"""Patches, as they are made."""

from __future__ import annotations

from typing import Any

import pytest

from kubewright.client import JsonPatch, MergePatch, StrategicPatch


def test_each_patch_is_of_its_own_form() -> None:
    operations: list[dict[str, Any]] = [{"op": "remove", "path": "/spec/size"}]
    assert JsonPatch(operations).body == operations
    assert JsonPatch(tuple(operations)).body == operations
    assert MergePatch({"spec": {"size": None}}).body == {"spec": {"size": None}}


@pytest.mark.parametrize("wrong", [{"spec": {"token": "secret"}}, "secret", b"secret", None])
def test_operations_are_a_list(wrong: Any) -> None:
    with pytest.raises(
        TypeError, match=f"JsonPatch takes a list of operations, .*, not a {type(wrong).__name__};"
    ) as caught:
        JsonPatch(wrong)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("patch", [MergePatch, StrategicPatch])
@pytest.mark.parametrize("wrong", [[{"op": "add", "value": "secret"}], "secret", None])
def test_merge_patch_must_be_a_mapping(patch: Any, wrong: Any) -> None:
    name = patch.__name__
    with pytest.raises(TypeError, match=f"{name} takes a dict .*, not a {type(wrong).__name__}; a list of") as caught:
        patch(wrong)
    assert "secret" not in str(caught.value)
