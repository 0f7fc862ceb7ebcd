"""`Record`: the project's `kubewright.toml`, by which the commands know what it is."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterable
from dataclasses import MISSING, dataclass, fields, replace
from pathlib import Path
from typing import Any, Final, Self

from kubewright.scaffold._names import ScaffoldError, package_of
from kubewright.scaffold._versions import CURRENT, FIRST
from kubewright.version import VERSION

__all__ = ["RECORD", "Kind", "Record", "project_folder"]

RECORD: Final = "kubewright.toml"

_HEAD: Final = """\
# What this project is. Written by `kubewright init` and `kubewright create`; the other commands read it.
"""
_TYPES: Final = {str: "a text", bool: "true or false", int: "a number", tuple: "a list of texts"}
_PLAIN: Final = re.compile(r"[^\"\\\x00-\x1f\x7f]*")


@dataclass(frozen=True, slots=True, order=True)
class Kind:
    """A kind of the project: one version of it, and what it was created with."""

    group: str
    version: str
    kind: str
    module: str
    namespaced: bool = True
    controller: bool = True
    owns: tuple[str, ...] = ()
    webhooks: tuple[str, ...] = ()
    """What its webhooks are for: defaulting, validation, conversion."""

    @property
    def api_version(self) -> str:
        """Group and version."""
        return f"{self.group}/{self.version}"


@dataclass(frozen=True, slots=True)
class Record:
    """A project: its name, what its groups end with, where its code is kept, and its kinds."""

    name: str
    domain: str
    repo: str = ""
    image: str = ""
    """What its image is called, if that was said; else it follows from the program."""
    kinds: tuple[Kind, ...] = ()
    scaffold: int = CURRENT
    """The version of the scaffold that it has."""
    kubewright: str = VERSION
    """The release of Kubewright that has written it."""

    @property
    def package(self) -> str:
        """The Python package, which is what `kubewright run` gets."""
        return package_of(self.name)

    def find_kind(self, group: str, version: str, kind: str) -> Kind | None:
        """One of the kinds."""
        wanted = (group, version, kind)
        return next((one for one in self.kinds if (one.group, one.version, one.kind) == wanted), None)

    def with_kind(self, kind: Kind) -> Self:
        """The project with one more kind, or with another version of the record of one."""
        others = [one for one in self.kinds if (one.api_version, one.kind) != (kind.api_version, kind.kind)]
        return replace(self, kinds=tuple(sorted([*others, kind])))

    def text(self) -> str:
        """The file."""
        lines = [_HEAD, *(_line(name, getattr(self, name)) for name in ("name", "domain", "repo", "image"))]
        lines += [_line("scaffold", self.scaffold), _line("kubewright", self.kubewright)]
        for kind in self.kinds:
            lines.append("\n[[kinds]]\n")
            lines += [_line(each.name, getattr(kind, each.name), each.default) for each in fields(kind)]
        return "".join(lines)

    @classmethod
    def read(cls, folder: Path) -> Self:
        """The project in a folder. Raises `ScaffoldError` when there is none."""
        path = folder / RECORD
        try:
            found = tomllib.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise ScaffoldError(
                f"there is no {RECORD} in {folder}: run this in a project's folder, or make one with `kubewright init`"
            ) from None
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise ScaffoldError(f"{path} cannot be read: {error}") from None
        record = cls._of(found, path)
        if record.scaffold > CURRENT:
            raise ScaffoldError(
                f"this project has version {record.scaffold} of the scaffold, and this release of Kubewright knows"
                f" {CURRENT} of them: install a newer one, {record.kubewright} or later"
            )
        return record

    @classmethod
    def find(cls, folder: Path) -> Self | None:
        """The project in a folder, or None."""
        return cls.read(folder) if (folder / RECORD).is_file() else None

    @classmethod
    def _of(cls, found: dict[str, Any], path: Path) -> Self:
        try:
            _check_kinds(found)
            if isinstance(found.get("scaffold"), str):  # as it was before scaffolds had numbers
                from kubewright.scaffold._first_record import kinds_of_first

                found |= {"kubewright": found["scaffold"], "scaffold": FIRST}
                found["kinds"] = kinds_of_first(found, path.parent)
            kinds = tuple(sorted(Kind(**_checked(Kind, kind, " of a kind")) for kind in found.pop("kinds", ())))
            record = cls(**_checked(cls, found), kinds=kinds)
            if record.scaffold < FIRST:
                raise ValueError(f"there is no version {record.scaffold} of the scaffold")
            return record
        except ValueError as error:
            raise ScaffoldError(f"{path} is not what `kubewright init` writes: {error}") from None


def project_folder(folder: Path) -> Path | None:
    """The folder of the project that a folder is in: itself, or the nearest one above it with a record.

    Raises `ScaffoldError` when the nearest record above belongs to another user, as one may in a folder that many
    share: commands import the program beside it, which whoever stands below has not asked for.
    """
    folder = folder.absolute()
    found = next((each for each in (folder, *folder.parents) if (each / RECORD).is_file()), None)
    if found not in (None, folder) and not _is_trusted(found / RECORD):
        raise ScaffoldError(f"{found / RECORD} belongs to another user: if you mean that project, go to its folder")
    return found


def _is_trusted(path: Path) -> bool:
    """Whether a file is this user's, or the administrator's."""
    return not hasattr(os, "geteuid") or path.stat().st_uid in (os.geteuid(), 0)


def _check_kinds(found: dict[str, Any]) -> None:
    kinds = found.get("kinds", [])
    if not isinstance(kinds, list) or not all(isinstance(kind, dict) for kind in kinds):
        raise ValueError("each of its kinds is a table, below [[kinds]]")


def _checked(cls: type[Kind | Record], found: dict[str, Any], whose: str = "") -> dict[str, Any]:
    """What a file says, as arguments of one of the classes. Raises ValueError for what is missing, unknown or wrong."""
    known = {each.name: each for each in fields(cls)}
    if unknown := sorted(found.keys() - known.keys()):
        raise ValueError(f"{', '.join(unknown)}{whose} is unknown")
    if missing := [name for name, each in known.items() if each.default is MISSING and name not in found]:
        raise ValueError(f"it lacks {' and '.join(missing)}{whose}")
    values = {name: tuple(value) if isinstance(value, list) else value for name, value in found.items()}
    for name, value in values.items():
        wanted = str if known[name].default is MISSING else type(known[name].default)
        of_texts = not isinstance(value, tuple) or all(isinstance(each, str) for each in value)
        if type(value) is not wanted or not of_texts:
            raise ValueError(f"{name}{whose} is {_TYPES[wanted]}, not {found[name]!r}")
    return values


def _line(name: str, value: str | bool | int | tuple[str, ...], default: object = "") -> str:
    """A line of the file; none when it says what goes without saying."""
    if value == default:
        return ""
    if isinstance(value, str):
        return f"{name} = {_quoted(value)}\n"
    if isinstance(value, tuple):
        return f"{name} = [{_listed(value)}]\n"
    return f"{name} = {str(value).lower()}\n"


def _listed(texts: Iterable[str]) -> str:
    return ", ".join(map(_quoted, texts))


def _quoted(text: str) -> str:
    if not _PLAIN.fullmatch(text):
        raise ScaffoldError(f"{text!r} has characters that {RECORD} does not keep")
    return f'"{text}"'
