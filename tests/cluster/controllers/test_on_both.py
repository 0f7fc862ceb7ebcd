"""Controllers of kube-controller-manager: the same result on the embedded cluster and on the real one."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, TypeVar

import pytest
import pytest_asyncio

from kubewright.api import Quantity, core, discovery, meta
from kubewright.client import Client, MergePatch, StrategicPatch
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
                await asyncio.sleep(0.05)  # real: a controller of another process acts
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


# Garbage collection


@pytest.mark.promise("The embedded cluster", "A dependent of a deleted and of a valid owner loses the deleted one.")
async def test_dependents_with_a_valid_owner_survive_foreground_deletion(client: Client, namespace: str) -> None:
    labels = {"app": "shared"}
    spec = core.PodSpec(
        containers=[core.Container(name="c", image="i")],
        node_selector={"none": "has-it"},
        termination_grace_period_seconds=0,
    )
    template = core.PodTemplateSpec(metadata=meta.ObjectMeta(labels=labels), spec=spec)
    going, staying = [
        await client.create(
            core.ReplicationController(
                metadata=meta.ObjectMeta(name=name, namespace=namespace),
                spec=core.ReplicationControllerSpec(replicas=replicas, selector={"app": app}, template=of),
            )
        )
        for name, replicas, app, of in (
            ("going", 6, "shared", template),
            ("staying", 0, "other", core.PodTemplateSpec(metadata=meta.ObjectMeta(labels={"app": "other"}), spec=spec)),
        )
    ]
    pods = await eventually(lambda: client.list(core.Pod, namespace, labels=labels), lambda found: len(found) == 6)
    owner = {"apiVersion": "v1", "kind": "ReplicationController", "name": "staying", "uid": staying.metadata.uid}
    shared = {pod.metadata.name for pod in pods[:3]}
    for name in shared:
        await client.patch(core.Pod, name, StrategicPatch({"metadata": {"ownerReferences": [owner]}}), namespace)
    await client.delete(going, propagation="Foreground")
    await client.wait_until_gone(core.ReplicationController, "going", namespace)

    left = await client.list(core.Pod, namespace)
    assert {pod.metadata.name for pod in left} == shared
    assert [pod.metadata.deletion_timestamp for pod in left] == [None] * 3
    assert [[each.name for each in pod.metadata.owner_references or ()] for pod in left] == [["staying"]] * 3


# Mirroring of Endpoints

SERVICE_NAME = "kubernetes.io/service-name"
MIRRORED = {
    SERVICE_NAME: "outside",
    "endpointslice.kubernetes.io/managed-by": "endpointslicemirroring-controller.k8s.io",
}


def endpoints(namespace: str, *subsets: core.EndpointSubset, **metadata: Any) -> core.Endpoints:
    made = meta.ObjectMeta(name="outside", namespace=namespace, **metadata)
    return core.Endpoints(metadata=made, subsets=list(subsets))


def subset(*ready: str, port: int = 80, unready: tuple[str, ...] = ()) -> core.EndpointSubset:
    return core.EndpointSubset(
        addresses=[core.EndpointAddress(ip=each) for each in ready] or None,
        not_ready_addresses=[core.EndpointAddress(ip=each) for each in unready] or None,
        ports=[core.EndpointPort(name=f"p{port}", port=port)],
    )


def is_ready(endpoint: discovery.Endpoint) -> bool | None:
    return endpoint.conditions.ready if endpoint.conditions is not None else None


class Outside:
    """A Service without a selector."""

    def __init__(self, client: Client, namespace: str) -> None:
        self.client = client
        self.namespace = namespace

    async def slices(self) -> list[discovery.EndpointSlice]:
        return list(await self.client.list(discovery.EndpointSlice, self.namespace, labels={SERVICE_NAME: "outside"}))

    async def content(self) -> list[tuple[str, list[int | None], list[tuple[str, bool | None]]]]:
        """Returns family, ports, and addresses with their readiness."""
        return sorted(
            (
                each.address_type,
                sorted((port.port for port in each.ports or ()), key=str),
                sorted((one.addresses[0], is_ready(one)) for one in each.endpoints or ()),
            )
            for each in await self.slices()
        )

    async def becomes(self, *wanted: tuple[str, list[int | None], list[tuple[str, bool | None]]]) -> None:
        await eventually(self.content, lambda found: found == sorted(wanted))

    async def write(self, *subsets: core.EndpointSubset) -> None:
        found = await self.client.get(core.Endpoints, "outside", self.namespace)
        found.subsets = list(subsets)
        await self.client.update(found)


@pytest_asyncio.fixture
async def outside(client: Client, namespace: str) -> Outside:
    spec = core.ServiceSpec(ports=[core.ServicePort(name="p", port=80)])
    await client.create(core.Service(metadata=meta.ObjectMeta(name="outside", namespace=namespace), spec=spec))
    return Outside(client, namespace)


@pytest.mark.promise("The embedded cluster", "Endpoints of Services without a selector are mirrored to EndpointSlices.")
@pytest.mark.filterwarnings("ignore")
async def test_mirrors_endpoints_through_create_update_and_delete(outside: Outside) -> None:
    client, namespace = outside.client, outside.namespace
    labels, annotations = {"team": "a"}, {"note": "x", "kubectl.kubernetes.io/last-applied-configuration": "y"}
    await client.create(endpoints(namespace, subset("10.1.2.3"), labels=labels, annotations=annotations))
    await outside.becomes(("IPv4", [80], [("10.1.2.3", True)]))
    (mirror,) = await outside.slices()
    assert mirror.metadata.labels == {"team": "a", **MIRRORED}
    assert mirror.metadata.annotations == {"note": "x"}
    assert mirror.metadata.generate_name == "outside-"
    (owner,) = mirror.metadata.owner_references
    assert (owner.api_version, owner.kind, owner.name, owner.controller) == ("v1", "Endpoints", "outside", True)

    await outside.write(subset("10.2.3.4", unready=("10.2.3.5",), port=81))
    await outside.becomes(("IPv4", [81], [("10.2.3.4", True), ("10.2.3.5", False)]))
    assert [each.metadata.name for each in await outside.slices()] == [mirror.metadata.name]

    await outside.write(subset("10.0.0.1", "2001:db8::1"), subset("10.0.0.1", port=443))
    await outside.becomes(
        ("IPv4", [443], [("10.0.0.1", True)]),
        ("IPv4", [80], [("10.0.0.1", True)]),
        ("IPv6", [80], [("2001:db8::1", True)]),
    )
    await client.delete(core.Endpoints, "outside", namespace)
    await outside.becomes()


@pytest.mark.parametrize(
    "patch",
    [
        pytest.param({"labels": {"endpointslice.kubernetes.io/skip-mirror": "true"}}, id="skip-mirror"),
        pytest.param({"annotations": {"control-plane.alpha.kubernetes.io/leader": "{}"}}, id="leader election"),
    ],
)
@pytest.mark.filterwarnings("ignore")
async def test_stops_mirroring_endpoints_that_ask_for_it(outside: Outside, patch: dict[str, Any]) -> None:
    client, namespace = outside.client, outside.namespace
    await client.create(endpoints(namespace, subset("10.1.2.3")))
    await outside.becomes(("IPv4", [80], [("10.1.2.3", True)]))
    await client.patch(core.Endpoints, "outside", MergePatch({"metadata": patch}), namespace)
    await outside.becomes()


@pytest.mark.filterwarnings("ignore")
async def test_mirrors_only_for_services_without_selector(outside: Outside) -> None:
    client, namespace = outside.client, outside.namespace
    await client.create(endpoints(namespace, subset("10.1.2.3")))
    await outside.becomes(("IPv4", [80], [("10.1.2.3", True)]))
    await client.delete(core.Service, "outside", namespace)
    await outside.becomes()


@pytest.mark.filterwarnings("ignore")
async def test_mirrors_at_most_a_thousand_addresses(outside: Outside) -> None:
    addresses = [f"10.1.{number // 250}.{number % 250 + 1}" for number in range(1001)]
    await outside.client.create(endpoints(outside.namespace, subset(*addresses)))
    found = await eventually(outside.content, bool)
    assert [len(members) for _, _, members in found] == [1000]
    events = await eventually(
        lambda: outside.client.list(core.Event, outside.namespace, fields="reason=TooManyAddressesToMirror"), len
    )
    rule = "A max of 1000 addresses can be mirrored to EndpointSlices per Endpoints subset. 1 addresses were skipped"
    assert {event.message for event in events} == {rule}


# ReplicationControllers


def replication_controller(namespace: str, replicas: int) -> core.ReplicationController:
    pod = core.PodSpec(containers=[core.Container(name="c", image="i")])
    template = core.PodTemplateSpec(metadata=meta.ObjectMeta(labels={"name": "rc"}), spec=pod)
    spec = core.ReplicationControllerSpec(replicas=replicas, selector={"name": "rc"}, template=template)
    return core.ReplicationController(metadata=meta.ObjectMeta(name="rc", namespace=namespace), spec=spec)


def controllers_of(pod: core.Pod) -> list[tuple[str, str, str]]:
    return [(each.api_version, each.kind, each.name) for each in pod.metadata.owner_references if each.controller]


async def pods_of(client: Client, namespace: str) -> list[core.Pod]:
    found = await client.list(core.Pod, namespace)
    return [each for each in found if each.metadata.deletion_timestamp is None]


OWNED = [("v1", "ReplicationController", "rc")]


@pytest_asyncio.fixture
async def account(client: Client, namespace: str) -> None:
    """Waits for the service account, without which the real server rejects pods."""
    await eventually(lambda: client.find(core.ServiceAccount, "default", namespace), lambda found: found is not None)


@pytest.mark.promise("The embedded cluster", "ReplicationControllers adopt, release, create and delete pods.")
@pytest.mark.usefixtures("account")
async def test_replication_controller_adopts_releases_and_scales(client: Client, namespace: str) -> None:
    spec = core.PodSpec(containers=[core.Container(name="c", image="i")])
    orphan = meta.ObjectMeta(name="orphan", namespace=namespace, labels={"name": "rc"})
    await client.create(core.Pod(metadata=orphan, spec=spec))
    await client.create(replication_controller(namespace, 1))
    adopted = await eventually(
        lambda: client.get(core.Pod, "orphan", namespace), lambda pod: controllers_of(pod) == OWNED
    )
    assert [each.metadata.name for each in await pods_of(client, namespace)] == [adopted.metadata.name]

    await client.patch(core.Pod, "orphan", MergePatch({"metadata": {"labels": {"name": "free"}}}), namespace)
    await eventually(lambda: client.get(core.Pod, "orphan", namespace), lambda pod: not controllers_of(pod))
    await eventually(lambda: pods_of(client, namespace), lambda pods: len(pods) == 2)

    await client.patch(core.ReplicationController, "rc", MergePatch({"spec": {"replicas": 3}}), namespace)
    found = await eventually(
        lambda: client.get(core.ReplicationController, "rc", namespace),
        lambda rc: rc.status is not None and (rc.status.replicas, rc.status.observed_generation) == (3, 2),
    )
    assert found.status is not None
    assert found.status.fully_labeled_replicas == 3
    await client.patch(core.ReplicationController, "rc", MergePatch({"spec": {"replicas": 1}}), namespace)
    await eventually(lambda: pods_of(client, namespace), lambda pods: len(pods) == 2)

    await client.delete(core.ReplicationController, "rc", namespace)  # its default is to orphan the pods
    await eventually(lambda: client.find(core.ReplicationController, "rc", namespace), lambda found: found is None)
    left = await pods_of(client, namespace)
    assert [controllers_of(each) for each in left] == [[], []]


@pytest.mark.usefixtures("account")
async def test_replication_controller_reports_exceeded_quota(client: Client, namespace: str) -> None:
    quota = core.ResourceQuotaSpec(hard={"pods": Quantity("2")})
    metadata = meta.ObjectMeta(name="few", namespace=namespace)
    await client.create(core.ResourceQuota(metadata=metadata, spec=quota))
    await eventually(
        lambda: client.get(core.ResourceQuota, "few", namespace), lambda found: found.status.hard is not None
    )
    await client.create(replication_controller(namespace, 3))

    async def failures() -> list[tuple[str, str | None]]:
        found = await client.get(core.ReplicationController, "rc", namespace)
        given = [] if found.status is None else found.status.conditions or []
        return [(each.status, each.reason) for each in given if each.type == "ReplicaFailure"]

    await eventually(failures, lambda found: found == [("True", "FailedCreate")])
    await client.patch(core.ReplicationController, "rc", MergePatch({"spec": {"replicas": 2}}), namespace)
    await eventually(failures, lambda found: not found)
