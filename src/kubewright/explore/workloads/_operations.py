"""`Operation`: the steps of a user of the operator, read from a file.

name: rotate the certificate
steps:
- apply: {apiVersion: v1, kind: Secret, metadata: {name: tls, namespace: default}, stringData: {key: new}}
- wait: 10m
- delete: {apiVersion: v1, kind: Secret, metadata: {name: tls, namespace: default}}
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from kubewright.durations import check_duration
from kubewright.explore.model import Apply, Delete, Pause, Step, Story, Wait
from kubewright.explore.workloads._samples import SampleError, Subject
from kubewright.explore.workloads._stories import Scene, company_of
from kubewright.yaml import InvalidYAML, load_yaml_documents

__all__ = ["Operation", "operation_of", "read_operations"]

_STEPS: Final = ("apply", "delete", "wait")
_MAX_STEPS: Final = 50


class Operation(msgspec.Struct, frozen=True):
    """Steps of a user on a cluster with a sample."""

    name: str
    steps: tuple[Step, ...]


def operation_of(subject: Subject, operation: Operation) -> Scene:
    """Returns the story of an operation on an existing subject."""
    steps = (*company_of(subject), subject.create(), Wait(), *operation.steps, Wait())
    return Scene(Story(f"create {subject.title}, then {operation.name}", steps), "alone")


def read_operations(paths: Sequence[Path]) -> list[Operation]:
    """Returns the operations in YAML files, one per document. Raises `SampleError` if one cannot be used."""
    found = []
    for path in paths:
        try:
            documents = load_yaml_documents(path.read_bytes())
        except (OSError, InvalidYAML) as error:
            raise SampleError(f"{path}: {error}") from error
        found += [_operation(path, document) for document in documents if document is not None]
    return found


def _operation(path: Path, document: Any) -> Operation:
    if not isinstance(document, dict) or set(document) != {"name", "steps"} or not isinstance(document["steps"], list):
        raise SampleError(f"{path}: an operation has a name and a list of steps")
    if len(document["steps"]) > _MAX_STEPS:
        raise SampleError(f"{path}: an operation has at most {_MAX_STEPS} steps")
    return Operation(str(document["name"]), tuple(_step(path, step) for step in document["steps"]))


def _step(path: Path, step: Any) -> Step:
    if not isinstance(step, dict) or len(step) != 1 or next(iter(step)) not in _STEPS:
        raise SampleError(f"{path}: a step has one of the fields {', '.join(_STEPS)}")
    ((verb, value),) = step.items()
    if verb == "wait":
        if value is None:
            return Wait()
        try:
            return Pause(check_duration("wait", value))
        except (TypeError, ValueError) as error:
            raise SampleError(f"{path}: {error}") from error
    metadata = value.get("metadata") if isinstance(value, dict) else None
    if not isinstance(metadata, dict) or "name" not in metadata or not {"apiVersion", "kind"} <= set(value):
        raise SampleError(f"{path}: {verb} needs an object with apiVersion, kind and metadata.name")
    if verb == "apply":
        return Apply(value)
    return Delete(value["apiVersion"], value["kind"], metadata["name"], metadata.get("namespace", ""))
