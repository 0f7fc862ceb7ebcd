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


def test_writes_a_valid_bundle_that_passes_check(capsys: pytest.CaptureFixture[str]) -> None:
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


def test_uses_pyproject_and_samples() -> None:
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


def test_remembers_the_scorecard_image_until_it_is_reset() -> None:
    config, image = Path("bundle/tests/scorecard/config.yaml"), "registry.example.com/scorecard-test:v1"
    assert run(["bundle", "cup.py", "--scorecard-image", image]) == 0
    assert config.read_text().count(f"image: {image}\n") == 6
    assert run(["bundle", "cup.py", "--check"]) == 0
    assert run(["bundle", "cup.py", "--scorecard-image", ""]) == 0
    assert config.read_text().count("image: operator-framework/scorecard-test:v") == 6


def test_remembers_options_but_not_the_image_of_another_version() -> None:
    given = ["--image", "registry.example.com/cup:a", "--channels", "fast,stable", "--default-channel", "stable"]
    assert run(["bundle", "cup.py", "--version", "1.0.0", *given, "--replaces", "cup-operator.v0.9.0"]) == 0
    assert run(["bundle", "cup.py", "--version", "1.0.0", "--check"]) == 0
    assert run(["bundle", "cup.py", "--version", "1.0.0", "--replaces", "", "--check"]) == 3  # resets the option
    assert run(["bundle", "cup.py", "--version", "1.1.0"]) == 0
    assert Bundle.read(Path("bundle")).channels == ["fast", "stable"]
    assert csv()["spec"]["relatedImages"][0]["image"] == "cup-operator:1.1.0"
    assert "replaces" not in csv()["spec"]


@pytest.mark.promise("Packages for OLM", "A conflict is shown, and nothing is written.")
def test_a_conflict_exits_with_3_until_it_is_resolved(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["bundle", "cup.py"]) == 0
    text = CSV.read_text()
    CSV.write_text(text.replace("containerImage: cup-operator:0.1.0", "containerImage: mine"))
    assert run(["bundle", "cup.py", "--version", "0.2.0"]) == 3
    captured = capsys.readouterr()
    assert f"conflict {CSV}: metadata.annotations.containerImage: it was generated as" in captured.out
    assert "1 conflict, nothing was written" in captured.err
    assert csv()["spec"]["version"] == "0.1.0"
    assert run(["bundle", "cup.py", "--version", "0.2.0", "--keep", "mine"]) == 0
    assert csv()["metadata"]["annotations"]["containerImage"] == "mine"
    assert csv()["spec"]["version"] == "0.2.0"


def test_prints_the_result_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["bundle", "cup.py", "--output", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["folder"], document["ok"], document["problems"]) == ("bundle", True, [])
    Path("bundle/manifests/more.yaml").write_text("apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\n")
    assert run(["bundle", "--validate-only", "bundle", "--output", "json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert document["ok"] is False
    [problem] = document["problems"]
    assert (problem["file"], problem["field"], problem["level"]) == ("manifests/more.yaml", "kind", "error")


def test_reports_problems_with_their_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["bundle", "cup.py"]) == 0
    Path("bundle/manifests/more.yaml").write_text("apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\n")
    assert run(["bundle", "cup.py"]) == 1
    captured = capsys.readouterr()
    assert (
        "error bundle/manifests/more.yaml: kind: OLM does not install a Job from a bundle; remove the file\n"
        in captured.out
    )
    assert captured.err == "Error: bundle is not a valid bundle: 1 error, see above\n"


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
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
def test_reports_invalid_options_and_writes_nothing(
    arguments: list[str], code: int, message: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == code
    assert message in capsys.readouterr().err
    assert [path.name for path in folder.iterdir() if path.name != "__pycache__"] == ["cup.py"]


def test_a_broken_pyproject_is_wrong_use(capsys: pytest.CaptureFixture[str]) -> None:
    Path("pyproject.toml").write_text("[project\n")
    assert run(["bundle", "cup.py"]) == 2
    assert "pyproject.toml is not TOML" in capsys.readouterr().err


def test_a_broken_sample_is_wrong_use(capsys: pytest.CaptureFixture[str]) -> None:
    Path("sample.yaml").write_text(SAMPLE.replace("4", "four"))
    assert run(["bundle", "cup.py", "--samples", "sample.yaml"]) == 2
    assert "sample.yaml" in capsys.readouterr().err


def test_writes_a_catalog_with_two_versions(capsys: pytest.CaptureFixture[str]) -> None:
    for version, more in (("1.0.0", []), ("1.1.0", ["--replaces", "cup-operator.v1.0.0"])):
        assert run(["bundle", "cup.py", "--version", version, "--out", f"bundles/{version}/bundle", *more]) == 0
    folders = [f"bundles/{version}/bundle" for version in ("1.0.0", "1.1.0")]
    capsys.readouterr()
    asked = ["catalog", *folders, "--bundle-image", "registry.example.com/cup-bundle:v{version}"]
    assert run([*asked, "--output", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["channels"] == {"stable": ["cup-operator.v1.0.0", "cup-operator.v1.1.0"]}
    text = Path("catalog/cup-operator/catalog.yaml").read_text()
    assert "image: registry.example.com/cup-bundle:v1.1.0\n" in text
    assert Path("catalog.Dockerfile").is_file()
    assert [step["what"] for step in document["steps"]] == ["catalog/cup-operator/catalog.yaml", "catalog.Dockerfile"]
    assert run(asked) == 0
    assert "wrote" not in capsys.readouterr().out
    assert run([*asked, "--check"]) == 0
    assert run(["catalog", folders[0], "--check"]) == 3
    Path("catalog.Dockerfile").write_text("FROM mine\n")
    assert run(asked) == 1
    assert "catalog.Dockerfile: not generated" in capsys.readouterr().err


def fake_docker(folder: Path, bundle: Path) -> None:
    """Writes a container tool that has one image, with the bundle."""
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


def test_extracts_a_bundle_from_its_image(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["bundle", "cup.py"]) == 0
    fake_docker(folder, folder / "bundle")
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)
    # It gets as far as the kubeconfig, which does not exist.
    assert run(["run-bundle", "registry.example.com/cup-bundle:v1", "--kubeconfig", "absent"]) == 2
    assert "absent" in capsys.readouterr().err
    assert (folder / "removed").read_text() == "c0ffee\n"


def test_an_image_requires_a_container_tool(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", "")
    assert run(["run-bundle", "registry.example.com/cup-bundle:v1"]) == 2
    assert "neither docker nor podman is installed to pull it: name the folder" in capsys.readouterr().err


def test_a_stopped_container_engine_is_a_failure(
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
@pytest.mark.control_plane
@pytest.mark.timeout(BUILD_SECONDS)
@pytest.mark.usefixtures("olm")
async def test_run_bundle_installs_and_removes_a_bundle(cluster: Cluster, client: Client, namespace: str) -> None:
    await cluster.serve()
    flags = ["--kubeconfig", str(cluster.kubeconfig()), "--namespace", namespace]
    assert await asyncio.to_thread(run, ["bundle", "cup.py"]) == 0
    async with fake_olm(client, namespace, Plan()).running(client, install_crds=False):
        assert await asyncio.to_thread(run, ["run-bundle", *flags]) == 0
    assert await asyncio.to_thread(run, ["run-bundle", *flags, "--remove", "--yes"]) == 0
