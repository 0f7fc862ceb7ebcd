"""`kubewright manifests --package`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from kubewright.cli import run
from kubewright.scaffold import Record, carry_out, new_api, new_project

PROGRAM = '''\
import kubewright as kw

class Spec(kw.Model):
    size: int = 1

@kw.resource("example.com/v1")
class Foo(kw.Resource[Spec, None]):
    """A foo."""

operator = kw.Operator("foo-operator")

@operator.reconciles(Foo)
async def sync(foo: Foo, ctx: kw.Context[Foo]) -> None: ...
'''

PROJECT = """\
from program_of_a_test import operator
from kubewright.manifests import Project

project = Project(operator=operator, target="program.py", replicas=3, version="1.2.3", network_policy=True)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "foo.py").write_text(PROGRAM)
    return tmp_path


def container(path: Path) -> dict[str, object]:
    found: dict[str, object] = yaml.safe_load(path.read_text())["spec"]["template"]["spec"]["containers"][0]
    return found


@pytest.mark.promise("Packaging", "Packages are the same bytes each time, and drift is found.")
def test_a_kustomize_tree_with_the_usual_settings(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["manifests", "foo.py", "--package", "kustomize", "--image", "registry.example.com/foo:1.0.0"]
    assert run(arguments) == 0
    assert "wrote config/default/kustomization.yaml\n" in capsys.readouterr().out
    assert container(folder / "config/manager/manager.yaml")["command"] == ["kubewright", "run", "foo.py"]
    images = yaml.safe_load((folder / "config/manager/kustomization.yaml").read_text())["images"]
    assert images == [{"name": "controller", "newName": "registry.example.com/foo", "newTag": "1.0.0"}]
    assert run([*arguments, "--check"]) == 0
    (folder / "config/manager/manager.yaml").unlink()
    assert run([*arguments, "--check"]) == 3
    assert "config/manager/manager.yaml is missing" in capsys.readouterr().out


def test_a_chart_with_the_settings_of_the_programs_own_project(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "program_of_a_test.py").write_text(PROGRAM)
    (folder / "packaging.py").write_text(PROJECT)
    monkeypatch.syspath_prepend(str(folder))
    assert run(["manifests", "packaging.py", "--package", "helm", "--namespace", "there"]) == 0
    assert capsys.readouterr().err == ""
    chart = yaml.safe_load((folder / "chart/Chart.yaml").read_text())
    assert (chart["name"], chart["version"]) == ("foo-operator", "1.2.3")
    values = yaml.safe_load((folder / "chart/values.yaml").read_text())
    assert values["replicas"] == 3
    assert values["networkPolicy"]["enabled"] is True


@pytest.mark.promise("Packaging", "An image without a tag of its own gets a warning.")
def test_an_image_that_will_hurt_gets_a_warning(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["manifests", "foo.py", "--package", "helm", "--image", "foo"]) == 0
    assert "Warning: the image foo:latest has the tag latest" in capsys.readouterr().err


@pytest.mark.promise("Packaging", "A deployment that cannot be is refused with the reason.")
@pytest.mark.parametrize(
    ("arguments", "code", "complaint"),
    [
        (["--image", "foo:1"], 2, "--image requires --package: definitions and roles contain no image"),
        (["--package", "helm", "--image", "Foo Bar"], 2, "Error: 'Foo Bar' is not the name of an image"),
        (["--package", "helm", "--namespace", "No!"], 2, "--namespace must be lower case letters, digits and '-'"),
    ],
)
def test_invalid_input_is_one_line_and_writes_nothing(
    arguments: list[str], code: int, complaint: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["manifests", "foo.py", *arguments]) == code
    assert complaint in capsys.readouterr().err
    assert sorted(path.name for path in folder.iterdir() if path.is_dir() and path.name != "__pycache__") == []


def test_a_package_is_for_one_operator(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "two.py").write_text(PROGRAM + '\nother = kw.Operator("other-operator")\n')
    assert run(["manifests", "two.py", "--package", "helm"]) == 2
    complaint = "a package needs exactly one operator, and there is foo-operator and other-operator: name it"
    assert complaint in capsys.readouterr().err
    assert run(["manifests", "two.py:operator", "--package", "helm"]) == 0
    command = (folder / "chart/templates/manager.yaml").read_text()
    assert "- 'two.py:operator'" in command or "- two.py:operator" in command


@pytest.mark.parametrize("command", [["manifests"], ["manifests", "--package", "helm"], ["chart"]])
def test_what_other_commands_have_generated_stays(
    folder: Path, capsys: pytest.CaptureFixture[str], command: list[str]
) -> None:
    for other in (["manifests", "--policies"], ["chart"], ["installer"], ["installer", "--out", "install.yaml"]):
        assert run([other[0], "foo.py", *other[1:]]) == 0
    before = {path: path.read_text() for path in folder.rglob("*") if path.suffix in (".yaml", ".tpl", ".txt", ".json")}
    capsys.readouterr()
    assert run([command[0], "foo.py", *command[1:], "--out", "."]) == 0
    assert "removed" not in capsys.readouterr().out
    assert {path: path.read_text() for path in before} == before


def tree(folder: Path) -> dict[str, str]:
    return {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*") if path.is_file()}


def test_manifests_keeps_a_package_up_to_date(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    image = "registry.example.com/foo:1.0.0"
    assert run(["manifests", "foo.py", "--package", "kustomize", "--image", image]) == 0
    before = tree(folder / "config")
    assert run(["manifests", "foo.py", "--check"]) == 0
    assert run(["manifests", "foo.py"]) == 0
    assert tree(folder / "config") == before
    program = PROGRAM.replace("size: int", "length: int")
    (folder / "foo.py").write_text(program)
    assert run(["manifests", "foo.py"]) == 0
    after = tree(folder / "config")
    assert "length:" in after["crd/bases/example.com_foos.yaml"]
    assert after["manager/kustomization.yaml"] == before["manager/kustomization.yaml"]  # with the image
    assert run(["manifests", "foo.py", "--image", "registry.example.com/foo:2.0.0"]) == 0
    assert "newTag: '2.0.0'" in tree(folder / "config")["manager/kustomization.yaml"]
    assert "removed" not in capsys.readouterr().out


def test_what_policies_wrote_stays_with_and_without_a_package(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "foo.py").write_text(PROGRAM.replace("class Spec", "@kw.constrain(kw.Rule('self.size > 0'))\nclass Spec"))
    assert run(["manifests", "foo.py", "--policies"]) == 0
    policy = folder / "config/policy/example.com_foos_v1.yaml"
    written = policy.read_text()
    for arguments in ([], ["--package", "kustomize"], []):
        assert run(["manifests", "foo.py", *arguments]) == 0
        assert policy.read_text() == written
    assert "removed" not in capsys.readouterr().out


def test_a_part_that_is_no_longer_wanted_goes_with_its_folder(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "program_of_a_test.py").write_text(PROGRAM)
    (folder / "packaging.py").write_text(PROJECT)
    assert run(["manifests", "packaging.py", "--package", "kustomize"]) == 0
    assert (folder / "config/network-policy").is_dir()
    (folder / "packaging.py").write_text(PROJECT.replace(", network_policy=True", ""))
    assert run(["manifests", "packaging.py", "--check"]) == 3
    assert "config/network-policy/policy.yaml is no longer generated\n" in capsys.readouterr().out
    assert run(["manifests", "packaging.py"]) == 0
    assert not (folder / "config/network-policy").exists()


def test_a_chart_tells_what_it_removes(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["chart", "foo.py"]) == 0
    crds = folder / "dist/chart/templates/crds"
    (crds / "example.com_foos.yaml").rename(crds / "example.com_bars.yaml")
    capsys.readouterr()
    assert run(["chart", "foo.py"]) == 0
    assert "removed dist/chart/templates/crds/example.com_bars.yaml\n" in capsys.readouterr().out


@pytest.mark.parametrize("command", ["manifests", "chart"])
def test_an_empty_folder_is_wrong_use(folder: Path, capsys: pytest.CaptureFixture[str], command: str) -> None:
    assert run([command, "foo.py", "--out", ""]) == 2
    assert "'--out': it is empty: name a folder." in capsys.readouterr().err
    assert [path.name for path in folder.iterdir()] == ["foo.py"]


def test_an_empty_file_to_write_is_wrong_use_too(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["installer", "foo.py", "--out", ""]) == 2
    assert "'--out': it is empty: name a file." in capsys.readouterr().err
    assert run(["codegen", "crds.yaml", "--out", ""]) == 2
    assert "'--out': it is empty: name a file or a folder." in capsys.readouterr().err
    assert [path.name for path in folder.iterdir()] == ["foo.py"]


SETTINGS = """\
from guestbook import operator
from kubewright.manifests import Project

project = Project(operator=operator, target="guestbook", certificates="cert-manager", pull_secrets=["registry"])
"""


@pytest.mark.promise("Projects", "The settings of a project's deployment are in deployment.py.")
def test_commands_read_the_deployment_settings_of_the_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    carry_out(new_project("guestbook", "my.domain"), tmp_path)
    carry_out(new_api(tmp_path, group="web", version="v1", kind="Guestbook"), tmp_path)
    carry_out(new_api(tmp_path, group="web", version="v1", kind="Plain", controller=False), tmp_path)
    (tmp_path / "deployment.py").write_text(SETTINGS)
    record = replace(Record.read(tmp_path), image="registry.example.com/guestbook:7")
    (tmp_path / "kubewright.toml").write_text(record.text())
    monkeypatch.chdir(tmp_path)
    for command in (["installer"], ["chart"], ["manifests", "--package", "kustomize"]):
        assert run(command) == 0, capsys.readouterr().err
    documents = [one for one in yaml.safe_load_all((tmp_path / "dist/install.yaml").read_text()) if one]
    [deployment] = [one for one in documents if one["kind"] == "Deployment"]
    pod = deployment["spec"]["template"]["spec"]
    assert pod["imagePullSecrets"] == [{"name": "registry"}]
    assert pod["containers"][0]["image"] == "registry.example.com/guestbook:7"  # of the last build
    definitions = {one["metadata"]["name"] for one in documents if one["kind"] == "CustomResourceDefinition"}
    assert definitions == {"guestbooks.web.my.domain", "plains.web.my.domain"}
    values = yaml.safe_load((tmp_path / "dist/chart/values.yaml").read_text())
    assert values["imagePullSecrets"] == [{"name": "registry"}]
    assert container(tmp_path / "config/manager/manager.yaml")["command"] == ["kubewright", "run", "guestbook"]
    assert run(["manifests", "--check"]) == 0
