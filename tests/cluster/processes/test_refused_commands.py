"""A pod whose commands the mapping of images does not allow: nothing runs, and events and the status say why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from kubewright.api import core
from kubewright.client import Client
from kubewright.cluster.processes import Images, ProcessNode
from tests.cluster.processes.conftest import StartNode, is_ready, pod, wait
from tests.patience import until

pytestmark = pytest.mark.clusters

EXEC = "image \"sh\" does not allow to execute 'touch'; set allow_exec for it in the mapping of images"
COMMAND = "image \"sh\" does not allow the command 'touch' of a pod; set allow_command for it in the mapping of images"
REFUSED = ("CreateContainerConfigError", COMMAND)


@pytest.fixture
async def strict_node(start_node: StartNode) -> ProcessNode:
    """A node that runs one command, and no command of a pod."""
    return await start_node(Images({"sh": {"command": ["/bin/sh", "-c"], "args": ["exec sleep 1000"]}}))


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Path]:
    """A file that a refused command would create. The test fails if it exists at the end."""
    file = tmp_path / "made"
    yield file
    assert not file.exists()


async def messages(client: Client, name: str, last: str) -> list[str]:
    """Waits for an event of the pod, and returns the messages of all of them."""

    async def found() -> list[str] | None:
        listed = [each for each in await client.list(core.Event, client.namespace) if each.involved_object.name == name]
        texts = [f"{each.reason}: {each.message}" for each in listed]
        return texts if last in texts else None

    return await until(found, f"the event {last!r} of pod {name}")


def waiting(statuses: Sequence[core.ContainerStatus] | None) -> list[tuple[str | None, str | None]]:
    """Returns reasons and messages of containers that wait."""
    states = [each.state.waiting for each in statuses or () if each.state is not None]
    return [(state.reason, state.message) for state in states if state is not None]


@pytest.mark.promise(
    "Pods as processes", "Probes, hooks, init and ephemeral containers start no program that is not mapped."
)
async def test_refused_probes_have_no_result(client: Client, strict_node: ProcessNode, made: Path) -> None:
    refused = {"exec": {"command": ["touch", str(made)]}, "failureThreshold": 1, "timeoutSeconds": 60}
    kinds = {"startupProbe": "Startup", "readinessProbe": "Readiness", "livenessProbe": "Liveness"}
    await client.create(pod("probed", *({probe: refused} for probe in kinds)))
    for kind in kinds.values():
        unknown = f"Unhealthy: {kind} probe errored and resulted in unknown state: {EXEC}"
        await messages(client, "probed", unknown)

    def unaffected(it: core.Pod) -> bool:
        states = [(each.started, each.ready, each.restart_count) for each in it.status.container_statuses or ()]
        return states == [(False, False, 0), (True, False, 0), (True, True, 0)]

    got = await wait(client, "probed", unaffected)
    await client.delete(got)
    await client.wait_until_gone(core.Pod, "probed")
    recorded = await messages(client, "probed", "Killing: Stopping container c2")
    assert not [each for each in recorded if "will be restarted" in each]


async def test_refused_hook_after_the_start_restarts_the_container(
    client: Client, strict_node: ProcessNode, made: Path
) -> None:
    hook = {"exec": {"command": ["touch", str(made)]}}
    await client.create(pod("hooked", {"lifecycle": {"postStart": hook}}, terminationGracePeriodSeconds=0))
    await messages(client, "hooked", f"FailedPostStartHook: PostStartHook failed: {EXEC}")
    await messages(client, "hooked", "Killing: Container c0 FailedPostStartHook, will be restarted")
    await wait(client, "hooked", lambda it: any(each.restart_count for each in it.status.container_statuses or ()))
    assert not is_ready(await client.get(core.Pod, "hooked"))


async def test_refused_hook_does_not_keep_the_pod(client: Client, strict_node: ProcessNode, made: Path) -> None:
    hook = {"exec": {"command": ["touch", str(made)]}}
    await client.create(pod("stopped", {"lifecycle": {"preStop": hook}}))
    await client.delete(await wait(client, "stopped", is_ready))
    await client.wait_until_gone(core.Pod, "stopped")
    await messages(client, "stopped", f"FailedPreStopHook: PreStopHook failed: {EXEC}")


@pytest.mark.parametrize("restarts", [{}, {"restartPolicy": "Always"}], ids=["init container", "sidecar"])
async def test_refused_init_container_keeps_the_pod_pending(
    client: Client, strict_node: ProcessNode, made: Path, restarts: dict[str, Any]
) -> None:
    init = {"name": "first", "image": "sh", "command": ["touch", str(made)], **restarts}
    await client.create(pod("pending", {}, initContainers=[init]))
    await messages(client, "pending", f"Failed: Error: {COMMAND}")
    got = await wait(client, "pending", lambda it: waiting(it.status.init_container_statuses) == [REFUSED])
    assert got.status.phase == "Pending"
    assert waiting(got.status.container_statuses) == [("PodInitializing", None)]
    await client.delete(got)
    await client.wait_until_gone(core.Pod, "pending")


async def test_refused_ephemeral_container_leaves_the_pod_ready(
    client: Client, strict_node: ProcessNode, made: Path
) -> None:
    await client.create(pod("debugged", {}))
    got = await wait(client, "debugged", is_ready)
    debugger = core.EphemeralContainer(name="debugger", image="sh", command=["touch", str(made)])
    got.spec.ephemeral_containers = [debugger]
    await client.update(got, subresource="ephemeralcontainers")
    await messages(client, "debugged", f"Failed: Error: {COMMAND}")
    got = await wait(client, "debugged", lambda it: waiting(it.status.ephemeral_container_statuses))
    assert waiting(got.status.ephemeral_container_statuses) == [REFUSED]
    assert is_ready(got)
    await client.delete(got)
    await client.wait_until_gone(core.Pod, "debugged")
