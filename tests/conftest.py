"""Fixtures for all tests."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

pytest_plugins = ["pytester"]

# No test fails because the machine is busy.
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")

# Tests press Ctrl-C in programs that they start. When the tests themselves run in the background, a shell makes all of
# them deaf to it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def _no_cluster_of_the_developer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hides the developer's own kubeconfig, so that no test can reach that cluster."""
    for variable in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"):
        monkeypatch.delenv(variable, raising=False)


@pytest.fixture(autouse=True)
def _no_module_of_another_test(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Removes modules that a test has loaded: the next test may write one of the same name."""
    before = set(sys.modules)
    yield
    written = str(tmp_path_factory.getbasetemp())
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", None) or "").startswith(written):
            del sys.modules[name]
