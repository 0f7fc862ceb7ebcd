"""Clusters that commands start in the folder of a project, and whose pods are processes of this machine."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from kubewright.api import apps, core
from kubewright.client import Client, RetryPolicy, load_config
from kubewright.testing import setup_binaries
from tests.cluster.clients.go_programs import sample_controller
from tests.patience import PATIENCE, until

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
GUESTBOOK_EDITS = {
    "foo: str | None = None": "greeting: str = 'hello'",
    'ctx.log.info("foo is %s", guestbook.spec.foo)': (
        "config = core.ConfigMap(metadata=meta.ObjectMeta(name=guestbook.metadata.name))\n"
        "    config.data = {'greeting': guestbook.spec.greeting}\n"
        "    await ctx.apply(config)\n"
        '    ctx.log.info("greeting is %s", guestbook.spec.greeting)'
    ),
}
"""A user's edits of the module: a new field, an object that depends on it, and a line in the log."""

_IMAGE = """
[images."{image}"]
command = {command}
entrypoint = {entrypoint}
allow_args = true
allow_environment = ["KUBEWRIGHT_WEBHOOK_*", "PYTHON*"]
rewrite = {{ "0.0.0.0" = "$(POD_IP)" }}
directory = "{directory}"
keep = {keep}
environment = {{ PYTHONUNBUFFERED = "1" }}
"""


class Local:
    """A running cluster, and the commands of its user."""

    def __init__(self, process: subprocess.Popen[str], folder: Path, kubeconfig: Path) -> None:
        self.process = process
        self.folder = folder
        self.kubeconfig = kubeconfig

    def client(self) -> Client:
        """Returns a client of the administrator that does not retry."""
        return Client(load_config(kubeconfig=self.kubeconfig), retry=RetryPolicy(attempts=1))

    async def kubewright(self, *arguments: str, folder: Path | None = None) -> str:
        """Runs a command that must succeed, in the project's folder, and returns its standard output."""
        return await self._run(sys.executable, "-m", "kubewright", *arguments, folder=folder)

    async def kubectl(self, *arguments: str) -> str:
        """Runs kubectl, which must succeed, and returns its standard output."""
        return await self._run(str(setup_binaries() / "kubectl"), *arguments)

    async def _run(self, *command: str, folder: Path | None = None) -> str:
        process = await self._start(*command, folder=folder)
        async with asyncio.timeout(PATIENCE):
            output, errors = await process.communicate()
        assert process.returncode == 0, f"{' '.join(command)}: {errors.decode()}"
        return output.decode()

    async def _start(self, *command: str, folder: Path | None = None) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            *command,
            cwd=folder or self.folder,
            env=environment(self.kubeconfig),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )

    @asynccontextmanager
    async def forwarded(self, *arguments: str) -> AsyncIterator[int]:
        """Yields the local port of `kubectl port-forward`."""
        process = await self._start(str(setup_binaries() / "kubectl"), "port-forward", *arguments)
        assert process.stdout is not None
        try:
            async with asyncio.timeout(PATIENCE):
                line = (await process.stdout.readline()).decode()
            assert " -> " in line, line
            yield int(line.split(" -> ")[0].rpartition(":")[2])
        finally:
            process.terminate()
            await process.communicate()


def environment(kubeconfig: Path) -> dict[str, str]:
    """Returns the environment of commands."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("KUBEWRIGHT_")}
    return kept | {"KUBECONFIG": str(kubeconfig), "PYTHONDONTWRITEBYTECODE": "1"}


def images() -> str:
    """Returns images.toml: the examples, client-go's sample controller, and the console."""
    keep = [str(ROOT), sys.prefix, sys.base_prefix]
    mapped = ""
    for name in ("password", "memcached"):
        mapped += _IMAGE.format(
            image=f"registry.example.com/{name}",
            command=["{python}", "-m", "kubewright", "run", f"{name}.py"],
            entrypoint=["kubewright", "run", f"{name}.py"],
            directory=EXAMPLES / name,
            keep=keep,
        )
    mapped += _IMAGE.format(
        image="sample-controller", command=[str(sample_controller())], entrypoint=[], directory="/", keep=keep
    )
    return mapped + _IMAGE.format(
        image="kubewright-console",
        command=["{python}", "-m", "kubewright", "ui"],
        entrypoint=["kubewright", "ui"],
        directory="/",
        keep=keep,
    )


@pytest.fixture(scope="package", params=["embedded", "real"])
def local(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Local]:
    """Each cluster with the Guestbook project: `init`, `create api`, the user's edits, and `start --run-pods`."""
    folder = tmp_path_factory.mktemp("projects") / "guestbook"
    folder.mkdir()
    kubeconfig = folder.with_name("kubeconfig")
    settings = {"cwd": folder, "env": environment(kubeconfig), "check": True, "capture_output": True}
    command = [sys.executable, "-m", "kubewright"]
    subprocess.run([*command, "init", "--domain", "my.domain"], **settings)  # type: ignore[call-overload]
    kind = ["--group", "webapp", "--version", "v1", "--kind", "Guestbook", "--owns", "ConfigMap"]
    subprocess.run([*command, "create", "api", *kind], **settings)  # type: ignore[call-overload]
    module = folder / "guestbook" / "guestbook.py"
    for before, after in GUESTBOOK_EDITS.items():
        assert before in module.read_text()
        module.write_text(module.read_text().replace(before, after))
    sample = folder / "config/samples/webapp_v1_guestbook.yaml"
    sample.write_text(sample.read_text().replace("foo: bar", "greeting: welcome"))
    (folder / "images.toml").write_text(images())
    start = {
        "embedded": ["cluster", "start", "--workloads", "--rbac"],
        "real": ["controlplane", "start", "--with-controllers"],
    }[request.param]
    options = ["--run-pods", "--images", "images.toml", "--write-kubeconfig", str(kubeconfig)]
    started = environment(kubeconfig) | {
        name: os.environ[name] for name in ("KUBEWRIGHT_CACHE_DIR",) if name in os.environ
    }
    with subprocess.Popen(
        [*command, *start, *options], cwd=folder, env=started, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if "Ctrl-C" in line:
                break
        try:
            deploy_all(folder, environment(kubeconfig))
            yield Local(process, folder, kubeconfig)
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(timeout=PATIENCE)


def deploy_all(folder: Path, variables: dict[str, str]) -> None:
    """Deploys projects and the console, so that all of them start at the same time."""
    kubewright, kubectl = [sys.executable, "-m", "kubewright"], str(setup_binaries() / "kubectl")
    console = ["ui", "--manifests", "console", "--certificates", "none"]
    subprocess.run([*kubewright, *console], cwd=folder, env=variables, check=True, capture_output=True)
    commands = [(folder, [kubectl, "apply", "-k", "console"])]
    for name, place, targets in (
        ("guestbook", folder, []),
        ("password", EXAMPLES / "password", ["password.py"]),
        ("memcached", EXAMPLES / "memcached", ["memcached.py"]),
    ):
        commands.append((place, [*kubewright, "deploy", *targets, "--image", f"registry.example.com/{name}:1.0.0"]))
    running = [subprocess.Popen(command, cwd=place, env=variables) for place, command in commands]
    assert [process.wait(PATIENCE) for process in running] == [0] * len(commands)


@pytest.fixture
async def admin(local: Local) -> AsyncIterator[Client]:
    """A client of the administrator that does not retry."""
    async with local.client() as client:
        yield client


async def available(client: Client, namespace: str, name: str) -> list[core.Pod]:
    """Waits until a Deployment has rolled out, and returns its pods."""

    async def rolled_out() -> bool:
        found = await client.get(apps.Deployment, name, namespace)
        status, wanted = found.status, found.spec.replicas
        return (
            status.observed_generation == found.metadata.generation
            and status.updated_replicas == status.replicas == status.available_replicas == wanted
        )

    await until(rolled_out, f"the pods of {namespace}/{name}")
    pods = await client.list(core.Pod, namespace)
    return [pod for pod in pods if pod.metadata.deletion_timestamp is None]


def processes_of(pods: list[core.Pod]) -> list[int]:
    """Returns the processes of pods that run on this machine."""
    marks = [f"KUBEWRIGHT_CONTAINER={pod.metadata.uid}/".encode() for pod in pods]
    found = []
    for entry in os.listdir("/proc"):
        try:
            variables = Path(f"/proc/{entry}/environ").read_bytes() if entry.isdigit() else b""
        except OSError:
            continue
        if any(mark in variables for mark in marks):
            found.append(int(entry))
    return found
