"""A folder of generated files, and next to it the Dockerfile that builds an image of the folder."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from kubewright.files import write_all
from kubewright.manifests import MARK, Drift, File, ForeignFile, Written, compare, write
from kubewright.olm._read import BundleError

__all__ = ["ImageFolder", "check_image_folder", "read_if_present"]


@dataclass(frozen=True)
class ImageFolder:
    """The files of an image, generated in memory."""

    folder: Path
    files: Sequence[File]
    """All files below the folder."""
    dockerfile: File
    """The file next to the folder."""

    def write(self, *, replace_foreign: bool | Collection[str] = False) -> Written:
        """Writes the folder and the Dockerfile. The Dockerfile's path in the result begins with `../`.

        `replace_foreign` permits replacing files that were not generated: all of them, or the named paths below the
        folder. Raises `ForeignFile` for any other such file, before anything is written.
        """
        path = self.folder.parent / self.dockerfile.path
        present = read_if_present(path)
        if replace_foreign is not True and present is not None and MARK not in present.partition("\n")[0]:
            raise ForeignFile(
                f"{path}: not generated, so it is not replaced. Move it away, name another folder, or overwrite it"
            )
        done = write(self.folder, self.files, replace_foreign=replace_foreign)
        if present == self.dockerfile.text:
            return done
        write_all(self.folder.parent, {self.dockerfile.path: self.dockerfile.text})
        return replace(done, written=[*done.written, f"../{self.dockerfile.path}"])

    def compare(self) -> list[Drift]:
        """Returns how the folder and the Dockerfile differ from these files."""
        drifts = compare(self.folder, self.files)
        present = read_if_present(self.folder.parent / self.dockerfile.path)
        if present != self.dockerfile.text:
            drifts.append(Drift(f"../{self.dockerfile.path}", "missing" if present is None else "changed"))
        return drifts


def check_image_folder(folder: Path) -> None:
    """Raises `BundleError` for a folder without a name, such as `.` or `..`: no file can be put next to it."""
    if folder.name in ("", ".."):
        raise BundleError(f"{folder} has no name of its own: name a folder in this one, such as bundle")


def read_if_present(path: Path) -> str | None:
    """Returns the content of a file; None if there is no such file."""
    try:
        return path.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return None
