"""`Subject`: a custom resource from a sample, with its schema and the objects that it needs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from kubewright.api import info_of
from kubewright.crd import crd_of
from kubewright.explore.model import Create
from kubewright.operator import Exemption, Operator
from kubewright.yaml import InvalidYAML, load_yaml_documents

__all__ = ["SampleError", "Subject", "read_subjects"]


class SampleError(Exception):
    """A sample cannot be used. The message says why."""


class Subject(msgspec.Struct, frozen=True):
    """An object that the operator reconciles, as the user creates it."""

    object: dict[str, Any]
    resource: str
    namespaced: bool
    schema: dict[str, Any]
    company: tuple[dict[str, Any], ...] = ()
    """Objects that must exist before it."""
    exemptions: tuple[Exemption, ...] = ()
    """The exemptions that the operator declares."""

    @property
    def name(self) -> str:
        """The name of the object."""
        name: str = self.object["metadata"]["name"]
        return name

    @property
    def namespace(self) -> str:
        """The namespace of the object; empty for a cluster-scoped one."""
        namespace: str = self.object["metadata"].get("namespace", "")
        return namespace

    @property
    def key(self) -> tuple[str, str, str]:
        """The key of the object in a world."""
        return (self.resource, self.namespace, self.name)

    @property
    def title(self) -> str:
        """Kind and name, for stories."""
        return f"{self.object['kind']} {self.name}"

    def create(self, obj: dict[str, Any] | None = None) -> Create:
        """Returns the step that creates it, or a variant of it."""
        return Create(self.object if obj is None else obj)


def read_subjects(operator: Operator, paths: Sequence[Path]) -> list[Subject]:
    """Returns the subjects in the samples. Raises `SampleError` if there are none."""
    kinds: dict[tuple[str, str], Any] = {}
    for registration in operator.registrations():
        info = info_of(registration.kind)
        kinds[info.api_version, info.kind] = registration.kind
    documents = [document for path in _files(paths) for document in _documents(path)]
    found = []
    for number, document in enumerate(documents):
        kind = kinds.get((document["apiVersion"], document["kind"]))
        if kind is None or ("namespace" not in document.get("metadata", {}) and not _is_custom(kind)):
            continue
        company = tuple(other for index, other in enumerate(documents) if index != number)
        subject = _subject(kind, document, company)
        found.append(msgspec.structs.replace(subject, exemptions=tuple(operator.exemptions)))
    if not found:
        wanted = ", ".join(f"{kind} of {version}" for version, kind in kinds) or "none"
        raise SampleError(f"the samples contain no object that the operator reconciles; its kinds are: {wanted}")
    return found


def _is_custom(kind: Any) -> bool:
    return "." in info_of(kind).group


def _subject(kind: Any, document: dict[str, Any], company: tuple[dict[str, Any], ...]) -> Subject:
    info = info_of(kind)
    metadata = {"name": info.kind.lower(), **document.get("metadata", {})}
    namespaced = bool(info.namespaced)
    if namespaced:
        metadata.setdefault("namespace", "default")
    schema: dict[str, Any] = {}
    if _is_custom(kind):
        definition = msgspec.to_builtins(crd_of(kind))
        versions = definition["spec"]["versions"]
        chosen = next((version for version in versions if version["name"] == info.version), versions[0])
        schema = chosen.get("schema", {}).get("openAPIV3Schema", {})
    return Subject(
        object={**document, "metadata": metadata},
        resource=f"{info.plural}.{info.group}" if info.group else info.plural,
        namespaced=namespaced,
        schema=schema,
        company=tuple(_with_namespace(other) for other in company),
    )


def _with_namespace(document: dict[str, Any]) -> dict[str, Any]:
    return {**document, "metadata": dict(document.get("metadata", {}))}


def _files(paths: Sequence[Path]) -> list[Path]:
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            found += sorted(each for each in path.iterdir() if each.suffix in (".yaml", ".yml", ".json"))
        elif path.is_file():
            found.append(path)
        else:
            raise SampleError(f"there is no sample {path}; name an existing YAML file or folder")
    return [path for path in found if path.stem != "kustomization"]


def _documents(path: Path) -> list[dict[str, Any]]:
    try:
        documents = load_yaml_documents(path.read_bytes())
    except InvalidYAML as error:
        raise SampleError(f"{path}: {error}") from error
    found = []
    for document in documents:
        if document is None:
            continue
        if not isinstance(document, dict) or not {"apiVersion", "kind"} <= set(document):
            raise SampleError(f"{path} contains a document without apiVersion and kind")
        found.append(document)
    return found
