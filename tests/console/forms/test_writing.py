"""What is asked of the server when an object is deleted. No controller is at work, so finalizers show it."""

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
async def test_what_happens_to_owned_objects_is_the_viewers_choice(
    client: Client, cluster_namespace: str, way: Propagation, finalizers: list[str] | None
) -> None:
    writer, uid = await writer_and_uid(client, cluster_namespace)
    written = await writer.delete("doomed", cluster_namespace, uid, way)
    if finalizers is None:
        assert written.value is None
    else:
        assert written.value is not None
        assert written.value["metadata"]["finalizers"] == finalizers


async def test_another_object_of_the_name_is_not_deleted(client: Client, cluster_namespace: str) -> None:
    writer, _ = await writer_and_uid(client, cluster_namespace)
    with pytest.raises(Conflict):
        await writer.delete("doomed", cluster_namespace, "0f0f0f0f-0000-4000-8000-000000000000", "Background")
    assert await client.find(core.ConfigMap, "doomed", cluster_namespace) is not None
