"""`k8s.io/sample-controller`, built once from the Go module beside this file and kept in the cache."""

from __future__ import annotations

import functools
import shutil
from pathlib import Path

from kubewright.testing.binaries import Go, download_module
from tests.go_programs import GoProgram

VERSION = "v0.36.3"
BUILD_SECONDS = 600
"""For the mark `timeout` of tests that may be the first to need it: 40 s on a quiet machine."""


def _examples(go: Go, folder: Path) -> None:
    """Its examples beside it, so that later runs need no module proxy."""
    source = download_module("k8s.io/sample-controller", VERSION, go) / "artifacts" / "examples"
    for path in source.glob("*.yaml"):
        shutil.copyfile(path, folder / path.name)


SAMPLE_CONTROLLER = GoProgram(
    name="sample-controller",
    module=Path(__file__).parent / "sample_controller_module",
    version=VERSION,
    package="k8s.io/sample-controller",
    beside=_examples,
)


@functools.cache
def sample_controller() -> Path:
    """The program, built if it is not there. Skips the test where there is no Go and none can be installed."""
    return SAMPLE_CONTROLLER.binary_for_test()


def example(name: str) -> str:
    """One of the files that come with the program: its definition, a Foo."""
    return sample_controller().with_name(name).read_text(encoding="utf-8")
