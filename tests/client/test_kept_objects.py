"""What the answer to a deletion says: whether the object is gone, or something keeps it for a while."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from kubewright.api import core
from kubewright.client.wire import kept_object


def answer(**metadata: Any) -> bytes:
    named = {"name": "one", "namespace": "default", "resourceVersion": "7"}
    return msgspec.json.encode({"apiVersion": "v1", "kind": "ConfigMap", "metadata": named | metadata})


@pytest.mark.parametrize(
    "metadata", [{"finalizers": ["example.com/wait"]}, {"deletionGracePeriodSeconds": 30, "finalizers": []}]
)
def test_an_object_with_finalizers_or_a_grace_period_is_still_there(metadata: dict[str, Any]) -> None:
    kept = kept_object(core.ConfigMap, answer(deletionTimestamp="2030-01-01T00:00:00Z", **metadata))
    assert kept is not None
    assert kept.metadata.resource_version == "7"


@pytest.mark.parametrize(
    "raw",
    [
        b'{"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}',
        answer(),
        answer(deletionTimestamp="2030-01-01T00:00:00Z", deletionGracePeriodSeconds=0),
        answer(deletionTimestamp="2030-01-01T00:00:00Z", finalizers=[], labels=7),
        b"not json",
        b"",
    ],
)
def test_everything_else_means_that_it_is_gone(raw: bytes) -> None:
    assert kept_object(core.ConfigMap, raw) is None
