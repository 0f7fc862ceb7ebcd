"""A complete operator on both clusters: its pages, metrics, events and inspections."""

from __future__ import annotations

import json
import logging
from typing import Any

import aiohttp
import msgspec
import pytest
from prometheus_client import parser

import kubewright
from kubewright import resource
from kubewright.api import Model, Resource, core, events, meta
from kubewright.client import Client, MergePatch
from kubewright.controller import Context
from kubewright.observe import FieldChange, OperatorReport
from kubewright.operator import Operator
from tests.operator.conftest import install, settled
from tests.patience import until

pytestmark = pytest.mark.clusters


class DialSpec(Model):
    size: int = 0


class DialStatus(Model):
    seen: int = 0


@resource("observe.example.com/v1")
class Dial(Resource[DialSpec, DialStatus]):
    """A kind whose server accepts any value, so that objects may not fit the model."""


DEFINITION = {
    "metadata": {"name": "dials.observe.example.com"},
    "spec": {
        "group": "observe.example.com",
        "names": {"kind": "Dial", "plural": "dials", "singular": "dial", "listKind": "DialList"},
        "scope": "Namespaced",
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            }
        ],
    },
}


@pytest.fixture
async def operator(client: Client, namespace: str) -> Operator:
    """Applies a ConfigMap for each Dial, writes the status, and records an event."""
    await install(client, DEFINITION)
    made = Operator("dial-operator", namespaces=[namespace], metrics_bind="127.0.0.1:0", health_bind="127.0.0.1:0")

    @made.reconciles(Dial, owns=[core.ConfigMap])
    async def sync(obj: Dial, ctx: Context[Dial]) -> None:
        ctx.log.warning("dialing %d", obj.spec.size)
        wanted = meta.ObjectMeta(name=obj.metadata.name)
        await ctx.apply(core.ConfigMap(metadata=wanted, data={"size": str(obj.spec.size)}))
        await ctx.set_status(DialStatus(seen=obj.spec.size))
        if ctx.changed:
            ctx.record("Dialed", "the dial was set")

    return made


def dial(namespace: str, size: int = 1) -> Dial:
    return Dial(metadata=meta.ObjectMeta(name="one", namespace=namespace), spec=DialSpec(size=size))


async def fetch(url: str, **headers: str) -> tuple[int, str, str]:
    async with aiohttp.ClientSession() as session, session.get(url, headers=headers) as response:
        return response.status, response.headers["Content-Type"], await response.text()


@pytest.mark.promise("Watching an operator", "The Accept header selects the format of metrics.")
async def test_metrics_and_debug_pages_are_served(operator: Operator, client: Client, namespace: str) -> None:
    async with operator.running(client, install_crds=False) as running:
        await settled(running, await client.create(dial(namespace)))
        [server] = running.servers
        root = f"http://127.0.0.1:{server.port}"
        status, content_type, text = await fetch(f"{root}/metrics")
        assert (status, content_type.split(";")[0]) == (200, "text/plain")
        found = {
            (sample.name, *sorted(sample.labels.items())): sample.value
            for family in parser.text_string_to_metric_families(text)
            for sample in family.samples
        }
        assert found["controller_runtime_reconcile_total", ("controller", "dial"), ("result", "success")] >= 1
        assert found["controller_runtime_reconcile_total", ("controller", "dial"), ("result", "error")] == 0
        host = ("host", client.host)
        assert client.host
        assert found["rest_client_requests_total", ("code", "200"), host, ("method", "PATCH")] >= 1
        assert found["rest_client_request_duration_seconds_count", host, ("verb", "PATCH")] >= 1
        kind = (("group", "observe.example.com"), ("kind", "Dial"), ("selector", ""), ("version", "v1"))
        assert found["kubewright_cache_objects", *kind] == 1
        assert found["kubewright_watch_up", *kind] == 1
        assert found["kubewright_watch_last_event_age_seconds", *kind] >= 0
        _, content_type, text = await fetch(f"{root}/metrics", Accept="application/openmetrics-text; version=1.0.0")
        assert content_type.startswith("application/openmetrics-text")
        assert text.endswith("# EOF\n")
        assert (await fetch(f"{root}/metrics/else"))[0] == 404
        status, content_type, text = await fetch(f"{root}/debug/kubewright/objects/dial/{namespace}/one")
        assert (status, content_type.split(";")[0]) == (200, "application/json")
        assert json.loads(text)["results"][0]["result"] == "success"
        assert (await fetch(f"{root}/debug/kubewright/objects", Host="rebound.example"))[0] == 403


@pytest.mark.promise(
    "Objects and operators in the console",
    "An operator reports the same in-process and remotely; responses of other servers are rejected.",
)
async def test_pages_show_operator_and_log_of_an_object(operator: Operator, client: Client, namespace: str) -> None:
    async with operator.running(client, install_crds=False, leader_elect=True, lease_namespace=namespace) as running:
        await running.wait_for_leadership()
        await settled(running, await client.create(dial(namespace)))
        root = f"http://127.0.0.1:{running.servers[0].port}/debug/kubewright"
        _, _, text = await fetch(root)
        report = msgspec.json.decode(text, type=OperatorReport)
        assert (report.name, report.version) == ("dial-operator", kubewright.__version__)
        assert report.started_at == running.started_at <= report.at
        [controller] = report.controllers
        assert (controller.kind, controller.plural, controller.owns[0].kind) == ("Dial", "dials", "ConfigMap")
        assert controller.durations is not None
        assert controller.durations.count == sum(controller.reconciles.values()) >= 1
        caches = {cache.kind: cache for cache in report.caches}
        assert (caches["Dial"].synced, caches["Dial"].objects, caches["Dial"].state) == (True, 1, "watching")
        assert caches["Dial"].namespaces == (namespace,)
        assert caches["Dial"].last_event_at is not None
        assert report.leader is not None
        assert (report.leader.state, report.leader.lease) == ("leading", f"{namespace}/dial-operator")
        assert report.leader.leader == report.leader.identity
        assert report.leader.since.startswith("20")
        assert report.requests["201"] >= 1
        _, _, text = await fetch(f"{root}/logs/dial/{namespace}/one")
        lines = json.loads(text)["lines"]
        assert (lines[0]["level"], lines[0]["message"]) == ("warning", "dialing 1")
        assert await fetch(f"{root}/logs/dial/{namespace}/two") == (200, "application/json", '{"lines":[]}')
        status, _, text = await fetch(f"{root}/logs/gadget/{namespace}/one")
        assert (status, json.loads(text)["error"]) == (404, "there is no controller 'gadget'; there are: dial")
    assert not any(type(handler).__module__.startswith("kubewright") for handler in logging.getLogger().handlers)


async def test_metrics_show_which_replica_leads(operator: Operator, client: Client, namespace: str) -> None:
    async with operator.running(client, install_crds=False, leader_elect=True, lease_namespace=namespace) as running:
        await running.wait_for_leadership()
        _, text = operator.metrics.render()
        assert 'leader_election_master_status{name="dial-operator"} 1.0' in text.decode()
    _, text = operator.metrics.render()
    assert "leader_election_master_status" not in text.decode()


@pytest.mark.promise("Watching an operator", "Inspection shows the writes of an object by field, without values.")
async def test_running_operator_shows_triggers_and_changes_of_an_object(
    operator: Operator, client: Client, namespace: str
) -> None:
    async with operator.running(client, install_crds=False) as running:
        await settled(running, await client.create(dial(namespace)))
        grown = await client.patch(Dial, "one", MergePatch({"spec": {"size": 2}}), namespace)
        await settled(running, grown)
        results = running.inspect(Dial, "one", namespace).results
        [updated] = [result for result in results if result.trigger == "updated" and result.writes]
        written = {(write.verb, write.resource, write.name): write.changes for write in updated.writes}
        assert written["apply", "configmaps", "one"] == (FieldChange(op="replace", path="/data/size"),)
        assert written["apply", "dials.observe.example.com/status", "one"] == (
            FieldChange(op="replace", path="/status/seen"),
        )
        await settled(
            running, await client.patch(core.ConfigMap, "one", MergePatch({"data": {"size": "9"}}), namespace)
        )
        newest = running.inspect(Dial, "one", namespace)
        by_child = [result for result in newest.results if result.trigger == "ConfigMap updated"]
        assert {result.cause for result in by_child} == {f"{namespace}/one"}
        assert (newest.cached is not None, newest.queue.state, newest.last_error) == (True, "idle", "")


@pytest.mark.promise(
    "Watching an operator",
    "An object that does not fit its model is reported in an event on the real server.",
)
async def test_reports_undecodable_object_in_event_metric_and_page(
    operator: Operator, client: Client, namespace: str
) -> None:
    body: dict[str, Any] = {
        "apiVersion": "observe.example.com/v1",
        "kind": "Dial",
        "metadata": {"name": "odd", "namespace": namespace},
        "spec": {"size": "a secret amount"},
    }
    await client.request("POST", f"/apis/observe.example.com/v1/namespaces/{namespace}/dials", body=body)
    async with operator.running(client, install_crds=False) as running:

        async def written() -> list[events.Event]:
            return [event for event in await client.list(events.Event, namespace) if event.reason == "DecodeFailed"]

        [event] = await until(written)
        found = running.inspect(Dial, "odd", namespace)
        assert running.controller(Dial).stats.reconciles["terminal_error"] == 1
    assert event.type == "Warning"
    assert event.regarding is not None
    assert (event.regarding.kind, event.regarding.name, event.action) == ("Dial", "odd", "Decode")
    assert event.regarding.uid
    assert "spec.size" in (event.note or "")
    assert "secret" not in (event.note or "")
    assert "spec.size" in found.last_error
    assert found.results[0].result == "terminal_error"


@pytest.mark.parametrize("version", ["events.k8s.io/v1", "v1"])
async def test_writes_events_in_configured_version(
    operator: Operator, client: Client, namespace: str, version: str
) -> None:
    async with operator.running(client, install_crds=False, event_version=version):
        await client.create(dial(namespace))

        async def written() -> list[core.Event]:
            return [event for event in await client.list(core.Event, namespace) if event.reason == "Dialed"]

        event = (await until(written))[0]
    assert (event.first_timestamp is None, event.event_time is not None) == (version != "v1", version != "v1")
    settings = operator.settings_with(event_version=version)
    groups = {one.group for one in operator.permissions(settings) if one.resource == "events"}
    assert groups == {"events.k8s.io" if version != "v1" else ""}
