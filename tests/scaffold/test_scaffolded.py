"""A scaffolded project passes its own tests, linters and type checkers without changes."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from kubewright.scaffold import carry_out, new_api, new_project, new_webhook

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with everything that `create` supports."""
    folder = tmp_path_factory.mktemp("scaffolded")
    carry_out(new_project("guest-book", "my.domain", repo="https://code.example.com/guest-book"), folder)
    api, webhook = partial(new_api, folder, group="webapp"), partial(new_webhook, folder, group="webapp", version="v1")
    carry_out(api(version="v1", kind="Guestbook", owns=["Deployment", "core/Service"]), folder)
    carry_out(api(version="v1", kind="Page", namespaced=False), folder)
    carry_out(api(version="v1", kind="Client", controller=False), folder)
    carry_out(api(version="v2beta1", kind="Guestbook"), folder)
    carry_out(webhook(kind="Guestbook", defaulting=True, validation=True, conversion=True), folder)
    carry_out(webhook(kind="Client", defaulting=True), folder)
    carry_out(api(version="v1beta1", kind="Shelf"), folder)  # the older version first, as in real projects
    carry_out(api(version="v1", kind="Shelf"), folder)
    carry_out(webhook(kind="Shelf", conversion=True), folder)
    for kind in ("Stored", "Path", "A" + "LongName" * 7):  # names that the templates use, and the longest name
        for version in ("v1", "v2"):
            carry_out(api(version=version, kind=kind), folder)
        carry_out(webhook(kind=kind, validation=True, conversion=True), folder)
    for kind in ("Magazine", "Publisher"):  # webhooks last, after the user has changed the specs
        for version in ("v1", "v2"):
            carry_out(api(version=version, kind=kind, namespaced=kind == "Magazine"), folder)
        replace_foo(folder, kind.lower())
        carry_out(webhook(kind=kind, defaulting=True, validation=True, conversion=True), folder)
    return folder


def replace_foo(folder: Path, kind: str) -> None:
    """Applies a user's changes to the modules, the tests and the samples of a kind."""
    for path in [path for path in folder.rglob(f"*{kind}*") if path.is_file()]:
        text = path.read_text().replace("foo: str | None = None", "title: str")
        path.write_text(text.replace("foo", "title"))


def check(project: Path, *command: str, how: str = "-m") -> str:
    environment = {**os.environ, "PYTHONPATH": str(project), "MYPY_CACHE_DIR": str(project / ".mypy_cache")}
    done = subprocess.run(
        [sys.executable, how, *command], cwd=project, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_its_tests_pass_and_use_embedded_clusters_by_default(project: Path) -> None:
    output = check(project, "pytest", "-v", "-p", "no:cacheprovider", "-W", "error", "--explore-minutes=0")
    assert "[embedded]" in output
    assert "[real]" not in output  # building the control plane takes minutes


def test_its_conversions_keep_spec_and_status(project: Path) -> None:
    trips = "from guest_book import operator; from kubewright.testing import check_round_trips as trips"
    check(project, f"{trips}; trips(operator, examples=20)", how="-c")


def test_linters_find_nothing(project: Path) -> None:
    check(project, "ruff", "check", "--no-cache", ".")
    check(project, "ruff", "format", "--no-cache", "--check", ".")


def test_type_checkers_find_nothing(project: Path) -> None:
    check(project, "mypy")


def test_its_definitions_and_roles_can_be_generated(project: Path) -> None:
    check(project, "kubewright", "manifests")
    check(project, "kubewright", "manifests", "--check")
    check(project, "kubewright", "manifests", "--package", "kustomize", "--out", "package")
