"""Conversion webhooks of the embedded cluster alone: what is asked, what is stored, and what happens without them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kubewright.cluster import Cluster
from tests.cluster.admission.hooks import HookServer
from tests.cluster.conftest import Raw

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
V1, V2 = (f"/apis/example.com/{version}/namespaces/default/things" for version in ("v1", "v2"))
STORED = "example.com/things"


def definition(hooks: HookServer, *, storage: str = "v1") -> dict[str, Any]:
    fields = {"v1": {"size": {"type": "integer"}}, "v2": {"count": {"type": "integer"}}}
    return {
        "metadata": {"name": "things.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "things", "kind": "Thing"},
            "conversion": {
                "strategy": "Webhook",
                "webhook": {
                    "clientConfig": {"url": f"{hooks.url}/convert", "caBundle": hooks.bundle},
                    "conversionReviewVersions": ["v1"],
                },
            },
            "versions": [
                {
                    "name": name,
                    "served": True,
                    "storage": name == storage,
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {"spec": {"type": "object", "properties": properties}},
                        }
                    },
                }
                for name, properties in fields.items()
            ],
        },
    }


def thing(name: str, **spec: int) -> dict[str, Any]:
    version = "v1" if "size" in spec else "v2"
    return {"apiVersion": f"example.com/{version}", "kind": "Thing", "metadata": {"name": name}, "spec": spec}


@pytest.mark.promise(
    "Webhooks of the embedded cluster",
    "A list is converted at once, and what was converted is remembered.",
)
async def test_the_objects_of_a_list_are_converted_at_once_and_remembered(hooks: HookServer, raw: Raw) -> None:
    await raw("POST", DEFINITIONS, definition(hooks))
    for number in range(5):
        await raw("POST", V1, thing(f"t{number}", size=number))
    assert "convert" not in hooks.received
    for _ in range(2):
        listed = (await raw("GET", V2)).body["items"]
        assert [item["spec"] for item in listed] == [{"count": number} for number in range(5)]
    [review] = hooks.received["convert"]
    assert review["request"]["desiredAPIVersion"] == "example.com/v2"
    assert [obj["metadata"]["name"] for obj in review["request"]["objects"]] == [f"t{number}" for number in range(5)]


@pytest.mark.promise(
    "Webhooks of the embedded cluster",
    "Storage is migrated by writing each object again; then the old version can be removed.",
)
async def test_objects_are_rewritten_after_the_storage_version_has_changed(
    hooks: HookServer, raw: Raw, embedded: Cluster
) -> None:
    def stored() -> tuple[str, Any]:
        entry = embedded.state.storage.get(STORED, "default", "a")
        assert entry is not None
        return entry.version, entry.decode()["spec"]

    await raw("POST", DEFINITIONS, definition(hooks))
    await raw("POST", V1, thing("a", size=3))
    assert stored() == ("example.com/v1", {"size": 3})
    changed = definition(hooks, storage="v2")["spec"]
    merge = "application/merge-patch+json"
    made = await raw("PATCH", f"{DEFINITIONS}/things.example.com", {"spec": changed}, type=merge)
    assert made.body["status"]["storedVersions"] == ["v1", "v2"]
    assert stored() == ("example.com/v1", {"size": 3})
    before = (await raw("GET", f"{V1}/a")).body
    after = (await raw("PUT", f"{V1}/a", before)).body
    assert stored() == ("example.com/v2", {"count": 3})
    assert after["metadata"]["resourceVersion"] != before["metadata"]["resourceVersion"]
    again = (await raw("PUT", f"{V1}/a", after)).body
    assert again["metadata"]["resourceVersion"] == after["metadata"]["resourceVersion"]
    status = {"status": {"storedVersions": ["v2"]}}
    dropped = await raw("PATCH", f"{DEFINITIONS}/things.example.com/status", status, type=merge)
    assert dropped.body["status"]["storedVersions"] == ["v2"]
    alone = {"spec": {"versions": changed["versions"][1:]}}
    assert (await raw("PATCH", f"{DEFINITIONS}/things.example.com", alone, type=merge)).status == 200
    hooks.received.clear()
    assert (await raw("GET", f"{V2}/a")).body["spec"] == {"count": 3}
    assert hooks.received == {}


async def test_the_stored_version_survives_in_a_snapshot(hooks: HookServer, tmp_path: Path) -> None:
    file = tmp_path / "cluster.snapshot"
    async with Cluster(snapshot=file, controllers=False) as cluster:
        raw = Raw(cluster.transport())
        await raw("POST", DEFINITIONS, definition(hooks))
        await raw("POST", V2, thing("a", count=3))
    async with Cluster(snapshot=file, controllers=False) as cluster:
        raw = Raw(cluster.transport())
        assert (await raw("GET", f"{V1}/a")).body["spec"] == {"size": 3}
        assert (await raw("GET", f"{V2}/a")).body["spec"] == {"count": 3}


@pytest.mark.promise(
    "Webhooks of the embedded cluster",
    "A watch whose events cannot be converted ends with the error.",
)
async def test_a_watch_ends_with_an_error_when_its_events_cannot_be_converted(hooks: HookServer, raw: Raw) -> None:
    await raw("POST", DEFINITIONS, definition(hooks))
    watch = await raw.open("GET", f"{V2}?watch=true")
    hooks.behaviors["convert"] = {"fault": "refuses"}
    await raw("POST", V1, thing("a", size=3))
    lines = [json.loads(line) async for chunk in watch.chunks() for line in chunk.splitlines()]
    assert [line["type"] for line in lines] == ["ERROR"]
    assert lines[0]["object"]["message"] == (
        "conversion webhook for example.com/v1, Kind=Thing failed: this cannot be said in that version"
    )


async def test_garbage_is_collected_and_definitions_go_without_the_webhook(hooks: HookServer) -> None:
    async with Cluster(seed=1) as cluster:
        raw = Raw(cluster.transport())
        await raw("POST", DEFINITIONS, definition(hooks))
        owner = (await raw("POST", V2, thing("owner", count=1))).body["metadata"]
        reference = {"apiVersion": "example.com/v2", "kind": "Thing", "name": "owner", "uid": owner["uid"]}
        child = thing("child", count=1)
        child["metadata"]["ownerReferences"] = [reference]
        await raw("POST", V2, child)
        await raw("POST", V1, thing("other", size=1))
        hooks.behaviors["convert"] = {"fault": "refuses"}
        await raw("DELETE", f"{V1}/owner")
        await cluster.settled()
        assert [item["metadata"]["name"] for item in (await raw("GET", V1)).body["items"]] == ["other"]
        await raw("DELETE", f"{DEFINITIONS}/things.example.com")
        assert (await raw("GET", V1)).status == 404
        assert cluster.state.storage.count(STORED) == 0


async def test_an_admission_webhook_is_shown_the_version_that_its_rule_names(hooks: HookServer, raw: Raw) -> None:
    await raw("POST", DEFINITIONS, definition(hooks))
    config = {"url": f"{hooks.url}/see", "caBundle": hooks.bundle}
    rule = {"apiGroups": ["example.com"], "apiVersions": ["v2"], "operations": ["*"], "resources": ["things"]}
    hook = {
        "name": "see.example.com",
        "clientConfig": config,
        "rules": [rule],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    path = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
    await raw("POST", path, {"metadata": {"name": "hooks"}, "webhooks": [hook]})
    hooks.behaviors["see"] = {"allowed": True, "patch": [{"op": "replace", "path": "/spec/count", "value": 7}]}
    made = await raw("POST", V1, thing("a", size=3))
    [review] = hooks.received["see"]
    assert review["request"]["object"]["spec"] == {"count": 3}
    assert review["request"]["requestKind"]["version"] == "v1"
    assert made.body["spec"] == {"size": 7}
