"""Requests for deletion. No controller runs, so the finalizers show the propagation."""

from __future__ import annotations

import pytest

from kubewright.api import ObjectMeta, core
from kubewright.client import Client, Conflict, Propagation
from kubewright.console.forms import Writer

pytestmark = pytest.mark.clusters


@pytest.fixture
def cluster_settings() -> dict[str, bool]:
    return {"controllers": False}


async def writer_and_uid(client: Client, namespace: str) -> tuple[Writer, str]:
    made = await client.create(core.ConfigMap(metadata=ObjectMeta(name="doomed", namespace=namespace)))
    assert made.metadata.uid is not None
    return Writer(client, await client.kind("v1", "ConfigMap")), made.metadata.uid


@pytest.mark.parametrize(
    ("way", "finalizers"),
    [("Background", None), ("Foreground", ["foregroundDeletion"]), ("Orphan", ["orphan"])],
)
async def test_deletes_with_chosen_propagation(
    client: Client, cluster_namespace: str, way: Propagation, finalizers: list[str] | None
) -> None:
    writer, uid = await writer_and_uid(client, cluster_namespace)
    written = await writer.delete("doomed", cluster_namespace, uid, way)
    if finalizers is None:
        assert written.value is None
    else:
        assert written.value is not None
        assert written.value["metadata"]["finalizers"] == finalizers


async def test_does_not_delete_another_object_with_the_name(client: Client, cluster_namespace: str) -> None:
    writer, _ = await writer_and_uid(client, cluster_namespace)
    with pytest.raises(Conflict):
        await writer.delete("doomed", cluster_namespace, "0f0f0f0f-0000-4000-8000-000000000000", "Background")
    assert await client.find(core.ConfigMap, "doomed", cluster_namespace) is not None
