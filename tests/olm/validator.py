"""operator-framework's bundle validation, built once from the Go module in this folder and kept in the cache."""

from __future__ import annotations

import functools
import json
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from kubewright.testing.binaries import Go, download_module
from tests.go_programs import GoProgram

__all__ = ["BUILD_SECONDS", "Verdict", "olm_definitions", "theirs"]

MODULE = ("github.com/operator-framework/api", "v0.37.0")
BUILD_SECONDS = 900
"""The timeout of tests that may have to build it, which takes 70 s on an idle machine."""


@dataclass(frozen=True)
class Verdict:
    """The result for a folder."""

    folder: str
    errors: list[str]
    warnings: list[str]


def _definitions(go: Go, folder: Path) -> None:
    """Copies OLM's definitions next to the program, so that later runs need no module proxy."""
    for path in (download_module(*MODULE, go) / "crds").glob("*.yaml"):
        shutil.copyfile(path, folder / path.name)


VALIDATOR = GoProgram(
    name="olm-validator",
    module=Path(__file__).parent / "validator_module",
    version=MODULE[1],
    digest_of_sources=True,
    beside=_definitions,
)


@functools.cache
def _validator() -> Path:
    return VALIDATOR.binary_for_test()


def theirs(
    folders: Iterable[Path], suite: Literal["default", "operatorhub", "practices"] = "default"
) -> dict[Path, Verdict]:
    """Returns the verdict of operator-framework's validator about each bundle."""
    asked = list(folders)
    done = subprocess.run(
        [_validator(), suite, *asked], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    verdicts = [Verdict(**json.loads(line)) for line in done.stdout.splitlines()]
    return dict(zip(asked, verdicts, strict=True))


def olm_definitions() -> list[Path]:
    """Returns the files of OLM's definitions: CatalogSource, Subscription, and so on."""
    return sorted(_validator().parent.glob("operators.coreos.com_*.yaml"))
