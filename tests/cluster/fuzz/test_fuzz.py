"""Whatever is asked of it, the cluster answers; what it has acknowledged is there; and watches agree with lists."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kubewright.client import Request, Response
from kubewright.clock import VirtualClock
from kubewright.cluster import Cluster
from tests.cluster.fuzz.requests import KINDS, WIDGETS, Step, steps

_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_AGREED = "application/json"
_SELECTORS: dict[str, Callable[[dict[str, str]], bool]] = {
    "": lambda labels: True,
    "app=x": lambda labels: labels.get("app") == "x",
    "!app": lambda labels: "app" not in labels,
}


class _Mishaps(logging.Handler):
    """What the cluster says when it fails by a mistake of its own."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(self.format(record))


class Play:
    """Sends requests one by one, remembers what was acknowledged, and compares it with what is shown."""

    def __init__(self, cluster: Cluster, clock: VirtualClock) -> None:
        self._transport = cluster.transport()
        self._clock = clock
        self._known: dict[str, dict[str, Any]] = {}
        self._began: dict[str, str] = {}
        self._watches: list[tuple[str, str, dict[str, Any], Response]] = []

    async def begin(self) -> None:
        """Define the kind that is the fuzz's own, and look at what there is."""
        assert (await self.send(Step("POST", _DEFINITIONS, {}, WIDGETS)))[0] == 201
        for path in KINDS:
            self._known[path], self._began[path] = await self.listed(path)
        self._first = dict(self._known)

    async def send(self, step: Step) -> tuple[int, Any]:
        """The status and the body of the answer, which always comes."""
        response = await self._clock.run(self._transport.send(self._request(step)))
        body = await response.read()
        assert 200 <= response.status < 600
        accept = step.headers.get("Accept", _AGREED)
        return response.status, json.loads(body) if accept == _AGREED and body[:1] == b"{" else None

    def _request(self, step: Step, *, stream: bool = False) -> Request:
        headers = {"Content-Type": step.type, "User-Agent": "fuzz/1", **step.headers}
        query = list(step.query.items())
        path = step.path.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
        return Request(method=step.method, path=path, query=query, headers=headers, body=step.content, stream=stream)

    async def watch(self, path: str, selector: str) -> None:
        """Begin to watch a collection from the beginning."""
        query = {"watch": "true", "resourceVersion": self._began[path], "labelSelector": selector}
        response = await self._transport.send(self._request(Step("GET", path, query), stream=True))
        assert response.status == 200
        matches = _SELECTORS[selector]
        first = {name: obj for name, obj in self._first[path].items() if matches(obj["metadata"].get("labels") or {})}
        self._watches.append((path, selector, first, response))

    async def listed(self, path: str, selector: str = "") -> tuple[dict[str, Any], str]:
        status, body = await self.send(Step("GET", path, {"labelSelector": selector}))
        assert status == 200
        return {item["metadata"]["name"]: item for item in body["items"]}, body["metadata"]["resourceVersion"]

    async def acknowledged(self, step: Step, status: int) -> None:
        """A write was taken: from now on it is shown, until the next one."""
        path = next(path for path in KINDS if step.path == path or step.path.startswith(f"{path}/"))
        now, _ = await self.listed(path)
        if status < 300 and step.method != "GET":
            self._known[path] = now
        else:
            assert now == self._known[path], (
                f"{step.method} {step.path} was refused, and changed something all the same"
            )

    async def shows(self, step: Step, body: Any) -> None:
        """What an answer to a write says is what a read says."""
        metadata = (body or {}).get("metadata") or {}
        kind, name = (body or {}).get("kind"), metadata.get("name")
        if kind in (None, "Status", "Scale") or not metadata.get("uid") or "dryRun" in step.query:
            return
        path = next(path for path in KINDS if step.path == path or step.path.startswith(f"{path}/"))
        status, found = await self.send(Step("GET", f"{path}/{name}", {}))
        if status == 404:
            assert step.method == "DELETE" or metadata.get("deletionTimestamp"), f"{name} was acknowledged and is lost"
        else:
            assert found == body

    async def compare(self) -> None:
        """Every watch, read to its end, leads to what a list shows."""
        for path, selector, seen, response in self._watches:
            wanted, _ = await self.listed(path, selector)
            response.close()  # nothing more comes; what has come is still to be read
            body = await response.read()
            for line in body.splitlines():
                event = json.loads(line)
                name = event["object"]["metadata"]["name"]
                if event["type"] == "DELETED":
                    assert seen.pop(name, None) is not None, f"{name} went without having come"
                else:
                    assert (event["type"] == "ADDED") == (name not in seen)
                    seen[name] = event["object"]
            assert {name: _plain(obj) for name, obj in seen.items()} == {
                name: _plain(obj) for name, obj in wanted.items()
            }


def _plain(obj: Any) -> Any:
    """Items of a list of a built-in kind have neither apiVersion nor kind."""
    return {name: value for name, value in obj.items() if name not in ("apiVersion", "kind")}


async def play(requests: list[Step], watched: list[tuple[int, str]]) -> list[str]:
    """Runs a sequence of requests. Returns the errors that the cluster logged."""
    clock, mishaps = VirtualClock(), _Mishaps()
    logger = logging.getLogger("kubewright.cluster")
    logger.addHandler(mishaps)
    try:
        async with Cluster(clock=clock, seed=1, controllers=False) as cluster:
            played = Play(cluster, clock)
            await played.begin()
            for number, step in enumerate(requests):
                for path in KINDS:
                    for when, selector in watched:
                        if when == number and step.path.startswith(path):
                            await played.watch(path, selector)
                status, body = await played.send(step)
                assert not mishaps.messages, f"{step}: {mishaps.messages[0]}"
                if status < 300 and step.method in ("POST", "PUT", "PATCH", "DELETE"):
                    await played.shows(step, body)
                await played.acknowledged(step, status)
            await played.compare()
    finally:
        logger.removeHandler(mishaps)
    return mishaps.messages


@pytest.mark.promise(
    "The embedded cluster",
    "No sequence of requests makes it fail by a mistake of its own, lose what it has acknowledged, or show a watch "
    "that disagrees with a list.",
)
@settings(max_examples=50, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck), database=None)
@given(
    requests=steps(10),
    watched=st.lists(st.tuples(st.integers(0, 9), st.sampled_from(sorted(_SELECTORS))), max_size=3),
)
def test_no_sequence_of_requests_breaks_it(requests: list[Step], watched: list[tuple[int, str]]) -> None:
    assert asyncio.run(play(requests, watched)) == []
