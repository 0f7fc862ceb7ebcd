"""A command works on the project that the user is in, from whichever folder of it."""

from __future__ import annotations

import os
from pathlib import Path

import click
import pytest

from kubewright.cli import COMMANDS, cli, run
from kubewright.cli.common._project_command import ProjectCommand  # private: checks the class of every command
from kubewright.scaffold import CURRENT, Record, carry_out, new_api, new_project
from tests.cli.commands import write_kubeconfig

KIND = ["--group", "web", "--version", "v1", "--kind", "Page"]
IMAGE = ["--image", "registry.example.com/guestbook:1.0.0"]
# Each command that works on a project and needs no cluster, in the order of a day: and a file that it writes there.
DAY = {
    "create api": (["create", "api", *KIND], "guestbook/page.py"),
    "create webhook": (
        ["create", "webhook", *KIND, "--defaulting"],
        "guestbook/page_webhook.py",
    ),
    "upgrade": (["upgrade", "--check"], "kubewright.toml"),
    "manifests": (["manifests"], "config/rbac/role.yaml"),
    "chart": (["chart", *IMAGE], "dist/chart/Chart.yaml"),
    "installer": (["installer", *IMAGE], "dist/install.yaml"),
    "build": (["build", "--dry-run", "--tool", "docker", *IMAGE], "Dockerfile"),
    "bundle": (["bundle", *IMAGE], "bundle/metadata/annotations.yaml"),
    "catalog": (["catalog"], "catalog/guestbook/catalog.yaml"),
}


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user is in the folder of the package, where `guestbook` could be the module of a kind, and is not."""
    carry_out(new_project("guestbook", "my.domain"), tmp_path)
    carry_out(new_api(tmp_path, group="web", version="v1", kind="Guestbook"), tmp_path)
    monkeypatch.chdir(tmp_path / "guestbook")
    return tmp_path / "guestbook"


def commands(command: click.Command, *path: str) -> dict[str, click.Command]:
    """All commands below one, by their names."""
    if not isinstance(command, click.Group):
        return {" ".join(path): command}
    found: dict[str, click.Command] = {}
    context = click.Context(command)
    for name in COMMANDS if command is cli else command.list_commands(context):
        each = command.get_command(context, name)
        assert each is not None
        found |= commands(each, *path, name)
    return found


@pytest.mark.promise(
    "Projects",
    "A command works on the project that the user is in, from any folder of it; what the user names stays the user's.",
)
def test_every_command_about_a_program_finds_its_project() -> None:
    about = {
        name
        for name, command in commands(cli).items()
        if any("FILE_OR_MODULE" in (each.metavar or "") for each in command.params)
    }
    finding = {name for name, command in commands(cli).items() if isinstance(command, ProjectCommand)}
    assert finding == about | {"create api", "create webhook", "upgrade", "catalog", "run-bundle"}


@pytest.mark.promise(
    "Projects",
    "A command works on the project that the user is in, from any folder of it; what the user names stays the user's.",
)
def test_a_whole_day_in_a_subfolder(package: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = {path.name for path in package.iterdir()}
    for name, (command, file) in DAY.items():
        assert run(command) == 0, name
        assert (package.parent / file).is_file(), name
        assert f"In {package.parent}, where kubewright.toml is:\n" in capsys.readouterr().err
        assert Path.cwd() == package
    assert {path.name for path in package.iterdir()} - before - {"__pycache__"} == {"page.py", "page_webhook.py"}


@pytest.mark.promise(
    "Projects",
    "A command works on the project that the user is in, from any folder of it; what the user names stays the user's.",
)
def test_paths_that_are_given_are_the_users(
    package: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["manifests", "--out", "here"]) == 0
    assert (package / "here" / "rbac" / "role.yaml").is_file()
    write_kubeconfig(package / "clusters", "https://127.0.0.1:1")
    monkeypatch.setenv("KUBECONFIG", "clusters")
    for given in ([], ["--kubeconfig", "clusters"]):
        assert run(["doctor", "--context", "nowhere", *given]) == 2
        assert "staging" in capsys.readouterr().err  # which is in that file
    assert os.environ["KUBECONFIG"] == "clusters"


@pytest.mark.promise(
    "Projects",
    "A command works on the project that the user is in, from any folder of it; what the user names stays the user's.",
)
def test_what_is_named_is_where_the_user_stands(package: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["manifests", "guestbook.py"]) == 0
    assert (package / "config" / "crd").is_dir()
    assert capsys.readouterr().err == ""


def test_a_file_that_an_upgrade_keeps_is_named_from_here(package: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old = Record.read(package.parent).text().replace(f"scaffold = {CURRENT}", "scaffold = 1")
    (package.parent / "kubewright.toml").write_text(old)
    assert run(["upgrade", "--check", "--keep", "../Makefile", "--keep", "./py.typed"]) == 2
    assert "the upgrade does not change guestbook/py.typed, so" in capsys.readouterr().err


@pytest.mark.parametrize("command", [["manifests"], ["upgrade"], ["create", "api", *KIND]])
def test_without_a_project_it_is_reported_where_one_was_looked_for(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(command) == 2
    assert f"there is no kubewright.toml in {tmp_path}, nor in a folder above it" in capsys.readouterr().err


@pytest.mark.promise("Projects", "A project of another user above the user's folder is not run unasked.")
def test_a_project_of_another_owner_above_is_not_run_unasked(
    package: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    record = package.parent / "kubewright.toml"
    if os.geteuid() == 0:
        os.chown(record, 54321, -1)
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    for command in (["manifests"], ["test"]):
        assert run(command) == 2
        assert f"{record} belongs to another user" in capsys.readouterr().err
    monkeypatch.chdir(package.parent)
    assert run(["manifests"]) == 0
