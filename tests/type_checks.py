"""Runs mypy with the settings and the cache of this repository."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from kubewright.testing.binaries import lock

__all__ = ["mypy"]

ROOT = Path(__file__).parents[1]


def mypy(*files: Path) -> subprocess.CompletedProcess[str]:
    """Checks files strictly. Modules beside the first one can be imported.

    Without a cache, mypy reads all of Kubewright first, which takes several seconds. All tests and `make check` use the
    same one. The lock is for tests that run at the same time.
    """
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", *map(str, files)]
    environment = {name: value for name, value in os.environ.items() if name != "MYPY_CACHE_DIR"}
    environment["MYPYPATH"] = str(files[0].parent)
    with lock(ROOT / ".mypy_cache" / "tests", lambda: None):
        return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
