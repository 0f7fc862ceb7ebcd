"""Generating, each as a process of its own: `kubewright manifests` for a project with ten kinds, and
`kubewright codegen` for a definition of the size of the largest that is known, 1.4 MB of YAML."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.arithmetic import Numbers
from benchmarks.measure import Failed
from benchmarks.results import Case, Column
from kubewright.api import apiextensions, core, from_dict
from kubewright.crd import schema_of, to_yaml

__all__ = ["definition", "measured", "project", "run"]

_KINDS = 10
_TEMPLATES = 6
_HEAD = '''
from typing import Annotated
import kubewright as kw
from kubewright.api import apps, core

class Spec(kw.Model):
    """What is wanted."""

    replicas: Annotated[int, kw.Range(0, 10)] = 1
    """How many there shall be."""
    template: core.PodTemplateSpec
    """What each of them is."""

class Status(kw.Model):
    """What is there."""

    replicas: int = 0

operator = kw.Operator("ten-kinds")
'''
_KIND = '''
@kw.resource("example.com/v1", columns={{"Replicas": ".status.replicas"}})
class Kind{number}(kw.Resource[Spec, Status]):
    """Number {number} of ten."""

@operator.reconciles(Kind{number}, owns=[apps.Deployment])
async def sync_{number}(obj: Kind{number}, ctx: kw.Context[Kind{number}]) -> None: ...
'''


def project() -> str:
    """A program with ten kinds, each with the whole schema of a pod: more than most projects have."""
    return _HEAD + "".join(_KIND.format(number=number) for number in range(_KINDS))


def run(rounds: int, say: Callable[[str], None]) -> Iterator[Case]:
    """Measure it."""
    columns = [Column("wall", "wall s", 2), Column("cpu", "CPU s", 2), Column("peak", "peak MB")]
    case = Case("manifests", "kubewright manifests, ten kinds with a pod template each", "kubewright", columns)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "ten_kinds.py")
        file.write_text(project())
        for turn in range(rounds):
            out = Path(folder, f"config-{turn}")
            command = [sys.executable, "-m", "kubewright.cli", "manifests", str(file), "--out", str(out)]
            case.add("kubewright", measured(command))
            say(f"manifests, turn {turn + 1}: {len(list(out.rglob('*.yaml')))} files")
    yield case
    case = Case("codegen", "kubewright codegen, one definition of 1.4 MB", "kubewright", columns)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "large.yaml")
        file.write_text(definition())
        for turn in range(rounds):
            out = Path(folder, f"large_{turn}.py")
            command = [sys.executable, "-m", "kubewright.cli", "codegen", str(file), "--out", str(out)]
            case.add("kubewright", measured(command))
            say(f"codegen, turn {turn + 1}: {len(out.read_text().splitlines())} lines")
    yield case


def definition() -> str:
    """Returns a large definition: several pod templates whose descriptions differ, so that few classes are shared."""
    template = schema_of(core.PodTemplateSpec)
    templates = {f"template{number}": _described(template, f"Number {number}.") for number in range(_TEMPLATES)}
    spec = {"type": "object", "properties": templates}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
    document = {
        "metadata": {"name": "larges.example.com"},
        "spec": {
            "group": "example.com",
            "names": {"kind": "Large", "plural": "larges"},
            "scope": "Namespaced",
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
        },
    }
    return to_yaml(from_dict(apiextensions.CustomResourceDefinition, document))


def _described(node: dict[str, Any], text: str) -> dict[str, Any]:
    """The same schema with a description at every field."""
    made = dict(node)
    for name in ("items", "additionalProperties"):
        if isinstance(node.get(name), dict):
            made[name] = _described(node[name], text)
    if "properties" in node:
        fields = node["properties"].items()
        made["properties"] = {name: {**_described(below, text), "description": text} for name, below in fields}
    return made


def measured(command: Sequence[str]) -> Numbers:
    """What a program needs from its start to its end. Raises Failed."""
    began = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise Failed(f"{' '.join(command[:4])} ended with {process.returncode}")
    wall = time.monotonic() - began
    return {"wall": wall, "cpu": usage.ru_utime + usage.ru_stime, "peak": usage.ru_maxrss / 1024}
