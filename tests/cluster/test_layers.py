"""The folders of the embedded cluster import each other only in the direction of a request."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import kubewright.cluster

ROOT = Path(kubewright.cluster.__file__).parent
# A folder imports only those after it. Features that are installed into a server are not listed; no layer imports them:
# crds, policies, limits, admission webhooks, controllers, nodes, workloads, laboratory.
LAYERS = (
    "serving",
    "dispatch",
    "discovery",
    "audit",
    "access",
    "watch",
    "registry",
    "admission/matching",
    "output",
    "conversion",
    "_state",
    "admission",
    "webhooks",
    "storage",
    "openapi",
    "defaults",
    "merge",
    "schema",
    "machinery",
    "data",
)
FEATURES = ("admission/webhooks",)


def layer_of(module: str) -> str | None:
    """Returns the layer of a module, such as `registry/_create`; None for features."""
    layers = sorted((*LAYERS, *FEATURES), key=len, reverse=True)
    found = next((layer for layer in layers if f"{module}/".startswith(f"{layer}/")), None)
    return None if found in FEATURES else found


def imported(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("kubewright.cluster."):
            yield str(node.module).removeprefix("kubewright.cluster.").replace(".", "/")


def test_imports_follow_the_path_of_a_request() -> None:
    upwards = []
    for file in ROOT.rglob("*.py"):
        name = file.relative_to(ROOT).with_suffix("").as_posix()
        layer = layer_of(name)
        if layer is not None:
            below = LAYERS[LAYERS.index(layer) :]
            upwards += [f"{name} imports {module}" for module in imported(file) if layer_of(module) not in below]
    assert upwards == []


def test_layers_exist() -> None:
    assert [layer for layer in LAYERS if not (ROOT / layer).is_dir() and not (ROOT / f"{layer}.py").is_file()] == []
