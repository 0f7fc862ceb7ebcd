"""Names that Kubewright writes into clusters, metrics and process exits.

They outlive a release: an operator that is upgraded must find its own field managers, finalizers and Leases again, and
dashboards and scripts use the rest. To change one deliberately, change it here and give the reason next to it.
"""

from __future__ import annotations

import ast
import asyncio
import re
from collections.abc import Iterator
from typing import Any

import kubewright
from kubewright.api import Model, ObjectMeta, Resource, core
from kubewright.api.coordination.v1 import Lease
from kubewright.cli import CommandExit
from kubewright.client import MergePatch
from kubewright.cluster import Cluster
from kubewright.controller import Context
from kubewright.operator import ExitCode, Operator
from tests.sources import PACKAGE, parsed

METRICS = {
    "controller_runtime_active_workers",
    "controller_runtime_max_concurrent_reconciles",
    "controller_runtime_reconcile_errors_total",
    "controller_runtime_reconcile_panics_total",
    "controller_runtime_reconcile_time_seconds",
    "controller_runtime_reconcile_timeouts_total",
    "controller_runtime_reconcile_total",
    "controller_runtime_terminal_reconcile_errors_total",
    "kubewright_cache_bytes",
    "kubewright_cache_objects",
    "kubewright_cache_synced",
    "kubewright_event_loop_blocked_seconds_total",
    "kubewright_event_loop_blocked_total",
    "kubewright_events_aggregated_total",
    "kubewright_events_dropped_total",
    "kubewright_events_recorded_total",
    "kubewright_events_waiting",
    "kubewright_events_written_total",
    "kubewright_history_bytes",
    "kubewright_history_objects",
    "kubewright_paused_objects",  # per controller: users pause objects by annotation
    "kubewright_undecodable_objects_total",
    "kubewright_watch_blocked_seconds_total",
    "kubewright_watch_blocked_total",
    "kubewright_watch_last_event_age_seconds",
    "kubewright_watch_relists_total",
    "kubewright_watch_restarts_total",
    "kubewright_watch_stalls_total",
    "kubewright_watch_up",
    "kubewright_write_loops_total",
    "leader_election_master_status",
    "rest_client_request_duration_seconds",
    "rest_client_request_retries_total",
    "rest_client_requests_total",
    "workqueue_adds_total",
    "workqueue_depth",
    "workqueue_longest_running_processor_seconds",
    "workqueue_queue_duration_seconds",
    "workqueue_retries_total",
    "workqueue_unfinished_work_seconds",
    "workqueue_work_duration_seconds",
}
METRICS_OF_WEBHOOKS = {
    "controller_runtime_webhook_latency_seconds",
    "controller_runtime_webhook_requests",
    "controller_runtime_webhook_requests_in_flight",
    "kubewright_webhook_certificate_expiration_timestamp_seconds",
    "kubewright_webhook_hanging_handlers",
    "kubewright_webhook_reviews",
}
EVENT_REASONS = {
    "Contested",  # another client keeps changing an applied object back
    "DecodeFailed",
    "DeletionPaused",  # the finalizers of a paused object do not run until it is resumed
    "LeaderElection",
    "ReconcileFailed",  # the first failure of a state, and each change of the reason
    "RetryLater",  # raised with event=True
    "WriteLoop",
}
RECORDING = {"record", "_event", "_record"}
"""Methods that record an event; a reason is one of their first two arguments."""
KEYS = {
    "kubewright.dev/paused",  # users pause an object with it; Kubewright never writes it
    "console.kubewright.dev/form",  # on a CustomResourceDefinition: sections, labels and initial values of its form
    "console.kubewright.dev/states",  # on a CustomResourceDefinition: how the console shows the state of its objects
    "kubewright.dev/reconcile-requested-at",  # set by users: the operator reconciles the object now
    "olm.kubewright.dev/catalog",
    "olm.kubewright.dev/package",
    "pods.kubewright.dev/ports",  # where the ports of a pod are, if pods share 127.0.0.1
}
"""Annotations and labels of Kubewright's own domain."""
EXIT_CODES_OF_OPERATORS = {
    "STOPPED": 0,
    "FAILED": 1,
    "CONFIGURATION": 2,
    "NOT_READY": 3,
    "LEASE_LOST": 4,
    "INTERRUPTED": 5,
}
# FOUND: a script distinguishes a finding of `kubewright explore` from a failure to explore.
EXIT_CODES_OF_COMMANDS = {"DONE": 0, "FAILED": 1, "WRONG_USE": 2, "DIFFERS": 3, "FOUND": 4, "INTERRUPTED": 130}


class ShopSpec(Model):
    size: int = 1


class ShopStatus(Model):
    size: int | None = None


@kubewright.resource("wire.example.com/v1", plural="shops")
class Shop(Resource[ShopSpec, ShopStatus]):
    """A kind with a child, a status and a finalizer."""


def shops() -> Operator:
    operator = Operator("shopkeeper", leader_elect=True, lease_namespace="default", metrics_bind="127.0.0.1:0")

    @operator.reconciles(Shop, owns=[core.ConfigMap])
    async def sync(shop: Shop, ctx: Context[Shop]) -> None:
        await ctx.apply(core.ConfigMap(metadata=ObjectMeta(name="shelf"), data={"size": str(shop.spec.size)}))
        ctx.record("Synced", "the shop is in sync")
        await ctx.set_status(ShopStatus(size=shop.spec.size))

    @operator.finalizes(Shop)
    async def close(shop: Shop, ctx: Context[Shop]) -> None: ...

    return operator


def managers(obj: Any) -> set[str]:
    return {entry.manager for entry in obj.metadata.managed_fields or ()}


async def test_names_of_objects() -> None:
    async with Cluster() as cluster, cluster.client() as client:
        async with shops().running(client) as running:
            await running.wait_for_leadership()
            await client.create(Shop(metadata=ObjectMeta(name="corner", namespace="default"), spec=ShopSpec()))
            await running.settled()
            assert managers(await client.get(core.ConfigMap, "shelf", "default")) == {"shopkeeper-create"}
            await client.patch(Shop, "corner", MergePatch({"spec": {"size": 2}}), "default")
            await running.settled()
            lease = await client.get(Lease, "shopkeeper", "default")
            assert managers(lease) == {"kubewright"}

        assert managers(await client.get(core.ConfigMap, "shelf", "default")) == {"shopkeeper"}
        shop = await client.get(Shop, "corner", "default")
        assert managers(shop) == {"kubewright", "shopkeeper", "shopkeeper-shop-status"}
        assert shop.metadata.finalizers == ["wire.example.com/shopkeeper"]
        events = {event.reason: event for event in await client.list(core.Event)}  # all are written at the stop
        assert {reason: event.reporting_component for reason, event in events.items()} == {
            "LeaderElection": "shopkeeper",
            "Synced": "shopkeeper",
        }
        assert managers(events["Synced"]) == {"shopkeeper"}


async def metric_families(port: int) -> set[str]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    answer = (await reader.read()).decode()
    writer.close()
    return set(re.findall(r"^# TYPE (\w+) \w+$", answer, re.MULTILINE))


async def test_names_of_metrics() -> None:
    async with Cluster() as cluster, cluster.client() as client, shops().running(client) as running:
        found = await metric_families(running.servers[-1].port)
    ours = {name for name in found if not name.startswith(("process_", "python_"))}
    assert ours == METRICS


def strings_with(text: str) -> Iterator[str]:
    for _, tree in parsed(text):
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value


def test_keys_of_annotations_and_labels() -> None:
    key = re.compile(r"[a-z.]*kubewright\.dev/[A-Za-z0-9._-]+")
    assert {found for text in strings_with("kubewright.dev/") for found in key.findall(text)} == KEYS


def test_names_of_webhook_metrics() -> None:
    name = re.compile(r"(?:controller_runtime|kubewright)_webhook_\w+")
    # Dashboards use the names of samples: counters end with _total.
    found = {text.removesuffix("_total") for text in strings_with("_webhook_") if name.fullmatch(text)}
    assert found == METRICS_OF_WEBHOOKS


def test_reasons_of_events() -> None:
    """Reasons that the runtime records itself; those of the embedded cluster mirror Kubernetes' own."""
    calls = (
        node
        for file, tree in parsed(*(f".{method}(" for method in RECORDING))
        if file.relative_to(PACKAGE).parts[0] != "cluster"
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in RECORDING
    )
    reasons = {
        argument.value
        for call in calls
        for argument in call.args[:2]
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str) and argument.value.isalpha()
    }
    assert reasons == EVENT_REASONS


def test_exit_codes() -> None:
    assert {code.name: code.value for code in ExitCode} == EXIT_CODES_OF_OPERATORS
    assert {code.name: code.value for code in CommandExit} == EXIT_CODES_OF_COMMANDS
