"""The tables match a real kube-apiserver, and our merges match its merges."""

from __future__ import annotations

import asyncio
import json
import os
from copy import deepcopy
from typing import Any

import pytest

from kubewright.client import AlreadyExists, ApiError, Client
from kubewright.cluster.merge import merge_patch, strict_patch_errors
from tests.cluster.merge.apply_cases import CASES as APPLY_CASES
from tests.cluster.merge.definitions import DEFINITION, GROUP
from tests.cluster.merge.patch_cases import CASES as PATCH_CASES
from tests.cluster.merge.random_cases import cases as random_cases
from tests.cluster.merge.table import (
    CLUSTER_SCOPED,
    Case,
    Object,
    Outcome,
    Step,
    identified,
    made_same,
    performed,
    record,
    record_random,
    recorded,
    recorded_random,
    refusal_of,
)
from tests.patience import until

CASES = [*APPLY_CASES, *PATCH_CASES]
CONTENT = {
    "create": ("POST", "application/json"),
    "put": ("PUT", "application/json"),
    "merge": ("PATCH", "application/merge-patch+json"),
    "json": ("PATCH", "application/json-patch+json"),
    "strategic": ("PATCH", "application/strategic-merge-patch+json"),
    "apply": ("PATCH", "application/apply-patch+yaml"),
}
PLURALS = {"ClusterRole": "clusterroles", "Lease": "leases"}


@pytest.mark.promise(
    "How the embedded cluster merges",
    "Managed fields and conflicts after creates, updates, patches and applies match the real server.",
)
@pytest.mark.promise(
    "How the embedded cluster merges",
    "JSON, merge and strategic merge patches have the results and errors of the real server.",
)
async def test_tables_match_the_real_server(client: Client, namespace: str) -> None:
    outcomes = await outcomes_of(client, namespace, CASES)
    if os.environ.get("KUBEWRIGHT_RECORD"):
        record(outcomes)
        recorded.cache_clear()
    for name, outcome in outcomes.items():
        assert outcome == recorded()[name], name


async def test_random_cases_match_the_real_server(client: Client, namespace: str) -> None:
    seed = os.environ.get("KUBEWRIGHT_RECORD")
    cases = random_cases(int(seed), 75) if seed else [case for case, _ in recorded_random()]
    outcomes = await outcomes_of(client, namespace, cases)
    if seed:
        record_random([(case, outcomes[case.name]) for case in cases])
    for case, answers in recorded_random():
        assert outcomes[case.name] == answers, case.name


@pytest.mark.promise(
    "How the embedded cluster merges",
    "Unknown fields are pruned and reported, and defaults are set, as on the real server.",
)
async def test_strict_validation_of_patches_matches_the_server(client: Client, namespace: str) -> None:
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    await client.request("POST", path, body={"metadata": {"name": "strict"}, "data": {"a": "1"}})
    patches = [
        (b'[{"op": "add", "path": "/data/b", "value": "1", "extra": 1, "op": "add"}]', "json", True),
        (b'{"data": {"b": "1", "b": "2"}, "data": {"c": "3"}}', "merge", False),
        (b'{"data": {"b": "1", "b": "2"}}', "strategic", False),
    ]
    for patch, kind, is_json_patch in patches:
        method, content_type = CONTENT[kind]
        with pytest.raises(ApiError) as refused:
            await client.request(
                method, f"{path}/strict", query={"fieldValidation": "Strict"}, body=patch, content_type=content_type
            )
        errors = strict_patch_errors(patch, is_json_patch=is_json_patch)
        assert refused.value.status.message.endswith("strict decoding error: " + ", ".join(errors)), errors


async def outcomes_of(client: Client, namespace: str, cases: list[Case]) -> dict[str, list[Object]]:
    """Returns the server's responses to each case. Its merges must equal ours."""
    await install(client)
    few = asyncio.Semaphore(8)
    merged_otherwise: list[str] = []

    async def run(case: Case) -> tuple[str, list[Object]]:
        async with few:
            running = Run(client, namespace, case)
            outcomes = await running.steps()
            merged_otherwise.extend(running.merged_otherwise)
            return case.name, outcomes

    found = dict(await asyncio.gather(*map(run, cases)))
    assert merged_otherwise == []
    return found


async def install(client: Client) -> None:
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    try:
        await client.request("POST", path, body=DEFINITION)
    except AlreadyExists:
        return

    async def established() -> bool:
        found = json.loads(await client.request("GET", f"{path}/widgets.{GROUP}"))
        conditions = found.get("status", {}).get("conditions") or []
        is_established = any(each["type"] == "Established" and each["status"] == "True" for each in conditions)
        return is_established and await served(client)

    await until(established)


async def served(client: Client) -> bool:
    try:
        for version in ("v1", "v2"):
            await client.request("GET", f"/apis/{GROUP}/{version}/widgets")
    except ApiError:
        return False
    return True


class Run:
    """One case on the server."""

    def __init__(self, client: Client, namespace: str, case: Case) -> None:
        self.client = client
        self.namespace = namespace
        self.case = case
        scoped = case.kind in CLUSTER_SCOPED
        self.name = f"{case.name}-{namespace}" if scoped else case.name
        self.names = {"name": self.name} | ({} if scoped else {"namespace": namespace})
        self.where = "" if scoped else f"/namespaces/{namespace}"
        self.merged_otherwise: list[str] = []

    async def steps(self) -> list[Object]:
        live: Object | None = None
        outcomes = []
        for step in self.case.steps:
            try:
                answer = await self.send(step, live)
                if step.subresource == "scale":
                    answer = json.loads(await self.client.request("GET", self.path(step.api_version)))
                outcomes.append({"object": self.same(answer)})
                if step.verb == "apply" and step.subresource == "" and live is not None:
                    await self.compare_merged(step, live, answer)
                live = answer
            except ApiError as error:
                causes = [
                    {"reason": cause.reason, "message": cause.message, "field": cause.field} for cause in error.causes
                ]
                # The order of several validation errors is random on the server.
                message = "" if error.reason == "Invalid" and causes else self.readable(error.status.message)
                outcomes.append({"refusal": refusal_of(error.code, error.reason, message, causes)})
        return outcomes

    def same(self, answer: Object) -> Object:
        text = json.dumps(answer).replace(self.name, self.case.name)
        return made_same(json.loads(text), self.namespace)

    def readable(self, text: str) -> str:
        return text.replace(self.name, self.case.name).replace(self.namespace, "ns")

    def path(self, api_version: str = "", subresource: str = "") -> str:
        version = api_version or self.case.api_version
        root = f"/apis/{version}" if "/" in version else f"/api/{version}"
        plural = PLURALS.get(self.case.kind, self.case.kind.lower() + "s")
        return f"{root}{self.where}/{plural}/{self.name}" + (f"/{subresource}" if subresource else "")

    async def send(self, step: Step, live: Object | None) -> Object:
        method, content_type = CONTENT[step.verb]
        path = self.path(step.api_version, step.subresource)
        body: Any = step.body
        query = {"fieldManager": step.manager}
        if step.verb == "create":
            path = path.rpartition("/")[0]
            metadata = {"name": self.name} | body.get("metadata", {})
            body = {"apiVersion": self.case.api_version, "kind": self.case.kind, **body, "metadata": metadata}
        elif step.verb == "apply":
            query["force"] = str(step.force).lower()
            if step.subresource == "scale":
                body = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": self.name}} | body
            else:
                body = identified(self.case, step, self.names)
        elif step.verb == "put":
            assert live is not None
            body = merge_patch(deepcopy(live), body)
            body["apiVersion"] = step.api_version or self.case.api_version
        body = b"null" if body is None else body
        answer: Object = json.loads(
            await self.client.request(method, path, query=query, body=body, content_type=content_type)
        )
        return answer

    async def compare_merged(self, step: Step, live: Object, answer: Object) -> None:
        """Sends our merge as a dry-run update: with defaults it must equal the server's merge."""
        version = step.api_version or self.case.api_version
        ours = performed(self.case, step, live, Outcome(answer), self.names)
        if ours.object is None:
            self.merged_otherwise.append(f"{self.case.name}: we refuse {step}: {ours.refusal}")
            return
        merged = deepcopy(ours.object)
        merged["metadata"].pop("managedFields", None)
        merged["metadata"]["resourceVersion"] = answer["metadata"]["resourceVersion"]
        try:
            text = await self.client.request("PUT", self.path(version), query={"dryRun": "All"}, body=merged)
        except ApiError as error:
            self.merged_otherwise.append(f"{self.case.name}: {step}: {error}")
            return
        shown, expected = json.loads(text), deepcopy(answer)
        for each in (shown, expected):
            each["metadata"].pop("generation", None)
            each["metadata"].pop("managedFields", None)
        if shown != expected:
            self.merged_otherwise.append(f"{self.case.name}: {step}: {shown} instead of {expected}")
