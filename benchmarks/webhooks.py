"""The fifth suite: what a review costs the webhook server, beside its goal."""

from __future__ import annotations

import asyncio
import ssl
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import aiohttp
import msgspec

from benchmarks.measure import Process
from benchmarks.programs import ROOT
from benchmarks.results import Case, Column

__all__ = ["run"]

_GOAL = "goal"
_OURS = "kubewright"
_CONNECTIONS = 10
_PATHS = {
    "webhook-validate": ("/validate/async.toys.example.com", "A small object is validated by an async function"),
    "webhook-validate-plain": ("/validate/plain.toys.example.com", "The same by a plain function, in a thread"),
    "webhook-default": ("/mutate/fill.toys.example.com", "The same object gets a default, which is a patch"),
}


def run(reviews: int, rounds: int, say: Callable[[str], None]) -> Iterator[Case]:
    """Ask a server in a process of its own, whose CPU time is taken from outside."""
    columns = [Column("milliseconds", "ms of CPU for a review", 3), Column("per_second", "reviews/s", 0)]
    cases = {name: Case(name, title, _GOAL, columns) for name, (_, title) in _PATHS.items()}
    for turn in range(rounds):
        say(f"webhooks, round {turn + 1} of {rounds}")
        with tempfile.TemporaryDirectory() as folder:
            ca = Path(folder) / "ca.crt"
            command = [sys.executable, "-m", "benchmarks.peers.kubewright_webhooks", "--ca", str(ca)]
            with Process(command, cwd=ROOT) as process:
                said, _ = process.wait_for("serving")
                urls = {name: f"https://127.0.0.1:{said['port']}{path}" for name, (path, _) in _PATHS.items()}
                for url in urls.values():
                    asyncio.run(_ask(url, ca, max(reviews // 5, 1)))  # it is warm then, and has its threads
                for name, url in urls.items():
                    before = process.usage()
                    asyncio.run(_ask(url, ca, reviews))
                    after = process.usage()
                    cases[name].add(
                        _OURS,
                        {
                            "milliseconds": (after.cpu - before.cpu) / reviews * 1000,
                            "per_second": reviews / (after.wall - before.wall),
                        },
                    )
    for case in cases.values():
        case.add(_GOAL, {"milliseconds": 0.4})
        yield case


async def _ask(url: str, ca: Path, reviews: int) -> None:
    trust = ssl.create_default_context(cafile=str(ca))
    connector = aiohttp.TCPConnector(ssl=trust, limit=_CONNECTIONS)
    body, numbers = msgspec.json.encode(_review()), iter(range(reviews))
    headers = {"Content-Type": "application/json"}
    async with aiohttp.ClientSession(connector=connector, headers=headers) as session:

        async def ask() -> None:
            for _ in numbers:
                async with session.post(url, data=body, params={"timeout": "10s"}) as answer:
                    content = msgspec.json.decode(await answer.read())
                    if not content["response"]["allowed"]:
                        raise AssertionError(f"{url} refused a good object")

        await asyncio.gather(*(ask() for _ in range(_CONNECTIONS)))


def _review() -> dict[str, Any]:
    """An AdmissionReview as kube-apiserver sends one for `kubectl apply` of a small object, with managed fields."""
    kind = {"group": "example.com", "version": "v1", "kind": "Toy"}
    resource = {"group": "example.com", "version": "v1", "resource": "toys"}
    fields = {"f:metadata": {"f:annotations": {".": {}, "f:note": {}}}, "f:spec": {".": {}, "f:size": {}}}
    managed = {
        "manager": "kubectl-client-side-apply",
        "operation": "Update",
        "apiVersion": "example.com/v1",
        "time": "2026-01-01T00:00:00Z",
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
    }
    metadata = {
        "name": "bear",
        "namespace": "default",
        "uid": "0d4a3b6e-7e0f-4c0e-9d2c-1c0f5d4a8b11",
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "generation": 1,
        "labels": {"app": "toys"},
        "annotations": {"note": "a small object"},
        "managedFields": [managed],
    }
    toy = {"apiVersion": "example.com/v1", "kind": "Toy", "metadata": metadata, "spec": {"size": 3}}
    groups = ["system:masters", "system:authenticated"]
    return {
        "kind": "AdmissionReview",
        "apiVersion": "admission.k8s.io/v1",
        "request": {
            "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
            "kind": kind,
            "resource": resource,
            "requestKind": kind,
            "requestResource": resource,
            "name": "bear",
            "namespace": "default",
            "operation": "CREATE",
            "userInfo": {"username": "kubernetes-admin", "groups": groups},
            "object": toy,
            "oldObject": None,
            "dryRun": False,
            "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1", "fieldManager": "kubectl"},
        },
    }
