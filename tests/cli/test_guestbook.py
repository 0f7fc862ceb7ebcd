"""Kubebuilder's quick start with Kubewright's commands, from `init` to `uninstall`, on both clusters."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from kubewright.api import Untyped, apiextensions, apps, core, rbac
from kubewright.client import Client, MergePatch, NotFound
from kubewright.cluster import Cluster
from kubewright.scaffold import carry_out, new_api, new_project
from kubewright.testing import RealCluster, setup_binaries

pytestmark = [pytest.mark.clusters, pytest.mark.timeout(900)]

DEFINITION = "guestbooks.webapp.my.domain"
SYSTEM = "guestbook-system"
Guestbook = Untyped.kind_of("webapp.my.domain/v1", "Guestbook", plural="guestbooks")
EDITS = {
    "foo: str | None = None": "greeting: str = 'hello'",
    'ctx.log.info("foo is %s", guestbook.spec.foo)': (
        "config = core.ConfigMap(metadata=meta.ObjectMeta(name=guestbook.metadata.name))\n"
        "    config.data = {'greeting': guestbook.spec.greeting}\n"
        "    await ctx.apply(config)"
    ),
}
"""A user's edits of the module: a new field, and an object that depends on it."""


class Shell:
    """Runs commands in a folder, with a kubeconfig."""

    def __init__(self, folder: Path, kubeconfig: Path) -> None:
        self.folder = folder
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("KUBEWRIGHT_")},
            "KUBECONFIG": str(kubeconfig),
        }

    async def start(self, *arguments: str) -> asyncio.subprocess.Process:
        return await self._start(sys.executable, "-m", "kubewright", *arguments)

    async def _start(self, *command: str) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            *command,
            cwd=self.folder,
            env=self.environment,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )

    async def fails(self, *arguments: str, code: int = 1) -> str:
        """Runs a command that must fail, and returns its standard error."""
        process = await self.start(*arguments)
        _, errors = await process.communicate()
        assert process.returncode == code, errors.decode()
        return errors.decode()

    async def run(self, *arguments: str) -> str:
        """Runs a command that must succeed, and returns its standard output."""
        process = await self.start(*arguments)
        output, errors = await process.communicate()
        assert process.returncode == 0, f"kubewright {' '.join(arguments)}: {errors.decode()}"
        return output.decode()

    async def kubectl(self, *arguments: str) -> str:
        """Runs kubectl, and returns its standard output."""
        process = await self._start(str(setup_binaries() / "kubectl"), *arguments)
        output, errors = await process.communicate()
        assert process.returncode == 0, f"kubectl {' '.join(arguments)}: {errors.decode()}"
        return output.decode()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Runs `kubewright run` until SIGTERM, and checks that it exits with 0."""
        process = await self.start("run")
        try:
            yield
        finally:
            if process.returncode is None:
                process.send_signal(signal.SIGTERM)
            _, errors = await process.communicate()
        assert process.returncode == 0, errors.decode()


@pytest.fixture
async def shell(tmp_path: Path, cluster: Cluster | RealCluster) -> Shell:
    await cluster.serve()
    folder = tmp_path / "guestbook"
    folder.mkdir()
    return Shell(folder, Path(cluster.kubeconfig()))


@pytest.fixture
async def user(cluster: Cluster | RealCluster) -> AsyncIterator[Client]:
    async with cluster.client() as client:
        yield client


def ready(obj: Untyped) -> bool:
    conditions = obj.content.get("status", {}).get("conditions", [])
    return any(condition["type"] == "Ready" and condition["status"] == "True" for condition in conditions)


async def exists(
    client: Client, kind: type[core.Namespace | apiextensions.CustomResourceDefinition], name: str
) -> bool:
    try:
        return (await client.get(kind, name)).metadata.deletion_timestamp is None
    except NotFound:
        return False


@pytest.mark.promise("Projects", "The quick start works from `init` to `uninstall`.")
@pytest.mark.control_plane  # kubectl
async def test_the_quick_start_works_from_init_to_uninstall(shell: Shell, user: Client, namespace: str) -> None:
    assert "wrote pyproject.toml" in await shell.run("init", "--domain", "my.domain")
    kind = ("--group", "webapp", "--version", "v1", "--kind", "Guestbook", "--owns", "ConfigMap")
    await shell.run("create", "api", *kind)
    files = [path for path in shell.folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    assert len(files) < 25

    module = shell.folder / "guestbook" / "guestbook.py"
    for before, after in EDITS.items():
        assert before in module.read_text()
        module.write_text(module.read_text().replace(before, after))
    sample = shell.folder / "config/samples/webapp_v1_guestbook.yaml"
    sample.write_text(sample.read_text().replace("foo: bar", "greeting: welcome"))
    await shell.run("manifests")
    assert (shell.folder / "config/crd/bases/webapp.my.domain_guestbooks.yaml").is_file()
    assert {path.name for path in (shell.folder / "config/rbac").glob("webapp*")} == {
        f"webapp.my.domain_guestbooks_{role}_role.yaml" for role in ("viewer", "editor", "admin")
    }
    assert "are up to date" in await shell.run("manifests", "--check")

    assert (await shell.run("install")).splitlines() == [f"installed {DEFINITION}"]
    await shell.run("install")
    async with shell.running(), asyncio.timeout(600):
        await shell.kubectl("apply", "--namespace", namespace, "-f", "config/samples")
        await user.wait_for(Guestbook, "guestbook-sample", ready, namespace)
        assert (await user.get(core.ConfigMap, "guestbook-sample", namespace)).data == {"greeting": "welcome"}
    await shell.run("uninstall", "--yes")
    assert not await exists(user, apiextensions.CustomResourceDefinition, DEFINITION)

    deployed = await shell.run("deploy", "--image", "registry.example.com/guestbook:1.0.0")
    assert f"applied Deployment {SYSTEM}/guestbook" in deployed
    deployment = await user.get(apps.Deployment, "guestbook", SYSTEM)
    assert deployment.spec.template.spec is not None
    [container] = deployment.spec.template.spec.containers
    assert (container.image, container.image_pull_policy) == ("registry.example.com/guestbook:1.0.0", "IfNotPresent")
    await shell.run("deploy", "--image", "registry.example.com/guestbook:1.0.0")
    assert (await user.get(apps.Deployment, "guestbook", SYSTEM)).metadata.generation == 1

    removed = await shell.run("undeploy", "--yes")
    assert f"removed CustomResourceDefinition {DEFINITION}" in removed
    assert not await exists(user, apiextensions.CustomResourceDefinition, DEFINITION)
    assert not await exists(user, core.Namespace, SYSTEM)
    roles = [role async for role in user.list(rbac.ClusterRole)]
    assert not [role.metadata.name for role in roles if "guestbook" in (role.metadata.name or "")]
    assert await shell.run("uninstall", "--yes") == f"absent CustomResourceDefinition {DEFINITION}\n"


@pytest.mark.promise("Projects", "Objects that block the deletion of a definition are named.")
async def test_names_the_objects_that_block_the_deletion_of_a_definition(shell: Shell, user: Client) -> None:
    carry_out(new_project("guestbook", "held.domain"), shell.folder)
    api = new_api(shell.folder, group="webapp", version="v1", kind="Held", controller=False)
    carry_out(api, shell.folder)
    await shell.run("install")
    kind = Untyped.kind_of("webapp.held.domain/v1", "Held", plural="helds")
    held = kind()
    held.metadata.name, held.metadata.namespace = "one", "default"
    held.metadata.finalizers = ["held.domain/waits"]
    await user.create(held)
    errors = await shell.fails("uninstall", "--yes", "--timeout", "1")
    assert "Held default/one has the finalizers held.domain/waits" in errors
    assert "Is the operator that removes them running?" in errors
    await user.patch(kind, "one", MergePatch({"metadata": {"finalizers": None}}), "default")
    await shell.run("uninstall", "--yes")
