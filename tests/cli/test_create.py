"""A project can be imported after each `create` command."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubewright.cli import run
from kubewright.scaffold import carry_out, new_api, new_project

V1 = ["create", "webhook", "--group", "web", "--kind", "Guestbook", "--version", "v1"]
V2 = [*V1[:-1], "v2"]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a kind that has two versions."""
    carry_out(new_project("growing", "my.domain"), tmp_path)
    for version in ("v1", "v2"):
        carry_out(new_api(tmp_path, group="web", version=version, kind="Guestbook"), tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.promise(
    "Projects",
    "Webhooks may be scaffolded one after another and for each version; the program can be imported after each.",
)
def test_adds_webhooks_one_at_a_time_to_each_version(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    webhooks = project / "growing" / "guestbook_webhook.py"
    for flags in ([*V1, "--defaulting"], [*V1, "--conversion"], [*V2, "--defaulting", "--programmatic-validation"]):
        assert run(flags) == 0
    assert "@operator.defaults" in webhooks.read_text()
    assert "@operator.converts" in webhooks.read_text()
    assert run(["manifests"]) == 0, capsys.readouterr().err
    capsys.readouterr()
    assert run([*V1, "--conversion"]) == 0
    assert capsys.readouterr().out.startswith("Nothing to do: ")


def test_keeps_edits_of_the_user_in_webhooks(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*V1, "--defaulting"]) == 0
    webhooks = project / "growing" / "guestbook_webhook.py"
    webhooks.write_text(webhooks.read_text() + "# mine\n")
    assert run([*V1, "--programmatic-validation"]) == 1
    assert "growing/guestbook_webhook.py would be overwritten" in capsys.readouterr().err
    assert webhooks.read_text().endswith("# mine\n")


@pytest.mark.promise(
    "Projects",
    "Webhooks may be scaffolded one after another and for each version; the program can be imported after each.",
)
def test_rejects_a_second_version_with_a_conversion(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*V1, "--conversion"]) == 0
    assert run([*V2, "--conversion"]) == 2
    errors = capsys.readouterr().err
    assert (
        "Guestbook already has a conversion in growing/guestbook_webhook.py: all versions are converted to and from"
        " one version, v1" in errors
    )


@pytest.mark.parametrize(
    ("first", "other", "scope"),
    [("--namespaced", "--cluster", "namespaced"), ("--cluster", "--namespaced", "cluster-scoped")],
)
def test_another_version_must_have_the_scope_of_the_kind(
    project: Path, capsys: pytest.CaptureFixture[str], first: str, other: str, scope: str
) -> None:
    page = ["create", "api", "--group", "web", "--kind", "Page"]
    assert run([*page, "--version", "v1", first]) == 0
    before = {path: path.read_bytes() for path in project.rglob("*") if path.is_file()}
    assert run([*page, "--version", "v2", other]) == 2
    message = f"Page is {scope} in v1, and all versions of a kind have one scope: use {first}\n"
    assert message in capsys.readouterr().err
    assert {path: path.read_bytes() for path in project.rglob("*") if path.is_file()} == before
    assert run([*page, "--version", "v2", first]) == 0
    assert run([*page, "--version", "v1", first, "--force"]) == 0
    assert run(["manifests"]) == 0, capsys.readouterr().err


def test_the_scope_of_a_recreated_version_may_change(project: Path) -> None:
    page = ["create", "api", "--group", "web", "--kind", "Page", "--version", "v1"]
    assert run(page) == 0
    assert run([*page, "--cluster", "--force"]) == 0
    assert "namespaced = false" in (project / "kubewright.toml").read_text()


@pytest.mark.parametrize("with_a_kind", [False, True])
def test_a_second_init_reports_the_number_of_existing_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], with_a_kind: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["init", "--name", "guestbook"]) == 0
    written = [line for line in capsys.readouterr().out.splitlines() if line.startswith("wrote ")]
    if with_a_kind:
        assert run(["create", "api", "--group", "web", "--version", "v1", "--kind", "Guestbook"]) == 0
        capsys.readouterr()
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert run(["init", "--name", "guestbook"]) == 0
    assert f"Nothing to do: {len(written)} files exist already.\n" in capsys.readouterr().out
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
