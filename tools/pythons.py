"""Runs the tests that need only Python on several interpreters: `make test-pythons` and `make test-lowest`.

Interpreters are `python3.11` to `python3.14` on PATH and in pyenv. Each gets its own environment, from a lock file, in
the folder `.venvs`. It is kept, and made again if the lock file changes. Arguments after `--` go to pytest.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
MINORS: Final = (11, 12, 13, 14)
_VERSION: Final = "import sys; print('%d.%d.%d' % sys.version_info[:3])"


def interpreters() -> dict[str, Path]:
    """Returns the interpreters of this machine by minor version. A shim that does not run is left out."""
    found: dict[str, Path] = {}
    for minor in MINORS:
        for candidate in _candidates(f"3.{minor}"):
            version = version_of(candidate)
            if version is not None and version.startswith(f"3.{minor}."):
                found[f"3.{minor}"] = candidate
                break
    return found


def _candidates(version: str) -> Iterator[Path]:
    if on_path := shutil.which(f"python{version}"):
        yield Path(on_path)
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    for folder in sorted(pyenv.glob(f"{version}.*"), reverse=True):
        yield folder / "bin" / "python"


def version_of(python: Path) -> str | None:
    """Returns the version that an interpreter reports; None if it does not run."""
    try:
        done = subprocess.run(
            [python, "-c", _VERSION], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def environment_of(python: Path, version: str, lock: Path) -> Path:
    """Returns the interpreter of an environment with the locked packages and this tree."""
    key = hashlib.sha256(lock.read_bytes()).hexdigest()[:12]
    home = ROOT / ".venvs" / f"{version}-{lock.stem}"
    ready = home / f".ready-{key}"
    inner = home / "bin" / "python"
    if not ready.exists():
        shutil.rmtree(home, ignore_errors=True)
        pip = [str(inner), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([python, "-m", "venv", home], check=True)
        # A lock file is complete. pip would look for newer releases of requirements with extras, and reject them.
        subprocess.run([*pip, "--no-deps", "--require-hashes", "-r", str(lock)], check=True)
        subprocess.run([*pip, "--no-deps", "--no-build-isolation", "--editable", str(ROOT)], check=True)
        ready.touch()
    return inner


def main() -> int:
    """Runs the tests on each interpreter; fails if one of them fails or cannot be set up."""
    parser = argparse.ArgumentParser(description="Run the tests that need only Python on several interpreters.")
    parser.add_argument("--lock", type=Path, default=ROOT / "requirements" / "dev.lock")
    parser.add_argument("--only", metavar="MINOR", help="Use only this version, such as 3.13.")
    known, rest = parser.parse_known_args()
    found = {one: python for one, python in interpreters().items() if known.only in (None, one)}
    if not found:
        print(f"no interpreter found: expected {known.only or 'python3.11 to python3.14'} on PATH", file=sys.stderr)
        return 1
    results = []
    for minor, python in found.items():
        try:
            inner = environment_of(python, minor, known.lock.absolute())
        except subprocess.CalledProcessError as error:
            results.append((minor, f"not set up: {error}"))
            continue
        command = [str(inner), "-m", "pytest", "-q", "-n", os.environ.get("WORKERS", "3"), "--dist", "loadfile"]
        tests = ["-m", "not control_plane and not browser and not postgres", *(one for one in rest if one != "--")]
        done = subprocess.run([*command, "--no-loadscope-reorder", *tests], cwd=ROOT, check=False)
        results.append((f"{minor} ({version_of(inner)})", "passed" if done.returncode == 0 else "failed"))
    for minor, result in results:
        print(f"Python {minor}: {result}")
    return int(any(result != "passed" for _, result in results))


if __name__ == "__main__":
    sys.exit(main())
