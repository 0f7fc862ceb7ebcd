"""Reads the objects of files, folders and streams, with bounds on all of them."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Final, TypeAlias

from kubewright.client.files._results import ApplyFileError, Failure, SourceLocation
from kubewright.yaml import MAX_SIZE, InvalidYAML, compose_yaml_documents, located_yaml_documents

__all__ = ["MAX_FILES", "Document", "FilePath", "read_documents"]

FilePath: TypeAlias = str | os.PathLike[str] | IO[bytes]
"""A file, a folder, or an open binary stream such as `sys.stdin.buffer`."""

MAX_FILES: Final = 1_000
"""Files in all folders together."""
STREAM: Final = "-"
_SUFFIXES: Final = (".yaml", ".yml", ".json")
_NO_OBJECTS: Final = ("kustomization.yaml", "kustomization.yml")
_KEYS: Final = re.compile(r'([^=,"]+)="?([^",]*)"?')
_STEP: Final = re.compile(r"[^.\[\]]+|\[[^\]]*\]")


class _Source:
    """The text of a file. All its documents share the positions, which only an error and a list need."""

    def __init__(self, text: bytes) -> None:
        self.text = text

    @functools.cached_property
    def nodes(self) -> list[Any]:
        try:
            return compose_yaml_documents(self.text)
        except InvalidYAML:  # it was read as values before
            return []


class Document:
    """One object of a file."""

    def __init__(
        self, content: Mapping[str, Any], location: SourceLocation, source: _Source, prefix: Sequence[str] = ()
    ) -> None:
        self.content = content
        self.location = location
        self._source = source
        self._prefix = prefix  # of an item of a list: where it is in the document

    @property
    def api_version(self) -> str:
        """The object's apiVersion."""
        return str(self.content["apiVersion"])

    @property
    def kind(self) -> str:
        """The object's kind."""
        return str(self.content["kind"])

    @property
    def metadata(self) -> Mapping[str, Any]:
        """The object's metadata."""
        metadata: Mapping[str, Any] = self.content["metadata"]
        return metadata

    @property
    def name(self) -> str:
        """The object's name."""
        return str(self.metadata["name"])

    @property
    def namespace(self) -> str:
        """The namespace in the document; empty if it has none."""
        return str(self.metadata.get("namespace") or "")

    def at(self, field: str) -> SourceLocation:
        """Returns the location of a field, such as `spec.ports[0].name`: the line of its last known part."""
        nodes, index = self._source.nodes, self.location.document - 1
        if not 0 <= index < len(nodes):
            return self.location
        node, line = nodes[index], self.location.line
        for step in (*self._prefix, *(found.strip("[]") for found in _STEP.findall(field))):
            found = _member(node, step)
            if found is None:
                break
            line, node = found
        return SourceLocation(self.location.file, self.location.document, line)


def read_documents(*paths: FilePath, recursive: bool = False) -> list[Document]:
    """Returns the objects of files, of the `.yaml`, `.yml` and `.json` files of folders, and of streams, in order.

    Lists are expanded, empty documents and kustomizations in folders are skipped. Raises `ApplyFileError` with all
    problems: files that cannot be read, invalid YAML, duplicate keys, and documents that are not objects with a name.
    """
    documents: list[Document] = []
    failures: list[Failure] = []
    for number, file in enumerate(_files(paths, failures, recursive=recursive), 1):
        if number > MAX_FILES:
            failures.append(Failure(SourceLocation(_shown(file)), f"more than {MAX_FILES} files: apply them in parts"))
            break
        text = _read(file, failures)
        if text is not None:
            documents += _documents(_shown(file), text, failures)
    if not failures and not documents:
        failures.append(Failure(SourceLocation(", ".join(map(_shown, paths)) or "no file"), "there are no objects"))
    if failures:
        raise ApplyFileError(failures)
    return documents


def _files(paths: Sequence[FilePath], failures: list[Failure], *, recursive: bool) -> Iterator[FilePath]:
    for path in paths:
        if isinstance(path, str | os.PathLike) and Path(path).is_dir():
            found = _in_folder(Path(path), recursive=recursive)
            if (first := next(found, None)) is None:
                hint = "" if recursive else "; for folders inside it, use recursive"
                failures.append(
                    Failure(SourceLocation(str(path)), f"the folder has no {', '.join(_SUFFIXES)} files{hint}")
                )
                continue
            yield first
            yield from found
        else:
            yield path


def _in_folder(folder: Path, *, recursive: bool) -> Iterator[Path]:
    for where, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            file = Path(where, name)
            if file.suffix in _SUFFIXES and name not in _NO_OBJECTS and file.is_file():
                yield file
        if not recursive:
            return


def _read(file: FilePath, failures: list[Failure]) -> bytes | None:
    try:
        if isinstance(file, str | os.PathLike):
            with open(file, "rb") as stream:
                text = stream.read(MAX_SIZE + 1)
        else:
            text = file.read(MAX_SIZE + 1)
    except OSError as error:
        failures.append(Failure(SourceLocation(_shown(file)), error.strerror or "it cannot be read"))
        return None
    if len(text) > MAX_SIZE:
        failures.append(Failure(SourceLocation(_shown(file)), f"larger than {MAX_SIZE} bytes"))
        return None
    return text


def _documents(file: str, text: bytes, failures: list[Failure]) -> Iterator[Document]:
    try:
        located = located_yaml_documents(text)
    except InvalidYAML as error:
        failures.append(Failure(SourceLocation(file, error.document, error.line), error.problem))
        return
    source = _Source(text)
    for number, (line, content) in enumerate(located, 1):
        if content is None:
            continue
        document = Document(content, SourceLocation(file, number, line), source) if isinstance(content, dict) else None
        if document is not None and _is_list(content):
            yield from _items(document, source, failures)
        elif (problem := _problem(content)) is not None:
            failures.append(Failure(SourceLocation(file, number, line), problem))
        elif document is not None:
            yield document


def _is_list(content: Mapping[str, Any]) -> bool:
    return str(content.get("kind", "")).endswith("List") and isinstance(content.get("items"), list)


def _items(listed: Document, source: _Source, failures: list[Failure]) -> Iterator[Document]:
    for index, content in enumerate(listed.content["items"]):
        location = listed.at(f"items[{index}]")
        if (problem := _problem(content)) is not None:
            failures.append(Failure(location, f"items[{index}]: {problem}"))
        else:
            yield Document(content, location, source, ("items", str(index)))


def _problem(content: Any) -> str | None:
    """Returns why a document is not an object that can be applied."""
    if not isinstance(content, dict):
        return "a document must be an object with apiVersion, kind and metadata"
    for field in ("apiVersion", "kind"):
        if not isinstance(content.get(field), str) or not content[field]:
            return f"{field} is missing"
    metadata = content.get("metadata")
    if not isinstance(metadata, dict):
        return "metadata is missing"
    if not isinstance(metadata.get("name"), str) or not metadata["name"]:
        if metadata.get("generateName"):
            return "metadata.generateName cannot be applied: give the object a name, or create it"
        return "metadata.name is missing"
    if not isinstance(metadata.get("namespace", ""), str):
        return "metadata.namespace must be a string"
    return None


def _member(node: Any, step: str) -> tuple[int, Any] | None:
    """Returns the line and the node of a field of a map, or of an item of a list."""
    if not isinstance(node.value, list):
        return None
    members = node.value
    if step.isdecimal() and members and not isinstance(members[0], tuple):
        members = members[int(step) : int(step) + 1]  # a list may be long
        return (members[0].start_mark.line + 1, members[0]) if members else None
    for member in members:
        if isinstance(member, tuple):
            if member[0].value == step:
                return member[0].start_mark.line + 1, member[1]
        elif _has_keys(member, step):
            return member.start_mark.line + 1, member
    return None


def _has_keys(item: Any, step: str) -> bool:
    """Whether an item of a list has the keys of a step, as server-side apply writes them: `name="web",protocol="TCP"`.

    Keys that the document leaves out have defaults.
    """
    keys = dict(_KEYS.findall(step))
    members = item.value if isinstance(item.value, list) else ()
    there = {pair[0].value: pair[1].value for pair in members if isinstance(pair, tuple)}
    return bool(keys.keys() & there.keys()) and all(there.get(key, value) == value for key, value in keys.items())


def _shown(file: FilePath) -> str:
    return os.fspath(file) if isinstance(file, str | os.PathLike) else STREAM
