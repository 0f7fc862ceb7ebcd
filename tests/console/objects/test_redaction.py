"""What is masked until somebody asks."""

from __future__ import annotations

import pytest

from kubewright.console.forms import write_yaml
from kubewright.console.objects import REDACTED, redact_secret, without_managed_fields


@pytest.mark.promise(
    "Objects and operators in the console",
    "The values of a Secret are masked until somebody asks, and nowhere on the page before.",
)
def test_no_value_of_a_secret_is_shown_not_even_in_kubectls_copy() -> None:
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": "s",
            "annotations": {
                "kubectl.kubernetes.io/last-applied-configuration": '{"data":{"password":"aHVudGVyMg=="}}',
                "note": "for the shop",
            },
        },
        "data": {"password": "aHVudGVyMg=="},
        "stringData": {"pin": "hunter2"},
        "type": "Opaque",
    }
    shown = write_yaml(redact_secret(secret))
    assert "aHVudGVyMg" not in shown
    assert "hunter2" not in shown
    assert "for the shop" in shown
    assert "password:" in shown
    assert secret["data"] == {"password": "aHVudGVyMg=="}, "the object itself stays as it is"


def test_the_mask_does_not_tell_the_length() -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "data": {"a": "eA==", "b": "x" * 400}}
    assert redact_secret(secret)["data"] == {"a": REDACTED, "b": REDACTED}
    assert redact_secret({**secret, "data": "odd"})["data"] == REDACTED


def test_other_kinds_are_shown_as_they_are() -> None:
    config = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "b"}}
    assert redact_secret(config) == config
    custom = {"apiVersion": "example.com/v1", "kind": "Secret", "data": {"a": "b"}}
    assert redact_secret(custom) == custom


def test_managed_fields_are_folded_away() -> None:
    obj = {"metadata": {"name": "a", "managedFields": [{"manager": "me"}]}, "spec": {}}
    assert without_managed_fields(obj) == {"metadata": {"name": "a"}, "spec": {}}
    assert without_managed_fields({"metadata": 7}) == {"metadata": 7}
