"""The files of a scaffolded project, and how few they are."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from kubewright.cli import COMMANDS
from kubewright.scaffold import CURRENT, carry_out, new_api, new_project, new_webhook
from tests.manifests.json_schema import problems

MOST_FILES = 25
# The targets of kubebuilder's Makefile.
TARGETS = {
    *("fmt", "generate", "manifests", "test", "install", "run", "docker-build", "docker-push"),
    *("deploy", "undeploy", "uninstall", "bundle"),
}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project of the quick start: one kind, with webhooks."""
    folder = tmp_path_factory.mktemp("contents")
    carry_out(new_project("guestbook", "my.domain", repo="https://code.example.com/guestbook"), folder)
    carry_out(new_api(folder, group="webapp", version="v1", kind="Guestbook", owns=["Deployment"]), folder)
    webhooks = new_webhook(folder, group="webapp", version="v1", kind="Guestbook", defaulting=True, validation=True)
    carry_out(webhooks, folder)
    return folder


@pytest.mark.promise(
    "Projects",
    "A project has under 25 files, kubebuilder's names of targets, and no generated code in its modules.",
)
def test_a_project_with_a_kind_and_webhooks_has_few_files(project: Path) -> None:
    files = sorted(path.relative_to(project).as_posix() for path in project.rglob("*") if path.is_file())
    assert len(files) < MOST_FILES
    assert files == [
        ".dockerignore",
        ".github/workflows/ci.yaml",
        ".github/workflows/release.yaml",
        ".gitignore",
        ".vscode/settings.json",
        "AGENTS.md",
        "Dockerfile",
        "Makefile",
        "README.md",
        "config/samples/README.md",
        "config/samples/webapp_v1_guestbook.yaml",
        "deployment.py",
        "guestbook/__init__.py",
        "guestbook/guestbook.py",
        "guestbook/guestbook_webhook.py",
        "guestbook/operator.py",
        "guestbook/py.typed",
        "kubewright.toml",
        "pyproject.toml",
        "requirements-build.lock",
        "requirements.lock",
        "tests/test_guestbook.py",
        "tests/test_guestbook_webhook.py",
        "tests/test_project.py",
    ]


@pytest.mark.promise(
    "Projects",
    "A project has under 25 files, kubebuilder's names of targets, and no generated code in its modules.",
)
def test_the_modules_have_no_generated_boilerplate(project: Path) -> None:
    """A module has types and a reconciler: no registration, no deep copies, no markers, no "do not edit"."""
    module = (project / "guestbook" / "guestbook.py").read_text()
    names = [node.name for node in ast.parse(module).body if isinstance(node, ast.ClassDef | ast.AsyncFunctionDef)]
    assert names == ["GuestbookSpec", "GuestbookStatus", "Guestbook", "reconcile"]
    assert len(module.splitlines()) < 40
    for path in (project / "guestbook").glob("*.py"):
        assert not re.search(r"(?i)generated|do not edit|\+kubebuilder", path.read_text())


@pytest.mark.promise(
    "Projects",
    "A project has under 25 files, kubebuilder's names of targets, and no generated code in its modules.",
)
def test_the_makefile_documents_all_targets_of_kubebuilder(project: Path) -> None:
    makefile = (project / "Makefile").read_text()
    documented = set(re.findall(r"^([a-z-]+):.*## \S", makefile, re.MULTILINE))
    assert documented >= TARGETS
    [phony] = re.findall(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)
    assert set(phony.split()) == documented
    for command in re.findall(r"-m kubewright ([a-z-]+)", makefile):
        assert command in COMMANDS
    for target in sorted(TARGETS):
        done = subprocess.run(["make", "--dry-run", target], cwd=project, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


def test_the_workflow_runs_tests_and_checks_for_drift(project: Path) -> None:
    workflow = yaml.safe_load((project / ".github" / "workflows" / "ci.yaml").read_text())
    steps = [step["run"] for step in workflow["jobs"]["test"]["steps"] if "run" in step]
    assert "make vet test" in steps
    assert "python -m kubewright manifests --check" in steps
    assert workflow["permissions"] == {"contents": "read"}


def test_release_workflow_pushes_the_image_and_publishes_files(project: Path) -> None:
    folder = project / ".github" / "workflows"
    release = yaml.safe_load((folder / "release.yaml").read_text())
    assert release[True] == {"push": {"tags": ["v*"]}}  # YAML reads `on` as true
    assert release["permissions"] == {"contents": "read"}
    steps = {name: [step.get("run", "") for step in job["steps"]] for name, job in release["jobs"].items()}
    assert 'make docker-push IMG="$IMAGE:${TAG#v}"' in steps["image"]
    assert 'make installer chart IMG="$IMAGE:${TAG#v}"' in steps["release"]
    assert release["jobs"]["release"]["needs"] == "image"
    ci = yaml.safe_load((folder / "ci.yaml").read_text())
    assert [step["run"] for step in ci["jobs"]["image"]["steps"] if "run" in step] == [
        "make docker-build IMG=guestbook:ci"
    ]
    # Only the environment carries values of the event into a shell.
    assert not any("${{" in run for job in (*steps.values(),) for run in job)


@pytest.mark.promise("Projects", "Editors validate the samples of a project while you type.")
def test_samples_name_a_schema_that_accepts_them(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project)
    done = subprocess.run(
        [sys.executable, "-m", "kubewright", "manifests", "--schemas"],
        env={**os.environ, "PYTHONPATH": str(project)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    sample = project / "config/samples/webapp_v1_guestbook.yaml"
    [named] = re.findall(r"^# yaml-language-server: \$schema=(\S+)$", sample.read_text(), re.MULTILINE)
    schema = json.loads((sample.parent / named).read_text())
    content = yaml.safe_load(sample.read_text())
    assert problems(schema, content) == []
    assert problems(schema, {**content, "spec": {"fooo": "bar"}}) == ["spec: no field 'fooo'"]
    assert problems(schema, {**content, "kind": "Other"}) == ["kind: not 'Guestbook'"]
    assert problems(schema, {**content, "spec": {"foo": 1}}) == ["spec.foo: not a string"]


def test_editor_settings_are_json(project: Path) -> None:
    assert json.loads((project / ".vscode/settings.json").read_text())["yaml.validate"] is True


def test_guide_for_tools_names_existing_commands_and_files(project: Path) -> None:
    guide = (project / "AGENTS.md").read_text()
    makefile = (project / "Makefile").read_text()
    for line in re.findall(r"`make ([a-z ]+?)(?: [A-Z=a-z]+)?`", guide):
        for target in line.split():
            assert f"\n{target}:" in makefile
    for command in re.findall(r"`kubewright ([a-z-]+)", guide):
        assert command in COMMANDS
    for path in ("guestbook/operator.py", "deployment.py", "kubewright.toml"):
        assert f"`{path}`" in guide
        assert (project / path).is_file()


def test_the_readme_covers_the_steps_from_a_kind_to_a_deployment(project: Path) -> None:
    readme = (project / "README.md").read_text()
    makefile = (project / "Makefile").read_text()
    for line in re.findall(r"^\$ make ([a-z -]+)", readme, re.MULTILINE):
        for target in line.split():
            assert f"\n{target}:" in makefile
    for command in re.findall(r"^\$ kubewright ([a-z-]+)", readme, re.MULTILINE):
        assert command in COMMANDS


def test_the_metadata_describes_the_project(project: Path) -> None:
    found = tomllib.loads((project / "pyproject.toml").read_text())["project"]
    assert (found["name"], found["urls"]["Source"]) == ("guestbook", "https://code.example.com/guestbook")
    assert tomllib.loads((project / "kubewright.toml").read_text())["scaffold"] == CURRENT


def test_the_tests_of_a_project_can_evaluate_rules(project: Path) -> None:
    """The embedded cluster rejects a definition with CEL rules if the CEL library is not installed."""
    found = tomllib.loads((project / "pyproject.toml").read_text())["project"]
    assert "kubewright[test]" in found["optional-dependencies"]["dev"]


@pytest.mark.promise("Projects", "The samples of two versions of a kind are two objects.")
def test_each_version_of_a_kind_has_a_separate_sample(tmp_path: Path) -> None:
    """All versions share their objects, so samples with the same name would overwrite each other."""
    carry_out(new_project("guestbook", "my.domain"), tmp_path)
    for version in ("v1", "v2", "v3"):
        carry_out(new_api(tmp_path, group="webapp", version=version, kind="Guestbook"), tmp_path)
    samples = [yaml.safe_load(path.read_text()) for path in sorted((tmp_path / "config/samples").glob("*.yaml"))]
    assert {sample["apiVersion"]: sample["metadata"]["name"] for sample in samples} == {
        "webapp.my.domain/v1": "guestbook-sample",
        "webapp.my.domain/v2": "guestbook-sample-v2",
        "webapp.my.domain/v3": "guestbook-sample-v3",
    }


def test_webhooks_use_only_fields_of_the_spec(project: Path) -> None:
    """Covers new webhooks, and unchanged ones that were written when the spec had the example field."""
    module, test = project / "guestbook/guestbook.py", project / "tests/test_guestbook_webhook.py"
    module.write_text(module.read_text().replace("foo: str | None = None", "title: str"))
    again = new_webhook(project, group="webapp", version="v1", kind="Guestbook", validation=True)
    done = carry_out(again, project)
    assert {"guestbook/guestbook_webhook.py", "tests/test_guestbook_webhook.py"} <= set(done.changed)
    for text in ((project / "guestbook/guestbook_webhook.py").read_text(), test.read_text()):
        assert "foo" not in text
    assert 'SAMPLES / "webapp_v1_guestbook.yaml"' in test.read_text()
    assert (project / "config/samples/webapp_v1_guestbook.yaml").is_file()


@pytest.mark.parametrize("text", ["class GuestbookSpec:\n    foo: int = 1\n", "class Other: ...\n", "no python"])
def test_webhooks_use_no_example_field_of_an_unexpected_module(project: Path, text: str) -> None:
    (project / "guestbook/guestbook.py").write_text(text)
    carry_out(new_webhook(project, group="webapp", version="v1", kind="Guestbook", validation=True), project)
    assert "foo" not in (project / "guestbook/guestbook_webhook.py").read_text()


def installed(project: Path, folder: Path, lock: str) -> list[str]:
    """Runs the commands of the Dockerfile's first stage with a fake pip. Returns the arguments of its calls."""
    first, _, _ = (project / "Dockerfile").read_text().replace("\\\n", "").partition("\nFROM ${PYTHON_IMAGE}\n")
    commands = [line.removeprefix("RUN ") for line in first.splitlines() if line.startswith("RUN if ")]
    assert len(commands) == 2
    (folder / "requirements.lock").write_text(lock)
    (folder / "bin").mkdir()
    (folder / "bin" / "pip").write_text('#!/bin/sh\necho "$@" >> calls\n')
    (folder / "bin" / "pip").chmod(0o755)
    for command in commands:
        subprocess.run(["sh", "-c", command], cwd=folder, check=True, env={"PATH": f"{folder}/bin:/usr/bin:/bin"})
    return (folder / "calls").read_text().splitlines()


def test_the_image_installs_packages_with_hashes_once_they_are_locked(project: Path, tmp_path: Path) -> None:
    calls = installed(project, tmp_path, "click==8.3.3 --hash=sha256:00\n")
    assert [call for call in calls if "--require-hashes" not in call] == calls[2:]
    assert ["-r requirements-build.lock" in calls[0], "-r requirements.lock" in calls[1]] == [True, True]
    assert all("--no-deps" in call for call in calls)  # the locks are complete: nothing is resolved
    assert "--no-build-isolation" in calls[2]
    assert "--no-index" in calls[3]


def test_the_image_can_be_built_before_packages_are_locked(project: Path, tmp_path: Path) -> None:
    lock = (project / "requirements.lock").read_text()
    assert installed(project, tmp_path, lock) == ["--python /opt/operator/bin/python install --no-cache-dir ."]


def test_every_stage_of_the_image_starts_from_the_image_that_can_be_pinned(project: Path) -> None:
    lines = (project / "Dockerfile").read_text().splitlines()
    stages = [line for line in lines if line.startswith("FROM")]
    assert stages == ["FROM ${PYTHON_IMAGE} AS build", "FROM ${PYTHON_IMAGE}"]
    assert lines.index("ARG PYTHON_IMAGE=python:3.13-slim") < lines.index("FROM ${PYTHON_IMAGE} AS build")
