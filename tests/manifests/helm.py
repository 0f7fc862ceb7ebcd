"""Helm itself, built once from the Go module beside this file and kept in the cache."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from kubewright.testing import KUBERNETES_VERSION, SetupError
from kubewright.testing._cache import cache_directory, lock, scratch
from kubewright.testing._go import Go, find_go
from kubewright.testing._versions import platform_name

HELM_VERSION = "3.22.0"
MODULE = Path(__file__).parent / "helm_module"
BUILD_SECONDS = 900
"""For the mark `timeout` of tests that may be the first to need it: 80 s on a quiet machine."""


def helm(*arguments: str | Path, cache: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run Helm, without the user's settings and repositories. `cache` is for commands that talk to a server."""
    nowhere = "/nonexistent"
    settings = {"HELM_CONFIG_HOME": nowhere, "HELM_CACHE_HOME": nowhere, "HELM_DATA_HOME": nowhere}
    settings["KUBECACHEDIR"] = str(cache or nowhere)
    return subprocess.run(
        [helm_binary(), *arguments],
        env=os.environ | settings,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


@functools.cache
def helm_binary() -> Path:
    """The program, built if it is not there. Skips the test where there is no Go and none can be installed."""
    folder = cache_directory() / "helm" / f"v{HELM_VERSION}-{platform_name()}"
    binary = folder / "helm"
    if binary.is_file():
        return binary
    try:
        go = find_go()
    except SetupError as error:
        pytest.skip(f"Helm cannot be built: {error}")
    with lock(folder, lambda: None):
        if not binary.is_file():
            with scratch(folder) as new:
                _build(go, new)
                (new / "helm").rename(binary)
    return binary


def _build(go: Go, folder: Path) -> None:
    shutil.copytree(MODULE, folder / "module")
    major, minor, _ = KUBERNETES_VERSION.split(".")
    values = {
        "helm.sh/helm/v3/internal/version.version": f"v{HELM_VERSION}",
        # Which cluster templates are rendered for; as Helm's own build sets it, with our version.
        "helm.sh/helm/v3/pkg/chartutil.k8sVersionMajor": major,
        "helm.sh/helm/v3/pkg/chartutil.k8sVersionMinor": minor,
        "helm.sh/helm/v3/pkg/lint/rules.k8sVersionMajor": major,
        "helm.sh/helm/v3/pkg/lint/rules.k8sVersionMinor": minor,
    }
    settings = " ".join(["-s", "-w", *(f"-X {name}={value}" for name, value in values.items())])
    flags = ["-mod=readonly", "-trimpath", "-buildvcs=false", f"-ldflags={settings}"]
    done = subprocess.run(
        [go.executable, "build", *flags, "-o", str(folder / "helm"), "helm.sh/helm/v3/cmd/helm"],
        cwd=folder / "module",
        env=go.environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
