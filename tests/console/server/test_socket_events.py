"""The socket events of NiceGUI that are handled."""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path
from typing import Any

import nicegui
import pytest
from nicegui import core
from packaging.requirements import Requirement
from packaging.version import Version

from kubewright.console.server import KNOWN_EVENTS, guard_socket_events, guarded_handlers

PROJECT = Path(__file__).parents[3] / "pyproject.toml"


def handler(*_: Any) -> None:
    raise AssertionError("an event that the guard does not know was handled")


def registered_events(source: str) -> set[str]:
    """Returns the events that a module registers: `sio.on(...)`, `@sio.event`, or a namespace."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute) and node.attr == "register_namespace":
            found.add("register_namespace")
        if not (isinstance(node, ast.Attribute) and node.attr in ("on", "event")):
            continue
        if not ast.unparse(node.value).endswith("sio"):
            continue
        found.add("@sio.event" if node.attr == "event" else "sio.on")
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("sio.on"):
            found.discard("sio.on")
            first = node.args[0]
            found.add(str(first.value) if isinstance(first, ast.Constant) else ast.unparse(first))
    return found


@pytest.mark.promise(
    "Access to the console and its cost",
    "Unknown socket events are dropped.",
)
def test_knows_all_events_of_the_installed_nicegui() -> None:
    sources = Path(nicegui.__file__).parent.rglob("*.py")
    found = {event for source in sources for event in registered_events(source.read_text(encoding="utf-8"))}
    assert found == KNOWN_EVENTS, "decide how _open_pages.py guards the events that differ"


def test_the_installed_nicegui_is_supported() -> None:
    project = tomllib.loads(PROJECT.read_text())["project"]
    requirements = [Requirement(one) for one in project["optional-dependencies"]["console"]]
    [requirement] = [one for one in requirements if one.name == "nicegui"]
    assert requirement.specifier.contains(nicegui.__version__)
    installed = Version(nicegui.__version__)
    newer = f"{installed.major}.{installed.minor + 1}.0"
    assert not requirement.specifier.contains(newer), "only versions that are tested are supported"


@pytest.mark.promise(
    "Access to the console and its cost",
    "Unknown socket events are dropped.",
)
def test_drops_and_logs_unknown_events(caplog: pytest.LogCaptureFixture) -> None:
    given = {"/": dict.fromkeys([*KNOWN_EVENTS, "upload", "*"], handler), "*": {"event": handler}, "/x": {"a": handler}}
    made = guarded_handlers(given)
    assert set(made) == {"/"}
    assert set(made["/"]) == KNOWN_EVENTS
    assert "unknown socket events, which the console drops: *, * event, /x a, upload" in caplog.text


def test_no_event_can_be_registered_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(core.sio, "handlers", {"/": dict.fromkeys(KNOWN_EVENTS, handler)})
    guard_socket_events()
    for namespace in ("/", "/other"):
        with pytest.raises(TypeError):
            core.sio.on("upload", handler, namespace=namespace)
    assert set(core.sio.handlers["/"]) == KNOWN_EVENTS
