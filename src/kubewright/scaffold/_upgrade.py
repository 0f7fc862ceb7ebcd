"""`plan_upgrade`: the changes that bring a project to the scaffold of this release.

Three versions of each file are compared: the base, as the project's version of the scaffold wrote it; the file of
today's scaffold; and the user's file. Changes that only the scaffold made are applied. Changes that only the user made
stay. If both changed a file, it is merged line by line. If they changed the same lines, the file is a conflict: only
the user can solve it, and nothing of the file is written unless conflict markers are requested.

Renamed names of Kubewright are rewritten first, in the user's files and in the base, so that a rename is never a
conflict. This includes files that the scaffold did not write.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Final, Literal

from kubewright.scaffold._merge import Conflict, merge
from kubewright.scaffold._names import ScaffoldError
from kubewright.scaffold._plan import Plan, read_text
from kubewright.scaffold._record import RECORD, Record
from kubewright.scaffold._replay import scaffolded
from kubewright.scaffold._versions import CURRENT
from kubewright.scaffold.codemod import python_files, renames_since, rewrite
from kubewright.version import VERSION

__all__ = ["FileUpgrade", "Upgrade", "plan_upgrade"]

_RENAMED: Final = {"Containerfile": "Dockerfile"}
"""Files that earlier releases wrote under another name."""

What = Literal[
    "added", "updated", "merged", "rewritten", "renamed", "removed", "settled", "conflict", "deleted", "kept", "skipped"
]
_COMMENTED: Final = frozenset([".py", ""])
"""Python, the Makefile and the Dockerfile: files in which a better comment is not worth a conflict."""
_WRITTEN: Final[frozenset[What]] = frozenset(["added", "updated", "merged", "rewritten", "renamed"])


@dataclass(frozen=True, slots=True)
class FileUpgrade:
    """The change of one file.

    These are written:

    - `added`: new in the scaffold.
    - `updated`: as the scaffold has it, because the user had not changed it.
    - `merged`: has the changes of the user and of the scaffold.
    - `rewritten`: has the new names of Kubewright, and no other change.
    - `renamed`: merged, under the name that the scaffold uses now.
    - `removed`: no longer in the scaffold, and the user had not changed it.

    These are not written:

    - `settled`: has all changes already.
    - `conflict`: changed differently by both; `text` has both sides between markers.
    - `deleted`: changed by the scaffold, but the user has deleted it.
    - `kept`: no longer in the scaffold, but the user had changed it.
    - `skipped`: not valid Python, so that new names could not be put in.
    """

    path: str
    what: What
    text: str | None = None
    conflicts: tuple[Conflict, ...] = ()
    why: str = ""
    """The reason for a file that is skipped, or for a conflict that has no line."""
    former: str = ""
    """The current name of the file, if the scaffold has another one for it now."""

    def is_among(self, paths: Collection[str]) -> bool:
        """Whether the file is one of these, by either of its names."""
        return self.path in paths or (bool(self.former) and self.former in paths)


@dataclass(frozen=True, slots=True)
class Upgrade:
    """The change from one version of the scaffold to another. Files that stay as they are have no entry."""

    record: Record
    files: tuple[FileUpgrade, ...]
    version: int = CURRENT

    @property
    def needed(self) -> bool:
        """Whether the project has an earlier version, or a file under its former name."""
        return self.record.scaffold != self.version or bool(self.files)

    @property
    def names(self) -> tuple[str, str]:
        """The labels of the two versions in conflict markers."""
        return f"scaffold {self.record.scaffold}", f"scaffold {self.version}"

    def conflicts(self, keep: Collection[str] = ()) -> list[FileUpgrade]:
        """Returns the conflicts, except in files that are kept as they are."""
        return [file for file in self.files if file.what == "conflict" and not file.is_among(keep)]

    def plan(self, *, write_conflicts: bool = False, keep: Collection[str] = ()) -> Plan:
        """Returns the files to write. The record gets the new version once no conflict is open.

        Args:
            write_conflicts: write conflicts into the files, with markers around both sides.
            keep: files that stay as they are. Raises `ScaffoldError` for a file that the upgrade does not change.
        """
        if unknown := {path for path in keep if not any(file.is_among([path]) for file in self.files)}:
            raise ScaffoldError(
                f"the upgrade does not change {', '.join(sorted(unknown))}, so there is nothing to keep"
            )
        changes = {
            file.path: file.text
            for file in self.files
            if not file.is_among(keep)
            and file.text is not None
            and (file.what in _WRITTEN or (file.what == "conflict" and write_conflicts))
        }
        left = [file for file in self.conflicts(keep) if file.path not in changes]
        if self.needed and not left:
            changes[RECORD] = replace(self.record, scaffold=self.version, kubewright=VERSION).text()
        gone = [file.path for file in self.files if file.what == "removed" and file.path not in keep]
        renamed = [file.former for file in self.files if file.former and file.path in changes]
        return Plan(changes=changes, removals=(*gone, *renamed))


def plan_upgrade(folder: Path) -> Upgrade:
    """Compares the project in a folder with the scaffold of this release. Writes nothing."""
    record = Record.read(folder)
    if record.scaffold == CURRENT and not _renames(folder):
        return Upgrade(record, ())
    base = {
        path: _with_new_names(path, text, record.scaffold)
        for path, text in scaffolded(record, scaffold=record.scaffold, kubewright=record.kubewright).items()
    }
    theirs = scaffolded(record, scaffold=CURRENT, kubewright=VERSION)
    project = _Project(folder, record.scaffold)
    files: list[FileUpgrade] = []
    for former, path in _RENAMED.items():
        if path in theirs and (text := base.pop(former, None)) is not None:
            base[path] = text  # where the user has the file, by whichever name
    for former, path in _renames(folder):
        if path in theirs:
            files.append(project.rename(former, path, base.pop(path), theirs[path]))
            theirs = {name: text for name, text in theirs.items() if name != path}
    changed = [path for path in sorted({*base, *theirs}) if base.get(path) != theirs.get(path)]
    files += [project.compare(path, base.get(path), theirs.get(path)) for path in changed]
    compared = {file.path for file in files}
    files += [file for file in project.rewrites() if file.path not in compared]
    return Upgrade(record, tuple(sorted(files, key=lambda file: file.path)))


def _renames(folder: Path) -> list[tuple[str, str]]:
    """Returns the files that the project has under their former names only, with their names of today."""
    return [
        (former, path)
        for former, path in _RENAMED.items()
        if (folder / former).is_file() and not os.path.lexists(folder / path)
    ]


@dataclass(frozen=True, slots=True)
class _Project:
    """The user's files."""

    folder: Path
    scaffold: int

    def rename(self, former: str, path: str, base: str, theirs: str) -> FileUpgrade:
        """Returns the change of a file that gets another name. It keeps the user's changes."""
        found = self.compare(former, base, theirs)
        if found.what == "settled" or base == theirs:
            return FileUpgrade(path, "renamed", read_text(self.folder, former), former=former)
        what: What = "renamed" if found.what in ("updated", "merged") else found.what
        return replace(found, path=path, what=what, former=former)

    def compare(self, path: str, base: str | None, theirs: str | None) -> FileUpgrade:
        """Returns the change of a file that the scaffold has changed."""
        try:
            found = read_text(self.folder, path)
        except ScaffoldError as error:
            return FileUpgrade(path, "conflict", why=str(error).partition(": ")[2])
        plain, ends = _plain(found)
        ours = None if plain is None else _with_new_names(path, plain, self.scaffold)
        if plain == theirs:
            return FileUpgrade(path, "settled")
        if theirs is None:
            return FileUpgrade(path, "removed") if ours == base else FileUpgrade(path, "kept")
        if ours is None:
            return FileUpgrade(path, "added", theirs) if base is None else FileUpgrade(path, "deleted")
        if ours in (base, theirs):
            return FileUpgrade(path, "updated", _with_ends(theirs, ends))
        merged = merge(base or "", ours, theirs)
        if PurePosixPath(path).suffix in _COMMENTED:
            merged = merged.without_comment_conflicts()
        names = f"scaffold {self.scaffold}", f"scaffold {CURRENT}"
        text = _with_ends(merged.text(*names), ends)
        if merged.conflicts:
            return FileUpgrade(path, "conflict", text, merged.conflicts)
        return FileUpgrade(path, "settled") if text == found else FileUpgrade(path, "merged", text)

    def rewrites(self) -> list[FileUpgrade]:
        """Returns the Python files that use names of Kubewright which were renamed."""
        if not any(renames_since(self.scaffold)):
            return []
        files = []
        for path in python_files(self.folder):
            try:
                found = (self.folder / path).read_bytes().decode()
                plain, ends = _plain(found)
                assert plain is not None
                text = _with_ends(_rewritten(plain, self.scaffold), ends)
            except (SyntaxError, ValueError, RecursionError, OSError) as error:
                files.append(FileUpgrade(path, "skipped", why=f"it cannot be read as Python ({error})"))
                continue
            if text != found:
                files.append(FileUpgrade(path, "rewritten", text))
        return files


def _with_new_names(path: str, text: str, version: int) -> str:
    """Returns a file with the names of today; text that is not Python is returned unchanged."""
    if not path.endswith(".py"):
        return text
    try:
        return _rewritten(text, version)
    except (SyntaxError, ValueError, RecursionError):
        return text


def _rewritten(text: str, version: int) -> str:
    for renames in renames_since(version):
        text = rewrite(text, renames)
    return text


def _plain(text: str | None) -> tuple[str | None, str]:
    """Returns a file with line feeds alone, and the line ending that it had."""
    if text is None or "\r\n" not in text:
        return text, "\n"
    return text.replace("\r\n", "\n"), "\r\n"


def _with_ends(text: str, ends: str) -> str:
    return text.replace("\n", ends)
