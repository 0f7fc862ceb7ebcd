"""`Record`: the project's `kubewright.toml`, which describes it to the commands."""

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
_TYPES: Final = {str: "a string", bool: "true or false", int: "a number", tuple: "a list of strings"}
_PLAIN: Final = re.compile(r"[^\"\\\x00-\x1f\x7f]*")


@dataclass(frozen=True, slots=True, order=True)
class Kind:
    """One version of a kind of the project, and its options."""

    group: str
    version: str
    kind: str
    module: str
    namespaced: bool = True
    controller: bool = True
    owns: tuple[str, ...] = ()
    webhooks: tuple[str, ...] = ()
    """The kind's webhooks: defaulting, validation, conversion."""

    @property
    def api_version(self) -> str:
        """Group and version."""
        return f"{self.group}/{self.version}"


@dataclass(frozen=True, slots=True)
class Record:
    """A project: its name, domain, repository and kinds."""

    name: str
    domain: str
    repo: str = ""
    image: str = ""
    """The name of the image of the last build; empty if it follows from the program."""
    kinds: tuple[Kind, ...] = ()
    scaffold: int = CURRENT
    """The version of the scaffold."""
    kubewright: str = VERSION
    """The release of Kubewright that wrote the record."""

    @property
    def package(self) -> str:
        """The Python package, which is the target of `kubewright run`."""
        return package_of(self.name)

    def find_kind(self, group: str, version: str, kind: str) -> Kind | None:
        """Returns a kind, or None."""
        wanted = (group, version, kind)
        return next((one for one in self.kinds if (one.group, one.version, one.kind) == wanted), None)

    def with_kind(self, kind: Kind) -> Self:
        """Returns the project with a kind added or replaced."""
        others = [one for one in self.kinds if (one.api_version, one.kind) != (kind.api_version, kind.kind)]
        return replace(self, kinds=tuple(sorted([*others, kind])))

    def text(self) -> str:
        """Returns the content of the file."""
        lines = [_HEAD, *(_line(name, getattr(self, name)) for name in ("name", "domain", "repo", "image"))]
        lines += [_line("scaffold", self.scaffold), _line("kubewright", self.kubewright)]
        for kind in self.kinds:
            lines.append("\n[[kinds]]\n")
            lines += [_line(each.name, getattr(kind, each.name), each.default) for each in fields(kind)]
        return "".join(lines)

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Reads the record in a folder. Raises `ScaffoldError` if there is none."""
        path = folder / RECORD
        try:
            found = tomllib.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise ScaffoldError(
                f"there is no {RECORD} in {folder}: run this in a project's folder, or create one with `kubewright"
                " init`"
            ) from None
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise ScaffoldError(f"{path} cannot be read: {error}") from None
        record = cls._of(found, path)
        if record.scaffold > CURRENT:
            raise ScaffoldError(
                f"this project has version {record.scaffold} of the scaffold, but this release of Kubewright supports"
                f" versions up to {CURRENT}: install a newer one, {record.kubewright} or later"
            )
        return record

    @classmethod
    def find(cls, folder: Path) -> Self | None:
        """Reads the record in a folder; None if there is none."""
        return cls.read(folder) if (folder / RECORD).is_file() else None

    @classmethod
    def _of(cls, found: dict[str, Any], path: Path) -> Self:
        try:
            _check_kinds(found)
            if isinstance(found.get("scaffold"), str):  # the format before scaffolds had numbers
                from kubewright.scaffold._first_record import kinds_of_first

                found |= {"kubewright": found["scaffold"], "scaffold": FIRST}
                found["kinds"] = kinds_of_first(found, path.parent)
            kinds = tuple(sorted(Kind(**_checked(Kind, kind, " of a kind")) for kind in found.pop("kinds", ())))
            record = cls(**_checked(cls, found), kinds=kinds)
            if record.scaffold < FIRST:
                raise ValueError(f"there is no version {record.scaffold} of the scaffold")
            return record
        except ValueError as error:
            raise ScaffoldError(f"{path} is not a valid record: {error}") from None


def project_folder(folder: Path) -> Path | None:
    """Returns the folder of the project that a folder is in: itself, or the nearest one above with a record.

    Raises `ScaffoldError` if a record above belongs to another user, as in a shared folder: commands import the program
    next to it.
    """
    folder = folder.absolute()
    found = next((each for each in (folder, *folder.parents) if (each / RECORD).is_file()), None)
    if found not in (None, folder) and not _is_trusted(found / RECORD):
        raise ScaffoldError(f"{found / RECORD} belongs to another user: if you mean that project, change to its folder")
    return found


def _is_trusted(path: Path) -> bool:
    """Whether a file belongs to this user or to root."""
    return not hasattr(os, "geteuid") or path.stat().st_uid in (os.geteuid(), 0)


def _check_kinds(found: dict[str, Any]) -> None:
    kinds = found.get("kinds", [])
    if not isinstance(kinds, list) or not all(isinstance(kind, dict) for kind in kinds):
        raise ValueError("each kind must be a table below [[kinds]]")


def _checked(cls: type[Kind | Record], found: dict[str, Any], whose: str = "") -> dict[str, Any]:
    """Returns the content of a file as arguments of a class. Raises ValueError for missing or invalid fields."""
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
            raise ValueError(f"{name}{whose} must be {_TYPES[wanted]}, not {found[name]!r}")
    return values


def _line(name: str, value: str | bool | int | tuple[str, ...], default: object = "") -> str:
    """Returns a line of the file; none for a default."""
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
        raise ScaffoldError(f"{text!r} has characters that {RECORD} does not support")
    return f'"{text}"'
