"""`kubewright codegen`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from kubewright.cli import run
from tests.codegen.round_trip import definition, thing
from tests.codegen.test_round_trip import FIELDS


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "crds" / "thing.yaml"
    path.parent.mkdir()
    schema = thing({"type": "object", "description": "Asked for.", "properties": {"a": {"type": "string"}}})
    path.write_text(yaml.safe_dump(definition(schema)))
    return path


@pytest.mark.promise("Types from definitions", "The same definitions give the same text.")
def test_a_module_is_written_and_then_nothing_changes(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "thing.py"
    command = ["codegen", str(source), "--out", str(out)]
    assert run(command) == 0
    assert "class Thing(kw.Resource[ThingSpec, None]):" in out.read_text()
    assert run(command) == 0
    assert run([*command, "--check"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "1 kind, 1 file written",
        "1 kind, nothing has changed",
        "1 kind, nothing has changed",
    ]


def test_the_bytes_do_not_depend_on_the_process(tmp_path: Path) -> None:
    source = tmp_path / "all.yaml"
    fields = {"type": "object", "properties": FIELDS}
    source.write_text(yaml.safe_dump(definition(thing({**fields, "default": {}, "nullable": True}, status=fields))))
    written = []
    for seed in ("1", "2"):
        out = tmp_path / f"seed{seed}.py"
        command = [sys.executable, "-m", "kubewright.cli", "codegen", str(source), "--out", str(out)]
        subprocess.run(command, check=True, env=os.environ | {"PYTHONHASHSEED": seed}, stdout=subprocess.DEVNULL)
        written.append(out.read_bytes())
    assert written[0] == written[1]


@pytest.mark.promise("Types from definitions", "A file that was not generated is never overwritten.")
def test_a_folder_becomes_a_package_and_your_own_files_stay(source: Path, tmp_path: Path) -> None:
    out = tmp_path / "mine"
    out.mkdir()
    (out / "__init__.py").write_text("# mine\n")
    assert run(["codegen", str(source.parent), "--out", str(out), "--no-descriptions"]) == 0
    assert sorted(str(path.relative_to(out)) for path in out.rglob("*.py")) == [
        "__init__.py",
        "example_com/__init__.py",
        "example_com/v1.py",
    ]
    assert (out / "__init__.py").read_text() == "# mine\n"
    assert "Asked for." not in (out / "example_com" / "v1.py").read_text()


def test_drift_fails_the_check(source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "thing.py"
    assert run(["codegen", str(source), "--out", str(out), "--check"]) == 3
    assert not out.exists()
    assert capsys.readouterr().out == f"differs from what would be written: {out}\n"


def test_kinds_are_chosen_and_renamed(source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "thing.py"
    assert run(["codegen", str(source), "--out", str(out), "--kind", "things.example.com", "--name", "Thing=It"]) == 0
    assert "class It(" in out.read_text()
    assert run(["codegen", str(source), "--out", str(out), "--kind", "Other"]) == 2
    assert capsys.readouterr().err == f"Error: {source}: there is no kind Other in it\n"


def test_a_kind_in_two_files_counts_once(source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source.with_name("again.yaml").write_text(source.read_text())
    assert run(["codegen", str(source.parent), "--out", str(tmp_path / "types")]) == 0
    assert capsys.readouterr().out == "1 kind, 3 files written\n"


def test_a_folder_that_is_there_may_have_any_name(source: Path, tmp_path: Path) -> None:
    out = tmp_path / "search path"
    out.mkdir()
    assert run(["codegen", str(source), "--out", str(out)]) == 0
    assert (out / "example_com" / "v1.py").is_file()


def test_parts_of_definitions_are_skipped_with_a_note(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    patch = source.parent / "patch.yaml"
    patch.write_text("apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n")
    assert run(["codegen", str(source.parent), "--out", str(tmp_path / "a.py")]) == 0
    assert capsys.readouterr().err == f"Skipped: {patch} has only a partial definition\n"


@pytest.mark.promise("Types from definitions", "A file that was not generated is never overwritten.")
@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["nowhere.yaml", "--out", "a.py"], 2, "nowhere.yaml: no such file or folder"),
        (["http://127.0.0.1:1/a.yaml", "--out", "a.py"], 2, "only https:// is fetched"),
        (["{source}", "--kind", "Thign", "--out", "a.py"], 2, "there is no kind Thign in it; did you mean Thing?"),
        (["{source}", "--out", "a.txt"], 2, "a.txt: the output must be a file NAME.py, or a folder"),
        (["{source}", "--out", "bad-name.py"], 2, "bad-name.py: 'bad-name' cannot be imported"),
        (["{source}", "--out", "class.py", "--check"], 2, "such as class_"),
        (["{source}", "--out", "bad name"], 2, "such as bad_name"),
        (["--out", "a.py"], 2, "Name a file, a folder or a URL, or use --cluster."),
        (["{source}"], 2, "Missing option '--out'"),
        (["{source}", "--out", "a.py", "--context", "x"], 2, "--kubeconfig and --context require --cluster."),
        (["{source}", "--out", "a.py", "--name", "Thing"], 2, "--name must be KIND=CLASS, as in Gateway=IstioGateway"),
        (["{source}", "--out", "a.py", "--name", "Thing=1x"], 2, "--name must be KIND=CLASS"),
        (
            ["{source}", "--out", "mine.py"],
            1,
            "this file was not generated and would be overwritten; choose another path",
        ),
        (["{twice}", "--out", "a.py"], 2, "there are 2 group versions (example_com/v1, example_com/v2)"),
        (["{loose}", "--out", "a.py"], 1, "Thing v1.spec: the type is missing."),
        (["--cluster", "--kubeconfig", "{kubeconfig}", "--out", "a.py"], 1, "127.0.0.1"),
    ],
)
def test_errors_are_one_line(
    arguments: list[str],
    code: int,
    message: str,
    source: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text("# precious\n")
    twice = definition(thing({"type": "object"}))
    twice["spec"]["versions"] += [twice["spec"]["versions"][0] | {"name": "v2", "storage": False}]
    kubeconfig = {
        "current-context": "a",
        "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}],
        "clusters": [{"name": "a", "cluster": {"server": "http://127.0.0.1:1"}}],
        "users": [{"name": "a", "user": {}}],
    }
    for name, content in (("twice", twice), ("loose", definition(thing({}))), ("kubeconfig", kubeconfig)):
        (tmp_path / name).write_text(yaml.safe_dump(content))
    places = {"source": source, **{name: tmp_path / name for name in ("twice", "loose", "kubeconfig")}}
    assert run(["codegen", *(argument.format(**places) for argument in arguments)]) == code
    shown = capsys.readouterr()
    assert shown.out == ""
    assert len(shown.err.splitlines()) == 1
    assert message in shown.err
    assert not (tmp_path / "a.py").exists()
