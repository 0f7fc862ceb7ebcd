"""The environment of the programs that users migrate from: kopf and the official client, pinned by hash."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

from kubewright.testing.binaries import cache_directory, lock
from tests.docs.markdown import ROOT

__all__ = ["other_environment"]

_LOCK_FILE = ROOT / "requirements" / "migration.lock"


def other_environment() -> Path:
    """Returns a virtual environment with the packages of `requirements/migration.lock`, made on first use and cached.

    It does not contain Kubewright, and needs the network once.
    """
    digest = hashlib.sha256(_LOCK_FILE.read_bytes()).hexdigest()[:12]
    folder = cache_directory() / "migration" / f"{sys.version_info.major}.{sys.version_info.minor}-{digest}"
    ready = folder / "ready"
    if not ready.is_file():
        with lock(folder, lambda: None):
            if not ready.is_file():
                _run(sys.executable, "-m", "venv", "--clear", folder / "venv")
                pip = (folder / "venv" / "bin" / "python", "-m", "pip", "--disable-pip-version-check", "install")
                _run(*pip, "--quiet", "--no-deps", "--require-hashes", "--requirement", _LOCK_FILE)
                ready.touch()
    return folder / "venv"


def _run(*command: str | Path) -> None:
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
