"""An operator that is deployed as `kubewright deploy` does it, and runs as a process with its own service account."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import kubewright
from kubewright.api import apps, core
from kubewright.client import Client
from kubewright.cluster import Cluster
from kubewright.cluster.processes import project_images
from kubewright.cluster.workloads import Workloads
from kubewright.deployment import deploy, undeploy
from kubewright.manifests import load, project_of
from tests.patience import until

FOO = Path(__file__).parents[3] / "examples" / "foo"


@pytest.mark.skipif(os.getuid() != 0, reason="mount namespaces need root or bubblewrap")
@pytest.mark.promise("Pods as processes", "A deployed operator runs from its source with its own account and role.")
async def test_deployed_operator_reconciles_and_undeploy_leaves_no_process() -> None:
    program = load([str(FOO / "foo.py")])
    project = project_of(program, [str(FOO / "foo.py")])
    images = project_images(project.image, project.target, FOO)
    async with Cluster(rbac=True, workloads=Workloads(processes=images)) as cluster:
        await cluster.serve()
        client = cluster.client()
        await deploy(client, project, lambda *_: None)
        manager = await _manager(client, project.namespace)
        kind = await client.kind("example.com/v1alpha1", "Foo")
        body = {
            "apiVersion": "example.com/v1alpha1",
            "kind": "Foo",
            "metadata": {"name": "example", "namespace": "default"},
            "spec": {"deploymentName": "made-by-foo", "replicas": 1},
        }
        await client.create(kubewright.api.from_dict(kind, body))

        async def made() -> apps.Deployment | None:
            return await client.find(apps.Deployment, "made-by-foo", "default")

        await until(made, "the Deployment that the operator creates")
        result = [line async for line in client.logs(manager, namespace=project.namespace)]
        assert result
        await undeploy(client, project, lambda *_: None)

    assert not _processes_with("kubewright\0run\0foo.py")


async def _manager(client: Client, namespace: str) -> str:
    async def running() -> str | None:
        for pod in await client.list(core.Pod, namespace):
            if pod.status.phase == "Running":
                return pod.metadata.name
        return None

    return await until(running, "the pod of the operator")


def _processes_with(command: str) -> list[str]:
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                if command in Path(f"/proc/{entry}/cmdline").read_text():
                    found.append(entry)
            except OSError:
                continue
    return found
