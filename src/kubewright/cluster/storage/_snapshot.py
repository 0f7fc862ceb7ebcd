"""The snapshot file: keeps the cluster's objects between two runs, one JSON document per line."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from kubewright.cluster.machinery._resources import JSONObject
from kubewright.cluster.storage._storage import Storage

__all__ = ["SnapshotError", "read_snapshot", "write_snapshot"]

_FORMAT = 1
_WRITING = os.O_WRONLY | os.O_CREAT | os.O_TRUNC


class SnapshotError(ValueError):
    """The file is not a snapshot of Kubewright. It is left unchanged."""


class _Head(msgspec.Struct):
    kubewright_snapshot: int
    revision: int


class _Line(msgspec.Struct):
    storage: str
    object: msgspec.Raw
    version: str = ""


def write_snapshot(path: Path, storage: Storage) -> None:
    """Writes all objects to the file, atomically. Only this user can read the file."""
    encoder = msgspec.json.Encoder()
    scratch = _scratch(path)
    try:
        with os.fdopen(os.open(scratch, _WRITING, 0o600), "wb") as out:
            out.write(encoder.encode(_Head(_FORMAT, storage.revision)) + b"\n")
            for name, entry in storage.dump():
                out.write(encoder.encode(_Line(name, msgspec.Raw(entry.raw), entry.version)) + b"\n")
            out.flush()
            os.fsync(out.fileno())
        scratch.replace(path)
    finally:
        scratch.unlink(missing_ok=True)


def read_snapshot(path: Path, storage: Storage) -> bool:
    """Fills an empty storage from the file. Returns False if there is no file. Raises `SnapshotError`.

    Also raises it if the file could not be written: at the end of the run the objects would be lost.
    """
    try:
        content = path.open("rb")
    except FileNotFoundError:
        if not path.parent.is_dir():
            raise SnapshotError(f"{path} cannot be written: the folder {path.parent} does not exist") from None
        _check_place(path)
        return False
    _check_place(path)
    with content:
        try:
            head = msgspec.json.decode(content.readline(), type=_Head)
        except msgspec.DecodeError:
            raise SnapshotError(f"{path} is not a snapshot of an embedded cluster; choose another file") from None
        if head.kubewright_snapshot != _FORMAT:
            found = head.kubewright_snapshot
            raise SnapshotError(
                f"{path} is a snapshot of format {found}; this version of Kubewright reads format {_FORMAT}"
            )
        try:
            storage.load(head.revision, _objects(content))
        except (msgspec.DecodeError, KeyError, ValueError) as error:
            raise SnapshotError(f"{path} is damaged: {error}") from None
    return True


def _scratch(path: Path) -> Path:
    return path.with_name(f"{path.name}.{os.getpid()}.tmp")


def _check_place(path: Path) -> None:
    """Checks that the file can be written."""
    scratch = _scratch(path)
    try:
        os.close(os.open(scratch, _WRITING, 0o600))
    except OSError as error:
        raise SnapshotError(f"{path} cannot be written: {error.strerror}") from None
    scratch.unlink()


def _objects(lines: Any) -> Iterator[tuple[str, JSONObject]]:
    decoder = msgspec.json.Decoder(_Line)
    for line in lines:
        read = decoder.decode(line)
        yield read.storage, {"apiVersion": read.version, **msgspec.json.decode(read.object)}
