"""The cache options of `Owns`, `Watch` and `Reads`: their checks, and the caches that result. Pure."""

from __future__ import annotations

from typing import Any

import pytest

from kubewright.api import apps, core
from kubewright.cache import CacheOptions, transform_json
from kubewright.controller import Owns, Reads, Watch
from kubewright.controller.registration import CacheUse, check_reads, resolve_caches

TRANSFORM = transform_json(lambda content: content)


def use(role: Any, declared: Owns[Any] | Watch[Any] | Reads[Any], *, owner: Any = None, of: str = "web") -> CacheUse:
    cache = declared.cache
    return CacheUse(of, role, declared.kind, cache.options, cache.by_default, owner)


def watch(kind: Any = core.Secret, **options: Any) -> CacheUse:
    return use("watches", Watch(kind, referenced_by=lambda obj: obj.metadata.name, **options))


def owns(kind: Any = core.Secret, *, owner: Any = apps.Deployment, **options: Any) -> CacheUse:
    return use("owns", Owns(kind, **options), owner=owner)


def resolved(*uses: CacheUse) -> list[CacheOptions]:
    return [one.options for one in resolve_caches(uses)]


@pytest.mark.parametrize("declare", [Owns, Reads, lambda kind, **options: Watch(kind, map=lambda obj: [], **options)])
def test_takes_the_options_of_an_informer(declare: Any) -> None:
    options = {"labels": {"a": "b"}, "fields": {"metadata.name": "x"}, "namespaces": ["z", "y"], "optional": True}
    found = declare(core.ConfigMap, **options, transform=TRANSFORM).cache.options
    assert found == CacheOptions(
        labels="a=b", fields="metadata.name=x", namespaces=("y", "z"), transform=TRANSFORM, optional=True
    )
    assert declare(core.ConfigMap, metadata_only=True).cache.options == CacheOptions(metadata_only=True)
    assert declare(core.ConfigMap).cache.options == CacheOptions()


@pytest.mark.promise("What wakes a reconciler", "A misspelled option fails at once, with the valid names.")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"metadata": True}, r"Reads has no option 'metadata'\. Did you mean 'metadata_only'\?"),
        ({"metadata_only": "yes"}, r"Reads\(Pod\): metadata_only must be True or False, not 'yes'"),
        ({"optional": 1}, r"Reads\(Pod\): optional must be True or False, not 1"),
        ({"labels": ["a"]}, r"Reads\(Pod\): labels must be a label selector, such as \"app=web\""),
        ({"fields": 3}, r"Reads\(Pod\): fields must be a field selector, such as \"metadata\.name=web\""),
        ({"fields": "=="}, r"Reads\(Pod\): fields is not a valid field selector"),
        ({"namespaces": "shop"}, r"Reads\(Pod\): namespaces takes a list of names, namespaces=\[\"shop\"\]"),
        ({"namespaces": []}, r"Reads\(Pod\): namespaces takes a list of names"),
        ({"transform": "strip"}, r"Reads\(Pod\): transform must be a plain function from bytes to bytes"),
        ({"transform": TRANSFORM, "metadata_only": True}, r"Reads\(Pod\): metadata_only leaves nothing to transform"),
    ],
)
def test_rejects_invalid_options_with_the_valid_ones(options: dict[str, Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        Reads(core.Pod, **options)


def test_rejects_namespaces_of_a_cluster_scoped_kind() -> None:
    with pytest.raises(ValueError, match=r"Watch\(Node\): Node is cluster-scoped: leave out namespaces"):
        Watch(core.Node, map=lambda node: [], namespaces=["shop"])


def test_rejects_two_reads_of_one_kind_with_different_options() -> None:
    with pytest.raises(ValueError, match="reads has Pod twice with different options"):
        check_reads([core.Pod, Reads(core.Pod, labels="a=b")])
    assert len(check_reads([core.Pod, Reads(core.Pod)])) == 2


def test_other_kinds_than_secrets_are_cached_whole_by_default() -> None:
    assert resolved(watch(core.ConfigMap), owns(core.ConfigMap)) == [CacheOptions(), CacheOptions()]


def test_watched_secrets_are_cached_without_their_content() -> None:
    assert resolved(watch()) == [CacheOptions(metadata_only=True)]
    assert resolved(watch(metadata_only=False)) == [CacheOptions()]
    assert resolved(watch(labels="a=b")) == [CacheOptions(labels="a=b")]
    assert resolved(watch(fields="type=Opaque")) == [CacheOptions(fields="type=Opaque")]


def test_only_secrets_of_reconciled_owners_are_cached_whole() -> None:
    assert resolved(owns()) == [CacheOptions(owned_by=(apps.Deployment,))]
    assert resolved(owns(metadata_only=False)) == [CacheOptions()]
    assert resolved(owns(labels="a=b")) == [CacheOptions(labels="a=b")]


def test_secrets_that_are_owned_and_watched_share_one_cache() -> None:
    both = (apps.Deployment, core.ConfigMap)
    assert resolved(owns(), watch(), owns(owner=core.ConfigMap)) == [CacheOptions(owned_by=both)] * 3


def test_shares_the_cache_of_a_controller_that_reads_all_secrets() -> None:
    assert resolved(owns(), watch(), use("reads", Reads(core.Secret))) == [CacheOptions()] * 3


def test_a_kind_is_optional_only_if_every_declaration_says_so() -> None:
    one, other = watch(core.Pod, optional=True), owns(core.Pod, optional=True)
    assert [options.optional for options in resolved(one, other)] == [True, True]
    assert [options.optional for options in resolved(one, owns(core.Pod))] == [False, False]


def test_describes_options_as_they_are_written() -> None:
    place = owns(core.Pod, labels={"a": "b"}, namespaces=["x"], optional=True).place
    assert place == "Owns(Pod, labels=\"a=b\", namespaces=['x'], optional=True) of controller 'web'"
