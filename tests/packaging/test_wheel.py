"""The wheel of this tree: what is in it, and what a user with nothing else can do with it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from collections.abc import Iterable, Mapping
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from kubewright import documentation

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "kubewright"


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, as it would be published."""
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", folder, cwd=ROOT)
    [built] = folder.glob("*.whl")
    return built


def run(*command: str | Path, cwd: Path, environment: Mapping[str, str] | None = None) -> str:
    """What a command prints; it must succeed."""
    ended = subprocess.run(
        [str(word) for word in command], cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, f"{command}\n{ended.stdout}\n{ended.stderr}"
    return ended.stdout


@pytest.mark.promise(
    "Projects",
    "The wheel has all files of the package and no others; where it alone is installed, a new project passes its "
    "tests.",
)
def test_the_wheel_has_every_file_of_the_package_and_no_others(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    files = [path for path in PACKAGE.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    pages = {f"kubewright/documentation/pages/{name}.md" for name in documentation.pages()}
    assert names == {path.relative_to(PACKAGE.parent).as_posix() for path in files} | pages


@pytest.mark.promise(
    "Projects",
    "The wheel has all files of the package and no others; where it alone is installed, a new project passes its "
    "tests.",
)
def test_wheel_contains_data_files(wheel: Path) -> None:
    """Types for type checkers, the templates of projects, the data of the embedded cluster, the Go module to build."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        metadata = archive.read(next(name for name in names if name.endswith("/METADATA"))).decode()
        scripts = archive.read(next(name for name in names if name.endswith("/entry_points.txt"))).decode()
    for name in (
        "kubewright/py.typed",
        "kubewright/scaffold/templates/project/Makefile.template",
        "kubewright/scaffold/templates/project/.github/workflows/ci.yaml.template",
        "kubewright/cluster/data/openapi.bin",
        "kubewright/cluster/schema/builtin.bin",
        "kubewright/testing/binaries/_gomodule/go.mod",
        "kubewright/testing/binaries/_gomodule/go.sum",
    ):
        assert name in names
    assert not [name for name in names if re.search(r"__pycache__|\.pyc$|(^|/)test_[^@]*\.py$|\.so$", name)]
    assert "License-Expression: Apache-2.0" in metadata
    assert "Requires-Python: >=3.11" in metadata
    assert "kubewright = kubewright.cli:main" in scripts


@pytest.mark.promise(
    "Projects",
    "The wheel has all files of the package and no others; where it alone is installed, a new project passes its "
    "tests.",
)
def test_a_new_project_passes_its_tests_where_only_the_wheel_is_installed(wheel: Path, tmp_path: Path) -> None:
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "KUBEWRIGHT_", "MAKE"))},
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_NO_INDEX": "1",  # pip fails if a declared dependency is missing
        "PIP_NO_BUILD_ISOLATION": "false",  # the setting is inverted: this switches isolation off
    }
    home = empty_environment(tmp_path / "environment")
    environment["PATH"] = f"{home / 'bin'}{os.pathsep}{os.environ['PATH']}"  # as its activation does
    python, kubewright = home / "bin" / "python", home / "bin" / "kubewright"
    provide(home, required_by(wheel))
    run(python, "-m", "pip", "install", "--no-compile", wheel, cwd=tmp_path, environment=environment)

    project = tmp_path / "guestbook"
    run(kubewright, "init", project, "--domain", "my.domain", cwd=tmp_path, environment=environment)
    kind = ("--group", "webapp", "--version", "v1", "--kind", "Guestbook", "--owns", "Deployment")
    run(kubewright, "create", "api", *kind, cwd=project, environment=environment)
    hooks = ("--defaulting", "--programmatic-validation")
    run(kubewright, "create", "webhook", *kind[:6], *hooks, cwd=project, environment=environment)
    settings = tomllib.loads((project / "pyproject.toml").read_text())
    provide(home, [*settings["project"]["optional-dependencies"]["dev"], *required_by(wheel, "test")])
    provide(home, [*settings["build-system"]["requires"], "editables"])
    assert re.search(r"\b[4-9] passed", run("make", "test", cwd=project, environment=environment))
    where = run(python, "-c", "import kubewright; print(kubewright.__file__)", cwd=project, environment=environment)
    assert Path(where.strip()).is_relative_to(home)


def required_by(wheel: Path, extra: str = "") -> list[str]:
    """Returns the dependencies that a wheel declares, with those of an extra."""
    with zipfile.ZipFile(wheel) as archive:
        metadata = archive.read(next(name for name in archive.namelist() if name.endswith("/METADATA"))).decode()
    declared = [Requirement(text) for text in re.findall(r"^Requires-Dist: (.+)$", metadata, re.MULTILINE)]
    return [str(each) for each in declared if each.marker is None or each.marker.evaluate({"extra": extra})]


def empty_environment(home: Path) -> Path:
    """Creates a virtual environment with the pip of this one, which is compiled. `ensurepip` would compile its own."""
    run(sys.executable, "-m", "venv", "--without-pip", home, cwd=home.parent)
    provide(home, ["pip"])
    return home


def provide(home: Path, requirements: Iterable[str]) -> None:
    """Links packages of this environment, and all that they require, into another one.

    pip would download and unpack the same files for a minute, most of them for the tools of developers.
    """
    packages = Path(sysconfig.get_path("purelib", "venv", {"base": str(home)}))
    waiting, seen = [Requirement(text) for text in requirements], set[str]()
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        if name == "kubewright" or f"{name}{sorted(requirement.extras)}" in seen:
            continue
        seen.add(f"{name}{sorted(requirement.extras)}")
        found = distribution(name)
        waiting += [
            each
            for each in map(Requirement, found.requires or ())
            if each.marker is None or any(each.marker.evaluate({"extra": extra}) for extra in ("", *requirement.extras))
        ]
        for file in found.files or ():
            source = Path(str(found.locate_file(file)))
            if ".." not in file.parts and source.is_file() and not (packages / file).exists():
                (packages / file).parent.mkdir(parents=True, exist_ok=True)
                (packages / file).symlink_to(source)
