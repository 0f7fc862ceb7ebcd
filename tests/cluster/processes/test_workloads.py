"""Deployments whose pods are processes, on the embedded cluster."""

from __future__ import annotations

import os
from typing import Any

import pytest

from kubewright.api import apps, core, from_dict
from kubewright.client import Client
from kubewright.clock import VirtualClock
from kubewright.cluster import Cluster
from kubewright.cluster.processes import Images
from kubewright.cluster.workloads import Workloads
from tests.cluster.processes.conftest import PYTHON, SHELL, event
from tests.patience import until

IMAGES = Images({"python": PYTHON, "sh": SHELL})


SERVER = """
import http.server as http, os
http.HTTPServer((os.environ["POD_IP"], {port}), http.SimpleHTTPRequestHandler).serve_forever()
"""
# Takes the port at all addresses. It does not listen, so nothing is reachable.
GREEDY = """
import signal, socket
taken = socket.socket()
taken.bind(("0.0.0.0", {port}))
signal.pause()
"""


def deployment(replicas: int, *, port: int, program: str) -> apps.Deployment:
    probe = {"tcpSocket": {"port": port}, "periodSeconds": 1, "timeoutSeconds": 60}
    container = {
        "name": "web",
        "image": "python:3",
        "args": [program.format(port=port)],
        "ports": [{"containerPort": port}],
    }
    template: dict[str, Any] = {
        "metadata": {"labels": {"app": "web"}},
        "spec": {"containers": [container | {"readinessProbe": probe}], "terminationGracePeriodSeconds": 1},
    }
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}}, "template": template}
    return from_dict(apps.Deployment, {"metadata": {"name": "web"}, "spec": spec})


async def pods(client: Client) -> list[core.Pod]:
    return [*await client.list(core.Pod, labels="app=web")]


@pytest.mark.promise("Pods as processes", "Two replicas that listen on their pod address do not collide.")
async def test_runs_two_replicas_with_one_port() -> None:
    async with Cluster(workloads=Workloads(processes=IMAGES)) as cluster:
        await cluster.serve()
        client = cluster.client()
        await client.create(deployment(2, port=8097, program=SERVER))

        async def available() -> bool:
            return (await client.get(apps.Deployment, "web")).status.available_replicas == 2

        await until(available, "two replicas")
        assert len({pod.status.pod_ip for pod in await pods(client)}) == 2
        name = (await pods(client))[0].metadata.name
        assert (await client.exec(name, ["true"])).exit_code == 0


async def test_reports_replicas_that_collide() -> None:
    async with Cluster(workloads=Workloads(processes=IMAGES)) as cluster:
        client = cluster.client()
        await client.create(deployment(2, port=8098, program=GREEDY))

        async def collided() -> str | None:
            found = [each for each in await client.list(core.Event) if each.reason == "PortConflict"]
            return str(found[0].message) if found else None

        assert "port 8098 is in use on 127." in await until(collided, "the event about the conflict")


async def test_leaves_no_process_after_its_end() -> None:
    async with Cluster(workloads=Workloads(processes=IMAGES)) as cluster:
        client = cluster.client()
        made = from_dict(
            core.Pod,
            {
                "metadata": {"name": "busy"},
                "spec": {"containers": [{"name": "c", "image": "sh", "args": ["echo $$$$; exec sleep 1000"]}]},
            },
        )
        await client.create(made)
        await event(client, "busy", "Started")

        async def pid() -> int | None:
            lines = [line async for line in client.logs("busy")]
            return int(lines[0]) if lines else None

        running = await until(pid)
    assert str(running) not in os.listdir("/proc")


async def test_rejects_virtual_time() -> None:
    with pytest.raises(ValueError, match="processes do not follow a VirtualClock"):
        await Cluster(clock=VirtualClock(), workloads=Workloads(processes=IMAGES)).start()


def test_rejects_other_mappings() -> None:
    mapping: Any = {"nginx": ["nginx"]}
    with pytest.raises(TypeError, match=r"processes must be Images\(...\)"):
        Workloads(processes=mapping)
