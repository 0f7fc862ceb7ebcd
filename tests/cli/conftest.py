"""Removes the traces of commands that run inside the test process."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def nothing_imported_stays(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Removes imported programs: the next test may use the same module name for another one."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield
    temporary = tmp_path_factory.getbasetemp()
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if file and temporary in Path(file).parents:
            del sys.modules[name]
