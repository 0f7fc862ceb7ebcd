"""Tests of the images of the operator and of its web page, without a container tool."""

from __future__ import annotations

import fnmatch
import tomllib
from collections.abc import Iterable
from pathlib import Path

import deployment
import deployment_ui
import pytest

from kubewright.api import Object, apps, core
from kubewright.manifests import compare, objects

FOLDER = Path(deployment.__file__).parent
DOCKERFILES = {"kubewright": FOLDER / "Dockerfile", "kubewright[console]": deployment.CONFIG / "ui" / "Dockerfile"}


def test_dockerfile_of_the_operator_is_what_the_program_says() -> None:
    assert compare(FOLDER, deployment.image_files()) == []


@pytest.mark.parametrize("package", DOCKERFILES)
def test_image_installs_the_project(package: str) -> None:
    """Its Dockerfile copies files that exist, and installs every package of the project."""
    lines = DOCKERFILES[package].read_text().splitlines()
    assert all((FOLDER / line.split()[1]).exists() for line in lines if line.startswith("COPY"))
    assert any(line.startswith(f"RUN pip install --no-cache-dir '{package}==") for line in lines)
    settings = tomllib.loads((FOLDER / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]["find"]
    packages = {".".join(file.parent.relative_to(FOLDER).parts) for file in FOLDER.rglob("postgres_operator/**/*.py")}
    assert {name for name in packages if fnmatch.fnmatch(name, settings["include"][0])} == packages


def test_deployments_run_the_program_of_their_images() -> None:
    [manager] = containers(objects(deployment.project))
    assert manager.command == ["kubewright", "run", "postgres_operator.operator"]
    [page] = containers(deployment_ui.objects())
    assert (page.command, page.image) == (["kubewright"], "postgres-operator-ui:latest")
    for file in DOCKERFILES.values():
        assert file.read_text().endswith('USER 65532:65532\nENTRYPOINT ["kubewright"]\n')


def test_readme_builds_the_images_that_the_manifests_name() -> None:
    kustomization = (deployment.CONFIG / "manager" / "kustomization.yaml").read_text()
    readme = (FOLDER / "README.md").read_text()
    name, tag = readme.partition("docker build --tag ")[2].split()[0].split(":")
    assert f"newName: {name}\n  newTag: '{tag}'\n" in kustomization
    assert "docker build --file config/ui/Dockerfile --tag postgres-operator-ui:latest ." in readme


def containers(made: Iterable[Object]) -> list[core.Container]:
    return [
        container
        for each in made
        if isinstance(each, apps.Deployment) and each.spec.template.spec is not None
        for container in each.spec.template.spec.containers
    ]
