"""JSON, merge and strategic merge patches: requests with their recorded outcome on a real server."""

from __future__ import annotations

from typing import Any

from tests.cluster.merge.bodies import SERVICE_FILLED, V1, pods, port, ports, spec
from tests.cluster.merge.table import Case, Step, create, json_ops, merge, strategic

START = {"data": {"a": "1", "b": "2"}, "metadata": {"labels": {"x": "1"}, "annotations": {"n/m": "1"}}}
CONTAINERS: list[dict[str, Any]] = [
    {
        "name": "a",
        "image": "a:1",
        "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}],
        "args": ["1", "2"],
    },
    {"name": "b", "image": "b:1", "ports": [{"containerPort": 80}, {"containerPort": 81}]},
    {"name": "c", "image": "c:1"},
]
FINALIZERS = ["example.com/a", "example.com/b", "example.com/c"]


def on_config_map(name: str, step: Step) -> Case:
    return Case(f"patch-{name}", "v1", "ConfigMap", [create(START), step])


def on_deployment(name: str, step: Step) -> Case:
    started = pods(*CONTAINERS, pod={"volumes": [{"name": "v", "emptyDir": {}}, {"name": "w", "emptyDir": {}}]})
    return Case(
        f"patch-{name}", "apps/v1", "Deployment", [create(started | {"metadata": {"finalizers": FINALIZERS}}), step]
    )


def on_widget(name: str, step: Step) -> Case:
    started = spec(list=["a", "b"], free={"x": {"y": 1}, "o~p": 2}, items=[{"name": "i", "value": "1"}])
    return Case(f"patch-widget-{name}", V1, "Widget", [create(started), step])


def on_service(name: str, step: Step) -> Case:
    started = ports(port(80), port(81))
    return Case(f"patch-service-{name}", "v1", "Service", [create(started), step], SERVICE_FILLED)


def containers(*patches: Any, **directives: Any) -> Any:
    return {"spec": {"template": {"spec": {"containers": list(patches), **directives}}}}


def pod(**patch: Any) -> Any:
    return {"spec": {"template": {"spec": patch}}}


def op(kind: str, path: str, **more: Any) -> dict[str, Any]:
    return {"op": kind, "path": path, **{name.rstrip("_"): value for name, value in more.items()}}


JSON = [
    on_config_map("add", json_ops(op("add", "/data/c", value="3"))),
    on_config_map("add-replaces", json_ops(op("add", "/data/a", value="3"))),
    on_config_map("add-to-nothing", json_ops(op("add", "/binaryData/c", value="Yg=="))),
    on_config_map("add-null", json_ops(op("add", "/data/c", value=None))),
    on_config_map("add-without-value", json_ops({"op": "add", "path": "/data/c"})),
    on_config_map("add-to-the-root", json_ops(op("add", "", value={}))),
    on_config_map("remove", json_ops(op("remove", "/data/a"))),
    on_config_map("remove-missing", json_ops(op("remove", "/data/zzz"))),
    on_config_map("remove-without-path", json_ops({"op": "remove"})),
    on_config_map("replace", json_ops(op("replace", "/data/a", value="9"))),
    on_config_map("replace-missing", json_ops(op("replace", "/data/zzz", value="9"))),
    on_config_map("replace-below-missing", json_ops(op("replace", "/zzz/a", value="9"))),
    on_config_map("move", json_ops(op("move", "/data/c", from_="/data/a"))),
    on_config_map("move-missing", json_ops(op("move", "/data/c", from_="/data/zzz"))),
    on_config_map("copy", json_ops(op("copy", "/data/c", from_="/data/a"))),
    on_config_map("copy-missing", json_ops(op("copy", "/data/c", from_="/zzz/zzz"))),
    on_config_map("test-passes", json_ops(op("test", "/data/a", value="1"), op("replace", "/data/a", value="2"))),
    on_config_map("test-fails", json_ops(op("test", "/data/a", value="2"))),
    on_config_map("test-null-of-missing", json_ops(op("test", "/data/zzz", value=None), op("remove", "/data/a"))),
    on_config_map("test-object", json_ops(op("test", "/data", value={"b": "2", "a": "1"}), op("remove", "/data/a"))),
    on_config_map("escaped-slash", json_ops(op("replace", "/metadata/annotations/n~1m", value="8"))),
    on_widget(
        "escaped-tilde", json_ops(op("replace", "/spec/free/o~0p", value="8"), op("test", "/spec/free/o~0p", value="8"))
    ),
    on_config_map("unknown-operation", json_ops(op("increase", "/data/a", value=1))),
    on_config_map("all-or-nothing", json_ops(op("remove", "/data/a"), op("remove", "/data/zzz"))),
    on_config_map("path-without-slash", json_ops(op("add", "data", value={}))),
    on_config_map("not-a-list", Step("json", {"op": "add"})),
    on_config_map("too-many", Step("json", [op("test", "/data/a", value="1")] * 10_001)),
    on_config_map("unknown-member", json_ops(op("add", "/data/c", value="1", extra="x"))),
    on_deployment(
        "json-list-append", json_ops(op("add", "/spec/template/spec/containers/-", value={"name": "d", "image": "d:1"}))
    ),
    on_deployment(
        "json-list-insert", json_ops(op("add", "/spec/template/spec/containers/1", value={"name": "d", "image": "d:1"}))
    ),
    on_deployment("json-list-remove", json_ops(op("remove", "/spec/template/spec/containers/0"))),
    on_deployment("json-list-negative", json_ops(op("remove", "/spec/template/spec/containers/-1"))),
    on_deployment("json-list-outside", json_ops(op("remove", "/spec/template/spec/containers/7"))),
    on_deployment("json-list-no-number", json_ops(op("replace", "/spec/template/spec/containers/x", value={}))),
    on_deployment(
        "json-list-move",
        json_ops(op("move", "/spec/template/spec/containers/2", from_="/spec/template/spec/containers/0")),
    ),
    on_deployment("json-replace-value", json_ops(op("replace", "/spec/template/spec/containers/1/image", value="b:2"))),
    on_widget("json", json_ops(op("add", "/spec/list/0", value="z"), op("remove", "/spec/free/x/y"))),
]

MERGE = [
    on_config_map("merge", merge({"data": {"a": "9", "b": None, "c": "3"}})),
    on_config_map("merge-removes-a-map", merge({"data": None})),
    on_config_map("merge-empty", merge({})),
    on_config_map("merge-nested-null", merge({"metadata": {"labels": {"x": None, "y": "1", "z": None}}})),
    on_config_map("merge-a-list", merge([])),
    on_config_map("merge-a-text", merge("x")),
    on_config_map("merge-null", merge(None)),
    on_deployment("merge-replaces-lists", merge(containers({"name": "z", "image": "z:1"}))),
    on_deployment("merge-null-in-new-objects", merge(pod(securityContext={"runAsUser": 1, "runAsGroup": None}))),
    on_widget("merge", merge(spec(list=["z"], free={"x": None, "w": {"n": None}}, items=[{"name": "i"}]))),
]

STRATEGIC = [
    on_deployment("image", strategic(containers({"name": "b", "image": "b:2"}))),
    on_deployment("new-container", strategic(containers({"name": "z", "image": "z:1"}))),
    on_deployment(
        "new-container-first", strategic(containers({"name": "z", "image": "z:1"}, {"name": "a", "image": "a:2"}))
    ),
    on_deployment(
        "order-of-the-patch", strategic(containers({"name": "c", "image": "c:2"}, {"name": "a", "image": "a:2"}))
    ),
    on_deployment("delete-container", strategic(containers({"name": "b", "$patch": "delete"}))),
    on_deployment(
        "delete-and-add", strategic(containers({"name": "b", "$patch": "delete"}, {"name": "z", "image": "z:1"}))
    ),
    on_deployment("delete-missing", strategic(containers({"name": "zzz", "$patch": "delete"}))),
    on_deployment("delete-without-key", strategic(containers({"$patch": "delete"}))),
    on_deployment("replace-list", strategic(containers({"$patch": "replace"}, {"name": "z", "image": "z:1"}))),
    on_deployment("merge-directive", strategic(containers({"$patch": "merge"}, {"name": "a", "image": "z:1"}))),
    on_deployment("unknown-directive", strategic(containers({"name": "a", "$patch": "destroy"}))),
    on_deployment("replace-map", strategic({"metadata": {"labels": {"$patch": "replace", "new": "1"}}})),
    on_deployment("delete-map", strategic({"spec": {"template": {"metadata": {"annotations": {"$patch": "delete"}}}}})),
    on_deployment("without-key", strategic(containers({"image": "a:2"}))),
    on_deployment(
        "env", strategic(containers({"name": "a", "env": [{"name": "B", "value": "9"}, {"name": "C", "value": "3"}]}))
    ),
    on_deployment("env-delete", strategic(containers({"name": "a", "env": [{"name": "A", "$patch": "delete"}]}))),
    on_deployment("atomic-list", strategic(containers({"name": "a", "args": ["3"]}))),
    on_deployment(
        "ports",
        strategic(containers({"name": "b", "ports": [{"containerPort": 81, "name": "x"}, {"containerPort": 82}]})),
    ),
    on_deployment("null-removes", strategic(containers({"name": "a", "env": None, "args": None}))),
    on_deployment(
        "set-order",
        strategic(containers(**{"$setElementOrder/containers": [{"name": "c"}, {"name": "a"}, {"name": "b"}]}) | {}),
    ),
    on_deployment(
        "set-order-with-patch",
        strategic(
            containers(
                {"name": "b", "image": "b:2"},
                {"name": "z", "image": "z:1"},
                **{"$setElementOrder/containers": [{"name": "b"}, {"name": "z"}, {"name": "a"}]},
            )
        ),
    ),
    on_deployment(
        "set-order-mismatch",
        strategic(
            containers(
                {"name": "b", "image": "b:2"},
                {"name": "a", "image": "a:2"},
                **{"$setElementOrder/containers": [{"name": "a"}, {"name": "b"}]},
            )
        ),
    ),
    on_deployment(
        "set-order-delete",
        strategic(
            containers(
                {"name": "b", "$patch": "delete"}, **{"$setElementOrder/containers": [{"name": "c"}, {"name": "a"}]}
            )
        ),
    ),
    on_deployment("set-order-no-list", strategic(pod(**{"$setElementOrder/containers": "x"}))),
    on_deployment("finalizers-merged", strategic({"metadata": {"finalizers": ["example.com/d", "example.com/a"]}})),
    on_deployment(
        "finalizers-deleted", strategic({"metadata": {"$deleteFromPrimitiveList/finalizers": ["example.com/b"]}})
    ),
    on_deployment(
        "finalizers-ordered",
        strategic(
            {
                "metadata": {
                    "$setElementOrder/finalizers": ["example.com/c", "example.com/a"],
                    "finalizers": ["example.com/c"],
                }
            }
        ),
    ),
    on_deployment(
        "finalizers-deleted-and-added",
        strategic(
            {"metadata": {"$deleteFromPrimitiveList/finalizers": ["example.com/a"], "finalizers": ["example.com/z"]}}
        ),
    ),
    on_deployment("delete-from-bad-name", strategic({"metadata": {"$deleteFromPrimitiveList": ["x"]}})),
    on_deployment(
        "volume-retain-keys",
        strategic(pod(volumes=[{"name": "v", "$retainKeys": ["name", "hostPath"], "hostPath": {"path": "/x"}}])),
    ),
    on_deployment(
        "strategy-retain-keys", strategic({"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}})
    ),
    on_deployment(
        "retain-keys-not-listed",
        strategic({"spec": {"strategy": {"$retainKeys": ["rollingUpdate"], "type": "Recreate"}}}),
    ),
    on_deployment(
        "retain-keys-no-list", strategic({"spec": {"strategy": {"$retainKeys": "type", "type": "Recreate"}}})
    ),
    on_deployment("labels", strategic({"metadata": {"labels": {"a": "1"}}})),
    on_deployment("empty", strategic({})),
    on_deployment(
        "directive-in-a-new-object",
        strategic(
            pod(
                securityContext={"$patch": "delete"},
                tolerations=[{"$patch": "replace"}, {"key": "a", "operator": "Exists"}],
            )
        ),
    ),
    on_deployment("toleration-list-is-atomic", strategic(pod(tolerations=[{"key": "b", "operator": "Exists"}]))),
    on_config_map("strategic", strategic({"data": {"a": None, "c": "3"}})),
    on_config_map("strategic-replace-all", strategic({"data": {"$patch": "replace", "z": "1"}})),
    on_service("ports", strategic(ports(port(81, targetPort=8081), port(82)))),
    on_service("ports-delete", strategic(ports({"port": 80, "$patch": "delete"}))),
    Case(
        "patch-secret-values",
        "v1",
        "Secret",
        [create({"data": {"a": "YQ=="}}), strategic({"data": {"a": None, "b": "Yg=="}})],
    ),
    Case(
        "patch-account-secrets",
        "v1",
        "ServiceAccount",
        [
            create({"secrets": [{"name": "a"}, {"name": "b"}]}),
            strategic({"secrets": [{"name": "c"}, {"name": "a", "$patch": "delete"}]}),
            strategic({"imagePullSecrets": [{"name": "x"}]}, "two"),
        ],
    ),
]

CASES = [*JSON, *MERGE, *STRATEGIC]
