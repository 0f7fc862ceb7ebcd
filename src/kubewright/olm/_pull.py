"""Reads a bundle from an image: its files are copied from a container that is never started."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Final

from kubewright.manifests import Image
from kubewright.olm._read import Bundle, BundleError

__all__ = ["PullError", "pull_bundle"]

_TOOLS: Final = ("docker", "podman")


class PullError(Exception):
    """The container tool cannot pull the image. The message contains its output."""


def pull_bundle(image: str) -> Bundle:
    """Returns the bundle in an image, with docker or podman.

    Raises `BundleError` if it is not the image of a bundle, and `PullError` if the tool fails.
    """
    try:
        parsed = Image.parse(image)
    except ValueError:
        parsed = None
    if parsed is None or not (parsed.tag or parsed.digest):
        raise BundleError(f"{image} is neither a folder nor an image, such as registry.example.com/foo-bundle:v1.0.0")
    tool = next((found for found in map(shutil.which, _TOOLS) if found), None)
    if tool is None:
        raise BundleError(
            f"{image} is not a folder, and neither docker nor podman is installed to pull it: name the folder"
        )
    # The command is never run. The tools require one, but an image of files has none.
    container = _done(tool, "create", image, "nothing").splitlines()[-1].strip()
    try:
        with tempfile.TemporaryDirectory() as temporary:
            for part in ("manifests", "metadata"):
                _done(tool, "cp", f"{container}:/{part}", str(Path(temporary) / part))
            return Bundle.read(Path(temporary))
    finally:
        _done(tool, "rm", container)


def _done(tool: str, *arguments: str) -> str:
    done = subprocess.run([tool, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        why = done.stderr.strip().splitlines()[-1:] or ["no output"]
        raise PullError(f"`{Path(tool).name} {arguments[0]}` failed: {why[0]}")
    return done.stdout
