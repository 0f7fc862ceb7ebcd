"""Applies and managed fields of ConfigMaps: owners, conflicts, given entries, kubectl."""

from __future__ import annotations

from tests.cluster.merge.bodies import LAST_APPLIED, config_map, data, meta
from tests.cluster.merge.table import apply, create, json_ops, merge, put

CONFIG_MAPS = [
    config_map("created", create(data(a="1", b="2"))),
    config_map("created-empty", create({})),
    config_map("created-with-metadata", create(data(a="1") | meta(labels={"x": "1"}, annotations={"y": "2"}))),
    config_map("updated-by-another", create(data(a="1", b="2")), put(data(b="3"), "two")),
    config_map("updated-by-the-same", create(data(a="1")), put(data(a="2", c="3"))),
    config_map("update-removes", create(data(a="1", b="2")), put(data(a=None), "two")),
    config_map("update-removes-all", create(data(a="1")), put({"data": None}, "two")),
    config_map("update-that-changes-nothing", create(data(a="1")), put({}, "two")),
    config_map("emptied-managed-fields", create(data(a="1")), put(meta(managedFields=[{}]), "two")),
    config_map("emptied-with-no-entry", create(data(a="1")), put(meta(managedFields=[]), "two")),
    config_map(
        "untracked-until-applied",
        create(data(a="1")),
        put(meta(managedFields=[{}])),
        put(data(a="2"), "two"),
        apply(data(b="3"), "three"),
    ),
    config_map("applied-new", apply(data(a="1", b="2"))),
    config_map("applied-empty", apply({})),
    config_map("applied-empty-map", apply({"data": {}})),
    config_map("applied-again", apply(data(a="1")), apply(data(a="1"))),
    config_map("applied-without-a-key", apply(data(a="1", b="2")), apply(data(a="1"))),
    config_map("applied-without-the-map", apply(data(a="1", b="2")), apply({})),
    config_map("applied-over-a-create", create(data(a="1", b="2")), apply(data(a="1"), "two")),
    config_map("conflict-with-a-create", create(data(a="1")), apply(data(a="2"), "two")),
    config_map("conflict-forced", create(data(a="1")), apply(data(a="2"), "two", force=True)),
    config_map("conflict-with-an-applier", apply(data(a="1")), apply(data(a="2"), "two")),
    config_map("conflict-with-two", apply(data(a="1")), apply(data(a="1"), "two"), apply(data(a="2"), "three")),
    config_map("conflict-in-two-fields", apply(data(a="1", b="1")), apply(data(a="2", b="2"), "two")),
    config_map("shared-then-given-up", apply(data(a="1")), apply(data(a="1"), "two"), apply({}), apply({}, "two")),
    config_map("forced-away-then-given-up", apply(data(a="1")), apply(data(a="2"), "two", force=True), apply({})),
    config_map(
        "owned-by-an-update-stays",
        apply(data(a="1", b="1")),
        merge(data(b="2"), "two"),
        apply(data(a="1")),
    ),
    config_map("update-and-apply-by-one", create(data(a="1")), apply(data(a="1")), apply({})),
    config_map(
        "labels-and-data", apply(data(a="1") | meta(labels={"x": "1"})), apply(meta(labels={"x": "1", "y": "2"}))
    ),
    config_map(
        "finalizers",
        create(data(a="1")),
        apply(meta(finalizers=["example.com/a"])),
        apply(meta(finalizers=["example.com/b"]), "two"),
        apply({}),
    ),
    config_map(
        "owner-references",
        apply(meta(ownerReferences=[{"apiVersion": "v1", "kind": "Node", "name": "a", "uid": "1"}])),
        apply(meta(ownerReferences=[{"apiVersion": "v1", "kind": "Node", "name": "b", "uid": "2"}]), "two"),
    ),
    config_map(
        "owner-references-changed",
        apply(meta(ownerReferences=[{"apiVersion": "v1", "kind": "Node", "name": "a", "uid": "1"}])),
        apply(meta(ownerReferences=[{"apiVersion": "v1", "kind": "Node", "name": "b", "uid": "1"}]), "two"),
    ),
    config_map("managed-fields-in-the-config", apply(data(a="1")), apply(data(a="1") | meta(managedFields=[]))),
    config_map("unknown-field", apply({"datum": {"a": "1"}})),
    config_map("text-that-is-a-number", apply({"data": {"a": 1}})),
    config_map("map-that-is-a-list", apply({"data": ["a"]})),
    config_map("flag-that-is-a-text", apply(data(a="1") | {"immutable": "yes"})),
    config_map("null-value", create(data(a="1", b="2")), apply(data(a=None), "two")),
    config_map("null-map", apply(data(a="1")), apply({"data": None})),
    config_map(
        "many-updaters",
        create(data(a="0"), "m00"),
        *(put({"data": {f"k{n:02}": "1"}}, f"m{n:02}") for n in range(1, 14)),
    ),
    config_map(
        "many-updaters-and-appliers",
        create(data(a="0"), "m00"),
        *(put({"data": {f"k{n:02}": "1"}}, f"m{n:02}") for n in range(1, 10)),
        apply(data(x="1"), "applier"),
        put(data(k99="1"), "m99"),
    ),
    config_map("manager-with-odd-name", create(data(a="1"), 'a "b" <c>'), apply(data(a="2"), "two")),
    config_map(
        "keys-with-odd-names",
        create({"data": {"a.b": "1", "c_d": "2", "e-f": "3"}}),
        apply({"data": {"a.b": "2"}}, "two"),
    ),
    config_map(
        "annotation-with-slashes",
        apply(meta(annotations={"example.com/a": "1"})),
        apply(meta(annotations={"example.com/a": "2"}), "two"),
    ),
    config_map(
        "migrated-from-client-side-apply",
        create(data(a="1", b="2") | meta(annotations={LAST_APPLIED: "{}"}), "kubectl-client-side-apply"),
        json_ops(
            {
                "op": "replace",
                "path": "/metadata/managedFields",
                "value": [
                    {
                        "manager": "kubectl",
                        "operation": "Apply",
                        "apiVersion": "v1",
                        "time": "2026-11-15T10:00:00Z",
                        "fieldsType": "FieldsV1",
                        "fieldsV1": {"f:data": {"f:a": {}, "f:b": {}}},
                    }
                ],
            },
            manager="kubectl",
        ),
        apply(data(a="1"), "kubectl"),
    ),
    config_map(
        "kubectl-takes-over-what-it-applied",
        create(
            data(a="1", b="2")
            | meta(annotations={LAST_APPLIED: '{"apiVersion":"v1","kind":"ConfigMap","data":{"a":"1","b":"2"}}'}),
            "kubectl-client-side-apply",
        ),
        apply(data(a="5", b="2"), "kubectl"),
    ),
    config_map(
        "kubectl-does-not-take-over-others",
        create(
            data(a="1", b="2")
            | meta(annotations={LAST_APPLIED: '{"apiVersion":"v1","kind":"ConfigMap","data":{"a":"1","b":"9"}}'}),
            "kubectl-client-side-apply",
        ),
        apply(data(a="5", b="6"), "kubectl"),
    ),
    config_map(
        "broken-managed-fields-given",
        create(data(a="1")),
        put(
            meta(
                managedFields=[
                    {
                        "manager": "x",
                        "operation": "Update",
                        "apiVersion": "v9",
                        "fieldsType": "FieldsV1",
                        "fieldsV1": {"f:data": {"f:a": {}}},
                    }
                ]
            )
            | data(b="1"),
            "two",
        ),
        apply(data(a="2"), "three"),
    ),
    config_map(
        "managed-fields-given",
        create(data(a="1", b="2")),
        put(
            meta(
                managedFields=[
                    {
                        "manager": "x",
                        "operation": "Apply",
                        "apiVersion": "v1",
                        "fieldsType": "FieldsV1",
                        "fieldsV1": {"f:data": {"f:a": {}, "f:zzz": {}}},
                    }
                ]
            ),
            "two",
        ),
        apply(data(b="3"), "three"),
        apply({}, "x"),
    ),
    config_map("merge-patch-by-another", create(data(a="1")), merge(data(b="2", a=None), "two")),
    config_map(
        "json-patch-by-another",
        create(data(a="1")),
        json_ops({"op": "add", "path": "/data/b", "value": "2"}, manager="two"),
    ),
]
