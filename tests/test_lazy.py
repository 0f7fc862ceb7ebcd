"""Packages whose names are imported on first use: each is found, once, and nothing else is."""

from __future__ import annotations

import gc
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from kubewright.lazy import lazy_exports

PACKAGES = [
    "kubewright",
    "kubewright.client.credentials",
    "kubewright.cluster",
    "kubewright.cluster.machinery",
    "kubewright.cluster.nodes",
    "kubewright.cluster.registry",
    "kubewright.cluster.serving",
    "kubewright.controller",
    "kubewright.development",
    "kubewright.testing",
    "kubewright.webhook.certificates",
]


@pytest.mark.parametrize("package", PACKAGES)
def test_every_name_is_there_and_looked_for_once(package: str) -> None:
    """A reconciler that returns `kw.Result(...)`, say, pays for finding it the first time only."""
    module = import_module(package)
    for name in module.__all__:
        found = getattr(module, name)
        assert vars(module).get(name) is found


@pytest.mark.parametrize("package", PACKAGES)
def test_misspelled_name_suggests_the_closest_one(package: str) -> None:
    module = import_module(package)
    name = max(vars(module)["_MODULES"], key=len)
    with pytest.raises(AttributeError, match=rf"has no attribute '{name}s'\. Did you mean '{name}'"):
        getattr(module, f"{name}s")
    with pytest.raises(AttributeError, match=r"has no attribute 'qqq'$"):
        getattr(module, "qqq")  # noqa: B009


def test_an_import_is_not_searched_for_garbage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All that it makes stays: the collector took a tenth of the time in which an operator is imported."""
    (tmp_path / "a_room.py").write_text("import gc\nCOLLECTED = gc.isenabled()\n")
    monkeypatch.syspath_prepend(tmp_path)
    house = ModuleType("a_house")
    monkeypatch.setitem(sys.modules, "a_house", house)
    house.__path__ = [str(tmp_path)]
    assert lazy_exports("a_house", {"COLLECTED": "a_room"})("COLLECTED") is False
    assert gc.isenabled()
