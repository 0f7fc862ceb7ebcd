"""The files of a release: built twice and compared, notes from the changelog, checksums."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import tarfile
from collections.abc import Sequence
from pathlib import Path

__all__ = ["NotReleasable", "build", "built_twice", "checksums", "exported", "release_notes"]


class NotReleasable(Exception):
    """The tree or its files cannot become a release. The message says why."""


def exported(root: Path, folder: Path) -> Path:
    """Writes the files of the last commit to `folder`, without anything that is not committed. Returns it."""
    folder.mkdir(parents=True)
    packed = folder.with_suffix(".tar")
    subprocess.run(["git", "archive", "--output", packed, "HEAD"], cwd=root, check=True)
    with tarfile.open(packed) as archive:
        archive.extractall(folder, filter="data")
    packed.unlink()
    return folder


def build(tree: Path, folder: Path) -> list[Path]:
    """Builds sdist and wheel of a tree into `folder` with this environment's hatchling. Returns both files, sorted."""
    environment = {name: value for name, value in os.environ.items() if name != "SOURCE_DATE_EPOCH"}
    command = [sys.executable, "-m", "hatchling", "build", "--directory", str(folder)]
    done = subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise NotReleasable(f"hatchling failed:\n{done.stdout}{done.stderr}")
    return sorted(folder.iterdir())


def built_twice(trees: Sequence[Path], folders: Sequence[Path]) -> list[Path]:
    """Builds two copies of a tree. Returns the files of the first; raises `NotReleasable` if the second ones differ."""
    first, second = (build(tree, folder) for tree, folder in zip(trees, folders, strict=True))
    if [one.name for one in first] != [one.name for one in second]:
        raise NotReleasable(f"two builds have different files: {first}, {second}")
    for one, other in zip(first, second, strict=True):
        if one.read_bytes() != other.read_bytes():
            raise NotReleasable(f"two builds of {one.name} differ; compare {one} and {other}")
    return first


def release_notes(changelog: str, version: str) -> str:
    """Returns the section of a version, with the version as its title. Raises `NotReleasable` if it is missing."""
    sections = re.split(r"^## +", changelog, flags=re.MULTILINE)
    for section in sections[1:]:
        title, _, text = section.partition("\n")
        if title.split()[0] == version:
            if not text.strip():
                break
            # A heading of the section is one level higher in notes, which have only this section.
            return f"# Kubewright {title.strip()}\n\n" + re.sub(r"^#(#+ )", r"\1", text.strip(), flags=re.M) + "\n"
    raise NotReleasable(f"CHANGELOG.md has no section '## {version}' with content")


def checksums(files: Sequence[Path]) -> str:
    """Returns the SHA-256 of each file, as `sha256sum --check` reads it."""
    return "".join(f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in sorted(files))
