"""Applies and managed fields of status and scale subresources and of several versions."""

from __future__ import annotations

from tests.cluster.merge.bodies import NGINX, V2, deployment, meta, pods, spec, widget
from tests.cluster.merge.table import apply, create, merge, put

SUBRESOURCES = [
    widget(
        "status-by-main", create(spec(text="a") | {"status": {"phase": "x"}}), put({"status": {"phase": "y"}}, "two")
    ),
    widget("status-updated", create(spec(text="a")), put({"status": {"phase": "x"}}, "two", "status")),
    widget(
        "status-changes-spec",
        create(spec(text="a")),
        put({"status": {"phase": "x"}, "spec": {"text": "b"}} | meta(labels={"a": "1"}), "two", "status"),
    ),
    widget(
        "status-applied",
        apply(spec(text="a")),
        apply({"status": {"phase": "x", "conditions": [{"type": "A", "status": "True"}]}}, "two", subresource="status"),
    ),
    widget(
        "status-conflict",
        apply(spec(text="a")),
        apply({"status": {"phase": "x"}}, "two", subresource="status"),
        apply({"status": {"phase": "y"}}, "three", subresource="status"),
    ),
    widget(
        "status-conditions",
        apply(spec(text="a")),
        apply({"status": {"conditions": [{"type": "A", "status": "True"}]}}, "two", subresource="status"),
        apply({"status": {"conditions": [{"type": "B", "status": "True"}]}}, "three", subresource="status"),
        apply({"status": {}}, "two", subresource="status"),
    ),
    widget(
        "status-applied-by-main",
        apply(spec(text="a") | {"status": {"phase": "x"}}),
        apply({"status": {"phase": "y"}}, "two", subresource="status"),
    ),
    widget(
        "status-merge-patch",
        create(spec(text="a")),
        merge({"status": {"phase": "x", "replicas": 1}}, "two", "status"),
        merge({"status": {"phase": None}}, "three", "status"),
    ),
    widget(
        "status-emptied-entries",
        create(spec(text="a")),
        put({"status": {"phase": "x"}} | meta(managedFields=[{}]), "two", "status"),
    ),
    widget("scale-updated", create(spec(replicas=1)), merge({"spec": {"replicas": 3}}, "scaler", "scale")),
    widget(
        "scale-over-an-apply",
        apply(spec(replicas=1, text="x")),
        merge({"spec": {"replicas": 3}}, "scaler", "scale"),
        apply(spec(replicas=1, text="x")),
    ),
    widget("scale-applied", apply(spec(replicas=1)), apply({"spec": {"replicas": 3}}, "scaler", subresource="scale")),
    widget("scale-unchanged", apply(spec(replicas=1)), merge({"spec": {"replicas": 1}}, "scaler", "scale")),
    deployment("scaled", create(pods(NGINX, replicas=1)), merge({"spec": {"replicas": 3}}, "scaler", "scale")),
    deployment(
        "scaled-by-apply",
        apply(pods(NGINX, replicas=1)),
        apply({"spec": {"replicas": 2}}, "scaler", subresource="scale"),
    ),
    deployment(
        "status-updated",
        create(pods(NGINX)),
        put(
            {"status": {"replicas": 1, "observedGeneration": 1}} | meta(labels={"l": "1"}, annotations={"n": "1"}),
            "two",
            "status",
        ),
    ),
    deployment(
        "status-applied",
        apply(pods(NGINX)),
        apply({"status": {"conditions": [{"type": "Available", "status": "True"}]}}, "two", subresource="status"),
    ),
]

VERSIONS = [
    widget(
        "v2-owner-of-a-map", apply(spec(map={"a": "1"})), apply(spec(map={"a": "1", "b": "2"}), "two", api_version=V2)
    ),
    widget(
        "v2-forces-a-map",
        apply(spec(map={"a": "1"})),
        apply(spec(map={"b": "2"}), "two", api_version=V2, force=True),
        apply(spec(map={"a": "1"})),
    ),
    widget(
        "v2-then-v1",
        apply(spec(text="a", struct={"a": "1"}), api_version=V2),
        apply(spec(text="a", struct={"b": "2"}), "two"),
    ),
    widget(
        "same-applier-in-both",
        apply(spec(text="a", map={"a": "1"}, set_=["x"])),
        apply(spec(text="a", set_=["y"]), api_version=V2),
    ),
    widget(
        "same-applier-back",
        apply(spec(map={"a": "1", "b": "2"})),
        apply(spec(map={"a": "1"}), api_version=V2),
        apply(spec(map={"a": "1", "c": "3"})),
    ),
    widget(
        "updated-in-v2",
        create(spec(map={"a": "1"}, list_=["a"])),
        put(spec(map={"a": "1", "b": "2"}, list_=["a", "b"]), "two", api_version=V2),
        apply(spec(map={"a": "2"}), "three"),
    ),
    widget("wrong-version", apply(spec(text="a") | {"apiVersion": V2}), apply(spec(text="a") | {"kind": "Gadget"})),
]
