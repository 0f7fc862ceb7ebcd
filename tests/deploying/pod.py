"""A pod without a node: its container's command, started on this machine as a kubelet would start it.

The process gets everything that the Pod specifies and that a kubelet adds: environment variables and the fields that
they refer to, the address of the API server, and a folder with a token that is bound to the Pod, the server's CA and
the namespace. It has no kubeconfig, and no environment variables of this process. There is one difference: a pod has
its own network. Here the servers listen on free ports of loopback, and log them.
"""

from __future__ import annotations

import asyncio
import json
import re
import signal
import ssl
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from kubewright.api import apps, core, to_dict
from kubewright.client import Client, load_config
from tests.patience import until

__all__ = ["PodProcess", "pod_of", "started"]

_ANY_ADDRESS = re.compile(r"\b0\.0\.0\.0:\d+")
_HERE = "127.0.0.1:0"


@dataclass
class PodProcess:
    """A container's process."""

    pod: core.Pod
    process: asyncio.subprocess.Process
    log: Path

    @property
    def user(self) -> str:
        """Its user name at the API server."""
        assert self.pod.spec is not None
        return f"system:serviceaccount:{self.pod.metadata.namespace}:{self.pod.spec.service_account_name}"

    async def port(self, of: str) -> int:
        """Waits until the log names the port that serves `what`, such as `/readyz` or `webhooks`, and returns it."""
        while True:
            for line in self.lines():
                if line.startswith("serving ") and of in line:
                    return int(line.rpartition(":")[2])
            await self._alive()

    async def ready(self) -> None:
        """Waits until its readiness probe succeeds."""
        assert self.pod.spec is not None
        [container] = self.pod.spec.containers
        probe = container.readiness_probe
        assert probe is not None
        assert probe.http_get is not None
        await self.page(probe.http_get.path or "/")

    async def page(self, path: str, token: str | None = None) -> str:
        """Waits until a page is served with status 200, and returns it."""
        while True:
            status, answer = await self.answer(path, token)
            if status == 200:
                return answer
            await self._alive()

    async def answer(self, path: str, token: str | None = None) -> tuple[int, str]:
        """Returns the status and the body of a page. The certificate of the metrics is not verified."""
        port = await self.port(path)
        context = None
        if path == "/metrics":
            context = ssl.create_default_context()
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
        authorization = "" if token is None else f"Authorization: Bearer {token}\r\n"
        writer.write(f"GET {path} HTTP/1.0\r\n{authorization}\r\n".encode())
        answer = (await reader.read()).decode()
        writer.close()
        return int(answer.split(maxsplit=2)[1]), answer

    def lines(self) -> list[str]:
        """Returns the messages of its log so far."""
        complete = self.log.read_text().rpartition("\n")[0]
        return [json.loads(line)["message"] if line.startswith("{") else line for line in complete.splitlines()]

    async def _alive(self) -> None:
        assert self.process.returncode is None, self.log.read_text()
        await asyncio.sleep(0.05)  # real: polls another process


async def pod_of(client: Client, deployment: apps.Deployment) -> core.Pod:
    """Waits for the Pod of a Deployment with one replica, and returns it."""
    labels = deployment.spec.selector.match_labels
    [pod] = await until(lambda: client.list(core.Pod, deployment.metadata.namespace, labels=labels))
    return pod


@asynccontextmanager
async def started(
    client: Client, pod: core.Pod, kubeconfig: Path, *, image: Path, folder: Path
) -> AsyncIterator[PodProcess]:
    """Runs the process of the Pod's container in a folder instead of its image. Stops it at the end."""
    assert pod.spec is not None
    [container] = pod.spec.containers
    assert pod.spec.automount_service_account_token is not False
    config = load_config(kubeconfig=kubeconfig, environ={})
    account = folder / "serviceaccount"
    account.mkdir()
    (account / "token").write_text(await _token(client, pod))
    published = await client.get(core.ConfigMap, "kube-root-ca.crt", pod.metadata.namespace)
    (account / "ca.crt").write_text((published.data or {})["ca.crt"])
    (account / "namespace").write_text(pod.metadata.namespace or "")
    server = urlsplit(config.server)
    environment = {
        "PATH": str(Path(sys.executable).parent),
        "HOME": "/nonexistent",
        "HOSTNAME": pod.metadata.name or "",
        "KUBERNETES_SERVICE_HOST": server.hostname or "",
        "KUBERNETES_SERVICE_PORT": str(server.port),
        "KUBEWRIGHT_SERVICE_ACCOUNT": str(account),
        **{variable.name: _value(variable, pod) for variable in container.env or []},
    }
    log = folder / "log"
    with log.open("wb") as output:
        process = await asyncio.create_subprocess_exec(
            *(_ANY_ADDRESS.sub(_HERE, word) for word in (*(container.command or []), *(container.args or []))),
            cwd=image,
            env={name: _ANY_ADDRESS.sub(_HERE, value) for name, value in environment.items()},
            stdout=output,
            stderr=output,
        )
    try:
        yield PodProcess(pod, process, log)
        process.send_signal(signal.SIGTERM)
        assert await process.wait() == 0, log.read_text()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


def _value(variable: core.EnvVar, pod: core.Pod) -> str:
    """Returns the value of a variable, or of the field of the Pod that it refers to."""
    source = variable.value_from
    if source is None:
        return variable.value or ""
    assert source.field_ref is not None, f"{variable.name} comes from elsewhere"
    found = to_dict(pod)
    for step in source.field_ref.field_path.split("."):
        found = found[step]
    return str(found)


async def _token(client: Client, pod: core.Pod) -> str:
    """Returns a token for the Pod's account, which is valid while the Pod exists."""
    assert pod.spec is not None
    bound = {"apiVersion": "v1", "kind": "Pod", "name": pod.metadata.name, "uid": pod.metadata.uid}
    answer = await client.request(
        "POST",
        f"/api/v1/namespaces/{pod.metadata.namespace}/serviceaccounts/{pod.spec.service_account_name}/token",
        body={
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {"expirationSeconds": 3607, "boundObjectRef": bound},
        },
    )
    return str(msgspec.json.decode(answer)["status"]["token"])
