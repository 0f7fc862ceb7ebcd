"""Helm itself, built once from the Go module beside this file and kept in the cache."""

from __future__ import annotations

import functools
import os
import subprocess
from pathlib import Path

from kubewright.testing import KUBERNETES_VERSION
from tests.go_programs import GoProgram

HELM_VERSION = "3.22.0"
BUILD_SECONDS = 900
"""For the mark `timeout` of tests that may be the first to need it: 80 s on a quiet machine."""

_MAJOR, _MINOR, _ = KUBERNETES_VERSION.split(".")
HELM = GoProgram(
    name="helm",
    module=Path(__file__).parent / "helm_module",
    version=f"v{HELM_VERSION}",
    package="helm.sh/helm/v3/cmd/helm",
    values={
        "helm.sh/helm/v3/internal/version.version": f"v{HELM_VERSION}",
        # Which cluster templates are rendered for; as Helm's own build sets it, with our version.
        "helm.sh/helm/v3/pkg/chartutil.k8sVersionMajor": _MAJOR,
        "helm.sh/helm/v3/pkg/chartutil.k8sVersionMinor": _MINOR,
        "helm.sh/helm/v3/pkg/lint/rules.k8sVersionMajor": _MAJOR,
        "helm.sh/helm/v3/pkg/lint/rules.k8sVersionMinor": _MINOR,
    },
)


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
    return HELM.binary_for_test()
