"""The REST API of the operator, with the paths of the Zalando operator. It is served and protected like `/metrics`.

| path | content |
|---|---|
| `/status/` | number of clusters, length of each worker's queue |
| `/workers/N/queue` | the clusters that wait for worker N; `all` instead of N for all workers |
| `/workers/N/logs` | the last log lines about the clusters of worker N |
| `/clusters/` | the clusters of each team |
| `/clusters/NAMESPACE/NAME/` | spec and status of a cluster |
| `/clusters/NAMESPACE/NAME/logs/` | the last log lines about a cluster |

Kubewright has one queue for all workers. Here, the checksum of its key assigns each cluster to one worker.
"""

import contextlib
from collections.abc import AsyncIterator, Iterable
from typing import Any
from zlib import crc32

import msgspec

import kubewright as kw
from kubewright.api import to_dict
from kubewright.operator import Page, PageRequest
from postgres_operator.kinds import Postgresql

MOST = 1_000
"""Clusters and lines in one answer."""


def add_pages(operator: kw.Operator) -> None:
    """Adds the pages to an operator."""
    operator.attach(_keep_logs)
    operator.page("/status")(status)
    operator.page("/workers")(workers)
    operator.page("/clusters")(clusters)


async def status(running: kw.Running, request: PageRequest) -> Page:
    """Returns the state of the operator."""
    if request.below:
        return _missing(f"/status{request.below}")
    controller = running.controller(Postgresql)
    sizes = dict.fromkeys(map(str, range(controller.concurrency)), 0)
    waiting = controller.queue.keys()
    for key in waiting:
        sizes[str(_worker(key, controller.concurrency))] += 1
    return _json({"Clusters": len(controller.object_keys()), "WorkerQueueSize": sizes})


async def workers(running: kw.Running, request: PageRequest) -> Page:
    """Returns the queue or the log of a worker."""
    controller = running.controller(Postgresql)
    match request.below.strip("/").split("/"):
        case [number, "queue" | "logs" as page] if _is_worker(number, controller.concurrency):
            mine = [
                key
                for key in (controller.queue.keys() if page == "queue" else controller.object_keys())
                if number == "all" or _worker(key, controller.concurrency) == int(number)
            ]
            if page == "queue":
                return _json({"Keys": sorted(map(str, mine))[:MOST]})
            return _json(_lines(running, mine))
    return _missing(f"/workers{request.below}; expected /workers/N/queue with N below {controller.concurrency}, or all")


async def clusters(running: kw.Running, request: PageRequest) -> Page:
    """Returns the clusters, one of them, or its log."""
    controller = running.controller(Postgresql)
    match request.below.strip("/").split("/"):
        case [""]:
            teams: dict[str, list[str]] = {}
            for key in controller.object_keys()[:MOST]:
                if (found := controller.snapshot(key)) is not None:
                    teams.setdefault(found.object().spec.team_id, []).append(str(key))
            return _json(teams)
        case [namespace, name, *rest] if rest in ([], ["logs"]):
            key = kw.ObjectKey(namespace, name)
            snapshot = controller.snapshot(key)
            if snapshot is None:
                return _missing(f"cluster {key}")
            return _json(_lines(running, [key]) if rest else to_dict(snapshot.object()))
    return _missing(f"/clusters{request.below}; expected /clusters/NAMESPACE/NAME/logs")


def _worker(key: kw.ObjectKey, count: int) -> int:
    return crc32(str(key).encode()) % count


def _is_worker(number: str, count: int) -> bool:
    return number == "all" or (number.isascii() and number.isdecimal() and len(number) < 6 and int(number) < count)


def _lines(running: kw.Running, keys: Iterable[kw.ObjectKey]) -> list[dict[str, Any]]:
    name = running.controller(Postgresql).name
    found = [(line, key) for key in keys for line in running.logs.of(name, key)]
    found.sort(key=lambda pair: pair[0].time)
    return [
        {"Time": line.time, "Level": line.level, "ClusterName": str(key), "Message": line.message}
        for line, key in found[-MOST:]
    ]


def _json(content: object) -> Page:
    return Page(msgspec.json.encode(content), content_type="application/json")


def _missing(what: str) -> Page:
    return Page(f"there is no {what}\n".encode(), 404)


@contextlib.asynccontextmanager
async def _keep_logs(running: kw.Running) -> AsyncIterator[None]:
    running.keep_logs()
    yield
