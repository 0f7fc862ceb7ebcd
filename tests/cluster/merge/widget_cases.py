"""Applies and managed fields of a custom resource: every kind of list and map."""

from __future__ import annotations

from tests.cluster.merge.bodies import item, spec, widget
from tests.cluster.merge.table import apply, create, merge, put

LISTS = [
    widget(
        "created",
        create(spec(replicas=1, text="a", map={"k": "v"}, list=["a"], set=["x"], items=[item("i", value="1")])),
    ),
    widget("created-deep", create(spec(struct={"a": "1", "deeper": {"c": "2"}}, mapOfStructs={"m": {"a": "1"}}))),
    widget("created-empties", create(spec(struct={}, map={}, list=[], set=[], items=[], atomicMap={}, free={}))),
    widget("applied-empties", apply(spec(struct={}, map={}, list=[], set=[], items=[], atomicMap={}, free={}))),
    widget(
        "empties-then-filled",
        apply(spec(struct={}, map={}, set=[])),
        apply(spec(struct={"a": "1"}, map={"a": "1"}, set=["a"]), "two"),
    ),
    widget(
        "filled-then-emptied",
        apply(spec(struct={"a": "1"}, map={"a": "1"}, set=["a"])),
        apply(spec(struct={}, map={}, set=[])),
    ),
    widget("defaults", create(spec(text="a")), apply(spec(text="a", defaulted="set"), "two")),
    widget("default-applied", apply(spec(defaulted="unset")), apply(spec(text="x"))),
    widget("default-given-up", apply(spec(defaulted="set")), apply(spec(text="x"))),
    widget("set-union", apply(spec(set_=["a", "b"])), apply(spec(set_=["b", "c"]), "two")),
    widget("set-given-up", apply(spec(set_=["a", "b"])), apply(spec(set_=["b", "c"]), "two"), apply(spec(set_=["a"]))),
    widget("set-twice", apply(spec(set_=["a", "a"]))),
    widget("set-order", apply(spec(set_=["c", "a", "b"])), apply(spec(set_=["b", "c"]), "two")),
    widget("set-order-between", apply(spec(set_=["a", "b", "c", "d"])), apply(spec(set_=["x", "c", "y", "a"]), "two")),
    widget(
        "set-of-numbers", apply(spec(numbers=[3, 1, 2])), apply(spec(numbers=[10, 2]), "two"), apply(spec(numbers=[1]))
    ),
    widget("set-with-null", apply(spec(set_=["a", None]))),
    widget("set-with-odd-text", apply(spec(set_=['a "b"', "<c>", "d&e", "é"])), apply(spec(set_=["<c>"]), "two")),
    widget("list-is-atomic", apply(spec(list_=["a"])), apply(spec(list_=["b"]), "two")),
    widget("list-shared", apply(spec(list_=["a"])), apply(spec(list_=["a"]), "two"), apply(spec(text="x"))),
    widget("list-given-up", apply(spec(list_=["a"], text="x")), apply(spec(text="x"))),
    widget("atomic-map-conflict", apply(spec(atomicMap={"a": "1"})), apply(spec(atomicMap={"b": "1"}), "two")),
    widget(
        "atomic-map-forced", apply(spec(atomicMap={"a": "1"})), apply(spec(atomicMap={"b": "1"}), "two", force=True)
    ),
    widget(
        "atomic-struct-conflict",
        apply(spec(atomicStruct={"a": "1"})),
        apply(spec(atomicStruct={"a": "1", "b": "2"}), "two"),
    ),
    widget("items-merged", apply(spec(items=[item("a", value="1")])), apply(spec(items=[item("b", value="2")]), "two")),
    widget(
        "items-same-element",
        apply(spec(items=[item("a", value="1")])),
        apply(spec(items=[item("a", other="2")]), "two"),
    ),
    widget(
        "items-conflict", apply(spec(items=[item("a", value="1")])), apply(spec(items=[item("a", value="2")]), "two")
    ),
    widget(
        "items-emptied",
        apply(spec(items=[item("a")], set=["x"], text="x")),
        apply(spec(items=[], set=[], text="x")),
        apply(spec(items=[], set=[], text="x")),
    ),
    widget(
        "items-emptied-of-two",
        apply(spec(items=[item("a")], text="x")),
        apply(spec(items=[item("b")]), "two"),
        apply(spec(items=[], text="x")),
        apply(spec(items=[]), "two"),
    ),
    widget(
        "anything-becomes-a-map",
        apply(spec(anything="text", free={"a": 1, "b": {"c": 1}})),
        apply(spec(anything={"a": 1}, free={"a": {"z": 1}, "b": "text"}), "two"),
        put(spec(anything={"a": 1}, free={"a": {"z": 1}, "b": "text"}), "three"),
    ),
    widget(
        "true-is-not-one",
        create(spec(free={"a": 1, "b": {"c": True}})),
        merge(spec(free={"a": True, "b": {"c": 1}}), "two"),
    ),
    widget("only-an-empty-list", apply(spec(set=[])), apply(spec(set=[])), apply(spec(set=["a"]), "two")),
    widget(
        "items-given-up",
        apply(spec(items=[item("a", value="1"), item("b", value="2")])),
        apply(spec(items=[item("a", other="3")]), "two"),
        apply(spec(items=[item("b", value="2")])),
    ),
    widget(
        "items-order",
        apply(spec(items=[item("a"), item("b"), item("c")])),
        apply(spec(items=[item("c"), item("x"), item("a")]), "two"),
    ),
    widget("items-twice", apply(spec(items=[item("a", value="1"), item("a", value="2")]))),
    widget("items-without-key", apply(spec(items=[{"value": "1"}]))),
    widget("items-null", apply(spec(items=[None]))),
    widget("items-of-texts", apply(spec(items=["a"]))),
    widget(
        "items-tags",
        apply(spec(items=[item("a", tags=["x"])])),
        apply(spec(items=[item("a", tags=["y"])]), "two"),
        apply(spec(items=[item("a")])),
    ),
    widget(
        "items-updated",
        apply(spec(items=[item("a", value="1")])),
        put(spec(items=[item("a", value="2"), item("b")]), "two"),
        apply(spec(items=[item("a", value="1")])),
    ),
    widget(
        "ports-default-key",
        apply(spec(ports=[{"port": 80}])),
        apply(spec(ports=[{"port": 80, "protocol": "UDP"}]), "two"),
        apply(spec(ports=[{"port": 80, "protocol": "TCP", "name": "x"}]), "three"),
    ),
    widget("ports-twice-by-default", apply(spec(ports=[{"port": 80}, {"port": 80, "protocol": "TCP"}]))),
    widget("ports-given-up", apply(spec(ports=[{"port": 80}, {"port": 81}])), apply(spec(ports=[{"port": 81}]))),
    widget(
        "map-of-structs",
        apply(spec(mapOfStructs={"x": {"a": "1"}})),
        apply(spec(mapOfStructs={"x": {"b": "2"}, "y": {}}), "two"),
        apply(spec(mapOfStructs={})),
    ),
    widget(
        "free",
        apply(spec(free={"a": {"b": [1, 2]}, "c": "x"})),
        apply(spec(free={"a": {"d": 1}}), "two"),
        apply(spec(free={"c": "x"})),
    ),
    widget("free-conflict", apply(spec(free={"a": {"b": [1, 2]}})), apply(spec(free={"a": {"b": [3]}}), "two")),
    widget(
        "anything-changes-kind",
        apply(spec(anything={"a": 1})),
        apply(spec(anything="text"), "two", force=True),
        apply(spec(anything=["x"]), "three", force=True),
    ),
    widget(
        "template",
        apply(
            spec(
                template={
                    "apiVersion": "v1",
                    "kind": "Pod",
                    "metadata": {"name": "x", "labels": {"a": "1"}},
                    "spec": {"x": 1},
                }
            )
        ),
        apply(spec(template={"apiVersion": "v1", "kind": "Pod", "metadata": {"labels": {"b": "2"}}}), "two"),
    ),
    widget("either", apply(spec(either=1)), apply(spec(either="1"), "two")),
    widget("number-as-float", create(spec(number=1)), apply(spec(number=1.0), "two"), apply(spec(number=1.5), "two")),
    widget("nullable", apply(spec(nullable=None)), apply(spec(nullable="x"), "two")),
    widget("null-to-value", apply(spec(text=None, struct=None)), apply(spec(text="x"), "two")),
    widget(
        "wrong-types",
        apply(spec(replicas="1")),
        apply(spec(flag=1)),
        apply(spec(text={"a": 1})),
        apply(spec(list_="a")),
        apply(spec(struct=[1])),
    ),
    widget(
        "unknown-fields",
        apply(spec(nope=1)),
        apply({"nope": 1}),
        apply(spec(struct={"zzz": 1})),
        apply(spec(items=[item("a", zzz=1)])),
    ),
    widget(
        "struct-emptied",
        apply(spec(struct={"a": "1", "deeper": {"c": "1"}})),
        apply(spec(struct={"a": "1"})),
        apply(spec(text="x")),
    ),
    widget(
        "struct-shared", apply(spec(struct={"a": "1"})), apply(spec(struct={"b": "1"}), "two"), apply(spec(text="x"))
    ),
    widget(
        "update-replaces-list",
        create(spec(items=[item("a", value="1"), item("b", value="1")])),
        put(spec(items=[item("b", value="2")]), "two"),
    ),
    widget(
        "update-adds-duplicate-free",
        create(spec(set_=["a"])),
        merge(spec(set_=["a", "b"]), "two"),
        merge(spec(set_=["b"]), "three"),
    ),
]
