"""A generated file beside a folder of generated ones: the file from which an image of the folder is built."""

from __future__ import annotations

from pathlib import Path

from kubewright.files import write_all
from kubewright.manifests import MARK, Drift, File, ForeignFile
from kubewright.olm._read import BundleError

__all__ = ["check_folder", "compare_beside", "refuse_beside", "write_beside"]


def check_folder(folder: Path) -> None:
    """Raise `BundleError` for a folder that nothing can be beside of: this one, or the one above."""
    if folder.name in ("", ".."):
        raise BundleError(f"{folder} has no name of its own: name a folder in this one, such as bundle")


def refuse_beside(folder: Path, file: File) -> None:
    """Raise `ForeignFile` when there is such a file and it was not generated."""
    place = folder.parent / file.path
    present = _text(place)
    if present is not None and MARK not in present.partition("\n")[0]:
        raise ForeignFile(
            f"{place}: not generated, so it is not replaced. Move it away, name another folder, or ask for it to be"
            " overwritten"
        )


def write_beside(folder: Path, file: File) -> bool:
    """Let the file be there; whether it was not as it should be."""
    place = folder.parent / file.path
    if _text(place) == file.text:
        return False
    write_all(folder.parent, {file.path: file.text})
    return True


def compare_beside(folder: Path, file: File) -> list[Drift]:
    """How the file differs from that; nothing when it does not."""
    present = _text(folder.parent / file.path)
    if present == file.text:
        return []
    return [Drift(f"../{file.path}", "missing" if present is None else "changed")]


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return None
