"""The web console beside a program: it comes when it can, knows the operator, and never disturbs."""

from __future__ import annotations

import asyncio
import importlib.util
import socket
import urllib.request
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from kubewright.development._consoles import ConsoleBeside
from kubewright.development._messages import ConsoleReady, Hint, Message
from kubewright.development._place import Place, embedded_place
from tests.development.dev_process import PROGRAM, SAMPLE, developing
from tests.patience import PATIENCE


@pytest.fixture
async def place() -> AsyncIterator[Place]:
    async with embedded_place(rbac=False, nodes=1, kubeconfig=None) as made:
        yield made


@pytest.mark.timeout(900)
def test_it_is_served_beside_the_program_and_stays_when_that_is_saved(tmp_path: Path) -> None:
    program = tmp_path / "notes.py"
    program.write_text(PROGRAM)
    (tmp_path / "example-note.yaml").write_text(SAMPLE)
    with developing(tmp_path, program.name) as dev:
        url = dev.wait_for("console")["url"]
        assert url.startswith("http://127.0.0.1:")
        browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        with browser.open(url, timeout=PATIENCE) as page:  # the invitation lets it in
            assert page.status == 200
        dev.saves(program, PROGRAM.replace("first", "second"))
        dev.wait_for("object", name="sample", state="Said=second hello")
        with browser.open(url.partition("?")[0], timeout=PATIENCE) as page:
            assert page.status == 200


async def test_a_port_that_is_taken_is_reported_and_no_more(place: Place) -> None:
    told: asyncio.Queue[Message] = asyncio.Queue()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        async with ConsoleBeside(place, taken.getsockname()[1], told.put_nowait), asyncio.timeout(PATIENCE):
            message = await told.get()
    assert isinstance(message, Hint)
    assert message.text.startswith("the web console cannot be served: ")


async def test_where_it_is_not_installed_one_line_says_how_it_is(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    told: asyncio.Queue[Message] = asyncio.Queue()
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    async with ConsoleBeside(place, 0, told.put_nowait), asyncio.timeout(PATIENCE):
        message = await told.get()
    assert message == Hint(text="a web console is available: pip install 'kubewright[console]'")


async def test_without_a_port_there_is_none(place: Place) -> None:
    told: list[Message] = []
    async with ConsoleBeside(place, None, told.append) as beside:
        beside.operator_at("127.0.0.1:1")
    assert told == []
    assert not any(isinstance(message, ConsoleReady) for message in told)
