"""Imports go only downwards, room by room."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import kubewright

PACKAGE = Path(kubewright.__file__).parent
# From the top of the house to its foundations; rooms on one floor do not know each other.
FLOORS = [
    {"cli"},
    {"development"},
    {"testing", "console"},
    {"olm"},
    {"cluster", "deployment"},
    {"manifests"},
    {"operator", "codegen", "scaffold"},
    {"webhook"},
    {"controller"},
    {"observe"},
    {"events", "election"},
    {"queue", "cache", "crd"},
    {"client"},
    {"columns", "diff", "rbac"},
    {"api"},
    {"http", "progress"},
    {"causes", "clock", "durations", "lazy"},
    {"arguments", "redaction", "structs"},
    {"certificates", "files", "kubeconfig", "yaml"},
    {
        "backoff",
        "garbage",
        "interning",
        "key_pair",
        "lru",
        "names",
        "regex",
        "rotating_file",
        "signatures",
        "suggestions",
        "user_code",
    },
]
FLOOR_OF = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}


def room_of(file: Path) -> str:
    return file.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported_rooms(file: Path) -> Iterator[tuple[str, int]]:
    """The rooms of Kubewright that a file imports, with the line; also those imported inside functions."""
    for node in ast.walk(ast.parse(file.read_text())):
        if not isinstance(node, ast.ImportFrom | ast.Import):
            continue
        prefix = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
        for name in [prefix + alias.name for alias in node.names]:
            parts = name.split(".")
            if parts[0] == "kubewright" and len(parts) > 1 and parts[1] in FLOOR_OF:
                yield parts[1], node.lineno


def files() -> list[Path]:
    return [file for file in PACKAGE.rglob("*.py") if file.parent != PACKAGE or not file.stem.startswith("__")]


def test_every_room_is_on_a_floor() -> None:
    assert {room_of(file) for file in files()} == set(FLOOR_OF)


@pytest.mark.promise("Injected time, randomness and transport", "Imports go only downwards.")
def test_imports_go_only_downwards() -> None:
    upwards = [
        f"{file.relative_to(PACKAGE)}:{line} imports {room}"
        for file in files()
        for room, line in imported_rooms(file)
        if room != room_of(file) and FLOOR_OF[room] <= FLOOR_OF[room_of(file)]
    ]
    assert upwards == []


def test_there_is_one_http_stack() -> None:
    """docs/design/transport.md says which. NiceGUI brings others, for itself."""
    others = {"aiohttp", "httpx", "requests", "urllib3"}
    found = [
        f"{file.relative_to(PACKAGE)}:{node.lineno}"
        for file in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in ([node.module or ""] if isinstance(node, ast.ImportFrom) else [each.name for each in node.names])
        if name.split(".")[0] in others
    ]
    assert found == []
