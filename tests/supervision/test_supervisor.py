"""Processes never outlive their owner, and no descendant of a process outlives it."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from kubewright.kubelet import LocalProcess
from kubewright.supervision import Supervised, Supervisor, SupervisorGone
from tests.patience import until

PATH = os.environ["PATH"]
# Starts a daemon: in another session, with another parent.
DAEMON = """
import os, signal, sys
waiting, ready = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        print(os.getpid(), flush=True)
        os.write(ready, b"1")
        signal.pause()
    os._exit(0)
os.wait()
os.read(waiting, 1)
"""
# Starts a daemon whose environment is empty, also in /proc. It closes its output.
HIDDEN_DAEMON = """
import os, sys
waiting, ready = os.pipe()
os.set_inheritable(ready, True)
program = (
    "import os, signal; print(os.getpid(), flush=True); null = os.open(os.devnull, os.O_RDWR); "
    f"os.dup2(null, 1); os.dup2(null, 2); os.write({ready}, b'1'); signal.pause()"
)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execve(sys.executable, ["daemon", "-c", program], {})
    os._exit(0)
os.wait()
os.read(waiting, 1)
"""


@pytest.fixture
async def supervisor(tmp_path: Path) -> AsyncIterator[Supervisor]:
    made = await Supervisor(tmp_path).start()
    yield made
    await made.close()


async def run(supervisor: Supervisor, *command: str, **settings: Any) -> tuple[int, bytes, bytes]:
    """Returns the exit code, the output and the errors."""

    async def spawn(command: Any, **given: Any) -> Supervised:
        return await supervisor.spawn(command, **given, **settings)

    process = await LocalProcess.start(command, environment={"PATH": PATH, "MARK": "1"}, spawn=spawn)
    output = {1: b"", 2: b""}
    async for channel, data in process.output():
        output[channel.value] += data
    return await process.wait(), output[1], output[2]


def lives(pid: int) -> bool:
    with suppress(OSError):
        return " Z " not in Path(f"/proc/{pid}/stat").read_text()
    return False


async def test_runs_programs(supervisor: Supervisor) -> None:
    assert await run(supervisor, "sh", "-c", "echo out; echo err >&2; exit 3") == (3, b"out\n", b"err\n")
    assert (await run(supervisor, "sh", "-c", "kill -9 $$"))[0] == 137


async def test_starts_from_an_empty_environment(supervisor: Supervisor) -> None:
    _, output, _ = await run(supervisor, "env")
    assert {line.split(b"=")[0] for line in output.splitlines()} <= {b"PATH", b"MARK", b"PWD", b"SHLVL", b"_"}


async def test_reports_a_program_that_does_not_exist(supervisor: Supervisor) -> None:
    with pytest.raises(FileNotFoundError, match="no-such-program"):
        await run(supervisor, "no-such-program")


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
async def test_kills_a_process_whose_start_was_canceled(supervisor: Supervisor) -> None:
    def running() -> str:
        return Path(f"/proc/{supervisor.pid}/task/{supervisor.pid}/children").read_text()

    nothing = os.open(os.devnull, os.O_RDWR)
    for turns in range(8):
        asked = supervisor.spawn(["sleep", "1000"], environment={"PATH": PATH}, descriptors=[nothing] * 3)
        starting = asyncio.ensure_future(asked)
        for _ in range(turns):
            await asyncio.sleep(0)
        starting.cancel()
        await asyncio.gather(starting, return_exceptions=True)
    os.close(nothing)
    assert (await run(supervisor, "true"))[0] == 0  # requests are handled in order, so all have been handled
    await until(lambda: not running(), "the end of the processes")


async def test_kills_daemons_when_the_process_ends(supervisor: Supervisor) -> None:
    code, output, _ = await run(supervisor, sys.executable, "-c", DAEMON, marker="MARK=1")
    assert code == 0
    await until(lambda: not lives(int(output)), "the end of the daemon")


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.promise("Pods as processes", "A daemon that clears its environment ends with its container.")
async def test_kills_daemons_that_clear_their_environment(supervisor: Supervisor) -> None:
    command, family = (sys.executable, "-c", HIDDEN_DAEMON), 1 << 60
    pids = []
    for settings in (
        {"family": family + 1},  # another container
        {"family": family},  # a command in the same container, whose end is not that of the container
    ):
        _, output, _ = await run(supervisor, *command, **settings)
        pids.append(int(output))
    assert all(map(lives, pids))
    _, output, _ = await run(supervisor, *command, family=family, marker="MARK=1")
    neighbor, *others = [*pids, int(output)]
    await until(lambda: not any(map(lives, others)), "the end of the daemons")
    assert lives(neighbor)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
async def test_kills_families_that_survived_another_supervisor(supervisor: Supervisor, tmp_path: Path) -> None:
    former = await Supervisor(tmp_path).start()
    _, output, _ = await run(former, sys.executable, "-c", HIDDEN_DAEMON, family=1_000_007)
    os.kill(former.pid, signal.SIGKILL)
    assert await supervisor.kill_marked("NONE=1", range(1_000_000, 1_000_007)) == 0
    assert await supervisor.kill_marked("NONE=1", range(1_000_000, 1_000_008)) == 1
    await until(lambda: not lives(int(output)), "the end of the daemon")
    await former.close()


async def test_kills_everything_at_the_end(tmp_path: Path) -> None:
    supervisor = await Supervisor(tmp_path).start()
    _, output, _ = await run(supervisor, "sh", "-c", "sleep 600 >&- 2>&- & echo $!")  # no marker: group is killed
    daemon = DAEMON.replace("print(", "os.environ.clear(); print(")
    starting = await LocalProcess.start(
        [sys.executable, "-c", daemon + "\nprint('main', flush=True); signal.pause()"],
        environment={},
        spawn=supervisor.spawn,
    )
    pids = []
    async for _, data in starting.output():
        pids += [int(word) for word in data.split() if word.isdigit()]
        if b"main" in data:
            break
    await supervisor.close()
    assert [pid for pid in (int(output), *pids) if lives(pid)] == []
    assert not supervisor.directory.exists()
    await starting.close()


async def test_kills_everything_after_its_owner_was_killed(tmp_path: Path) -> None:
    program = f"""
import asyncio, os, sys
from kubewright.kubelet import LocalProcess
from kubewright.supervision import Supervisor
from pathlib import Path
async def main():
    supervisor = await Supervisor(Path({str(tmp_path)!r})).start()
    command = [sys.executable, "-c", {DAEMON!r} + "signal.pause()"]
    process = await LocalProcess.start(command, environment={{}}, spawn=supervisor.spawn)
    async for _, data in process.output():
        print(data.decode().strip(), process.child.pid, supervisor.pid, flush=True)
asyncio.run(main())
"""
    owner = await asyncio.create_subprocess_exec(sys.executable, "-c", program, stdout=asyncio.subprocess.PIPE)
    assert owner.stdout is not None
    pids = [int(word) for word in (await owner.stdout.readline()).split()]
    assert len(pids) == 3
    owner.send_signal(signal.SIGKILL)
    await owner.wait()
    await until(lambda: not any(map(lives, pids)), "the end of all processes")
    assert os.listdir(tmp_path) == []


async def test_processes_die_with_a_supervisor_that_is_killed(supervisor: Supervisor) -> None:
    process = await LocalProcess.start(["sleep", "600"], environment={"PATH": PATH}, spawn=supervisor.spawn)
    os.kill(supervisor.pid, signal.SIGKILL)
    assert await process.wait() == 137
    await process.close()
    with pytest.raises(SupervisorGone):
        await run(supervisor, "true")


@pytest.mark.skipif(os.getuid() != 0, reason="needs root")
class TestMounts:
    async def test_shows_folders_at_paths_that_do_not_exist(self, supervisor: Supervisor, tmp_path: Path) -> None:
        (tmp_path / "root").mkdir()
        (tmp_path / "volume").mkdir()
        (tmp_path / "volume" / "file").write_text("content")
        mounts: Any = {
            "root": str(tmp_path / "root"),
            "opened": ["/"],
            "binds": [
                {"from": str(tmp_path), "inside": ["volume"], "to": ["no-such", "folder"], "read_only": True},
                {"from": str(tmp_path), "inside": ["volume", "file"], "to": ["one"], "read_only": False},
            ],
        }
        script = "cat /no-such/folder/file /one; touch /no-such/folder/more || echo; ls -d /bin /dev/null; hostname"
        code, output, errors = await run(supervisor, "sh", "-c", script, mounts=mounts, hostname="web-0")
        assert (code, output) == (0, b"contentcontent\n/bin\n/dev/null\nweb-0\n")
        assert b"Read-only file system" in errors
        assert "no-such" not in os.listdir("/")

    async def test_follows_no_symbolic_links(self, supervisor: Supervisor, tmp_path: Path) -> None:
        (tmp_path / "root").mkdir()
        (tmp_path / "volume").mkdir()
        (tmp_path / "volume" / "link").symlink_to("/etc")
        mounts: Any = {
            "root": str(tmp_path / "root"),
            "opened": ["/"],
            "binds": [{"from": str(tmp_path / "volume"), "inside": ["link"], "to": ["data"], "read_only": False}],
        }
        with pytest.raises(OSError, match="Too many levels of symbolic links"):
            await run(supervisor, "true", mounts=mounts)

    async def test_joins_the_root_of_a_process(self, supervisor: Supervisor, tmp_path: Path) -> None:
        (tmp_path / "root").mkdir()
        mounts: Any = {"root": str(tmp_path / "root"), "opened": ["/"], "binds": []}
        first = await LocalProcess.start(
            ["sh", "-c", "echo here >/only-there; echo; sleep 600"],
            environment={"PATH": PATH},
            spawn=lambda command, **given: supervisor.spawn(command, mounts=mounts, hostname="first", **given),
        )
        async for _ in first.output():
            break
        child: Any = first.child
        assert (await run(supervisor, "sh", "-c", "cat /only-there; hostname", join=child))[1] == b"here\nfirst\n"
        await first.close()

    async def test_runs_as_another_user(self, supervisor: Supervisor) -> None:
        _, output, _ = await run(supervisor, "id", user=12345, group=23456, groups=[7])
        assert b"uid=12345 gid=23456" in output
        assert b"groups=23456,7" in output
