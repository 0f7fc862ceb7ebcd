"""The command line: `python -m tools.generate_api [--check]`."""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from kubewright.testing import KUBERNETES_VERSION
from kubewright.testing.binaries import download_module
from tools.generate_api._document import Document
from tools.generate_api._render import is_generated, render

ROOT: Final = Path(__file__).resolve().parents[2]
API: Final = ROOT / "src" / "kubewright" / "api"


def main(arguments: Sequence[str] | None = None) -> int:
    """Writes the modules, or with `--check` compares them. Returns 1 if they differ."""
    parser = argparse.ArgumentParser(prog="python -m tools.generate_api", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a file would change")
    check: bool = parser.parse_args(arguments).check
    files = formatted(render(load_document()))
    changed = differences(files, API)
    if not check:
        write(files, changed)
        print(f"{len(files)} files, {len(changed)} changed")
    elif changed:
        folder = API.relative_to(ROOT)
        print(f"these files differ from those generated from Kubernetes {KUBERNETES_VERSION}:", file=sys.stderr)
        print(*(f"  {folder / path}" for path in changed), sep="\n", file=sys.stderr)
        print("to rewrite them, run: python -m tools.generate_api", file=sys.stderr)
        return 1
    return 0


def load_document() -> Document:
    """Returns the document of the pinned version. Downloads its Go module if it is not cached."""
    return Document.load(download_module("k8s.io/kubernetes", f"v{KUBERNETES_VERSION}"), KUBERNETES_VERSION)


def formatted(files: dict[str, str]) -> dict[str, str]:
    """Returns the files as `ruff format` formats them."""
    with tempfile.TemporaryDirectory() as folder:
        for path, text in files.items():
            (Path(folder) / path).parent.mkdir(exist_ok=True)
            (Path(folder) / path).write_text(text)
        ruff = shutil.which("ruff", path=str(Path(sys.executable).parent)) or "ruff"
        subprocess.run([ruff, "format", "--quiet", "--config", ROOT / "pyproject.toml", folder], check=True)
        return {path: (Path(folder) / path).read_text() for path in files}


def differences(files: dict[str, str], folder: Path) -> list[str]:
    """Returns the paths of files that are missing, differ, or are left over from another version."""
    there = {str(path.relative_to(folder)): path.read_text() for path in folder.glob("*/*.py")}
    left_over = {path for path, text in there.items() if path not in files and is_generated(text)}
    return sorted(left_over | {path for path, text in files.items() if there.get(path) != text})


def write(files: dict[str, str], changed: Sequence[str]) -> None:
    """Writes the changed files, and removes those that are left over."""
    for path in changed:
        if path in files:
            (API / path).parent.mkdir(exist_ok=True)
            (API / path).write_text(files[path])
        else:
            (API / path).unlink()


if __name__ == "__main__":
    sys.exit(main())
