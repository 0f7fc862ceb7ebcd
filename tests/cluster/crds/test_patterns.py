"""Patterns of definitions: the differential scenarios compare them with the real server."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from kubewright import regex
from tests.cluster.conftest import Raw

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def definition(pattern: str) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"a": {"type": "string", "pattern": pattern}}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    spec = {"group": "ex.com", "scope": "Cluster", "names": {"plural": "words", "kind": "Word"}, "versions": [version]}
    return {"metadata": {"name": "words.ex.com"}, "spec": spec}


async def test_rejects_patterns_that_it_cannot_evaluate(raw: Raw, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "re2", None)
    monkeypatch.setattr(regex, "find_spec", lambda _name: None)
    regex._compiled.cache_clear()
    got = await raw("POST", DEFINITIONS, definition("^(a+)+$"))
    assert got.status == 501
    assert "pip install 'kubewright[test]'" in got.body["message"]
    assert (await raw("POST", DEFINITIONS, definition(regex.QUANTITY))).status == 201
