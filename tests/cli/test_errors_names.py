"""Names that Kubernetes or Python would reject: reported with the rule, before anything is written."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubewright.cli import run
from kubewright.scaffold import carry_out, new_api, new_project

LONG = "x" * 64

DOMAINS = {
    "": "the domain must be a DNS name in lower case, such as example.com",
    "domain": "the domain must be a DNS name in lower case, such as example.com",
    "My.Domain": "such as example.com, not 'My.Domain'",
    "a_b.com": "the domain must be a DNS name in lower case, such as example.com",
    "-a.com": "the domain must be a DNS name in lower case, such as example.com",
    "a..com": "the domain must be a DNS name in lower case, such as example.com",
    f"{LONG}.com": "the domain must be a DNS name in lower case, such as example.com",
    ".".join(["label"] * 50): "the domain must be a DNS name in lower case, such as example.com",
    "k8s.io": "groups that end in k8s.io or kubernetes.io are reserved for Kubernetes",
    "apps.kubernetes.io": "groups that end in k8s.io or kubernetes.io are reserved for Kubernetes",
}
PROJECTS = {
    "Guestbook": "lower case letters, digits and '-', begin with a letter",
    "1st": "begin with a letter",
    "a_b": "lower case letters, digits and '-'",
    "a-": "lower case letters, digits and '-'",
    "x" * 56: "have at most 55",
    "class": "its package could not be imported; use --name",
    "kubewright": "its package could not be imported; use --name",
}
GROUPS = {
    "": "a group must be lower case letters, digits, '-' and '.', such as webapp",
    "Web": "such as webapp, not 'Web'",
    "web_app": "such as webapp, not 'web_app'",
    "-web": "such as webapp, not '-web'",
    LONG: "a group must be lower case letters",
    ".".join(["label"] * 40): "has more than 200 characters",
}
VERSIONS = {
    "": "a version must be like v1, v1beta1 or v2alpha3",
    "1": "a version must be like v1, v1beta1 or v2alpha3, not '1'",
    "V1": "not 'V1'",
    "v0": "not 'v0'",
    "v1gamma1": "not 'v1gamma1'",
    "v1alpha": "not 'v1alpha'",
    "v1.2": "not 'v1.2'",
}
KINDS = {
    "": "a kind must be in CamelCase, such as Guestbook",
    "page": "not 'page'; did you mean Page?",
    "Guest-Book": "CamelCase",
    "Guest_Book": "CamelCase",
    "1Page": "CamelCase",
    "Page" * 16: "CamelCase",
    "Operator": "its module operator.py would not work",
    "Class": "its module class.py would not work",
    "None": "its module none.py would not work",
    "Ctx": "the generated code uses that name for something else",
}


def tree(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    carry_out(new_project("guestbook", "my.domain"), tmp_path)
    carry_out(new_api(tmp_path, group="web", version="v1", kind="Guestbook"), tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def refused(arguments: list[str], message: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = tree(folder)
    assert run(arguments) == 2, arguments
    shown = capsys.readouterr()
    assert (shown.out, len(shown.err.splitlines())) == ("", 1)
    assert message in shown.err
    assert tree(folder) == before


def test_checks_the_names_of_a_project_before_creating_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for domain, message in DOMAINS.items():
        refused(["init", "guestbook", "--domain", domain], message, tmp_path, capsys)
    for name, message in PROJECTS.items():
        refused(["init", "somewhere", "--name", name], message, tmp_path, capsys)
    refused(["init", "x", "--repo", 'a"b'], "has characters that kubewright.toml does not support", tmp_path, capsys)
    assert not list(tmp_path.iterdir())


def test_checks_the_names_of_a_kind_before_creating_it(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good = {"--group": "web", "--version": "v1", "--kind": "Page"}
    for option, table in (("--group", GROUPS), ("--version", VERSIONS), ("--kind", KINDS)):
        for value, message in table.items():
            given = [word for pair in (good | {option: value}).items() for word in pair]
            refused(["create", "api", *given], message, project, capsys)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["api", "--kind", "Page", "--owns", "Deploymnt"], "did you mean Deployment?"),
        (["api", "--kind", "Page", "--owns", "Deployment,Service"], "repeat --owns for each kind"),
        (["api", "--kind", "Page", "--owns", "Event"], "several groups have a kind Event: use core/Event"),
        (["api", "--kind", "Page", "--no-resource"], "needs no scaffold"),
        (["webhook", "--kind", "Guestbook"], "missing: --defaulting, --programmatic-validation or --conversion"),
        (["webhook", "--kind", "Guestbok", "--defaulting"], "no Guestbok in web.my.domain/v1 (there is Guestbook"),
        (["webhook", "--kind", "Guestbook", "--conversion"], "Guestbook has one version, v1, and nothing to convert"),
    ],
)
def test_reports_invalid_names(
    arguments: list[str], message: str, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    refused(["create", *arguments, "--group", "web", "--version", "v1"], message, project, capsys)


def test_reports_two_kinds_with_the_same_name(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["create", "api", "--group", "other", "--version", "v1", "--kind", "Guestbook"]
    refused(command, "Guestbook in web.my.domain/v1 already has the module guestbook.py", project, capsys)


def test_init_of_an_existing_project_does_not_need_its_options(project: Path) -> None:
    before = tree(project)
    assert run(["init", "--name", "guestbook"]) == 0
    assert tree(project) == before


def test_reports_another_project_in_the_same_folder(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    refused(["init", "--domain", "other.domain"], "there is already a project here: guestbook, domain", project, capsys)


@pytest.mark.promise("Projects", "All missing names are reported together, with a complete command.")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["api"],
            "missing: --group, --version, --kind. For example: kubewright create api --group webapp --version v1",
        ),
        (["api", "--kind", "Page"], "missing: --group, --version. For example: kubewright create api --group webapp"),
        (["api", "--group", "a", "--kind", "Page"], "create api --group a --version v1 --kind Page "),
        (
            ["webhook"],
            "--kind, --defaulting, --programmatic-validation or --conversion. For example: kubewright create",
        ),
        (["webhook", "--conversion", "--kind", "Page"], "missing: --group, --version. For example: kubewright create"),
    ],
)
def test_reports_all_missing_names_together(
    arguments: list[str], message: str, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    refused(["create", *arguments], message, project, capsys)
