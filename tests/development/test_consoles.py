"""The web console of `dev`: it is optional, shows the operator, and its failures do not stop the program."""

from __future__ import annotations

import asyncio
import importlib.util
import socket
import urllib.request
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from kubewright.development._consoles import ConsoleBeside  # private: tested without the operator's process
from kubewright.development._target import (  # private: tested without the operator's process
    TargetCluster,
    embedded_target,
)
from kubewright.development.messages import ConsoleReady, Hint, Message
from tests.development.dev_process import PROGRAM, SAMPLE, developing, wait_until
from tests.patience import PATIENCE


@pytest.fixture
async def target() -> AsyncIterator[TargetCluster]:
    async with embedded_target(rbac=False, kubeconfig=None) as made:
        yield made


@pytest.mark.timeout(900)
def test_serves_the_console_across_saves(tmp_path: Path) -> None:
    program = tmp_path / "notes.py"
    program.write_text(PROGRAM)
    (tmp_path / "example-note.yaml").write_text(SAMPLE)
    with developing(tmp_path, program.name) as dev:
        url = dev.wait_for("console")["url"]
        assert url.startswith("http://127.0.0.1:")
        browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        with browser.open(url, timeout=PATIENCE) as page:  # signs in with the invitation
            assert page.status == 200
        dev.saves(program, PROGRAM.replace("first", "second"))
        dev.wait_for("object", name="sample", state="Said=second hello")
        with browser.open(url.partition("?")[0], timeout=PATIENCE) as page:
            assert page.status == 200


EXTENSION = """
from kubewright.console import Extension, ExtensionPage

notes = Extension("notes", title="Notes")


@notes.page("all", title="First title")
async def all_notes(page: ExtensionPage) -> None:
    pass
"""


@pytest.mark.timeout(900)
def test_loads_extensions_of_the_project_with_each_save(tmp_path: Path) -> None:
    program = tmp_path / "notes.py"
    program.write_text(f'{PROGRAM}\noperator.extend_console("notes_ui:notes")\n')
    pages = tmp_path / "notes_ui.py"
    pages.write_text(EXTENSION)
    with developing(tmp_path, program.name) as dev:
        url = dev.wait_for("console")["url"]
        browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())

        def shows(title: str) -> bool:
            with browser.open(url, timeout=PATIENCE) as page:
                return title in page.read().decode()

        wait_until(lambda: shows("First title"), "the page of the extension")
        pages.write_text(EXTENSION.replace("First", "Second"))
        dev.saves(program, f'{PROGRAM}\noperator.extend_console("notes_ui:notes")  # again\n')
        wait_until(lambda: shows("Second title"), "the changed page of the extension")
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
