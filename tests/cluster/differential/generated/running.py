"""Sends the generated requests to both servers and reduces each difference to its cause."""

from __future__ import annotations

import asyncio
import json
import re
import secrets
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import parse_qsl

from kubewright.client import HttpTransport, Request, Transport, load_config
from kubewright.clock import SystemClock
from kubewright.cluster import Cluster
from kubewright.testing import ControlPlane
from tests.cluster.differential.generated.cases import Case
from tests.cluster.differential.generated.kinds import kinds
from tests.cluster.differential.harness import differences, normalized
from tests.patience import PATIENCE

__all__ = ["FAR", "Findings", "causes", "on_both"]

FAR: Final = 1_000_000
"""The embedded revisions begin here, so that none of them is some other number by chance."""

_CONNECTIONS: Final = 16
_BY_CHANCE: Final = [
    (re.compile(r"\b10\.96\.\d+\.\d+\b"), "<address>"),
    (re.compile(r'("(?:healthCheckN|n)odePort":\s*)3\d{4}'), r'\1"<port>"'),
    (re.compile(r"\b(made-|m{58}|m{248}|Made_)[bcdfghjklmnpqrstvwxz2456789]{5}\b"), r"\1<generated>"),
    (re.compile(r'(resourceVersion\\+":\s*\\+")\d+'), r"\1<revision>"),
    (re.compile(r"(does not match the ResourceVersion in record \()\d+"), r"\1<revision>"),
    (re.compile(r"(Too large resource version: \d+, current: )\d+"), r"\1<revision>"),
]
_REVISION: Final = re.compile(r'(resourceVersion"?: ?)"\d+"')
_INDEX: Final = re.compile(r"\[\d+\]|(?<=\.)\d+(?=\.|$)")
_CONTAINER: Final = re.compile(r"spec\.(?:initC|c|ephemeralC)ontainers\[\]")
_TEMPLATE: Final = re.compile(r"^(spec\.jobTemplate\.spec\.template|spec\.template|template)\.")


@dataclass
class Findings:
    """The differences of a run: by cause, how many requests of each kind have it."""

    causes: dict[str, Counter[str]] = field(default_factory=dict)
    examples: dict[str, tuple[str, str]] = field(default_factory=dict)
    requests: int = 0
    equal: int = 0

    def add(self, case: Case, found: Iterable[tuple[str, str]]) -> None:
        """Counts a request, with its causes and an example of each."""
        self.requests += 1
        causes = dict(found)
        self.equal += not causes
        for cause, example in causes.items():
            self.causes.setdefault(cause, Counter())[case.kind] += 1
            self.examples.setdefault(cause, (case.name, example))


async def _send(transport: Transport, method: str, target: str, body: str | None, headers: dict[str, str]) -> Any:
    path, _, query = target.partition("?")
    response = await transport.send(
        Request(
            method=method,
            path=path,
            query=parse_qsl(query, keep_blank_values=True),
            headers={"User-Agent": "test/1", "Accept": "application/json", **headers},
            body=None if body is None else body.encode(),
            stream="watch=" in query,
            timeout=PATIENCE,
        )
    )
    answer: dict[str, Any] = {"status": response.status}
    if warnings := response.warnings():
        answer["warnings"] = sorted(warnings)
    if "watch=" in query and response.status == 200:  # the lifecycles compare events
        response.close()
        return answer | {"body": "a stream"}
    text = (await response.read()).decode(errors="replace")
    for pattern, instead in _BY_CHANCE:
        text = pattern.sub(instead, text)
    try:
        answer["body"] = json.loads(text)
    except ValueError:
        answer["body"] = _REVISION.sub(r"\1<revision>", text)
    return answer


async def on_both(plane: ControlPlane, cases: Iterable[Case]) -> Findings:
    """Sends each request to a new embedded cluster and to a real one, and compares the answers."""
    namespace = f"generated-{secrets.token_hex(4)}"
    real = HttpTransport(load_config(kubeconfig=plane.kubeconfig), SystemClock())
    try:
        async with Cluster(seed=1, controllers=False, rbac=True) as cluster:
            cluster.state.storage.revision = FAR
            embedded = cluster.transport()
            async with _prepared((embedded, real), namespace):
                return await _compared(cases, embedded, real, namespace)
    finally:
        await real.close()


@asynccontextmanager
async def _prepared(transports: tuple[Transport, ...], namespace: str) -> AsyncIterator[None]:
    """Both servers with the base object of every kind; cluster-scoped ones are deleted after the block."""
    made: list[str] = []
    namespaces = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
    try:
        for transport in transports:
            await _must(transport, "POST", "/api/v1/namespaces", namespaces)
        for kind in kinds():
            if "get" in kind.verbs:
                body = json.loads(json.dumps(kind.object()).replace("$ns", namespace))
                for transport in transports:
                    await _must(transport, "POST", kind.collection.replace("$ns", namespace), body)
                if not kind.namespaced:
                    made.append(kind.item.replace("$ns", namespace))
        yield
    finally:
        for target in made:
            for transport in transports:
                await _send(transport, "DELETE", target, None, {})


async def _must(transport: Transport, method: str, target: str, body: Any) -> None:
    answer = await _send(transport, method, target, json.dumps(body), {"Content-Type": "application/json"})
    assert answer["status"] == 201, (target, answer)


async def _compared(cases: Iterable[Case], embedded: Transport, real: Transport, namespace: str) -> Findings:
    """Sends each request to both servers, many at a time, and compares the answers."""
    findings = Findings()
    remaining = iter(cases)

    async def work() -> None:
        for case in remaining:
            target = case.target.replace("$ns", namespace)
            body = case.body.replace("$ns", namespace) if case.body is not None else None
            answers = await asyncio.gather(
                *(_send(transport, case.method, target, body, case.headers) for transport in (real, embedded))
            )
            expected, found = ([answer] for answer in answers)
            findings.add(case, causes(normalized(found, namespace)[0], normalized(expected, namespace)[0]))

    async with asyncio.TaskGroup() as group:
        for _ in range(_CONNECTIONS):
            group.create_task(work())
    return findings


def causes(embedded: dict[str, Any], real: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Why two answers differ, in words that are the same for other requests with that cause; and an example of each."""
    if embedded == real:
        return
    refused, expected = (_causes(answer) for answer in (embedded, real))
    if embedded["status"] != real["status"]:
        example = f"embedded {_shown(embedded)}, real {_shown(real)}"
        if refused | expected and {embedded["status"], real["status"]} <= {200, 201, 422}:
            yield from _of_causes(refused, expected, example)
        else:
            yield f"{embedded['status']} instead of {real['status']}{_reason(embedded)}{_reason(real)}", example
        return
    for difference in differences(embedded.get("warnings", []), real.get("warnings", [])):
        yield "warnings", difference
    one, other = embedded["body"], real["body"]
    if real["status"] >= 400 and isinstance(one, dict) and isinstance(other, dict):
        example = f"embedded {one.get('message')!r}, real {other.get('message')!r}"[:6000]
        if one.get("reason") != other.get("reason"):
            yield f"reason {one.get('reason')} instead of {other.get('reason')}", example
        elif refused != expected:
            yield from _of_causes(refused, expected, example)
        elif one != other:
            yield f"wording: {_skeleton(other)}", example
        return
    found = [(_of_object(difference), difference) for difference in differences(one, other)]
    own = [entry for entry in found if "managedFields" not in entry[0]]
    yield from ((cause, difference) for cause, difference in own or found)


def _of_object(difference: str) -> str:
    path = _general(difference.partition(": ")[0].lstrip("."))
    side = next((side for side in ("only the real server", "only the embedded") if side in difference), "value")
    return f"{path}: {side}"


def _of_causes(refused: set[str], expected: set[str], example: str) -> Iterator[tuple[str, str]]:
    yield from ((f"not rejected: {cause}", example) for cause in sorted(expected - refused))
    yield from ((f"rejected: {cause}", example) for cause in sorted(refused - expected))


def _skeleton(failure: dict[str, Any]) -> str:
    """The beginning of a message, without the values in it."""
    message = re.sub(r'^\S* "[^"]*" is invalid: ', "", str(failure.get("message")))
    message = _general(re.sub(r'\\?"(?:[^"\\]|\\.)*\\?"?', '""', message))
    return f"{failure.get('reason')} {re.sub(r'[0-9]+', '0', message)[:45]}"


def _causes(answer: dict[str, Any]) -> set[str]:
    """The causes of a failure: reason and field."""
    if answer["status"] < 400 or not isinstance(answer["body"], dict):
        return set()
    details = answer["body"].get("details") or {}
    return {f"{cause.get('reason', '')} {_general(cause.get('field', ''))}" for cause in (details.get("causes") or ())}


def _reason(answer: dict[str, Any]) -> str:
    body = answer["body"]
    return f" {body.get('reason', '')}" if answer["status"] >= 400 and isinstance(body, dict) else ""


def _general(path: str) -> str:
    """A path without indexes, and below the template of a pod."""
    return _CONTAINER.sub("container", _INDEX.sub("[]", _TEMPLATE.sub("", path)))


def _shown(answer: dict[str, Any]) -> str:
    body = answer["body"]
    text = body.get("message") if isinstance(body, dict) and answer["status"] >= 400 else json.dumps(body)
    return f"{answer['status']} {str(text)[:700]}"
