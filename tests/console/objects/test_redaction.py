"""Masking of Secrets."""

from __future__ import annotations

import pytest

from kubewright.console.forms import write_yaml
from kubewright.console.objects import REDACTED, redact_secret, without_managed_fields


@pytest.mark.promise(
    "Objects and operators in the console",
    "The values of a Secret are masked until the viewer reveals them, and are not in the page before.",
)
def test_masks_secret_values_and_kubectls_copy() -> None:
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


def test_mask_hides_the_length() -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "data": {"a": "eA==", "b": "x" * 400}}
    assert redact_secret(secret)["data"] == {"a": REDACTED, "b": REDACTED}
    assert redact_secret({**secret, "data": "odd"})["data"] == REDACTED


def test_leaves_other_kinds_unchanged() -> None:
    config = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "b"}}
    assert redact_secret(config) == config
    custom = {"apiVersion": "example.com/v1", "kind": "Secret", "data": {"a": "b"}}
    assert redact_secret(custom) == custom


def test_omits_managed_fields() -> None:
    obj = {"metadata": {"name": "a", "managedFields": [{"manager": "me"}]}, "spec": {}}
    assert without_managed_fields(obj) == {"metadata": {"name": "a"}, "spec": {}}
    assert without_managed_fields({"metadata": 7}) == {"metadata": 7}
