"""A shell in a container, without a browser: bounds, permission, and exit."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any, Self, cast

import pytest

from kubewright.api import Untyped
from kubewright.client.streams import Output
from kubewright.clock import VirtualClock
from kubewright.console import Kind, Viewer
from kubewright.console.actions import MAX_INPUT_BYTES, Terminal
from tests.patience import until

PODS = Kind("", "v1", "Pod", "pods", "pod", True, Untyped.kind_of("v1", "Pod", plural="pods"))


class Shell:
    """A session. The test writes its output, and decides whether it reads its input."""

    def __init__(self) -> None:
        self.output: asyncio.Queue[bytes] = asyncio.Queue()
        self.reads = asyncio.Event()
        self.reads.set()
        self.given = b""
        self.sizes: list[tuple[int, int]] = []
        self.exit_code = 3
        self.closed = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.closed = True

    async def __aiter__(self) -> AsyncIterator[Output]:
        while data := await self.output.get():
            yield Output("stdout", data)

    async def write(self, data: bytes) -> None:
        await self.reads.wait()
        self.given += data

    async def resize(self, columns: int, rows: int) -> None:
        self.sizes.append((columns, rows))


class Guest:
    """A viewer with one permission, which the test can revoke."""

    def __init__(self, shell: Shell) -> None:
        self.client = self
        self.allowed = True
        self.asked: list[Any] = []
        self._shell = shell

    async def may(self, *asked: Any) -> bool:
        self.asked.append(asked)
        return self.allowed

    def exec(self, pod: str, command: Any, namespace: str, **_: Any) -> Shell:
        return self._shell


@pytest.fixture
def shell() -> Shell:
    return Shell()


@pytest.fixture
def guest(shell: Shell) -> Guest:
    return Guest(shell)


@pytest.fixture
def shown() -> list[bytes]:
    return []


@pytest.fixture
def recorded() -> list[str]:
    return []


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def terminal(guest: Guest, shown: list[bytes], recorded: list[str], clock: VirtualClock) -> Terminal:
    async def show(data: bytes) -> None:
        shown.append(data)

    viewer = cast("Viewer", guest)
    return Terminal(viewer, PODS, "shop", "web", "app", show=show, record=recorded.append, clock=clock)


async def test_passes_input_output_and_size(
    terminal: Terminal, shell: Shell, guest: Guest, shown: list[bytes], recorded: list[str]
) -> None:
    running = asyncio.ensure_future(terminal.run())
    terminal.resize(100, 30)
    assert terminal.write("ls é\r")
    shell.output.put_nowait(b"x" * 100_000)
    shell.output.put_nowait(b"")
    assert await running == "The shell ended with exit code 3."
    assert guest.asked[0] == ("create", PODS, "shop", "web", "exec")
    assert [len(one) for one in shown] == [65_536, 34_464]
    assert (shell.given, shell.sizes, shell.closed) == ("ls é\r".encode(), [(100, 30)], True)
    assert recorded == ["ok"]


@pytest.mark.promise(
    "Objects and operators in the console",
    "A terminal needs `create` on pods/exec, and ends when the permission is revoked.",
)
async def test_needs_the_permission_and_ends_without_it(
    terminal: Terminal, shell: Shell, guest: Guest, clock: VirtualClock, recorded: list[str]
) -> None:
    running = asyncio.ensure_future(terminal.run())
    await clock.advance(60)
    assert not running.done()
    guest.allowed = False
    await clock.advance(6)
    assert await running == "The terminal was closed: you need the verb “create” on pods/exec."
    assert shell.closed
    assert await terminal.run() == "You may not open a terminal: you need the verb “create” on pods/exec."
    assert recorded == ["ok"]


async def test_bounds_input(terminal: Terminal, shell: Shell) -> None:
    for invalid in (None, 7, ["ls"], "x" * (MAX_INPUT_BYTES + 1), "é" * (MAX_INPUT_BYTES // 2 + 1)):
        assert not terminal.write(invalid)
    for columns, rows in (("80", 24), (80, 0), (True, 24), (80, 10_000), (None, None)):
        terminal.resize(columns, rows)
    shell.reads.clear()  # the program does not read
    running = asyncio.ensure_future(terminal.run())
    assert terminal.write("x" * MAX_INPUT_BYTES)
    await asyncio.sleep(0)
    assert not terminal.write("y")
    shell.reads.set()
    shell.output.put_nowait(b"")
    await running
    assert shell.sizes == []


async def test_cancellation_closes_the_shell(terminal: Terminal, shell: Shell, shown: list[bytes]) -> None:
    running = asyncio.ensure_future(terminal.run())
    shell.output.put_nowait(b"$ ")
    await until(lambda: shown, "the prompt")
    running.cancel()
    await asyncio.wait([running])
    assert shell.closed
