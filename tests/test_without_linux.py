"""Calls that only Linux has: each part works without them, as on macOS. The tests make the calls unavailable."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import kubewright as kw
from kubewright.api import meta
from kubewright.client import Forbidden
from kubewright.cluster import Cluster
from kubewright.cluster.services import wildcard_ports
from kubewright.kubelet import LocalProcess
from kubewright.supervision import Supervised, Supervisor
from kubewright.testing.binaries import platform_name

# The supervisor's program on a system without pidfd, prctl, waitid and /proc.
ELSEWHERE = """
import builtins, os, sys
sys.platform = "darwin"
for name in ("pidfd_open", "waitid", "P_ALL", "WNOWAIT", "O_PATH", "memfd_create"):
    if hasattr(os, name):
        delattr(os, name)
real = builtins.open
def without_proc(path, *arguments, **named):
    if str(path).startswith("/proc"):
        raise FileNotFoundError(path)
    return real(path, *arguments, **named)
builtins.open = without_proc
program = __file__ = {program!r}
exec(compile(real(program).read(), program, "exec"))
"""


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    program = Path(kw.__file__).parent / "supervision" / "_program.py"
    (tmp_path / "_program.py").write_text(ELSEWHERE.format(program=str(program)))
    real = subprocess.Popen

    def popen(command: list[str], **given: Any) -> subprocess.Popen[bytes]:
        return real([str(tmp_path / program.name) if one == str(program) else one for one in command], **given)

    monkeypatch.setattr("subprocess.Popen", popen)
    return tmp_path


@pytest.mark.promise("Development", "Processes are started, watched and stopped without the calls that only Linux has.")
async def test_supervisor_works_without_pidfd_waitid_prctl_and_proc(elsewhere: Path) -> None:
    supervisor = await Supervisor(elsewhere).start()

    async def spawn(command: Any, **given: Any) -> Supervised:
        return await supervisor.spawn(command, **given)

    try:
        process = await LocalProcess.start(
            [sys.executable, "-c", "print('hello'); raise SystemExit(7)"], environment={}, spawn=spawn
        )
        output = b"".join([data async for _, data in process.output()])
        assert (await process.wait(), output) == (7, b"hello\n")
        stuck = await LocalProcess.start(
            [sys.executable, "-c", "import signal; print('ready', flush=True); signal.pause()"],
            environment={},
            spawn=spawn,
        )
        async for _, data in stuck.output():
            assert data == b"ready\n"
            break
    finally:
        await supervisor.close()
    assert await stuck.wait() != 0


class LampSpec(kw.Model):
    watts: int = 1


@kw.resource("elsewhere.example.com/v1")
class Lamp(kw.Resource[LampSpec, None]):
    """A kind with a webhook."""


operator = kw.Operator("elsewhere")


@operator.validates(Lamp)
def check(lamp: Lamp) -> None:
    if lamp.spec.watts > 100:
        raise kw.Refused("too bright")


async def test_tls_and_connections_work_without_memory_files_and_keepalive_intervals(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "memfd_create", raising=False)
    for option in ("TCP_KEEPIDLE", "TCP_KEEPINTVL", "TCP_KEEPCNT"):
        monkeypatch.delattr(socket, option, raising=False)
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    async with Cluster() as cluster:
        await cluster.serve()
        config = kw.load_config(kubeconfig=cluster.kubeconfig(tmp_path / "config"))
        async with kw.Client(config) as client, operator.running(cluster):
            await client.create(Lamp(metadata=meta.ObjectMeta(name="dim"), spec=LampSpec(watts=5)))
            with pytest.raises(Forbidden, match="too bright"):
                await client.create(Lamp(metadata=meta.ObjectMeta(name="bright"), spec=LampSpec(watts=500)))
    assert list((tmp_path / "temporary").glob("kubewright-*")) == []


def test_ports_on_all_addresses_are_unknown_without_proc(tmp_path: Path) -> None:
    assert wildcard_ports([os.getpid()], proc=tmp_path / "missing") == set()


def test_binaries_of_macos_have_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "darwin")
    monkeypatch.setattr("platform.machine", lambda: "arm64")
    assert platform_name() == "darwin-arm64"
