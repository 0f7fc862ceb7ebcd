"""The life of an object of every kind: written in every way, deleted in every way, and watched all the time."""

from __future__ import annotations

import asyncio
import json
import re
import secrets
from collections.abc import Iterable, Iterator
from typing import Any, Final

from kubewright.client import Transport
from kubewright.cluster import Cluster
from tests.cluster.differential.generated.kinds import Kind, kinds
from tests.cluster.differential.generated.running import FAR
from tests.cluster.differential.harness import Run, Scenario, differences

__all__ = ["lifecycles", "lived"]

_AT_ONCE: Final = 8
_PROSE: Final = re.compile(r"columnDefinitions\S*\.description")

_MERGE: Final = "application/merge-patch+json"
_APPLY: Final = "application/apply-patch+yaml"
_STRATEGIC: Final = "application/strategic-merge-patch+json"
_JSON: Final = "application/json-patch+json"
_TABLE: Final = "application/json;as=Table;g=meta.k8s.io;v=v1"
_METADATA: Final = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
_DELETIONS: Final[dict[str, tuple[str, Any]]] = {
    "finalizer": ("", None),
    "foreground": ("?propagationPolicy=Foreground", None),
    "orphan": ("", {"propagationPolicy": "Orphan"}),
    "now": ("?gracePeriodSeconds=0", None),
    "precondition": ("", {"preconditions": {"uid": "$uid", "resourceVersion": "1"}}),
}


def lifecycles() -> list[Scenario]:
    """One scenario for each kind and way of deletion."""
    return [
        Scenario(f"{kind.key}: {deletion}", list(_steps(kind, deletion)), "generated")
        for kind in kinds()
        # A new definition takes the real server seconds; all IPAddresses here have one name.
        if "watch" in kind.verbs and kind.plural not in ("customresourcedefinitions", "ipaddresses")
        for deletion in _DELETIONS
    ]


async def lived(scenarios: Iterable[Scenario], real: Transport) -> dict[str, list[str]]:
    """Plays each life on a new embedded cluster and on the real server; returns the differences by name."""
    remaining, found = iter(scenarios), {}

    async def work() -> None:
        for scenario in remaining:
            namespace = f"life-{secrets.token_hex(4)}"
            async with Cluster(seed=1, controllers=False, rbac=True) as cluster:
                cluster.state.storage.revision = FAR
                embedded = await Run(cluster.transport(), namespace).play(scenario)
            expected = await Run(real, namespace).play(scenario)
            left = [text for text in differences(embedded, expected) if not _PROSE.search(text)]
            if left:
                found[scenario.name] = left

    async with asyncio.TaskGroup() as group:
        for _ in range(_AT_ONCE):
            group.create_task(work())
    return found


def _steps(kind: Kind, deletion: str) -> Iterator[dict[str, Any]]:
    name = kind.name.replace("base", "life")
    obj = kind.object(name)
    item = f"{kind.collection}/{name}"
    only = f"fieldSelector=metadata.name%3D{name}"
    accept = {"foreground": _TABLE, "orphan": _METADATA}.get(deletion, "application/json")
    yield {"GET": f"{kind.collection}?watch=true&{only}", "open": "w", "accept": accept}
    yield from _birth(kind, deletion, item, obj)
    yield {"GET": item, "save": {"uid": "metadata.uid"}}
    yield {"PUT": f"{item}?fieldManager=second", "body": _with(obj, labels={"a": "c"})}
    yield {"PATCH": item, "type": _MERGE, "body": {"metadata": {"annotations": {"m": "1"}}}}
    yield {"PATCH": item, "type": _STRATEGIC, "body": {"metadata": {"labels": {"s": "1"}}}}
    yield {"PATCH": item, "type": _JSON, "body": [{"op": "add", "path": "/metadata/labels/j", "value": "1"}]}
    yield {"PATCH": f"{item}?fieldManager=third", "type": _APPLY, "text": json.dumps(_with(obj, labels={"a": "x"}))}
    yield {"PATCH": f"{item}?fieldManager=third&force=true", "type": _APPLY, "text": json.dumps(_bare(obj))}
    if "status" in kind.subresources:
        yield {"PATCH": f"{item}/status", "type": _MERGE, "body": {"metadata": {"annotations": {"st": "1"}}}}
        yield {"GET": f"{item}/status"}
    if "scale" in kind.subresources:
        yield {"PATCH": f"{item}/scale", "type": _MERGE, "body": {"spec": {"replicas": 3}}}
        yield {"GET": f"{item}/scale"}
    yield {"GET": f"{kind.collection}?{only}", "accept": _TABLE if accept == _TABLE else "application/json"}
    yield from _death(kind, deletion, item, only)
    yield {"GET": item}
    yield {"read": "w", "events": "deleted"}


def _birth(kind: Kind, deletion: str, item: str, obj: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if deletion == "orphan":
        yield {"PATCH": f"{item}?fieldManager=first", "type": _APPLY, "text": json.dumps(obj)}
    elif deletion == "foreground":
        yield {"PUT": item, "body": obj}  # only some kinds are created by an update
        yield {"POST": kind.collection, "body": obj}
    else:
        yield {"POST": kind.collection, "body": obj}


def _death(kind: Kind, deletion: str, item: str, only: str) -> Iterator[dict[str, Any]]:
    query, body = _DELETIONS[deletion]
    request: dict[str, Any] = {"DELETE": item + query} | ({} if body is None else {"body": body})
    if deletion == "finalizer":
        yield {"PATCH": item, "type": _MERGE, "body": {"metadata": {"finalizers": ["example.com/f"]}}}
        yield request
        yield {"PATCH": item, "type": _MERGE, "body": {"metadata": {"annotations": {"late": "1"}}}}
    elif deletion == "precondition":
        yield request
        if kind.namespaced and "deletecollection" in kind.verbs:
            yield {"DELETE": f"{kind.collection}?{only}"}
        else:
            yield {"DELETE": item}
    else:
        yield request
    # Without controllers, the finalizers of a propagation policy and those that admission added stay.
    yield {"PATCH": item, "type": _MERGE, "body": {"metadata": {"finalizers": None}}}
    yield {"DELETE": f"{item}?gracePeriodSeconds=0"}
    if kind.key == "v1/namespaces":
        yield {"PUT": f"{item}/finalize", "body": {"metadata": {"name": item.rpartition("/")[2]}, "spec": {}}}


def _with(obj: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    return obj | {"metadata": obj["metadata"] | metadata}


def _bare(obj: dict[str, Any]) -> dict[str, Any]:
    return {part: obj[part] for part in ("apiVersion", "kind")} | {
        "metadata": {"name": obj["metadata"]["name"], "labels": {"third": "1"}}
    }
