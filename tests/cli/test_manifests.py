"""`kubewright manifests`."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from kubewright.api import from_dict
from kubewright.api.apiextensions.v1 import CustomResourceDefinition
from kubewright.api.cel import is_available
from kubewright.cli import run
from kubewright.manifests import MARK, applied_size

PROGRAM = '''
import kubewright as kw
from kubewright.api import apps
from kubewright.operator import Operator

class Spec(kw.Model):
    """What is wanted. With details."""

    size: int = 1
    """How large. At least
    one.

    More about it.
    """

@kw.resource("example.com/v1")
class Foo(kw.Resource[Spec, None]):
    """A Foo."""

operator = Operator("foo-operator", leader_elect=False)

@operator.reconciles(Foo, owns=[apps.Deployment])
async def sync(foo: Foo, ctx: kw.Context[Foo]) -> None: ...
'''

FILES = [
    "crd/bases/example.com_foos.yaml",
    "crd/kustomization.yaml",
    "rbac/example.com_foos_admin_role.yaml",
    "rbac/example.com_foos_editor_role.yaml",
    "rbac/example.com_foos_viewer_role.yaml",
    "rbac/kustomization.yaml",
    "rbac/role.yaml",
    "rbac/role_binding.yaml",
    "rbac/service_account.yaml",
]


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program_of_a_test.py"
    path.write_text(PROGRAM)
    return path


def texts(folder: Path) -> dict[str, str]:
    return {path.relative_to(folder).as_posix(): path.read_text() for path in sorted(folder.rglob("*.yaml"))}


@pytest.mark.promise("Manifests", "The same program gives the same bytes, and a second run touches nothing.")
def test_writes_definitions_and_roles_and_a_second_run_changes_nothing(
    program: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "config"
    assert run(["manifests", str(program), "--out", str(out)]) == 0
    first = texts(out)
    assert list(first) == FILES
    assert all(text.startswith(f"# {MARK}\n") for text in first.values())
    assert capsys.readouterr().out.splitlines() == [
        *(f"wrote {out}/{path}" for path in FILES),
        f"9 files in {out}, 0 of them unchanged.",
    ]
    assert run(["manifests", str(program), "--out", str(out)]) == 0
    assert texts(out) == first
    assert capsys.readouterr().out == f"9 files in {out}, 9 of them unchanged.\n"


def test_the_files_contain_the_definition_the_role_and_its_binding(program: Path, tmp_path: Path) -> None:
    assert run(["manifests", str(program), "--out", str(tmp_path / "config"), "--namespace", "ops"]) == 0
    found = {path: list(yaml.safe_load_all(text)) for path, text in texts(tmp_path / "config").items()}
    (crd,) = found["crd/bases/example.com_foos.yaml"]
    assert (crd["kind"], crd["metadata"]["name"]) == ("CustomResourceDefinition", "foos.example.com")
    size = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["size"]
    assert size["description"] == "How large. At least\none.\n\nMore about it."
    assert found["crd/kustomization.yaml"][0]["resources"] == ["bases/example.com_foos.yaml"]
    assert found["rbac/kustomization.yaml"][0]["resources"] == [
        path.removeprefix("rbac/") for path in FILES if path.startswith("rbac/") and "kustomization" not in path
    ]
    (role,) = found["rbac/role.yaml"]
    assert (role["kind"], role["metadata"]["name"]) == ("ClusterRole", "foo-operator")
    (binding,) = found["rbac/role_binding.yaml"]
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": "foo-operator", "namespace": "ops"}]
    (account,) = found["rbac/service_account.yaml"]
    assert account["metadata"]["namespace"] == "ops"


@pytest.mark.promise("Manifests", "Drift is reported with a short diff and an exit code.")
def test_check_accepts_current_files_and_reports_differences(
    program: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "config"
    arguments = ["manifests", str(program), "--out", str(out)]
    assert run(arguments) == 0
    capsys.readouterr()
    assert run([*arguments, "--check"]) == 0
    assert capsys.readouterr().out == f"9 files in {out} are up to date.\n"
    role = out / "rbac" / "role.yaml"
    role.write_text(role.read_text().replace("- watch", "- escalate"))
    (out / "crd" / "kustomization.yaml").unlink()
    before = texts(out)
    assert run([*arguments, "--check"]) == 3
    captured = capsys.readouterr()
    assert f"{out}/crd/kustomization.yaml is missing\n" in captured.out
    assert f"{out}/rbac/role.yaml differs\n" in captured.out
    assert "  -  - escalate\n  +  - watch\n" in captured.out
    assert captured.err == "2 of 9 files are not up to date: run the command without --check.\n"
    assert texts(out) == before


def test_removes_the_files_of_a_removed_kind(program: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "config"
    assert run(["manifests", str(program), "--out", str(out)]) == 0
    (out / "crd" / "mine.yaml").write_text("mine: 1\n")
    capsys.readouterr()
    assert run(["manifests", str(program), "--out", str(out), "--exclude", "example.com"]) == 0
    assert f"removed {out}/crd/bases/example.com_foos.yaml" in capsys.readouterr().out
    assert [path for path in texts(out) if path.startswith("crd/")] == ["crd/mine.yaml"]


def test_replaces_a_file_of_the_user_only_with_overwrite(
    program: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mine = tmp_path / "config" / "rbac" / "role.yaml"
    mine.parent.mkdir(parents=True)
    mine.write_text("mine: 1\n")
    assert run(["manifests", str(program), "--out", str(tmp_path / "config")]) == 1
    assert "not generated, so it is not replaced" in capsys.readouterr().err
    assert texts(tmp_path / "config") == {"rbac/role.yaml": "mine: 1\n"}
    assert run(["manifests", str(program), "--out", str(tmp_path / "config"), "--overwrite"]) == 0
    assert list(texts(tmp_path / "config")) == FILES


@pytest.mark.parametrize(
    ("how", "expected"),
    [("full", "How large. At least\none.\n\nMore about it."), ("short", "How large."), ("off", None)],
)
def test_descriptions_can_be_shorter(program: Path, tmp_path: Path, how: str, expected: str | None) -> None:
    assert run(["manifests", str(program), "--out", str(tmp_path / "config"), "--descriptions", how]) == 0
    crd = yaml.safe_load((tmp_path / "config" / "crd" / "bases" / "example.com_foos.yaml").read_text())
    spec = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    assert spec["properties"]["size"].get("description") == expected


@pytest.mark.promise("Manifests", "A definition that is too large for `kubectl apply` is reported with its size.")
def test_reports_a_definition_that_is_too_large_for_kubectl_apply(
    program: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fields = "\n".join(f'    field_{n}: int = 1\n    """{"x" * 1000}. And more."""\n' for n in range(280))
    program.write_text(PROGRAM.replace("    size: int = 1\n", fields + "\n    size: int = 1\n"))
    arguments = ["manifests", str(program), "--out", str(tmp_path / "config")]
    assert run(arguments) == 0
    text = (tmp_path / "config" / "crd" / "bases" / "example.com_foos.yaml").read_text()
    size = applied_size(from_dict(CustomResourceDefinition, yaml.safe_load(text)))
    assert size > 262_144
    errors = capsys.readouterr().err
    assert f"Warning: foos.example.com is too large for `kubectl apply`, which would store {size:,} bytes " in errors
    assert "Use `kubectl apply --server-side`, or make it smaller with --descriptions=short or off." in errors
    assert run([*arguments, "--descriptions", "off"]) == 0
    assert capsys.readouterr().err == ""


def test_writes_an_operator_without_kinds_and_kinds_without_an_operator(tmp_path: Path) -> None:
    (tmp_path / "kinds_of_a_test.py").write_text(
        "import kubewright as kw\n@kw.resource('example.com/v1')\nclass Foo(kw.Resource[None, None]): ...\n"
    )
    (tmp_path / "operator_of_a_test.py").write_text(
        "import kubewright as kw\nfrom kubewright.api import core\nfrom kinds_of_a_test import Foo\n"
        "operator = kw.Operator('alone')\n"
        "@operator.reconciles(core.ConfigMap, reads=[Foo])\n"
        "async def sync(obj: core.ConfigMap, ctx: kw.Context[core.ConfigMap]) -> None: ...\n"
    )
    kinds, operator = str(tmp_path / "kinds_of_a_test.py"), str(tmp_path / "operator_of_a_test.py")
    assert run(["manifests", kinds, "--out", str(tmp_path / "a")]) == 0
    assert "rbac/role.yaml" not in texts(tmp_path / "a")
    assert run(["manifests", operator, "--out", str(tmp_path / "b")]) == 0
    assert not [path for path in texts(tmp_path / "b") if path.startswith("crd/")]
    assert run(["manifests", operator, kinds, "--out", str(tmp_path / "c")]) == 0
    assert {"crd/bases/example.com_foos.yaml", "rbac/role.yaml"} <= set(texts(tmp_path / "c"))


def test_two_operators_get_folders_with_their_names(program: Path, tmp_path: Path) -> None:
    program.write_text(PROGRAM + "\nother = Operator('other')\nother.reconciles(Foo)(sync)\n")
    assert run(["manifests", str(program), "--out", str(tmp_path / "config")]) == 0
    assert {"rbac/foo-operator/role.yaml", "rbac/other/role.yaml"} <= set(texts(tmp_path / "config"))
    assert run(["manifests", f"{program}:other", "--out", str(tmp_path / "config")]) == 0
    assert "rbac/role.yaml" in texts(tmp_path / "config")
    assert "rbac/other/role.yaml" not in texts(tmp_path / "config")


def test_imports_a_file_that_is_given_twice_once(program: Path, tmp_path: Path) -> None:
    assert run(["manifests", str(program), f"{program}:operator", "--out", str(tmp_path / "config")]) == 0
    assert list(texts(tmp_path / "config")) == FILES


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (
            ["--namespace", "My_Space"],
            2,
            "--namespace must be lower case letters, digits and '-', at most 63, not 'My_Space'",
        ),
        (
            ["--exclude", "exmaple.com"],
            2,
            "there is no kind of the group 'exmaple.com' to exclude; there is example.com",
        ),
    ],
)
def test_rejects_a_typo_in_an_option_and_writes_nothing(
    program: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], code: int, message: str
) -> None:
    assert run(["manifests", str(program), "--out", str(tmp_path / "config"), *options]) == code
    assert message in capsys.readouterr().err
    assert not (tmp_path / "config").exists()


@pytest.mark.promise("Manifests", "All files are written, or none.")
@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        ("x = 1", 2, "there is no class with @resource and no Operator"),
        ("raise RuntimeError('on purpose')", 1, "on purpose"),
        (PROGRAM.replace("size: int = 1", "size: set[int]"), 1, "Foo.spec.size"),
    ],
)
def test_a_program_that_is_empty_or_fails_writes_nothing(
    program: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, code: int, message: str
) -> None:
    program.write_text(text)
    assert run(["manifests", str(program), "--out", str(tmp_path / "config")]) == code
    assert message in capsys.readouterr().err
    assert not (tmp_path / "config").exists()


def test_the_help_has_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["manifests", "--help"]) == 0
    output = capsys.readouterr().out
    assert "kubewright manifests foo.py --out config --check" in output
    for option in ("--out", "--check", "--namespace", "--descriptions", "--exclude", "--overwrite"):
        assert option in output


CONVERTED = """
import kubewright as kw

class OldSpec(kw.Model):
    schedule: str = "daily"

class Spec(kw.Model):
    cron: str = "daily"

@kw.resource("example.com/v1", kind="Backup")
class Old(kw.Resource[OldSpec, None]): ...

@kw.resource("example.com/v2", kind="Backup", storage=True)
class New(kw.Resource[Spec, None]): ...

@kw.resource("example.com/v1", kind="Same")
class OldSame(kw.Resource[Spec, None]): ...

@kw.resource("example.com/v2", kind="Same", storage=True)
class NewSame(kw.Resource[Spec, None]): ...

operator = kw.Operator("backup")

@operator.converts(Old, New)
def upgrade(old: Old) -> New:
    return New(spec=Spec(cron=old.spec.schedule))

@operator.converts(New, Old)
def downgrade(new: New) -> Old:
    return Old(spec=OldSpec(schedule=new.spec.cron))
"""


@pytest.mark.parametrize("package", [[], ["--package", "kustomize", "--image", "backup:1.0.0"]], ids=["files", "tree"])
def test_definitions_of_converted_kinds_do_not_set_the_conversion(
    package: list[str], program: Path, tmp_path: Path
) -> None:
    program.write_text(CONVERTED)
    out = tmp_path / "config"
    assert run(["manifests", str(program), "--out", str(out), *package]) == 0
    bases = {
        name: yaml.safe_load((out / f"crd/bases/example.com_{name}.yaml").read_text()) for name in ("backups", "sames")
    }
    assert "conversion" not in bases["backups"]["spec"]
    assert bases["sames"]["spec"]["conversion"] == {"strategy": "None"}  # the program does not convert these
    if package:
        [patch] = yaml.safe_load((out / "webhook/conversion_of_example.com_backups_patch.yaml").read_text())
        assert patch["value"]["strategy"] == "Webhook"


WRONG_RULES = """
from typing import Annotated

import kubewright as kw

@kw.constrain(kw.Rule("self.b > 1"))
class Part(kw.Model):
    a: int = 1

class Spec(kw.Model):
    unfinished: Annotated[str | None, kw.Rule("self.size() >")] = None
    misspelled: Annotated[str | None, kw.Rule("slf.size() > 0")] = None
    mistaken: Annotated[str | None, kw.Rule("self > 3")] = None
    right: Annotated[str | None, kw.Rule("self.size() > 3", message_expression="1 + 1")] = None
    parts: list[Part] | None = None

@kw.resource("example.com/v1")
class Foo(kw.Resource[Spec, None]): ...

operator = kw.Operator("foo-operator")

@operator.reconciles(Foo)
async def sync(foo: Foo, ctx: kw.Context[Foo]) -> None: ...
"""


@pytest.mark.skipif(not is_available(), reason="needs the extra test")
@pytest.mark.parametrize("command", ["manifests", "chart", "installer", "bundle"])
def test_reports_class_and_field_of_invalid_rules_and_writes_nothing(
    command: str, program: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program.write_text(WRONG_RULES)
    out = tmp_path / "out"
    assert run([command, str(program), "--out", str(out)]) == 1
    errors = capsys.readouterr().err
    for problem in (
        "Foo: spec.unfinished: the rule 'self.size() >': compilation failed: ERROR: <input>:1:14: Syntax error",
        "Foo: spec.misspelled: the rule 'slf.size() > 0': compilation failed: ERROR: <input>:1:1: undeclared reference",
        "Foo: spec.mistaken: the rule 'self > 3': compilation failed: ERROR: <input>:1:6: found no matching overload",
        "Foo: spec.right: the rule '1 + 1': messageExpression must evaluate to a string",
        "Foo: spec.parts[*]: the rule 'self.b > 1': compilation failed: ERROR: <input>:1:5: undefined field 'b'",
    ):
        assert problem in errors
    assert not out.exists()


def test_does_not_compile_rules_without_the_extra(
    program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kubewright.api.cel.is_available", lambda: False)
    program.write_text(WRONG_RULES)
    assert run(["manifests", str(program), "--out", str(tmp_path / "config")]) == 0
