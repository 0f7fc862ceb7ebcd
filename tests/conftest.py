"""What every test of Kubewright can rely on."""

from __future__ import annotations

import pytest

pytest_plugins = ["pytester"]


@pytest.fixture(autouse=True)
def _no_cluster_of_the_developer(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test may find its way to the cluster that the person running it works with."""
    for variable in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"):
        monkeypatch.delenv(variable, raising=False)
