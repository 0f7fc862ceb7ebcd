"""Server-side apply and managed fields: requests, whose outcome on a real server is recorded."""

from __future__ import annotations

from typing import Any

from tests.cluster.merge.definitions import GROUP
from tests.cluster.merge.table import Case, Step, apply, create, json_ops, merge, put, strategic

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
V1, V2 = f"{GROUP}/v1", f"{GROUP}/v2"
Spec = dict[str, Any]


def widget(name: str, *steps: Step) -> Case:
    return Case(f"widget-{name}", V1, "Widget", list(steps))


def spec(**values: Any) -> Spec:
    return {"spec": {name.rstrip("_"): value for name, value in values.items()}}


def meta(**values: Any) -> Spec:
    return {"metadata": values}


def config_map(name: str, *steps: Step) -> Case:
    return Case(f"configmap-{name}", "v1", "ConfigMap", list(steps))


def data(**values: Any) -> Spec:
    return {"data": values}


def deployment(name: str, *steps: Step) -> Case:
    return Case(f"deployment-{name}", "apps/v1", "Deployment", list(steps))


def pods(*containers: Spec, **more: Any) -> Spec:
    """A deployment of pods with these containers."""
    labels = {"app": "a"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": list(containers), **more.pop("pod", {})}}
    return {"spec": {"selector": {"matchLabels": labels}, "template": template, **more}}


NGINX: Spec = {"name": "nginx", "image": "nginx:1"}
SIDECAR: Spec = {"name": "sidecar", "image": "sidecar:1"}
SERVICE_FILLED = (
    "spec.clusterIP",
    "spec.clusterIPs",
    "spec.ipFamilies",
    "spec.ipFamilyPolicy",
)
POD_FILLED = ("spec.tolerations", "spec.priority", "spec.preemptionPolicy", "spec.serviceAccount", "status")


def service(name: str, *steps: Step) -> Case:
    return Case(f"service-{name}", "v1", "Service", list(steps), SERVICE_FILLED)


def ports(*found: Spec, **more: Any) -> Spec:
    return {"spec": {"selector": {"app": "a"}, "ports": list(found), **more}}


def port(number: int, protocol: str = "TCP", **more: Any) -> Spec:
    return {"port": number, "protocol": protocol, "name": f"p{number}{protocol.lower()}", **more}


def item(name: str, **more: Any) -> Spec:
    return {"name": name, **more}


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

BUILTINS = [
    deployment("created", create(pods(NGINX, replicas=1))),
    deployment(
        "created-rich",
        create(
            pods(
                {
                    **NGINX,
                    "ports": [{"containerPort": 80}],
                    "env": [{"name": "A", "value": "1"}],
                    "args": ["x"],
                    "resources": {"limits": {"cpu": "1000m", "memory": "64Mi"}},
                    "volumeMounts": [{"name": "v", "mountPath": "/v"}],
                    "livenessProbe": {"httpGet": {"path": "/", "port": 80}},
                },
                pod={
                    "volumes": [{"name": "v", "emptyDir": {}}],
                    "securityContext": {"runAsUser": 1},
                    "nodeSelector": {"a": "b"},
                },
                strategy={"type": "Recreate"},
            )
        ),
    ),
    deployment("applied", apply(pods(NGINX, replicas=1))),
    deployment("applied-twice", apply(pods(NGINX, replicas=1)), apply(pods(NGINX, replicas=1))),
    deployment(
        "image-by-another",
        apply(pods(NGINX, replicas=1)),
        strategic({"spec": {"template": {"spec": {"containers": [{"name": "nginx", "image": "nginx:2"}]}}}}, "two"),
        apply(pods(NGINX, replicas=1)),
    ),
    deployment("replicas-given-up", apply(pods(NGINX, replicas=3)), apply(pods(NGINX))),
    deployment(
        "replicas-shared-with-scaler",
        apply(pods(NGINX, replicas=3)),
        merge({"spec": {"replicas": 5}}, "two"),
        apply(pods(NGINX)),
    ),
    deployment(
        "sidecar-by-another",
        apply(pods(NGINX)),
        apply({"spec": {"template": {"spec": {"containers": [SIDECAR]}}}}, "two"),
        apply({"spec": {}}, "two"),
    ),
    deployment(
        "env-merged",
        apply(pods({**NGINX, "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]})),
        apply(
            {
                "spec": {
                    "template": {
                        "spec": {
                            "containers": [
                                {"name": "nginx", "env": [{"name": "C", "value": "3"}, {"name": "A", "value": "9"}]}
                            ]
                        }
                    }
                }
            },
            "two",
            force=True,
        ),
    ),
    deployment(
        "quantities",
        apply(pods({**NGINX, "resources": {"requests": {"cpu": "1000m"}}})),
        apply(pods({**NGINX, "resources": {"requests": {"cpu": "1"}}}), "two"),
        apply(pods({**NGINX, "resources": {"requests": {"cpu": "1000m"}}})),
    ),
    deployment(
        "selector-is-atomic",
        apply(pods(NGINX)),
        apply({"spec": {"selector": {"matchLabels": {"app": "a", "b": "c"}}}}, "two"),
    ),
    deployment(
        "volumes",
        apply(pods(NGINX, pod={"volumes": [{"name": "a", "emptyDir": {}}]})),
        apply({"spec": {"template": {"spec": {"volumes": [{"name": "b", "configMap": {"name": "x"}}]}}}}, "two"),
        apply(pods(NGINX)),
    ),
    deployment("zero-values", apply(pods({**NGINX, "stdin": False, "tty": False}, minReadySeconds=0, paused=False))),
    deployment(
        "strategy",
        apply(pods(NGINX, strategy={"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}})),
        apply(pods(NGINX)),
    ),
    service("created", create(ports(port(80)))),
    service("ports-by-two", apply(ports(port(80))), apply(ports(port(81)), "two")),
    service(
        "ports-of-two-protocols",
        apply(ports(port(53, "UDP"))),
        apply(ports(port(53, "TCP")), "two"),
        apply(ports(port(53, "UDP", targetPort="dns"))),
    ),
    service(
        "port-without-protocol",
        apply({"spec": {"ports": [{"port": 80, "name": "a"}]}}),
        apply({"spec": {"ports": [{"port": 80, "protocol": "TCP", "name": "a", "targetPort": 8080}]}}, "two"),
    ),
    service(
        "ports-twice",
        apply({"spec": {"ports": [{"port": 80, "name": "a"}, {"port": 80, "protocol": "TCP", "name": "b"}]}}),
    ),
    service("port-given-up", apply(ports(port(80), port(81))), apply(ports(port(81)))),
    service("selector-is-atomic", apply(ports(port(80))), apply({"spec": {"selector": {"b": "c"}}}, "two")),
    Case("node-created", "v1", "Node", [create({"spec": {"podCIDR": "10.0.0.0/24"}})], ("spec.taints", "status")),
    Case(
        "node-taints",
        "v1",
        "Node",
        [
            create({}),
            apply({"spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]}}, "two"),
            apply({"spec": {"taints": [{"key": "b", "effect": "NoSchedule"}]}}, "three"),
        ],
        ("spec.taints", "status"),
    ),
    Case(
        "node-status",
        "v1",
        "Node",
        [
            create({}),
            apply(
                {"status": {"capacity": {"cpu": "2"}, "conditions": [{"type": "Ready", "status": "True"}]}},
                "kubelet",
                subresource="status",
            ),
            merge({"status": {"capacity": {"example.com/x": "1"}}}, "plugin", "status"),
        ],
        ("spec.taints", "status"),
    ),
    Case(
        "secret-created",
        "v1",
        "Secret",
        [
            create({"data": {"a": "YQ=="}}),
            apply({"stringData": {"b": "x"}}, "two"),
            apply({"data": {"a": "Yg=="}}, "three"),
        ],
    ),
    Case(
        "account",
        "v1",
        "ServiceAccount",
        [
            apply({"imagePullSecrets": [{"name": "a"}]}),
            apply({"imagePullSecrets": [{"name": "b"}]}, "two"),
            apply({"automountServiceAccountToken": False}),
        ],
    ),
    Case(
        "role",
        "rbac.authorization.k8s.io/v1",
        "Role",
        [apply({"rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]}), apply({"rules": []}, "two")],
    ),
    Case(
        "lease",
        "coordination.k8s.io/v1",
        "Lease",
        [
            create({"spec": {"holderIdentity": "a", "leaseDurationSeconds": 15}}),
            put({"spec": {"holderIdentity": "b"}}, "two"),
            apply({"spec": {"leaseDurationSeconds": 20}}, "three"),
        ],
    ),
]

CASES = [*CONFIG_MAPS, *LISTS, *SUBRESOURCES, *VERSIONS, *BUILTINS]
