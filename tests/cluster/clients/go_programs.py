"""`k8s.io/sample-controller`, built once from the Go module beside this file and kept in the cache."""

from __future__ import annotations

import functools
import shutil
import subprocess
from pathlib import Path

import pytest

from kubewright.testing import SetupError
from kubewright.testing._cache import cache_directory, lock, scratch
from kubewright.testing._go import Go, download_module, find_go
from kubewright.testing._versions import platform_name

SAMPLE_CONTROLLER = "k8s.io/sample-controller"
VERSION = "v0.36.3"
MODULE = Path(__file__).parent / "sample_controller_module"
BUILD_SECONDS = 600
"""For the mark `timeout` of tests that may be the first to need it: 40 s on a quiet machine."""


@functools.cache
def sample_controller() -> Path:
    """The program, built if it is not there. Skips the test where there is no Go and none can be installed."""
    folder = cache_directory() / "sample-controller" / f"{VERSION}-{platform_name()}"
    binary = folder / "sample-controller"
    if not binary.is_file():
        go = _go()
        with lock(folder, lambda: None):
            if not binary.is_file():
                with scratch(folder) as new:
                    _build(go, new)
                    # Its examples beside it, so that later runs need no module proxy.
                    source = download_module(SAMPLE_CONTROLLER, VERSION, go) / "artifacts" / "examples"
                    for example in source.glob("*.yaml"):
                        shutil.copyfile(example, folder / example.name)
                    (new / binary.name).rename(binary)
    return binary


def example(name: str) -> str:
    """One of the files that come with the program: its definition, a Foo."""
    return sample_controller().with_name(name).read_text(encoding="utf-8")


def _go() -> Go:
    try:
        return find_go()
    except SetupError as error:
        pytest.skip(f"the sample controller cannot be built: {error}")


def _build(go: Go, folder: Path) -> None:
    shutil.copytree(MODULE, folder / "module")
    flags = ["-mod=readonly", "-trimpath", "-buildvcs=false", "-ldflags=-s -w"]
    done = subprocess.run(
        [go.executable, "build", *flags, "-o", str(folder / "sample-controller"), SAMPLE_CONTROLLER],
        cwd=folder / "module",
        env=go.environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
