"""The folders of the embedded cluster import each other only in the direction of a request."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import kubewright.cluster

ROOT = Path(kubewright.cluster.__file__).parent
# From the entry of a request to the bottom. Folders that are not listed may import any of these.
LAYERS = (
    "serving",
    "dispatch",
    "discovery",
    "audit",
    "watch",
    "registry",
    "output",
    "conversion",
    "_state",
    "webhooks",
    "storage",
    "machinery",
    "data",
)


def imported(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("kubewright.cluster."):
            yield str(node.module).split(".")[2]


def layer_of(file: Path) -> str:
    return file.relative_to(ROOT).parts[0].removesuffix(".py")


def test_imports_follow_the_path_of_a_request() -> None:
    upwards = [
        f"{file.relative_to(ROOT)} imports {layer}"
        for file in ROOT.rglob("*.py")
        if layer_of(file) in LAYERS
        for layer in imported(file)
        if layer in LAYERS and LAYERS.index(layer) < LAYERS.index(layer_of(file))
    ]
    assert upwards == []


def test_layers_exist() -> None:
    assert [layer for layer in LAYERS if not (ROOT / layer).is_dir() and not (ROOT / f"{layer}.py").is_file()] == []
