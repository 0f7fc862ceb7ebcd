"""The JSON schemas of kinds accept and reject what the server does, but for rules."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import pytest

import kubewright as kw
from kubewright.api import JSON, IntOrString, meta
from kubewright.cli import run
from kubewright.crd import crds_of
from kubewright.manifests import is_generated, schema_files, write
from tests.manifests.json_schema import problems


class Part(kw.Model):
    name: str
    size: Annotated[int, kw.Range(1, 10, exclusive_maximum=True)] = 1


class GateSpec(kw.Model):
    """The desired state."""

    parts: list[Part] | None = None
    labels: dict[str, str] | None = None
    port: IntOrString | None = None
    selector: meta.LabelSelector | None = None
    anything: JSON | None = None


class GateStatus(kw.Model):
    open: bool | None = None


@kw.resource("schemas.example.com/v1", storage=True)
class Gate(kw.Resource[GateSpec, GateStatus]):
    """A gate."""


@kw.resource("schemas.example.com/v1beta1", kind="Gate", served=False)
class OldGate(kw.Resource[GateSpec, GateStatus]):
    """A gate that is not served."""


def schema() -> dict[str, Any]:
    [file] = schema_files(crds_of(Gate, OldGate))
    assert file.path == "schema/schemas.example.com_gates_v1.json"
    content: dict[str, Any] = json.loads(file.text)
    return content


def gate(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "schemas.example.com/v1",
        "kind": "Gate",
        "metadata": {"name": "a", "labels": {"b": "c"}},
        "spec": spec,
    }


@pytest.mark.parametrize(
    ("spec", "found"),
    [
        ({}, []),
        ({"parts": [{"name": "a", "size": 9}], "labels": {"x": "y"}}, []),
        ({"port": 80}, []),
        ({"port": "http"}, []),
        ({"anything": {"deep": [1, {"x": None}]}}, []),
        ({"selector": {"matchLabels": {"app": "a"}}}, []),
        ({"part": []}, ["spec: no field 'part'"]),
        ({"parts": [{"size": 1}]}, ["spec.parts[0]: name is missing"]),
        ({"parts": [{"name": "a", "size": 0}]}, ["spec.parts[0].size: too small"]),
        ({"parts": [{"name": "a", "size": 10}]}, ["spec.parts[0].size: too large"]),
        ({"labels": {"x": 1}}, ["spec.labels.x: not a string"]),
        ({"port": True}, ["spec.port: not a integer or string"]),
        ({"selector": {"matchLabel": {}}}, ["spec.selector: no field 'matchLabel'"]),
    ],
)
def test_schema_accepts_what_the_kind_has(spec: dict[str, Any], found: list[str]) -> None:
    assert problems(schema(), gate(**spec)) == found


def test_schema_requires_kind_and_version() -> None:
    assert problems(schema(), {"metadata": {}, "spec": {}}) == ["apiVersion is missing", "kind is missing"]
    assert problems(schema(), {**gate(), "apiVersion": "v1"}) == ["apiVersion: not 'schemas.example.com/v1'"]
    assert schema()["properties"]["spec"]["description"] == "The desired state."
    assert "x-kubernetes" not in json.dumps(schema())


PROGRAM = """\
import kubewright as kw

class Spec(kw.Model):
    SIZE: int = 1

@kw.resource("example.com/v1")
class Foo(kw.Resource[Spec, None]): ...

operator = kw.Operator("foo-operator")
"""


@pytest.mark.promise("Manifests", "Schemas are kept up to date like definitions.")
def test_schemas_stay_up_to_date(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "schemas_of_a_test.py").write_text(PROGRAM.replace("SIZE", "size"))
    command = ["manifests", "schemas_of_a_test.py"]
    assert run(command) == 0
    assert not (tmp_path / "config/schema").exists()
    assert run([*command, "--schemas"]) == 0
    file = tmp_path / "config/schema/example.com_foos_v1.json"
    assert is_generated(file)
    assert run([*command, "--check"]) == 0
    (tmp_path / "schemas_of_a_test.py").write_text(PROGRAM.replace("SIZE", "length"))
    assert run([*command, "--check"]) == 3
    assert run(command) == 0
    assert "length" in file.read_text()
    assert run([*command, "--package", "kustomize"]) == 0
    assert file.exists()


def test_files_are_stable(tmp_path: Path) -> None:
    write(tmp_path, schema_files(crds_of(Gate, OldGate)))
    assert write(tmp_path, schema_files(crds_of(Gate, OldGate))).written == []
