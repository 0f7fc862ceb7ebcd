"""Keys: how caches and queues name an object."""

from __future__ import annotations

import pytest

from kubewright.api import ObjectMeta, core
from kubewright.cache import ObjectKey


def test_a_key_reads_and_writes_as_kubernetes_writes_it() -> None:
    assert str(ObjectKey("shop", "web")) == "shop/web"
    assert str(ObjectKey("", "node-1")) == "node-1"
    assert ObjectKey.parse("shop/web") == ObjectKey("shop", "web") == ("shop", "web")
    assert ObjectKey.parse("node-1") == ObjectKey("", "node-1")


@pytest.mark.parametrize("text", ["", "/", "a/", "/a", "a/b/c"])
def test_rejects_invalid_keys(text: str) -> None:
    with pytest.raises(ValueError, match="expected namespace/name"):
        ObjectKey.parse(text)


@pytest.mark.promise("Reading the cache", "Lists come in a stable order.")
def test_keys_are_ordered_by_namespace_and_then_name() -> None:
    assert sorted([ObjectKey("b", "a"), ObjectKey("a", "z"), ObjectKey("a", "b")]) == [
        ("a", "b"),
        ("a", "z"),
        ("b", "a"),
    ]


def test_the_key_of_an_object_is_its_namespace_and_name() -> None:
    assert ObjectKey.of(core.ConfigMap(metadata=ObjectMeta(name="n", namespace="ns"))) == ("ns", "n")
