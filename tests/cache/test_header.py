"""What is read of an object without decoding it, and the managed fields cut out of its text."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubewright.api import DecodeError, core
from kubewright.cache import ObjectKey, SnapshotDecoder, applied_digest, creator_of, transform_json

# private: cuts raw bytes; the store shows only the decoded object
from kubewright.cache._decoding import UnreadableObject, split_event

# private: cuts raw bytes; the store shows only the decoded object
from kubewright.cache._header import header_decoder, without_managed_fields

FIELDS = {"manager": "kubewright", "operation": "Apply", "apiVersion": "v1", "fieldsV1": {"f:data": {"f:k": {}}}}
OBJECT = {
    "kind": "ConfigMap",
    "apiVersion": "v1",
    "metadata": {
        "name": "web",
        "namespace": "shop",
        "uid": "u-1",
        "resourceVersion": "42",
        "generation": 3,
        "labels": {"tier": "front", "app": "web"},
        "annotations": {"note": "x"},
        "finalizers": ["example.com/keep"],
        "deletionTimestamp": "2030-01-01T00:00:00Z",
        "ownerReferences": [
            {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d", "uid": "u-0", "controller": True},
            {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u-2", "blockOwnerDeletion": True},
        ],
        "managedFields": [FIELDS],
    },
    "data": {"k": "v"},
}


def with_metadata(**changes: Any) -> dict[str, Any]:
    return OBJECT | {"metadata": OBJECT["metadata"] | changes}  # type: ignore[operator]  # it is a dict


def raw(obj: Any = OBJECT) -> bytes:
    return json.dumps(obj, separators=(",", ":")).encode()


def cut(text: bytes) -> bytes:
    value = header_decoder.decode(text).metadata.managed_fields
    return without_managed_fields(text, bytes(value))  # type: ignore[arg-type]  # they are there in these tests


@pytest.mark.promise("What the cache keeps", "An object is kept as its JSON and a small typed header.")
def test_a_snapshot_has_the_header_of_its_object() -> None:
    snapshot = SnapshotDecoder(core.ConfigMap, field_manager="kubewright").snapshot(raw())
    assert snapshot.key == ObjectKey("shop", "web") == ("shop", "web")
    assert (snapshot.name, snapshot.namespace, snapshot.uid) == ("web", "shop", "u-1")
    assert (snapshot.resource_version, snapshot.generation, snapshot.deleting) == (42, 3, True)
    assert snapshot.labels == {"app": "web", "tier": "front"}
    assert snapshot.label_items == (("app", "web"), ("tier", "front"))
    assert snapshot.annotations == {"note": "x"}
    assert snapshot.finalizers == ["example.com/keep"]
    assert [(owner.kind, owner.group, owner.uid) for owner in snapshot.owners] == [
        ("Deployment", "apps", "u-0"),
        ("Pod", "", "u-2"),
    ]
    assert snapshot.controller == snapshot.owners[0]
    assert snapshot.object().data == {"k": "v"}
    assert snapshot.object() is not snapshot.object()
    assert b"managedFields" not in snapshot.raw


@pytest.mark.promise("What the cache keeps", "A snapshot shows no content in a log.")
def test_a_snapshot_is_shown_without_its_content() -> None:
    snapshot = SnapshotDecoder(core.ConfigMap).snapshot(raw())
    assert repr(snapshot).startswith("<Snapshot of ConfigMap shop/web at 42,")
    assert dict(snapshot.__rich_repr__()) == {"kind": core.ConfigMap, "key": ("shop", "web"), "resource_version": 42}


@pytest.mark.promise("What the cache keeps", "Labels and owners that many objects share are kept once.")
def test_labels_and_owners_of_many_objects_are_kept_once() -> None:
    decoder = SnapshotDecoder(core.ConfigMap)
    one, two = decoder.snapshot(raw()), decoder.snapshot(raw(with_metadata(name="other")))
    assert one.label_items is two.label_items
    assert one.owners is two.owners
    assert one.key.namespace is two.key.namespace


JSON_VALUES = st.recursive(
    st.none() | st.integers(-9, 9) | st.text(max_size=4) | st.just("managedFields") | st.just('"managedFields":[]'),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4) | st.just("managedFields"), inner),
    max_leaves=6,
)


@pytest.mark.promise("What the cache keeps", "Managed fields are dropped, unless asked for.")
@given(
    entries=st.lists(st.just(FIELDS) | st.dictionaries(st.text(max_size=3), JSON_VALUES, max_size=2), max_size=2),
    before=st.dictionaries(st.sampled_from(["annotations", "x", "labels2"]), JSON_VALUES),
    after=st.dictionaries(st.sampled_from(["y", "zed"]), JSON_VALUES),
    content=st.dictionaries(st.sampled_from(["spec", "data", "managedFields"]), JSON_VALUES),
    metadata_first=st.booleans(),
    separators=st.sampled_from([(",", ":"), (", ", ": "), (" ,\n ", "\t: ")]),
    ascii_only=st.booleans(),
)
def test_managed_fields_are_removed_from_any_object(
    entries: list[Any],
    before: dict[str, Any],
    after: dict[str, Any],
    content: dict[str, Any],
    metadata_first: bool,
    separators: tuple[str, str],
    ascii_only: bool,
) -> None:
    kept = before | {"name": "n"} | after
    metadata = before | {"name": "n", "managedFields": entries} | after
    head, rest = {"metadata": metadata}, content
    whole = head | rest if metadata_first else rest | head
    text = json.dumps(whole, separators=separators, ensure_ascii=ascii_only).encode()
    assert json.loads(cut(text)) == content | {"metadata": kept}


@pytest.mark.parametrize(
    "metadata",
    [
        b'{"managedFields":[{}],"name":"n"}',
        b'{"name":"n","managedFields":[{}]}',
        b'{"name":"n" , "managedFields" : [ {} ] }',
        b'{"name":"n","managedFields":null}',
        b'{"name":"n","managed\\u0046ields":[{}],"x":{"managedFields":[{}]}}',
    ],
)
def test_managed_fields_are_cut_out_with_their_comma(metadata: bytes) -> None:
    left = json.loads(cut(b'{"metadata":%b,"managedFields":"other"}' % metadata))
    assert left["managedFields"] == "other"
    assert left["metadata"].keys() - {"x"} == {"name"}
    assert left["metadata"].get("x", {"managedFields": [{}]}) == {"managedFields": [{}]}
    assert json.loads(cut(b'{"metadata":%b}' % metadata))["metadata"]["name"] == "n"


@pytest.mark.promise("What the cache keeps", "Fields that the model does not know are still there.")
def test_other_bytes_stay_unchanged() -> None:
    text = b'{"metadata":{"name":"n","managedFields":[{}]},"spec":{"big":12345678901234567890123,"float":1.10}}'
    assert cut(text) == b'{"metadata":{"name":"n"},"spec":{"big":12345678901234567890123,"float":1.10}}'


# The digest


def test_digest_depends_on_fields_and_not_on_time() -> None:
    digest = applied_digest(raw(), "kubewright")
    assert digest is not None
    assert len(digest) == 16
    later = raw(with_metadata(managedFields=[{**FIELDS, "time": "2031-01-01T00:00:00Z"}]))
    assert applied_digest(later, "kubewright") == digest
    other = raw(with_metadata(managedFields=[{**FIELDS, "fieldsV1": {"f:data": {}}}]))
    assert applied_digest(other, "kubewright") not in (None, digest)


def test_the_digest_is_about_one_manager_and_the_object_itself() -> None:
    digest = applied_digest(raw(), "kubewright")
    status = {**FIELDS, "subresource": "status", "fieldsV1": {"f:status": {}}}
    other = {**FIELDS, "manager": "kubewright-too", "fieldsV1": {"f:x": {}}}
    updated = {**FIELDS, "operation": "Update", "fieldsV1": {"f:y": {}}}
    entries = [status, other, FIELDS, updated]
    assert applied_digest(raw(with_metadata(managedFields=entries)), "kubewright") == digest
    assert applied_digest(raw(with_metadata(managedFields=entries[:2])), "kubewright") is None
    assert applied_digest(raw({"metadata": {"name": "n"}}), "kubewright") is None


@pytest.mark.promise("Owned objects and `apply`", "The digest of our managed fields outlives the fields.")
def test_a_snapshot_carries_the_digest_although_the_fields_are_cut() -> None:
    assert SnapshotDecoder(core.ConfigMap, field_manager="kubewright").snapshot(raw()).applied == applied_digest(
        raw(), "kubewright"
    )
    assert SnapshotDecoder(core.ConfigMap, field_manager="unknown").snapshot(raw()).applied is None
    assert SnapshotDecoder(core.ConfigMap).snapshot(raw()).applied is None


# Transforms and modes


@pytest.mark.promise("What the cache keeps", "Managed fields are dropped, unless asked for.")
def test_managed_fields_are_kept_where_asked_for() -> None:
    snapshot = SnapshotDecoder(core.ConfigMap, keep_managed_fields=True).snapshot(raw())
    assert snapshot.raw == raw()
    assert snapshot.object().metadata.managed_fields[0].manager == "kubewright"


@pytest.mark.promise("What the cache keeps", "A transform may change what is kept.")
def test_transform_changes_content_and_header() -> None:
    def drop(obj: dict[str, Any]) -> dict[str, Any]:
        del obj["data"]
        obj["metadata"]["labels"] = {"kept": "yes"}
        return obj

    snapshot = SnapshotDecoder(core.ConfigMap, transform=transform_json(drop)).snapshot(raw())
    assert snapshot.object().data is None
    assert snapshot.labels == {"kept": "yes"}


@pytest.mark.promise("What the cache keeps", "A transform may change what is kept.")
@pytest.mark.promise(
    "What wakes a reconciler",
    "A predicate, map function, index or transform that fails, whatever it raises, spoils that object only.",
)
@pytest.mark.parametrize(
    ("transform", "reason"),
    [
        (lambda raw: raw.replace(b'"web"', b'"bew"'), "the transform failed: ValueError: it changed metadata.name"),
        (lambda raw: raw[:10], "the transform failed: DecodeError"),
        (lambda raw: json.loads(raw)["no"], "the transform failed: KeyError"),
        (lambda raw: sys.exit("no"), "the transform failed: SystemExit: no"),
    ],
)
def test_failing_transform_affects_one_object(transform: Any, reason: str) -> None:
    snapshot = SnapshotDecoder(core.ConfigMap, transform=transform).snapshot(raw())
    assert snapshot.key == ("shop", "web")
    assert snapshot.resource_version == 42
    with pytest.raises(DecodeError, match=reason):
        snapshot.object()


@pytest.mark.promise("What the cache keeps", "The metadata alone can be fetched and kept, also of custom resources.")
def test_only_the_metadata_is_kept_where_that_is_enough() -> None:
    decoder = SnapshotDecoder(core.ConfigMap, metadata_only=True)
    partial = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": OBJECT["metadata"]}
    from_partial, from_whole = decoder.snapshot(raw(partial)), decoder.snapshot(raw())
    assert json.loads(from_partial.raw) == json.loads(from_whole.raw)
    assert json.loads(from_partial.raw).keys() == {"kind", "apiVersion", "metadata"}
    assert json.loads(from_partial.raw)["kind"] == "ConfigMap"


@pytest.mark.promise("What the cache keeps", "Items of a built-in list get the names that the server leaves out.")
def test_items_of_lists_get_the_names_that_they_lack() -> None:
    decoder = SnapshotDecoder(core.ConfigMap)
    bare = {"metadata": OBJECT["metadata"], "data": {}}
    assert json.loads(decoder.named(raw(bare))) == {"apiVersion": "v1", "kind": "ConfigMap", **bare}
    assert decoder.named(raw()) == raw()
    late = {"metadata": {"name": "n"}, "kind": "ConfigMap", "apiVersion": "v1"}
    assert decoder.named(raw(late)) == raw(late)


@pytest.mark.promise("What the cache keeps", "An object that does not fit its model spoils no list and stops no watch.")
def test_an_object_whose_header_is_broken_keeps_its_place() -> None:
    snapshot = SnapshotDecoder(core.ConfigMap).snapshot(raw(with_metadata(labels={"a": 1})))
    assert snapshot.key == ("shop", "web")
    assert snapshot.resource_version == 42
    with pytest.raises(DecodeError, match=r"ConfigMap shop/web: metadata: Expected `str`, got `int`"):
        snapshot.object()


@pytest.mark.parametrize("text", [b"", b"[]", b'{"metadata":{}}', b"{"])
def test_rejects_bytes_without_a_name(text: bytes) -> None:
    with pytest.raises(UnreadableObject):
        SnapshotDecoder(core.ConfigMap).snapshot(text)


# Events


@pytest.mark.parametrize("type_", ["ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"])
def test_an_event_is_its_type_and_its_object(type_: str) -> None:
    line = b'{"type":"%b","object":%b}\n' % (type_.encode(), raw())
    assert split_event(line) == (type_, raw()) == split_event(line, exactly=True)
    spaced = json.dumps({"object": OBJECT, "type": type_}).encode()
    assert split_event(spaced) == (type_, json.dumps(OBJECT).encode())


def test_rejects_lines_that_are_not_events() -> None:
    with pytest.raises(UnreadableObject, match="not a watch event"):
        split_event(b"<html>")


@pytest.mark.parametrize("manager", ["a" * 128, "ü" * 64, "a" + "ü" * 63])
def test_creator_of_a_long_field_manager_has_at_most_128_bytes(manager: str) -> None:
    creator = creator_of(manager)
    assert 126 <= len(creator.encode()) <= 128
    assert creator.endswith("-create")
