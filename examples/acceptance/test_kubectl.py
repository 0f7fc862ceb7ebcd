"""The steps of the tutorials, with kubectl."""

from __future__ import annotations

import base64
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

import pytest

from examples.acceptance.systems import ROOT, SYSTEMS, World
from kubewright.operator import Operator

pytestmark = pytest.mark.control_plane

Kubectl = Callable[..., Awaitable[str]]
OPERATORS: dict[str, Operator] = {system.name: system.operator for system in SYSTEMS}
EXAMPLES = ROOT / "examples"


@pytest.fixture
def kubectl(kubectl: Kubectl, namespace: str) -> Kubectl:
    """Runs kubectl in the test's namespace."""
    return partial(kubectl, "--namespace", namespace)


async def shows(kubectl: Kubectl, wanted: str, *arguments: str) -> str:
    """Repeats a command until its output contains these words."""
    while True:
        if wanted in (answer := await kubectl(*arguments)):
            return answer


async def test_the_steps_of_the_sample_controller(kubectl: Kubectl, world: World, tmp_path: Path) -> None:
    foo = EXAMPLES / "foo"
    await kubectl("apply", "--server-side", "--force-conflicts", "-k", str(foo / "config" / "crd"))
    async with OPERATORS["foo"].running(world.client, namespaces=[world.namespace], install_crds=False):
        assert "created" in await kubectl("apply", "-f", str(foo / "example-foo.yaml"))
        await shows(kubectl, "1", "get", "deployment", "example-foo", "-o", "jsonpath={.spec.replicas}")
        await shows(kubectl, "1", "get", "foo", "example-foo", "-o", "jsonpath={.status.availableReplicas}")
        owner = await kubectl("get", "deployment", "example-foo", "-o", "jsonpath={.metadata.ownerReferences[0].kind}")
        assert owner == "Foo"

        # The Deployment follows the Foo, and drift is repaired.
        await kubectl("patch", "foo", "example-foo", "--type=merge", "--patch", '{"spec": {"replicas": 3}}')
        await shows(kubectl, "3", "get", "deployment", "example-foo", "-o", "jsonpath={.status.availableReplicas}")
        await kubectl("scale", "deployment", "example-foo", "--replicas=7")
        await shows(kubectl, "3", "get", "deployment", "example-foo", "-o", "jsonpath={.spec.replicas}")
        await kubectl("delete", "deployment", "example-foo")
        await shows(kubectl, "3", "get", "foo", "example-foo", "-o", "jsonpath={.status.availableReplicas}")

        # Events, in describe and in get.
        await shows(kubectl, "Foo synced successfully", "describe", "foo", "example-foo")
        events = await shows(
            kubectl, "Synced", "get", "events", "--field-selector", "involvedObject.kind=Foo", "-o", "wide"
        )
        assert "sample-controller" in events

        # A foreign Deployment of that name.
        await kubectl("create", "deployment", "taken", "--image=nginx:latest", "--replicas=1")
        clash = tmp_path / "taken.yaml"
        clash.write_text((foo / "example-foo.yaml").read_text().replace("example-foo", "taken"))
        await kubectl("apply", "-f", str(clash))
        message = 'Resource "taken" already exists and is not managed by Foo'
        described = await shows(kubectl, message, "describe", "foo", "taken")
        assert "ErrResourceExists" in described
        assert "Warning" in described
        owners = await kubectl("get", "deployment", "taken", "-o", "jsonpath={.metadata.ownerReferences}")
        assert owners == ""

        # The schema rejects invalid values. A deleted Foo takes its Deployment with it.
        refused = await kubectl(
            "patch", "foo", "example-foo", "--type=merge", "--patch", '{"spec": {"replicas": 11}}', fails=True
        )
        assert "spec.replicas" in refused
        await kubectl("delete", "foo", "example-foo")
        while True:
            if "example-foo" not in await kubectl("get", "deployments", "-o", "name"):
                break


async def test_the_steps_of_testresource(kubectl: Kubectl, world: World) -> None:
    async with OPERATORS["testresource"].running(world.client, namespaces=[world.namespace, "default"]):
        assert "created" in await kubectl("apply", "-f", str(EXAMPLES / "testresource" / "example-tr1.yaml"))
        await shows(kubectl, "HANDLED", "get", "ts", "example-tr1", "-o", "jsonpath={.status}")
        table = await kubectl("get", "ts")
        assert table.split()[:2] == ["NAME", "COMMAND"]
        assert "echo Hello World!" in table
        assert "example-tr2" in await kubectl("get", "testresources", "--namespace", "default")
        described = await shows(kubectl, "ObjectHandled", "describe", "ts", "example-tr1")
        assert "Object is handled by custom controller." in described
        assert "testresource-controller" in described
        await kubectl("delete", "ts", "example-tr1")


async def test_the_steps_of_the_network_controller(
    kubectl: Kubectl, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NEUTRON_URL", world.neutron.url)
    monkeypatch.setenv("NEUTRON_TOKEN", "demo")
    async with OPERATORS["network"].running(world.client, namespaces=[world.namespace]):
        await kubectl("apply", "-f", str(EXAMPLES / "network" / "example-network.yaml"))
        await shows(kubectl, "True", "get", "networks.samplecrd.k8s.io", "example-network")
        assert [one["name"] for one in world.neutron.networks.values()] == ["example-network"]
        await shows(kubectl, "Network synced successfully", "describe", "network.samplecrd.k8s.io", "example-network")
        gateway = '{"spec": {"gateway": "10.0.0.1"}}'
        refused = await kubectl(
            *("patch", "networks.samplecrd.k8s.io", "example-network", "--type=merge", "--patch", gateway), fails=True
        )
        assert "spec.gateway" in refused
        await kubectl("delete", "networks.samplecrd.k8s.io", "example-network")  # which waits for the finalizer
        assert world.neutron.networks == {}


async def test_the_steps_of_password(kubectl: Kubectl, world: World) -> None:
    async with OPERATORS["password"].running(world.client, namespaces=[world.namespace]):
        await kubectl("apply", "-f", str(EXAMPLES / "password" / "example-password.yaml"))
        await shows(kubectl, "InSync", "get", "password", "example-password", "-o", "jsonpath={.status.state}")
        assert (await kubectl("get", "passwords")).split()[:3] == ["NAME", "STATE", "AGE"]
        encoded = await kubectl("get", "secret", "example-password", "-o", "jsonpath={.data.password}")
        assert len(base64.b64decode(encoded)) == 24
        for number in (11, 20):
            digits = f'{{"spec": {{"digit": {number}, "symbol": 20}}}}'
            refused = await kubectl(
                "patch", "password", "example-password", "--type=merge", "--patch", digits, fails=True
            )
            assert "spec.length" in refused
            assert "number of digits and symbols must be less than total length" in refused
        await kubectl("delete", "password", "example-password")
        while True:
            if "example-password" not in await kubectl("get", "secrets", "-o", "name"):
                break


async def test_the_steps_of_memcached(kubectl: Kubectl, world: World) -> None:
    memcached = EXAMPLES / "memcached"
    await kubectl("apply", "--server-side", "--force-conflicts", "-k", str(memcached / "config" / "crd"))
    async with OPERATORS["memcached"].running(world.client, namespaces=[world.namespace], install_crds=False):
        assert "created" in await kubectl("apply", "-f", str(memcached / "example-memcached.yaml"))
        await kubectl("wait", "memcached/example-memcached", "--for=condition=Available", "--timeout=60s")
        table = await kubectl("get", "memcacheds")
        assert table.split()[:4] == ["NAME", "SIZE", "AVAILABLE", "AGE"]
        assert table.split()[4:7] == ["example-memcached", "3", "True"]
        nodes = await kubectl("get", "memcached", "example-memcached", "-o", "jsonpath={.status.nodes[*]}")
        pods = await kubectl("get", "pods", "-l", "app.kubernetes.io/instance=example-memcached", "-o", "name")
        assert nodes.split() == sorted(name.removeprefix("pod/") for name in pods.split())
        described = await shows(kubectl, "Deployed", "describe", "memcached", "example-memcached")
        assert "3 of 3 nodes are up" in described

        await kubectl("patch", "memcached", "example-memcached", "--type=merge", "--patch", '{"spec": {"size": 5}}')
        await shows(
            kubectl, "5", "get", "deployment", "example-memcached", "-o", "jsonpath={.status.availableReplicas}"
        )
        await kubectl("scale", "deployment", "example-memcached", "--replicas=1")
        await shows(kubectl, "5", "get", "deployment", "example-memcached", "-o", "jsonpath={.spec.replicas}")
        refused = await kubectl(
            *("patch", "memcached", "example-memcached", "--type=merge", "--patch", '{"spec": {"size": 6}}'), fails=True
        )
        assert "spec.size" in refused
        await kubectl("delete", "memcached", "example-memcached")  # which waits for the finalizer
        assert "example-memcached" not in await kubectl("get", "deployments,pods", "-o", "name")
