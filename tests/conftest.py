"""Fixtures for all tests."""

from __future__ import annotations

import compileall
import gc
import os
import signal
import sys
import sysconfig
from collections.abc import Generator, Iterator
from itertools import takewhile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

import kubewright

pytest_plugins = ["pytester"]

# No test fails because the machine is busy, and two runs of one commit try the same examples. New ones are searched by
# `make search`.
PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("search", PATIENT)
settings.register_profile("repeatable", PATIENT, derandomize=True, database=None)
settings.load_profile("repeatable")

# Tests press Ctrl-C in programs that they start. When the tests themselves run in the background, a shell makes all of
# them deaf to it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_configure(config: pytest.Config) -> None:
    """Has bytecode ready for the programs of all tests, and keeps them from writing their own.

    The tests start more than a thousand Python programs. Without bytecode, each compiles all modules that it imports,
    which takes longer than the import. A program whose file a test writes twice within a second, with the same size,
    would run the bytecode of the first.
    """
    if not config.getoption("numprocesses", None) or hasattr(config, "workerinput"):
        os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
        return
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # pytest-xdist's processes save modules with rewritten assertions
    for folder in (str(Path(kubewright.__file__).parent), sysconfig.get_path("purelib")):
        compileall.compile_dir(folder, quiet=2, workers=os.cpu_count() or 1)


NO_CACHE = f"{os.devnull}/needs-the-marker-control_plane"


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Only tests of the tiers `control_plane` and `browser` find, download or build the programs of the control plane.

    In any other test, the cache of programs is a folder that cannot exist. This also holds for fixtures of wider scope.
    """
    if any(item.get_closest_marker(tier) for tier in ("control_plane", "browser")):
        return (yield)
    before = {name: os.environ.pop(name, None) for name in ("KUBEWRIGHT_CACHE_DIR", "KUBEBUILDER_ASSETS")}
    os.environ["KUBEWRIGHT_CACHE_DIR"] = NO_CACHE
    try:
        return (yield)
    finally:
        del os.environ["KUBEWRIGHT_CACHE_DIR"]
        os.environ.update({name: value for name, value in before.items() if value is not None})


SHORT_FILES = tuple(
    f"tests/{folder}/" for folder in ("api", "benchmarks", "documentation", "http", "queue", "streaming", "yaml_reader")
)
"""Folders whose files take a few seconds each, and need no server."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Runs short files last, so that the processes of pytest-xdist end at the same time.

    A process gets the next file when two tests of its current one are left. After a long last file, the other process
    would be idle for minutes.
    """
    items.sort(key=lambda item: item.nodeid.startswith(SHORT_FILES))


def pytest_collection_finish() -> None:
    """Excludes the collected tests and imported modules from garbage collection. Ends the writing of bytecode.

    A collection of all objects takes half a second with them, and a millisecond without them.
    """
    gc.freeze()
    sys.dont_write_bytecode = True


@pytest.fixture(autouse=True)
def _no_cluster_of_the_developer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hides the developer's own kubeconfig, so that no test can reach that cluster."""
    for variable in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"):
        monkeypatch.delenv(variable, raising=False)


@pytest.fixture(autouse=True)
def _no_module_of_another_test(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Removes modules that a test has loaded: the next test may write one of the same name.

    `sys.modules` keeps the order of imports. Two sets of all names would take a millisecond for each test.
    """
    last, count = next(reversed(sys.modules)), len(sys.modules)
    yield
    if next(reversed(sys.modules)) == last and len(sys.modules) == count:
        return
    written = str(tmp_path_factory.getbasetemp())
    new = takewhile(lambda name: name != last, reversed(sys.modules)) if last in sys.modules else iter(sys.modules)
    for name in list(new):
        if str(getattr(sys.modules[name], "__file__", None) or "").startswith(written):
            del sys.modules[name]
