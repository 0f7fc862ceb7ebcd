"""Removes the traces of commands that run inside the test process; tests/conftest.py removes the imported programs."""

from __future__ import annotations

import sys

import pytest


@pytest.fixture(autouse=True)
def _own_import_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """Restores the import path, to which commands add the folder of a program."""
    monkeypatch.setattr(sys, "path", list(sys.path))
