"""`Record`: the project's `kubewright.toml`, by which the commands know what it is."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Self

from kubewright import __version__
from kubewright.scaffold._names import ScaffoldError, package_of

__all__ = ["RECORD", "Kind", "Record"]

RECORD: Final = "kubewright.toml"

_HEAD: Final = """\
# What this project is. Written by `kubewright init` and `kubewright create`; the other commands read it.
"""
_PLAIN: Final = re.compile(r"[^\"\\\x00-\x1f\x7f]*")


@dataclass(frozen=True, slots=True, order=True)
class Kind:
    """A kind of the project: one version of it."""

    group: str
    version: str
    kind: str
    module: str
    webhook: bool = False

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
    kinds: tuple[Kind, ...] = ()
    scaffold: str = __version__
    """The version of Kubewright whose scaffold it has."""

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
        said = {name: getattr(self, name) for name in ("name", "domain", "repo", "scaffold")}
        lines = [_HEAD, *(f"{name} = {_quoted(value)}\n" for name, value in said.items() if value)]
        for kind in self.kinds:
            lines.append("\n[[kinds]]\n")
            lines += [f"{name} = {_quoted(getattr(kind, name))}\n" for name in ("group", "version", "kind", "module")]
            if kind.webhook:
                lines.append("webhook = true\n")
        return "".join(lines)

    @classmethod
    def read(cls, folder: Path) -> Self:
        """The project in a folder. Raises `ScaffoldError` when there is none."""
        path = folder / RECORD
        try:
            found = tomllib.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise ScaffoldError(
                f"there is no {RECORD} here: run this in a project's folder, or make one with `kubewright init`"
            ) from None
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise ScaffoldError(f"{path} cannot be read: {error}") from None
        return cls._of(found, path)

    @classmethod
    def find(cls, folder: Path) -> Self | None:
        """The project in a folder, or None."""
        return cls.read(folder) if (folder / RECORD).is_file() else None

    @classmethod
    def _of(cls, found: dict[str, Any], path: Path) -> Self:
        try:
            kinds = tuple(sorted(Kind(**kind) for kind in found.pop("kinds", ())))
            record = cls(**found, kinds=kinds)
            texts = (record.name, record.domain, record.repo, record.scaffold)
            if not all(isinstance(text, str) for text in texts):
                raise TypeError("name, domain, repo and scaffold are texts")
            return record
        except TypeError as error:
            said = str(error).replace("Record.__init__() ", "").replace("Kind.__init__() ", "a kind ")
            raise ScaffoldError(f"{path} is not what `kubewright init` writes: {said}") from None


def _quoted(text: str) -> str:
    if not _PLAIN.fullmatch(text):
        raise ScaffoldError(f"{text!r} has characters that {RECORD} does not keep")
    return f'"{text}"'
