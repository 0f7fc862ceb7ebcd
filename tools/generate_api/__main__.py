"""The command line: `python -m tools.generate_api [--check]`."""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tools.generate_api._document import Document
from tools.generate_api._render import is_generated, render

KUBERNETES: Final = "1.36.3"
ROOT: Final = Path(__file__).resolve().parents[2]
API: Final = ROOT / "src" / "kubewright" / "api"


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the modules, or compare them with what is there. The exit status is 1 if they differ."""
    parser = argparse.ArgumentParser(prog="python -m tools.generate_api", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail when anything would change")
    check: bool = parser.parse_args(arguments).check
    files = formatted(render(Document.load(kubernetes_module(), KUBERNETES)))
    differing = differences(files, API)
    if check:
        for path in differing:
            print(f"differs from what Kubernetes {KUBERNETES} gives: src/kubewright/api/{path}", file=sys.stderr)
        if differing:
            print("run: python -m tools.generate_api", file=sys.stderr)
        return 1 if differing else 0
    for path in differing:
        if path not in files:
            (API / path).unlink()
            continue
        (API / path).parent.mkdir(exist_ok=True)
        (API / path).write_text(files[path])
    print(f"{len(files)} files, {len(differing)} changed")
    return 0


def kubernetes_module() -> Path:
    """The folder of the Go module `k8s.io/kubernetes`, downloaded if it is not there yet."""
    answer = subprocess.run(
        ["go", "mod", "download", "-json", f"k8s.io/kubernetes@v{KUBERNETES}"], check=True, capture_output=True
    )
    return Path(json.loads(answer.stdout)["Dir"])


def formatted(files: dict[str, str]) -> dict[str, str]:
    """The same files as `ruff format` leaves them."""
    with tempfile.TemporaryDirectory() as folder:
        for path, text in files.items():
            (Path(folder) / path).parent.mkdir(exist_ok=True)
            (Path(folder) / path).write_text(text)
        ruff = shutil.which("ruff", path=str(Path(sys.executable).parent)) or "ruff"
        subprocess.run([ruff, "format", "--quiet", "--config", ROOT / "pyproject.toml", folder], check=True)
        return {path: (Path(folder) / path).read_text() for path in files}


def differences(files: dict[str, str], folder: Path) -> list[str]:
    """The paths below the folder that are missing, have another text, or are left over from another version."""
    there = {str(path.relative_to(folder)): path.read_text() for path in folder.glob("*/*.py")}
    left_over = {path for path, text in there.items() if path not in files and is_generated(text)}
    return sorted(left_over | {path for path, text in files.items() if there.get(path) != text})


if __name__ == "__main__":
    sys.exit(main())
