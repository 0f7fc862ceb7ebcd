"""The controllers of workloads as a whole: on a real server, from the command line, and during namespace deletion."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import signal
import subprocess
import sys

import pytest

from kubewright.api import apps, batch, core, meta
from kubewright.client import BlockingClient, Client
from kubewright.cluster.nodes import FakeNode
from kubewright.cluster.workloads import controller_manager
from tests.cluster.workloads.conftest import (
    LABELS,
    World,
    a_daemon_set,
    a_deployment,
    a_job,
    a_stateful_set,
)
from tests.patience import PATIENCE


async def test_deletes_namespace_with_workloads_without_errors(world: World, caplog: pytest.LogCaptureFixture) -> None:
    await world.client.create(core.Namespace(metadata=meta.ObjectMeta(name="full")))
    service = core.ServiceSpec(selector=dict(LABELS), ports=[core.ServicePort(port=80)])
    for made in (
        a_deployment(replicas=3),
        a_stateful_set("db", replicas=2),
        a_daemon_set(),
        a_job(image="nginx:1"),
        core.Service(metadata=meta.ObjectMeta(name="web"), spec=service),
    ):
        made.metadata.namespace = "full"
        await world.client.create(made)
    await world.passes(5)
    assert len(list(await world.client.list(core.Pod, "full"))) == 7
    with caplog.at_level(logging.WARNING):
        await world.client.delete(core.Namespace, "full")
        await world.passes(60)
    assert "full" not in await world.names(core.Namespace)
    logged = [record.getMessage() for record in caplog.records]
    # On a busy machine, every function may seem to block the loop.
    assert [message for message in logged if "blocked the event loop" not in message] == []


@pytest.mark.control_plane
async def test_controllers_work_on_a_real_server(client: Client, namespace: str) -> None:
    async with (
        FakeNode(client, name=f"node-of-{namespace}", namespace=namespace),
        controller_manager().running(client, namespaces=[namespace]),
        asyncio.timeout(PATIENCE),
    ):
        deployment, job = a_deployment(replicas=2), a_job(suspend=True)
        deployment.metadata.namespace = job.metadata.namespace = namespace
        await client.create(deployment)
        await client.create(job)
        async for event in client.watch(apps.Deployment, namespace):
            if event.object.status.available_replicas == 2:
                break
        async for other in client.watch(batch.Job, namespace):
            if any(each.type == "Suspended" for each in other.object.status.conditions or ()):
                break


def test_command_starts_workloads() -> None:
    command = [sys.executable, "-m", "kubewright.cli", "cluster", "start", "--workloads"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ) as process:
        try:
            assert process.stdout is not None
            said = ""
            while "Ctrl-C" not in said:
                said += process.stdout.readline()
            found = re.search(r"export KUBECONFIG=(.*)", said)
            assert found is not None
            with BlockingClient.connect(kubeconfig=found[1], namespace="default") as client:
                client.create(a_deployment(replicas=2))
                for event in client.watch(apps.Deployment, "default", timeout_seconds=int(PATIENCE)):
                    if event.object.status.available_replicas == 2:
                        break
                else:
                    pytest.fail("the Deployment did not get its pods")
            process.send_signal(signal.SIGINT)
            assert process.wait(PATIENCE) == 0
        finally:
            process.kill()


@pytest.mark.promise("The embedded cluster", "Events of workloads have the names of the real controllers.")
async def test_events_name_their_controller(world: World) -> None:
    await world.client.create(a_deployment(replicas=1))
    await world.client.create(a_job())
    await world.passes(5)
    found = {
        (event.involved_object.kind, event.source.component if event.source else None, event.reporting_component)
        for event in await world.all(core.Event)
    }
    assert found >= {
        (kind, name, name)
        for kind, name in (
            ("Deployment", "deployment-controller"),
            ("ReplicaSet", "replicaset-controller"),
            ("Job", "job-controller"),
        )
    }
