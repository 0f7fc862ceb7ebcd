"""The web console of `dev`: it is optional, shows the operator, and its failures do not stop the program."""

from __future__ import annotations

import asyncio
import importlib.util
import socket
import urllib.request
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from kubewright.development._consoles import ConsoleBeside  # private: tested without the operator's process
from kubewright.development._target import (  # private: tested without the operator's process
    TargetCluster,
    embedded_target,
)
from kubewright.development.messages import ConsoleReady, Hint, Message
from tests.development.dev_process import PROGRAM, SAMPLE, Dev, developing, wait_until
from tests.patience import PATIENCE


@pytest.fixture
async def target() -> AsyncIterator[TargetCluster]:
    async with embedded_target(rbac=False, kubeconfig=None) as made:
        yield made


class Shared(NamedTuple):
    """A run of `dev` with a console, and a browser. Each test saves its own program first."""

    dev: Dev
    program: Path
    url: str
    browser: urllib.request.OpenerDirector

    def open(self, url: str) -> str:
        with self.browser.open(url, timeout=PATIENCE) as page:
            assert page.status == 200
            return str(page.read().decode())


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shared]:
    program = tmp_path_factory.mktemp("notes") / "notes.py"
    program.write_text(PROGRAM)
    program.with_name("example-note.yaml").write_text(SAMPLE)
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    with developing(program.parent, program.name) as dev:
        yield Shared(dev, program, dev.wait_for("console")["url"], browser)


@pytest.mark.timeout(900)
def test_serves_the_console_across_saves(shared: Shared) -> None:
    assert shared.url.startswith("http://127.0.0.1:")
    shared.open(shared.url)  # signs in with the invitation
    shared.dev.saves(shared.program, PROGRAM.replace("first", "second"))
    shared.dev.wait_for("object", name="sample", state="Said=second hello")
    shared.open(shared.url.partition("?")[0])


EXTENSION = """
from kubewright.console import Extension, ExtensionPage

notes = Extension("notes", title="Notes")


@notes.page("all", title="First title")
async def all_notes(page: ExtensionPage) -> None:
    pass
"""


@pytest.mark.timeout(900)
def test_loads_extensions_of_the_project_with_each_save(shared: Shared) -> None:
    dev, program = shared.dev, shared.program
    pages = program.with_name("notes_ui.py")
    pages.write_text(EXTENSION)
    dev.saves(program, f'{PROGRAM}\noperator.extend_console("notes_ui:notes")\n')
    wait_until(lambda: "First title" in shared.open(shared.url), "the page of the extension")
    pages.write_text(EXTENSION.replace("First", "Second"))
    dev.saves(program, f'{PROGRAM}\noperator.extend_console("notes_ui:notes")  # again\n')
    wait_until(lambda: "Second title" in shared.open(shared.url), "the changed page of the extension")
    dev.saves(program, f'{PROGRAM}\noperator.extend_console("notes_missing:notes")\n')
    assert "cannot import extension notes_missing:notes" in dev.wait_for("hint")["text"]


async def test_reports_a_port_in_use_as_a_hint(target: TargetCluster) -> None:
    messages: asyncio.Queue[Message] = asyncio.Queue()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        async with ConsoleBeside(target, taken.getsockname()[1], messages.put_nowait), asyncio.timeout(PATIENCE):
            message = await messages.get()
    assert isinstance(message, Hint)
    assert message.text.startswith("the web console cannot be served: ")


async def test_without_the_extra_a_hint_names_what_to_install(
    target: TargetCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    messages: asyncio.Queue[Message] = asyncio.Queue()
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    async with ConsoleBeside(target, 0, messages.put_nowait), asyncio.timeout(PATIENCE):
        message = await messages.get()
    assert message == Hint(text="a web console is available: pip install 'kubewright[console]'")


async def test_does_not_serve_a_console_without_a_port(target: TargetCluster) -> None:
    messages: list[Message] = []
    async with ConsoleBeside(target, None, messages.append) as beside:
        beside.operator_at("127.0.0.1:1")
    assert messages == []
    assert not any(isinstance(message, ConsoleReady) for message in messages)
