"""Samples: objects in files that are applied to the cluster, and again when a file changes."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from kubewright.api import DecodeError, ObjectMeta, core, from_dict
from kubewright.client import AlreadyExists, ApiError, Client
from kubewright.development.messages import Applied, Failed, Message
from kubewright.yaml import InvalidYAML, load_yaml_documents

__all__ = ["SUFFIXES", "Samples"]

SUFFIXES: Final = (".yaml", ".yml", ".json")
_NO_SAMPLES: Final = ("kustomization.yaml", "kustomization.yml")
_MANAGER: Final = "kubewright-dev-samples"


class Samples:
    """The objects in some files and folders.

    A file is applied once, and again when its content changes. Changes that were made in the cluster stay. Objects that
    the cluster rejects are reported, and tried again the next time.
    """

    def __init__(self, paths: Sequence[Path], notify: Callable[[Message], None], *, make_namespaces: bool) -> None:
        self._paths = list(paths)
        self._notify = notify
        self._make_namespaces = make_namespaces
        self._applied: dict[Path, bytes] = {}

    @property
    def folders(self) -> dict[Path, tuple[str, ...]]:
        """The folders among the paths, in which new files count as well."""
        return {path: SUFFIXES for path in self._paths if path.is_dir()}

    @property
    def files(self) -> list[Path]:
        """Returns all files."""
        return [file for path in self._paths for file in _files(path)]

    async def apply(self, client: Client) -> None:
        """Applies new and changed files."""
        fresh = {file: text for file in self.files if self._is_fresh(file, text := _read(file))}
        if not fresh:
            return
        await client.discovery.resources(refresh=True)  # the program may have installed the kinds just now
        for file, text in fresh.items():
            self._applied.pop(file, None)
            if await self._apply_file(client, file, text):
                self._applied[file] = hashlib.sha256(text).digest()

    def _is_fresh(self, file: Path, text: bytes) -> bool:
        return self._applied.get(file) != hashlib.sha256(text).digest()

    async def _apply_file(self, client: Client, file: Path, text: bytes) -> bool:
        """Applies a file. Returns whether all of its objects were applied."""
        try:
            documents = [document for document in load_yaml_documents(text) if document is not None]
        except InvalidYAML as error:
            self._fail(file, str(error))
            return False
        well = True
        for document in documents:
            try:
                await self._apply_one(client, file, document)
            except (ApiError, DecodeError, ValueError) as error:
                self._fail(file, str(error))
                well = False
        return well

    async def _apply_one(self, client: Client, file: Path, document: Any) -> None:
        if not isinstance(document, dict) or not {"apiVersion", "kind"} <= document.keys():
            raise ValueError("every object needs an apiVersion and a kind")
        kind = await client.kind(str(document["apiVersion"]), str(document["kind"]))
        obj = from_dict(kind, document)
        if self._make_namespaces and obj.metadata.namespace:
            await _ensure_namespace(client, obj.metadata.namespace)
        made = await client.apply(obj, field_manager=_MANAGER, force=True)
        name, namespace = made.metadata.name or "", made.metadata.namespace or ""
        self._notify(Applied(kind=str(document["kind"]), namespace=namespace, name=name, file=str(file)))

    def _fail(self, file: Path, text: str) -> None:
        self._notify(Failed(what="sample", text=text, file=str(file)))


async def _ensure_namespace(client: Client, name: str) -> None:
    if await client.find(core.Namespace, name) is None:
        try:
            await client.create(core.Namespace(metadata=ObjectMeta(name=name)))
        except AlreadyExists:
            return


def _files(path: Path) -> Iterator[Path]:
    if not path.is_dir():
        yield path
        return
    yield from sorted(file for file in path.iterdir() if file.suffix in SUFFIXES and file.name not in _NO_SAMPLES)


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError:  # it is gone, or will be reported as a file without objects
        return b""
