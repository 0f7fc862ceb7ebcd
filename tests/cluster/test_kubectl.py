"""The real kubectl talks to the embedded cluster over HTTPS, as to any cluster."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
import pytest_asyncio

from kubewright.cluster import Cluster
from kubewright.testing import setup_binaries
from kubewright.testing._versions import KUBECTL

pytestmark = pytest.mark.control_plane  # for kubectl, which comes with it

Kubectl = Callable[..., Awaitable[str]]


@pytest_asyncio.fixture
async def kubectl(tmp_path: Path) -> AsyncIterator[Kubectl]:
    program = await asyncio.to_thread(setup_binaries) / KUBECTL
    async with Cluster() as cluster:
        await cluster.serve()
        environment = {"KUBECONFIG": str(cluster.kubeconfig()), "HOME": str(tmp_path)}

        async def run(*arguments: str, stdin: str = "", fails: bool = False) -> str:
            process = await asyncio.create_subprocess_exec(
                program,
                *arguments,
                env=environment,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
            )
            output, _ = await asyncio.wait_for(process.communicate(stdin.encode()), 60)
            assert bool(process.returncode) is fails, output.decode()
            return output.decode()

        yield run


CONFIG_MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "v"}}


async def test_objects_are_created_read_changed_and_deleted(kubectl: Kubectl) -> None:
    body = json.dumps(CONFIG_MAP)
    assert await kubectl("create", "-f", "-", stdin=body) == "configmap/a created\n"
    assert "AlreadyExists" in await kubectl("create", "-f", "-", stdin=body, fails=True)
    assert await kubectl("get", "configmap", "a", "-o", "jsonpath={.data.k}") == "v"
    table = (await kubectl("get", "cm")).splitlines()
    assert table[0].split() == ["NAME", "DATA", "AGE"]
    assert table[1].split()[:2] == ["a", "1"]
    assert await kubectl("label", "cm", "a", "x=y") == "configmap/a labeled\n"
    assert await kubectl("annotate", "cm", "a", "x=y") == "configmap/a annotated\n"
    assert await kubectl("patch", "cm", "a", "-p", '{"data":{"k":"w"}}') == "configmap/a patched\n"
    assert (await kubectl("get", "cm", "-l", "x=y", "-o", "name")) == "configmap/a\n"
    assert await kubectl("delete", "cm", "a") == 'configmap "a" deleted from default namespace\n'
    assert 'configmaps "a" not found' in await kubectl("get", "cm", "a", fails=True)


async def test_apply_works_both_ways(kubectl: Kubectl) -> None:
    body = json.dumps(CONFIG_MAP)
    assert await kubectl("apply", "--server-side", "-f", "-", stdin=body) == "configmap/a serverside-applied\n"
    changed = json.dumps(CONFIG_MAP | {"data": {"k": "w"}})
    conflict = await kubectl("apply", "--server-side", "--field-manager=other", "-f", "-", stdin=changed, fails=True)
    assert 'conflict with "kubectl"' in conflict
    other = json.dumps(CONFIG_MAP | {"metadata": {"name": "b"}})
    assert await kubectl("apply", "-f", "-", stdin=other) == "configmap/b created\n"
    assert await kubectl("apply", "-f", "-", stdin=other) == "configmap/b unchanged\n"


async def test_protobuf_bodies_and_generated_objects(kubectl: Kubectl) -> None:
    assert await kubectl("create", "namespace", "n") == "namespace/n created\n"
    assert await kubectl("create", "secret", "generic", "s", "-n", "n", "--from-literal=p=x") == "secret/s created\n"
    assert await kubectl("get", "secret", "s", "-n", "n", "-o", "jsonpath={.data.p}") == "eA=="
    assert (await kubectl("create", "role", "r", "--verb=get", "--resource=pods")) == (
        "role.rbac.authorization.k8s.io/r created\n"
    )
    assert await kubectl("auth", "can-i", "create", "pods") == "yes\n"


async def test_what_the_server_has(kubectl: Kubectl) -> None:
    resources = await kubectl("api-resources", "-o", "name")
    assert {"pods", "deployments.apps", "leases.coordination.k8s.io"} <= set(resources.split())
    assert "Server Version: v1.36" in await kubectl("version")
    assert "apps/v1" in (await kubectl("api-versions")).split()
    explained = await kubectl("explain", "deployment.spec.replicas")
    assert "FIELD: replicas <integer>" in explained
