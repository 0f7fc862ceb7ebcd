"""`kubewright bundle`, `catalog` and `run-bundle`, as users type them."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from kubewright.cli import run
from kubewright.client import Client
from kubewright.cluster import Cluster
from kubewright.olm import Bundle
from tests.olm.fake_olm import Plan, fake_olm
from tests.olm.validator import BUILD_SECONDS

PROGRAM = '''\
import kubewright as kw
from kubewright.api import apps

class Spec(kw.Model):
    size: int = 1

@kw.resource("commands.example.com/v1")
class Cup(kw.Resource[Spec, None]):
    """A cup."""

operator = kw.Operator("cup-operator")

@operator.reconciles(Cup, owns=[apps.Deployment])
async def sync(cup: Cup, ctx: kw.Context[Cup]) -> None: ...
'''
SAMPLE = "apiVersion: commands.example.com/v1\nkind: Cup\nmetadata: {name: mine}\nspec: {size: 4}\n"
CSV = Path("bundle/manifests/cup-operator.clusterserviceversion.yaml")
SHAPED = """\
[project]
version = "2.1.0"
description = "Cups."
keywords = ["cup", "tea"]
authors = [{name = "Ada", email = "ada@example.com"}]
urls = {Source = "https://example.com/cup"}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "cup.py").write_text(PROGRAM)
    return tmp_path


def csv() -> dict[str, Any]:
    return dict(Bundle.read(Path("bundle")).csv)


def test_a_bundle_is_written_checked_and_valid(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["bundle", "cup.py", "--check"]) == 3
    assert run(["bundle", "cup.py"]) == 0
    shown = capsys.readouterr().out
    assert f"wrote {CSV}\n" in shown
    assert "wrote bundle.Dockerfile\n" in shown
    assert shown.endswith("bundle is a valid bundle.\n")
    assert Path("bundle.Dockerfile").read_text().endswith("COPY bundle/tests/scorecard /tests/scorecard/\n")
    assert run(["bundle", "cup.py", "--check"]) == 0
    assert "are up to date" in capsys.readouterr().out
    Path("bundle/metadata/annotations.yaml").unlink()
    assert run(["bundle", "cup.py", "--check"]) == 3
    assert "bundle/metadata/annotations.yaml is missing" in capsys.readouterr().out


def test_what_pyproject_says_and_the_samples_are_in_it() -> None:
    Path("pyproject.toml").write_text(SHAPED)
    Path("config/samples").mkdir(parents=True)
    Path("config/samples/cup.yaml").write_text(SAMPLE)
    assert run(["bundle", "cup.py"]) == 0
    content = csv()
    spec = content["spec"]
    assert (spec["version"], spec["keywords"], spec["provider"]) == ("2.1.0", ["cup", "tea"], {"name": "Ada"})
    assert spec["maintainers"] == [{"name": "Ada", "email": "ada@example.com"}]
    assert spec["relatedImages"] == [{"name": "manager", "image": "cup-operator:2.1.0"}]
    [example] = json.loads(content["metadata"]["annotations"]["alm-examples"])
    assert example["metadata"]["name"] == "mine"


def test_the_scorecards_image_is_named_once_and_can_be_taken_away_again() -> None:
    config, image = Path("bundle/tests/scorecard/config.yaml"), "registry.example.com/scorecard-test:v1"
    assert run(["bundle", "cup.py", "--scorecard-image", image]) == 0
    assert config.read_text().count(f"image: {image}\n") == 6
    assert run(["bundle", "cup.py", "--check"]) == 0
    assert run(["bundle", "cup.py", "--scorecard-image", ""]) == 0
    assert config.read_text().count("image: operator-framework/scorecard-test:v") == 6


def test_options_are_remembered_and_a_new_version_has_a_new_image() -> None:
    given = ["--image", "registry.example.com/cup:a", "--channels", "fast,stable", "--default-channel", "stable"]
    assert run(["bundle", "cup.py", "--version", "1.0.0", *given, "--replaces", "cup-operator.v0.9.0"]) == 0
    assert run(["bundle", "cup.py", "--version", "1.0.0", "--check"]) == 0
    assert run(["bundle", "cup.py", "--version", "1.0.0", "--replaces", "", "--check"]) == 3  # taken away again
    assert run(["bundle", "cup.py", "--version", "1.1.0"]) == 0
    assert Bundle.read(Path("bundle")).channels == ["fast", "stable"]
    assert csv()["spec"]["relatedImages"][0]["image"] == "cup-operator:1.1.0"
    assert "replaces" not in csv()["spec"]


@pytest.mark.promise("Packages for OLM", "A conflict is shown, and nothing is written.")
def test_a_conflict_ends_with_3_until_it_is_decided(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["bundle", "cup.py"]) == 0
    text = CSV.read_text()
    CSV.write_text(text.replace("containerImage: cup-operator:0.1.0", "containerImage: mine"))
    assert run(["bundle", "cup.py", "--version", "0.2.0"]) == 3
    told = capsys.readouterr()
    assert f"conflict {CSV}: metadata.annotations.containerImage: it was generated as" in told.out
    assert "1 conflict, nothing was written" in told.err
    assert csv()["spec"]["version"] == "0.1.0"
    assert run(["bundle", "cup.py", "--version", "0.2.0", "--keep", "mine"]) == 0
    assert csv()["metadata"]["annotations"]["containerImage"] == "mine"
    assert csv()["spec"]["version"] == "0.2.0"


def test_the_outcome_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["bundle", "cup.py", "--output", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["folder"], told["ok"], told["problems"]) == ("bundle", True, [])
    Path("bundle/manifests/more.yaml").write_text("apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\n")
    assert run(["bundle", "--validate-only", "bundle", "--output", "json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert told["ok"] is False
    [problem] = told["problems"]
    assert (problem["file"], problem["field"], problem["level"]) == ("manifests/more.yaml", "kind", "error")


def test_problems_are_reported_with_their_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["bundle", "cup.py"]) == 0
    Path("bundle/manifests/more.yaml").write_text("apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\n")
    assert run(["bundle", "cup.py"]) == 1
    told = capsys.readouterr()
    assert (
        "error bundle/manifests/more.yaml: kind: OLM does not install a Job from a bundle; remove the file\n"
        in told.out
    )
    assert told.err == "Error: bundle is not a valid bundle: 1 error, see above\n"


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["bundle", "absent.py"], 2, "absent.py"),
        (["bundle", "cup.py", "--version", "one"], 2, "version 'one' must be a semantic version"),
        (["bundle", "cup.py", "--channels", "a b"], 2, "channel 'a b' must be"),
        (["bundle", "cup.py", "--default-channel", "x"], 2, "default channel 'x' is not one of the channels stable"),
        (["bundle", "cup.py", "--min-kube-version", "1"], 2, "--min-kube-version '1' must be a full version"),
        (["bundle", "cup.py", "--replaces", "Foo Bar"], 2, "'Foo Bar' is not a name of a ClusterServiceVersion"),
        (["bundle", "cup.py", "--replaces", "foo"], 2, "--replaces 'foo' has no version: name one"),
        (["bundle", "cup.py", "--replaces", "foo.bar"], 2, "--replaces 'foo.bar' has no version: name one"),
        (["bundle", "cup.py", "--skips", "Foo"], 2, "'Foo' is not a name of a ClusterServiceVersion"),
        (["bundle", "cup.py", "--skip-range", "all"], 2, "--skip-range 'all' is not a range of versions"),
        (["bundle", "cup.py", "--image", "a b"], 2, "'a b' is not the name of an image"),
        (["bundle", "cup.py", "--icon", "cup.py"], 2, "cup.py is not an image that catalogs show"),
        (["bundle", "cup.py", "--samples", "absent"], 2, "'absent' does not exist"),
        (["bundle", "cup.py", "--suite", "all"], 2, "'all' is not one of"),
        (["bundle", "cup.py", "--validate-only", "bundle"], 2, "leave out FILE_OR_MODULE"),
        (["bundle", "--validate-only", "bundle", "--version", "1.0.0"], 2, "leave out --version"),
        (["bundle", "--validate-only", "bundle", "--check"], 2, "leave out --check"),
        (["bundle", "--validate-only", "absent"], 2, "absent is not a folder; a bundle is a folder"),
        (["bundle", "cup.py", "--out", "."], 1, ". has no name of its own"),
        (["catalog", "--out", ".."], 2, ".. has no name of its own"),
        (["catalog", "absent"], 2, "'absent' does not exist"),
        (["catalog"], 2, "bundle is not a folder"),
        (["run-bundle", "absent"], 2, "absent is neither a folder nor an image"),
        (["run-bundle", "absent", "--install-mode", "All"], 2, "'All' is not one of"),
        (["run-bundle", "--keep-definitions"], 2, "--keep-definitions requires --remove"),
    ],
)
def test_invalid_input_is_reported_and_nothing_is_written(
    arguments: list[str], code: int, told: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == code
    assert told in capsys.readouterr().err
    assert [path.name for path in folder.iterdir() if path.name != "__pycache__"] == ["cup.py"]


def test_a_broken_pyproject_is_wrong_use(capsys: pytest.CaptureFixture[str]) -> None:
    Path("pyproject.toml").write_text("[project\n")
    assert run(["bundle", "cup.py"]) == 2
    assert "pyproject.toml is not TOML" in capsys.readouterr().err


def test_a_broken_sample_is_wrong_use(capsys: pytest.CaptureFixture[str]) -> None:
    Path("sample.yaml").write_text(SAMPLE.replace("4", "four"))
    assert run(["bundle", "cup.py", "--samples", "sample.yaml"]) == 2
    assert "sample.yaml" in capsys.readouterr().err


def test_a_catalog_of_two_versions(capsys: pytest.CaptureFixture[str]) -> None:
    for version, more in (("1.0.0", []), ("1.1.0", ["--replaces", "cup-operator.v1.0.0"])):
        assert run(["bundle", "cup.py", "--version", version, "--out", f"bundles/{version}/bundle", *more]) == 0
    folders = [f"bundles/{version}/bundle" for version in ("1.0.0", "1.1.0")]
    capsys.readouterr()
    asked = ["catalog", *folders, "--bundle-image", "registry.example.com/cup-bundle:v{version}"]
    assert run([*asked, "--output", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["channels"] == {"stable": ["cup-operator.v1.0.0", "cup-operator.v1.1.0"]}
    text = Path("catalog/cup-operator/catalog.yaml").read_text()
    assert "image: registry.example.com/cup-bundle:v1.1.0\n" in text
    assert Path("catalog.Dockerfile").is_file()
    assert [step["what"] for step in told["steps"]] == ["catalog/cup-operator/catalog.yaml", "catalog.Dockerfile"]
    assert run(asked) == 0
    assert "wrote" not in capsys.readouterr().out
    assert run([*asked, "--check"]) == 0
    assert run(["catalog", folders[0], "--check"]) == 3
    Path("catalog.Dockerfile").write_text("FROM mine\n")
    assert run(asked) == 1
    assert "catalog.Dockerfile: not generated" in capsys.readouterr().err


def fake_docker(folder: Path, bundle: Path) -> None:
    """A tool that has one image, of one bundle."""
    tool = folder / "docker"
    tool.write_text(
        "#!/bin/sh\n"
        'case "$1" in\n'
        "create) echo pulling >&2; echo c0ffee;;\n"
        f'cp) cp -r "{bundle}/$(basename "${{2#*:}}")" "$3";;\n'
        f'rm) echo "$2" > "{folder}/removed";;\n'
        "esac\n"
    )
    tool.chmod(0o755)


def test_a_bundle_is_taken_out_of_its_image(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["bundle", "cup.py"]) == 0
    fake_docker(folder, folder / "bundle")
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)
    # It comes as far as asking for the cluster, of which there is none.
    assert run(["run-bundle", "registry.example.com/cup-bundle:v1", "--kubeconfig", "absent"]) == 2
    assert "absent" in capsys.readouterr().err
    assert (folder / "removed").read_text() == "c0ffee\n"


def test_without_a_tool_an_image_cannot_be_taken(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", "")
    assert run(["run-bundle", "registry.example.com/cup-bundle:v1"]) == 2
    assert "neither docker nor podman is installed to pull it: name the folder" in capsys.readouterr().err


def test_a_tool_whose_engine_is_down_is_a_failure_of_the_machine(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tool = folder / "docker"
    tool.write_text("#!/bin/sh\necho 'Cannot connect to the Docker daemon' >&2\nexit 1\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)
    assert run(["run-bundle", "registry.example.com/cup-bundle:v1"]) == 1
    assert capsys.readouterr().err == "Error: `docker create` failed: Cannot connect to the Docker daemon\n"


@pytest.mark.promise("Packages for OLM", "A bundle is installed through OLM's kinds, and removed again.")
@pytest.mark.clusters("embedded")
@pytest.mark.timeout(BUILD_SECONDS)
@pytest.mark.usefixtures("olm")
async def test_run_bundle_and_its_removal_as_commands(cluster: Cluster, client: Client, namespace: str) -> None:
    await cluster.serve()
    flags = ["--kubeconfig", str(cluster.kubeconfig()), "--namespace", namespace]
    assert await asyncio.to_thread(run, ["bundle", "cup.py"]) == 0
    async with fake_olm(client, namespace, Plan()).running(client, install_crds=False):
        assert await asyncio.to_thread(run, ["run-bundle", *flags]) == 0
    assert await asyncio.to_thread(run, ["run-bundle", *flags, "--remove", "--yes"]) == 0
