"""Values that are bytes: a text among them would be taken for base64."""

from __future__ import annotations

from typing import Any

import pytest

from kubewright.api import core, decode, encode, meta
from kubewright.client.wire import apply_body, changes, request_body

PLACE = meta.ObjectMeta(name="one", namespace="default", resource_version="7")
TEXT: Any = "hunter22"  # which is base64 for six other bytes


@pytest.mark.parametrize(
    ("obj", "words"),
    [
        (core.Secret(metadata=PLACE, data={"password": TEXT}), r"Secret\.data\['password'\] .* string_data"),
        (core.ConfigMap(metadata=PLACE, binary_data={"logo": TEXT}), r"ConfigMap\.binary_data\['logo'\] .* into data"),
    ],
)
def test_rejects_strings_for_bytes_and_names_the_field_for_strings(
    obj: core.Secret | core.ConfigMap, words: str
) -> None:
    for send in (request_body, apply_body):
        with pytest.raises(TypeError, match=words) as refused:
            send(obj)
        assert TEXT not in str(refused.value)


def test_rejects_strings_for_bytes_in_objects_that_were_read() -> None:
    stored = decode(core.Secret, encode(core.Secret(metadata=PLACE, data={"password": b"secret"})))
    assert stored.data is not None
    stored.data["password"] = TEXT
    with pytest.raises(TypeError, match="must be bytes, not str"):
        changes(stored)


def test_bytes_are_sent() -> None:
    sent = decode(core.Secret, request_body(core.Secret(metadata=PLACE, data={"password": b"hunter22"})))
    assert sent.data == {"password": b"hunter22"}
