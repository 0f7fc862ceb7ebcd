"""Definitions of other projects: each generates, imports, passes mypy --strict, and comes back; a real server takes
what is generated.

The list is `real_world.toml`. Go downloads the modules once, into its own cache.
"""

from __future__ import annotations

import importlib
import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from kubewright.api import Object
from kubewright.client import Client
from kubewright.codegen import KindSource, generate, read_sources, write
from kubewright.crd import crd_of
from kubewright.testing.binaries import Go
from tests.codegen.round_trip import classes_of, differences

HERE = Path(__file__).parent
PROJECTS: dict[str, dict[str, Any]] = tomllib.loads((HERE / "real_world.toml").read_text(encoding="utf-8"))

# Needs Go, and downloads everything the first time.
pytestmark = [pytest.mark.control_plane, pytest.mark.timeout(600)]


@dataclass(frozen=True)
class Generated:
    """What was generated for a project, as a package below a folder that is on the path."""

    kinds: list[KindSource]
    package: str
    files: list[Path]

    def classes(self) -> Iterator[tuple[KindSource, list[type[Object]]]]:
        """Each kind, and the classes of its versions."""
        names = [path.with_suffix("").parts[-2:] for path in self.files if path.name != "__init__.py"]
        found = classes_of(importlib.import_module(".".join([self.package, *name])) for name in names)
        for kind in self.kinds:
            yield kind, [found[kind.group, version.name, kind.kind] for version in kind.versions]


@pytest.fixture(scope="module")
def downloads() -> dict[str, Path]:
    """The folder of each module, by `module@version`."""
    executable = shutil.which("go")
    if executable is None:
        pytest.skip("there is no Go on the PATH to download modules with")
    wanted = sorted({f"{project['module']}@{project['version']}" for project in PROJECTS.values()})
    done = subprocess.run(
        [executable, "mod", "download", "-json", *wanted],
        cwd=HERE.parent.anchor,  # in no module
        env=Go(Path(executable), "").environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    found = {f"{module['Path']}@{module['Version']}": module for module in _documents(done.stdout)}
    failed = [found.get(name, {}).get("Error", "no answer") for name in wanted if "Dir" not in found.get(name, {})]
    if failed:
        pytest.skip(f"Go could not download {len(failed)} of {len(wanted)} modules: {failed[0]} {done.stderr[:200]}")
    for name, project in PROJECTS.items():
        module = found[f"{project['module']}@{project['version']}"]
        assert module["Sum"] == project["sum"], f"{name} is not what it was when it was pinned"
    return {name: Path(module["Dir"]) for name, module in found.items()}


def _documents(text: str) -> Iterator[dict[str, Any]]:
    decoder = json.JSONDecoder()
    while text := text.strip():
        document, end = decoder.raw_decode(text)
        yield document
        text = text[end:]


@pytest.fixture(scope="module")
def generated(downloads: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Generated]]:
    """Everything, generated."""
    root = tmp_path_factory.mktemp("generated")
    made: dict[str, Generated] = {}
    for name, project in PROJECTS.items():
        folder = downloads[f"{project['module']}@{project['version']}"]
        kinds = read_sources([str(folder / path) for path in project["paths"]], lenient=project.get("lenient", False))
        package = f"generated_{name.replace('-', '_')}"
        made[name] = Generated(kinds, package, write(generate(kinds), root / package))
    sys.path.insert(0, str(root))
    yield made
    sys.path.remove(str(root))


@pytest.mark.promise(
    "Types from definitions",
    "That holds for over 150 definitions of other projects, and their modules pass mypy --strict.",
)
@pytest.mark.parametrize("name", PROJECTS)
def test_the_definitions_of_a_project_come_back(name: str, generated: dict[str, Generated]) -> None:
    for kind, versions in generated[name].classes():
        assert differences(kind, versions) == []


@pytest.mark.promise(
    "Types from definitions", "A real server accepts the generated definition, and returns it unchanged."
)
@pytest.mark.parametrize("name", ["autoscaler", "cert-manager", "gateway", "jobset", "keda"])
async def test_a_real_server_takes_the_generated_definitions(
    name: str, generated: dict[str, Generated], client: Client
) -> None:
    for _, versions in generated[name].classes():
        await client.create(crd_of(*versions, descriptions=False), dry_run=True)


@pytest.mark.promise(
    "Types from definitions",
    "That holds for over 150 definitions of other projects, and their modules pass mypy --strict.",
)
def test_there_are_many_and_large_ones(generated: dict[str, Generated]) -> None:
    kinds = [kind for project in generated.values() for kind in project.kinds]
    assert len(kinds) >= 150
    assert max(len(str(version.schema)) for kind in kinds for version in kind.versions) > 500_000
    assert any(len(kind.versions) > 2 for kind in kinds)


@pytest.mark.promise(
    "Types from definitions",
    "That holds for over 150 definitions of other projects, and their modules pass mypy --strict.",
)
def test_all_modules_pass_mypy(generated: dict[str, Generated], tmp_path: Path) -> None:
    root = next(path for path in generated["istio"].files if path.parent.name == "generated_istio").parents[1]
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", f"--cache-dir={tmp_path}", "."]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False, env=dict(os.environ))
    assert done.stdout.startswith("Success: no issues found"), done.stdout + done.stderr


@pytest.mark.promise("Types from definitions", "The same definitions give the same text.")
def test_order_of_definitions_does_not_matter(generated: dict[str, Generated]) -> None:
    kinds = generated["istio"].kinds
    assert generate(reversed(kinds)) == generate(kinds)
