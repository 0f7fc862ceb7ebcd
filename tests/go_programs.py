"""Go programs that tests compare Kubewright with. Each is built once, from a module beside its tests, and cached."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from kubewright.testing import SetupError
from kubewright.testing.binaries import Go, cache_directory, find_go, lock, platform_name, scratch

__all__ = ["GoMissing", "GoProgram"]

_FLAGS = ("-mod=readonly", "-trimpath", "-buildvcs=false")


class GoMissing(SetupError):
    """There is no Go to build a program with, and none can be installed."""


@dataclass(frozen=True, kw_only=True)
class GoProgram:
    """A program and its sources.

    Args:
        name: the name of the program, and of its folder in the cache.
        module: the folder with `go.mod`, `go.sum` and, unless `package` is in another module, the source.
        version: the version of the program. A new version is built again.
        digest_of_sources: whether any change of the module is built again, too.
        package: the package for `go build`.
        main: a file of the program that is not in the module, because several modules share it.
        tests: whether the tests of the package are built instead (`go test -c`).
        values: variables that the linker sets.
        beside: a function that adds files to the program's folder after a build, from Go and that folder.
    """

    name: str
    module: Path
    version: str
    package: str = "."
    main: Path | None = None
    tests: bool = False
    digest_of_sources: bool = False
    values: Mapping[str, str] = field(default_factory=dict)
    beside: Callable[[Go, Path], None] | None = None

    def binary_for_test(self) -> Path:
        """Returns the path of the program, and builds it if necessary. Skips the test if Go cannot be installed."""
        try:
            return self.binary()
        except GoMissing as error:
            pytest.skip(str(error))

    def binary(self) -> Path:
        """Returns the path of the program, and builds it if necessary. Raises GoMissing if Go cannot be installed."""
        binary = self._path()
        folder = binary.parent
        if binary.is_file():
            return binary
        try:
            go = find_go()
        except SetupError as error:
            raise GoMissing(f"{self.name} cannot be built: {error}") from error
        with lock(folder, lambda: None):
            if not binary.is_file():
                with scratch(folder) as new:
                    self._build(go, new)
                    if self.beside:
                        self.beside(go, folder)
                    # Last: if the binary exists, everything beside it does, too.
                    (new / self.name).rename(binary)
        return binary

    @property
    def is_built(self) -> bool:
        """Whether the program is in the cache."""
        return self._path().is_file()

    def _path(self) -> Path:
        return cache_directory() / self.name / f"{self._key()}-{platform_name()}" / self.name

    def _key(self) -> str:
        if not self.digest_of_sources:
            return self.version
        sources = b"".join(path.read_bytes() for path in sorted(self.module.rglob("*")) if path.is_file())
        return f"{self.version}-{hashlib.sha256(sources).hexdigest()[:12]}"

    def _build(self, go: Go, folder: Path) -> None:
        shutil.copytree(self.module, folder / "module")
        if self.main is not None:
            shutil.copyfile(self.main, folder / "module" / self.main.name)
        linked = " ".join(["-s", "-w", *(f"-X {name}={value}" for name, value in self.values.items())])
        command = ["test", "-c"] if self.tests else ["build"]
        done = subprocess.run(
            [go.executable, *command, *_FLAGS, f"-ldflags={linked}", "-o", str(folder / self.name), self.package],
            cwd=folder / "module",
            env=go.environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
