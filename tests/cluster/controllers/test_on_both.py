"""Controllers of kube-controller-manager: the same result on the embedded cluster and on the real one."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, TypeVar

import pytest

from kubewright.api import core, meta
from kubewright.client import Client, MergePatch
from kubewright.testing import ControlPlane
from tests.patience import PATIENCE

pytestmark = pytest.mark.clusters
T = TypeVar("T")
HOLD = "example.com/hold"


@pytest.fixture(scope="module")
def control_plane() -> Iterator[ControlPlane]:
    with ControlPlane(controllers=True) as started:
        yield started


@pytest.fixture
def cluster_settings() -> dict[str, Any]:
    return {"workloads": True}


async def eventually(read: Callable[[], Awaitable[T]], holds: Callable[[T], object]) -> T:
    """Reads until the result fulfills a condition."""
    found = await read()
    try:
        async with asyncio.timeout(PATIENCE):
            while not holds(found):
                await asyncio.sleep(0.05)
                found = await read()
    except TimeoutError:
        pytest.fail(f"the last result: {found}")
    return found


# Namespaces


async def conditions(client: Client, name: str) -> dict[str, tuple[str, str, str]]:
    found = await client.find(core.Namespace, name)
    given = [] if found is None or found.status is None else found.status.conditions or []
    return {each.type: (each.status, each.reason or "", each.message or "") for each in given}


FINE = {
    "NamespaceDeletionDiscoveryFailure": ("False", "ResourcesDiscovered", "All resources successfully discovered"),
    "NamespaceDeletionGroupVersionParsingFailure": (
        "False",
        "ParsedGroupVersions",
        "All legacy kube types successfully parsed",
    ),
    "NamespaceDeletionContentFailure": (
        "False",
        "ContentDeleted",
        "All content successfully deleted, may be waiting on finalization",
    ),
    "NamespaceContentRemaining": ("False", "ContentRemoved", "All content successfully removed"),
    "NamespaceFinalizersRemaining": ("False", "ContentHasNoFinalizers", "All content-preserving finalizers finished"),
}


@pytest.mark.promise(
    "The embedded cluster",
    "A namespace is emptied in order, pods first, and its conditions say what is left.",
)
async def test_namespace_deletes_pods_before_everything_else(client: Client) -> None:
    name = f"ordered-{secrets.token_hex(4)}"
    await client.create(core.Namespace(metadata=meta.ObjectMeta(name=name)))
    held = meta.ObjectMeta(name="held", namespace=name, finalizers=[HOLD])
    await eventually(lambda: client.find(core.ServiceAccount, "default", name), lambda found: found is not None)
    spec = core.PodSpec(containers=[core.Container(name="c", image="i")], node_selector={"none": "has-it"})
    await client.create(core.Pod(metadata=held, spec=spec))
    await client.create(core.ConfigMap(metadata=held))
    await client.delete(core.Namespace, name)

    assert await eventually(lambda: conditions(client, name), bool) == FINE
    pod, configuration = await client.get(core.Pod, "held", name), await client.get(core.ConfigMap, "held", name)
    assert pod.metadata.deletion_timestamp is not None
    assert configuration.metadata.deletion_timestamp is None

    release = MergePatch({"metadata": {"finalizers": None}})
    await client.patch(core.Pod, "held", release, name)
    found = await eventually(
        lambda: conditions(client, name), lambda found: found["NamespaceContentRemaining"][0] == "True"
    )
    assert found == FINE | {
        "NamespaceContentRemaining": (
            "True",
            "SomeResourcesRemain",
            "Some resources are remaining: configmaps. has 1 resource instances",
        ),
        "NamespaceFinalizersRemaining": (
            "True",
            "SomeFinalizersRemain",
            f"Some content in the namespace has finalizers remaining: {HOLD} in 1 resource instances",
        ),
    }
    await client.patch(core.ConfigMap, "held", release, name)
    await eventually(lambda: client.find(core.Namespace, name), lambda found: found is None)
