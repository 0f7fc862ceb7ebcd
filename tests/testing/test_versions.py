from __future__ import annotations

import platform
import re
from importlib import resources
from pathlib import Path

import pytest

from kubewright.testing import ETCD_VERSION, KUBERNETES_VERSION, SetupError
from kubewright.testing.binaries import cache_directory, platform_name


@pytest.mark.parametrize(
    ("machine", "name"), [("x86_64", "linux-amd64"), ("aarch64", "linux-arm64"), ("arm64", "linux-arm64")]
)
def test_platforms_are_named_as_go_names_them(monkeypatch: pytest.MonkeyPatch, machine: str, name: str) -> None:
    monkeypatch.setattr(platform, "machine", lambda: machine)
    monkeypatch.setattr("sys.platform", "linux")
    assert platform_name() == name


def test_rejects_unsupported_platform(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    with pytest.raises(SetupError, match="riscv64"):
        platform_name()


@pytest.mark.parametrize(
    ("own", "shared", "expected"),
    [
        ("/own", "/shared", "/own"),
        ("", "/shared", "/shared/kubewright"),
        ("", "relative", "/home/jane/.cache/kubewright"),
        ("", "", "/home/jane/.cache/kubewright"),
    ],
)
def test_cache_directory_follows_environment(
    monkeypatch: pytest.MonkeyPatch, own: str, shared: str, expected: str
) -> None:
    monkeypatch.setenv("KUBEWRIGHT_CACHE_DIR", own)
    monkeypatch.setenv("XDG_CACHE_HOME", shared)
    monkeypatch.setenv("HOME", "/home/jane")
    assert cache_directory() == Path(expected)


def test_the_go_module_builds_the_pinned_versions() -> None:
    module = (resources.files("kubewright.testing.binaries") / "_gomodule" / "go.mod").read_text()
    staging = KUBERNETES_VERSION.replace("1.", "0.", 1)
    assert f"k8s.io/kubernetes v{KUBERNETES_VERSION}" in module
    assert f"go.etcd.io/etcd/server/v3 v{ETCD_VERSION}" in module
    replaced = re.findall(r"^\t(k8s\.io/\S+) => (\S+) v(\S+)$", module, re.MULTILINE)
    assert len(replaced) > 30
    assert all(source == target and version == staging for source, target, version in replaced)
