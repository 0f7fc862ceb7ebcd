"""`plan_upgrade`: what the scaffold of today would change in a project of an earlier one.

Three texts of each file are compared: the base, which is what the project's version of the scaffold has written; the
present version's; and the user's. What only the scaffold changed is taken over, what only the user changed stays, and
what both changed is merged line by line. Where they changed the same lines, it is a conflict, which nobody but the user
can solve: nothing of that file is written, unless markers are asked for.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal

from kubewright import __version__
from kubewright.scaffold._merge import Conflict, merge
from kubewright.scaffold._names import ScaffoldError
from kubewright.scaffold._plan import Plan, read_text
from kubewright.scaffold._record import RECORD, Record
from kubewright.scaffold._replay import scaffolded
from kubewright.scaffold._versions import CURRENT

__all__ = ["FileUpgrade", "Upgrade", "plan_upgrade"]

_RENAMED: Final = {"Containerfile": "Dockerfile"}
"""Files that earlier releases wrote under another name."""

What = Literal["added", "updated", "merged", "renamed", "removed", "settled", "conflict", "deleted", "kept"]


@dataclass(frozen=True, slots=True)
class FileUpgrade:
    """What is to become of one file.

    `added` is new in the scaffold; `updated` is as the scaffold has it, since the user had not changed it; `merged` has
    the changes of both; `renamed` has them, under the name that the scaffold uses now; `removed` is no longer in the
    scaffold, and was not changed. These are written. The others are left alone: one that is `settled`, since it has all
    of the scaffold's changes already; a `conflict`, which `text` has with markers; a file that the user has `deleted`,
    which the scaffold has changed; one that is `kept`, although the scaffold no longer has it, since the user had
    changed it.
    """

    path: str
    what: What
    text: str | None = None
    conflicts: tuple[Conflict, ...] = ()
    why: str = ""
    """Of a conflict that has no place in the text: what is in the way."""
    former: str = ""
    """The name that the file has until it is written, if the scaffold calls it something else now."""

    def is_among(self, paths: Collection[str]) -> bool:
        """Whether the file is one of these, by either of its names."""
        return self.path in paths or (bool(self.former) and self.former in paths)


@dataclass(frozen=True, slots=True)
class Upgrade:
    """From one version of the scaffold to another, file by file; a file that stays as it is has no part in it."""

    record: Record
    files: tuple[FileUpgrade, ...]
    version: int = CURRENT

    @property
    def needed(self) -> bool:
        """Whether the project has an earlier version, or a file under its former name."""
        return self.record.scaffold != self.version or bool(self.files)

    @property
    def names(self) -> tuple[str, str]:
        """What the two versions are called in conflict markers."""
        return f"scaffold {self.record.scaffold}", f"scaffold {self.version}"

    def conflicts(self, keep: Collection[str] = ()) -> list[FileUpgrade]:
        """The files that are left to the user, but for those that are to be kept as they are."""
        return [file for file in self.files if file.what == "conflict" and not file.is_among(keep)]

    def plan(self, *, write_conflicts: bool = False, keep: Collection[str] = ()) -> Plan:
        """What is written. The record says the new version as soon as no conflict is left open.

        Args:
            write_conflicts: write conflicts into the files, with markers around both sides.
            keep: files that stay as they are. One that is no part of the upgrade is a `ScaffoldError`.
        """
        if unknown := {path for path in keep if not any(file.is_among([path]) for file in self.files)}:
            raise ScaffoldError(
                f"the upgrade does not change {', '.join(sorted(unknown))}, so there is nothing to keep"
            )
        writes: set[What] = {"added", "updated", "merged", "renamed"}
        changes = {
            file.path: file.text
            for file in self.files
            if not file.is_among(keep)
            and file.text is not None
            and (file.what in writes or (file.what == "conflict" and write_conflicts))
        }
        left = [file for file in self.conflicts(keep) if file.path not in changes]
        if self.needed and not left:
            changes[RECORD] = replace(self.record, scaffold=self.version, kubewright=__version__).text()
        gone = [file.path for file in self.files if file.what == "removed" and file.path not in keep]
        renamed = [file.former for file in self.files if file.former and file.path in changes]
        return Plan(changes=changes, removals=(*gone, *renamed))


def plan_upgrade(folder: Path) -> Upgrade:
    """Compare the project in a folder with the scaffold of this release. Nothing is written."""
    record = Record.read(folder)
    if record.scaffold == CURRENT and not _renames(folder):
        return Upgrade(record, ())
    base = dict(scaffolded(record, scaffold=record.scaffold, kubewright=record.kubewright))
    theirs = scaffolded(record, scaffold=CURRENT, kubewright=__version__)
    names = (f"scaffold {record.scaffold}", f"scaffold {CURRENT}")
    files: list[FileUpgrade] = []
    for former, path in _RENAMED.items():
        if path in theirs and (text := base.pop(former, None)) is not None:
            base[path] = text  # where the user has the file, by whichever name
    for former, path in _renames(folder):
        if path in theirs:
            files.append(_renamed(folder, former, path, base.pop(path), theirs[path], names))
            theirs = {name: text for name, text in theirs.items() if name != path}
    changed = [path for path in sorted({*base, *theirs}) if base.get(path) != theirs.get(path)]
    files += [_compare(folder, path, base.get(path), theirs.get(path), names) for path in changed]
    return Upgrade(record, tuple(sorted(files, key=lambda file: file.path)))


def _renames(folder: Path) -> list[tuple[str, str]]:
    """The files that the project has under their former names alone, with the names that they have now."""
    return [
        (former, path)
        for former, path in _RENAMED.items()
        if (folder / former).is_file() and not os.path.lexists(folder / path)
    ]


def _renamed(folder: Path, former: str, path: str, base: str, theirs: str, names: tuple[str, str]) -> FileUpgrade:
    """What happens to a file that gets another name: it keeps the user's changes."""
    found = _compare(folder, former, base, theirs, names)
    if found.what == "settled" or base == theirs:  # its text is as it should be
        return FileUpgrade(path, "renamed", read_text(folder, former), former=former)
    what: What = "renamed" if found.what in ("updated", "merged") else found.what
    return replace(found, path=path, what=what, former=former)


def _compare(folder: Path, path: str, base: str | None, theirs: str | None, names: tuple[str, str]) -> FileUpgrade:
    """What becomes of a file that the scaffold has changed."""
    try:
        found = read_text(folder, path)
    except ScaffoldError as error:
        return FileUpgrade(path, "conflict", why=str(error).partition(": ")[2])
    ours, ends = _plain(found)
    if ours == theirs:
        return FileUpgrade(path, "settled")
    if theirs is None:
        return FileUpgrade(path, "removed") if ours == base else FileUpgrade(path, "kept")
    if ours is None:
        return FileUpgrade(path, "added", theirs) if base is None else FileUpgrade(path, "deleted")
    if ours == base:
        return FileUpgrade(path, "updated", _with_ends(theirs, ends))
    merged = merge(base or "", ours, theirs)
    text = _with_ends(merged.text(*names), ends)
    if merged.conflicts:
        return FileUpgrade(path, "conflict", text, merged.conflicts)
    return FileUpgrade(path, "settled") if text == found else FileUpgrade(path, "merged", text)


def _plain(text: str | None) -> tuple[str | None, str]:
    """A text whose lines end as ours do, and how they ended."""
    if text is None or "\r\n" not in text:
        return text, "\n"
    return text.replace("\r\n", "\n"), "\r\n"


def _with_ends(text: str, ends: str) -> str:
    return text.replace("\n", ends)
