"""The command in the Deployment, run as its pod would run it: as the deployed account, with the deployed roles."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import pytest

from kubewright.api import apps, core
from kubewright.client import Client
from kubewright.cluster._kubeconfig import write_kubeconfig
from kubewright.crd import to_yaml
from kubewright.manifests import Project, load, objects
from kubewright.testing import ControlPlane
from tests.manifests.conftest import until

T = TypeVar("T")

PROGRAM = '''\
import kubewright as kw
from kubewright.api import core, meta

class Spec(kw.Model):
    content: str = ""

class Status(kw.Model):
    packed: bool = False

@kw.resource("deployed.example.com/v1")
class Crate(kw.Resource[Spec, Status]):
    """Is packed into a ConfigMap."""

operator = kw.Operator("deployed")

@operator.reconciles(Crate, owns=[core.ConfigMap])
async def pack(crate: Crate, ctx: kw.Context[Crate]) -> None:
    await ctx.apply(core.ConfigMap(metadata=meta.ObjectMeta(name=crate.metadata.name), data={"is": crate.spec.content}))
    await ctx.patch_status(Status(packed=True))
    ctx.record("Packed", "It is packed")
'''


@pytest.fixture
def project(tmp_path: Path) -> Project:
    (tmp_path / "crates.py").write_text(PROGRAM)
    program = load([str(tmp_path / "crates.py")])
    return Project(operator=program.operators[0], target="crates.py")


@pytest.fixture
def deployed(project: Project, control_plane: ControlPlane) -> Iterator[None]:
    """All objects of the project, on the server; afterwards its kind is gone again."""

    def kubectl(*arguments: str, stdin: str | None = None) -> None:
        command: list[str | Path] = [control_plane.binaries / "kubectl", "--kubeconfig", control_plane.kubeconfig]
        subprocess.run([*command, *arguments], input=stdin, capture_output=True, text=True, check=True)

    kubectl("apply", "--server-side", "-f", "-", stdin=to_yaml(*objects(project)))
    kubectl("wait", "--for=condition=Established", "--timeout=60s", "crd/crates.deployed.example.com")
    yield
    kubectl("delete", "crd", "crates.deployed.example.com", "--wait=false")


def account(project: Project, plane: ControlPlane, folder: Path) -> Path:
    """A kubeconfig of the deployed service account."""
    where = f"/api/v1/namespaces/{project.namespace}/serviceaccounts/{project.name}/token"
    token = plane.request("POST", where, {"spec": {}})["status"]["token"]
    (folder / "token").write_text(token)
    kubeconfig = folder / "kubeconfig"
    write_kubeconfig(kubeconfig, server=plane.url, ca=plane.ca, user="manager", credentials=folder / "token")
    return kubeconfig


@dataclass
class Manager:
    """A process, and the file with its log."""

    process: asyncio.subprocess.Process
    log: Path

    async def until(self, check: Callable[[], T | None]) -> T:
        """Ask again, in a thread, until the answer is true; if it never is, the log shall say why."""
        try:
            return await until(lambda: asyncio.to_thread(check), seconds=120)
        except TimeoutError:
            log = await asyncio.to_thread(self.log.read_text)
            raise AssertionError(f"waited in vain:\n{log}") from None

    async def page(self, path: str) -> str:
        """A page of the process, as soon as it is served and well."""
        return await self.until(lambda: self._ask(path))

    def _ask(self, path: str) -> str | None:
        log = self.log.read_text()
        assert self.process.returncode is None, log
        # Where it is served stands in the log.
        found = re.search(rf"serving [^\n]*{path}\b[^\n]* at (127\.0\.0\.1:\d+)", log)
        if not found:
            return None
        try:
            with urllib.request.urlopen(f"http://{found[1]}{path}", timeout=10) as answer:
                text: str = answer.read().decode()
                return text
        except (urllib.error.URLError, OSError):
            return None


@asynccontextmanager
async def manager(project: Project, plane: ControlPlane, folder: Path) -> AsyncIterator[Manager]:
    """The process of the Deployment's container. It must end well when it is told to."""
    (deployment,) = (one for one in objects(project) if isinstance(one, apps.Deployment))
    container = deployment.spec.template.spec.containers[0]
    # What a pod has by itself: its own network, a mounted token, a namespace.
    here = [
        "--health-bind=127.0.0.1:0",
        "--metrics-bind=127.0.0.1:0",
        f"--kubeconfig={account(project, plane, folder)}",
        f"--lease-namespace={project.namespace}",
    ]
    assert container.command
    program, *arguments = container.command
    assert program == "kubewright"
    log = folder / "log"
    with log.open("wb") as output:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "kubewright.cli", *arguments, *(container.args or ()), *here),
            cwd=folder,
            env=os.environ | {one.name: one.value or "" for one in container.env or ()},
            stdout=output,
            stderr=output,
        )
    try:
        yield Manager(process, log)
        process.send_signal(signal.SIGTERM)
        assert await process.wait() == 0, log.read_text()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


@pytest.mark.timeout(400)  # only a limit: on a busy machine a process takes its time
@pytest.mark.usefixtures("deployed")
async def test_the_deployed_command_does_its_work_with_the_deployed_roles(
    project: Project, control_plane: ControlPlane, client: Client, namespace: str, tmp_path: Path
) -> None:
    crate = {"apiVersion": "deployed.example.com/v1", "kind": "Crate", "metadata": {"name": "one"}}
    async with manager(project, control_plane, tmp_path) as running:
        await running.page("/readyz")
        where = f"/apis/deployed.example.com/v1/namespaces/{namespace}/crates"
        control_plane.request("POST", where, crate | {"spec": {"content": "books"}})

        await running.until(lambda: control_plane.request("GET", f"{where}/one").get("status", {}).get("packed"))
        made = await client.get(core.ConfigMap, "one", namespace)
        assert made.data == {"is": "books"}
        metrics = await running.page("/metrics")
        assert 'controller_runtime_reconcile_total{controller="crate"' in metrics
        assert 'rest_client_requests_total{code="201"' in metrics
        assert 'code="403"' not in metrics
        lease = control_plane.request(
            "GET", f"/apis/coordination.k8s.io/v1/namespaces/{project.namespace}/leases/{project.name}"
        )
        assert lease["spec"]["holderIdentity"]
