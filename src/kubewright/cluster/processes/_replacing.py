"""Volumes that would replace programs: the mapping of images says what runs, never the content of a volume."""

from __future__ import annotations

import functools
import os
import shutil
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from kubewright.cluster.processes._environment import PATH
from kubewright.cluster.processes._images import Image, Refused

__all__ = ["Mounted", "check_volumes"]

_SYSTEM: Final = (
    *PATH.split(":"),
    "/lib",
    "/lib32",
    "/lib64",
    "/usr/lib",
    "/usr/lib32",
    "/usr/lib64",
    "/usr/libexec",
    "/usr/local/lib",
    "/usr/local/lib64",
    "/etc/alternatives",
    "/etc/perl",
)
# Prefixes of files and folders that every program, or every Python program, loads.
_PREFIXES: Final = ("/etc/ld.so.", "/etc/python")
_COMMON: Final = ("/", "/usr", "/usr/local")


@dataclass(frozen=True)
class Mounted:
    """The path of a volume in a container; `written` says that its files are the content of objects."""

    target: str
    written: bool


def check_volumes(name: str, image: Image, mounted: Iterable[Mounted], directory: str | None) -> None:
    """Raises `Refused` for a volume that could replace the program of an image, or what the program loads.

    `directory` is the `workingDir` of the pod: interpreters load modules from there. An image whose pods may name any
    command has no such limits.
    """
    if image.allow_command:
        return
    programs, visible = _programs(image), _resolved(image.keep)
    folders = [each for each in (*visible, *_interpreter(image)) if each not in _COMMON]
    own = os.path.realpath(image.directory) if image.directory not in (None, "/") else None
    for each in mounted:
        target = os.path.realpath(each.target)
        guarded = [*programs, own] if each.written and own is not None else programs
        if (
            target == "/etc"
            or target.startswith(_PREFIXES)
            or any(_is_below(target, folder) for folder in folders)
            or any(_related(target, path) and not _is_kept(path, target, visible) for path in guarded)
        ):
            raise Refused(
                f'image "{name}" does not allow a volume at {each.target}, which would replace or hide programs; '
                "mount it elsewhere, or set allow_command for it in the mapping of images"
            )
        if each.written and directory is not None and _is_below(os.path.realpath(directory), target):
            raise Refused(
                f'image "{name}" does not allow the workingDir {directory}, whose files are the content of objects; '
                "set allow_command for it in the mapping of images"
            )


def _programs(image: Image) -> list[str]:
    """Returns programs, and the folders where programs and libraries are looked up."""
    path, folder = image.environment.get("PATH", PATH), image.directory or "/"
    named = [image.command[0], *(each for each in image.allow_exec if "*" not in each)]
    found = [shutil.which(os.path.join(folder, each) if "/" in each else each, path=path) for each in named]
    own = [each for each in (*found, *path.split(":")) if each and os.path.isabs(each)]
    return [*_system(), *own, *_resolved(own)]


@functools.cache
def _system() -> tuple[str, ...]:
    return (*_SYSTEM, *_resolved(_SYSTEM))


def _interpreter(image: Image) -> list[str]:
    """Returns the folders whose modules the program loads, if it is this interpreter."""
    return _resolved((sys.prefix, sys.base_prefix)) if image.command[0] == sys.executable else []


def _is_kept(path: str, target: str, visible: Sequence[str]) -> bool:
    """Returns whether a volume above a path leaves it visible."""
    return any(_is_below(path, each) and each != target and _is_below(each, target) for each in visible)


def _related(one: str, other: str) -> bool:
    return _is_below(one, other) or _is_below(other, one)


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder.rstrip('/')}/")


def _resolved(paths: Iterable[str]) -> list[str]:
    return [os.path.realpath(path) for path in paths]
