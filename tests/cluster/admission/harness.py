"""Scenarios with webhooks, for both servers; see README.md beside this file and in ../differential."""

from __future__ import annotations

import asyncio
import json
import secrets
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from kubewright.client import Transport
from kubewright.cluster import Cluster
from tests.cluster.admission.hooks import HookServer
from tests.cluster.differential.harness import METHODS, Run, Scenario, differences, ignored

HERE = Path(__file__).parent
FAR = 1_000_000  # the embedded revisions begin here, so that none of them is some other number by chance
GROUP = "/apis/admissionregistration.k8s.io/v1"
PLURALS = {"Validating": "validatingwebhookconfigurations", "Mutating": "mutatingwebhookconfigurations"}
SUBRESOURCES = ("status", "scale", "binding", "eviction")
RULE = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["CREATE"]}


@dataclass(frozen=True)
class HookScenario:
    name: str
    hooks: dict[str, Any]
    steps: list[dict[str, Any]]
    file: str


def hook_scenarios(folder: Path = HERE / "scenarios") -> list[HookScenario]:
    found = [
        HookScenario(entry["name"], entry.get("hooks", {}), entry["steps"], path.stem)
        for path in sorted(folder.glob("*.yaml"))
        for entry in yaml.safe_load(path.read_text())
    ]
    names = [scenario.name for scenario in found]
    assert len(set(names)) == len(names), "two scenarios have one name"
    return found


async def check_alike(scenario: HookScenario, real: Transport, server: HookServer, known: list[dict[str, str]]) -> None:
    """Play a scenario on both servers, and fail when they differ otherwise than is known, or no more as is known."""
    namespace = f"hook-{secrets.token_hex(4)}"
    async with Cluster(seed=scenario.name, controllers=False) as cluster:
        cluster.state.storage.revision = FAR
        embedded = await HookRun(cluster.transport(), namespace, server=server, side="e").with_hooks(scenario)
    expected = await HookRun(real, namespace, server=server, side="r").with_hooks(scenario)
    found = list(differences(embedded, expected, ""))
    ours = [entry for entry in known if entry["scenario"] == scenario.name]
    for entry in ours:
        assert entry["reason"]
        assert any(ignored([entry["difference"]])(difference) for difference in found), f"is gone: {entry}\n{found}"
    allowed = ignored([entry["difference"] for entry in ours])
    left = [difference for difference in found if not allowed(difference)]
    assert left == [], "\n".join(left)


@dataclass
class HookRun(Run):
    """One scenario with webhooks on one server."""

    server: HookServer = field(kw_only=True)
    side: str = field(kw_only=True)
    made: list[str] = field(default_factory=list)

    async def with_hooks(self, scenario: HookScenario) -> list[dict[str, Any]]:
        self.variables |= {"hook": f"{self.server.url}/{self.side}", "ca": self.server.bundle}
        for name, behaviour in scenario.hooks.items():
            self.server.behaviours[f"{self.side}/{name}"] = behaviour
        try:
            answers = await self.play(Scenario(scenario.name, scenario.steps, scenario.file))
        finally:
            for path in self.made:
                response = await self.transport.send(self._request("DELETE", path, {}, None))
                await response.read()
        return self._same_names(answers)

    def _same_names(self, answers: list[dict[str, Any]]) -> list[dict[str, Any]]:
        text = json.dumps(answers).replace(f"{self.server.url}/{self.side}", "<hook>")
        made: list[dict[str, Any]] = json.loads(text.replace(self.server.bundle, "<ca>"))
        return made

    async def _step(self, number: int, step: dict[str, Any]) -> None:
        if "configure" in step:
            await self._configure(number, step)
        elif "behave" in step:
            for name, behaviour in step["behave"].items():
                self.server.behaviours[f"{self.side}/{name}"] = behaviour
        elif "reviews" in step:
            asked = self.server.asked.pop(f"{self.side}/{step['reviews']}", [])
            self.answers.append({"step": f"step {number + 1}: reviews", "asked": [_seen(review) for review in asked]})
        else:
            await super()._step(number, step)
            await self._cached(step)

    async def _cached(self, step: dict[str, Any]) -> None:
        """Wait until the real server's cache has what was written.

        It begins a write with what is cached, asks admission, and does so once more when that turns out to be old.
        """
        method = next((method for method in METHODS if method in step), "GET")
        if method == "GET":
            return
        path = self._filled(step[method]).partition("?")[0]
        parent, _, last = path.rpartition("/")
        if last in SUBRESOURCES:
            path = parent
        elif method == "POST":
            path = f"{path}/{step.get('body', {}).get('metadata', {}).get('name', '')}"
        if path.endswith("/"):  # a name that the server makes
            return
        response = await self.transport.send(self._request("GET", path, {}, None))
        content = json.loads(await response.read())
        if response.status == 200:
            at = f"?resourceVersion={content['metadata']['resourceVersion']}"
            cached = await self.transport.send(self._request("GET", path + at, {}, None))
            await cached.read()

    async def _configure(self, number: int, step: dict[str, Any]) -> None:
        """Create a configuration, and wait until the server heeds it: a hook of its own tells."""
        plural = PLURALS[step["configure"]]
        probe = f"probe-{number}"
        hooks = [self._hook(hook) for hook in step["webhooks"]]
        if step.get("wait", True):
            selector = {"matchLabels": {"probe": probe}}
            hooks.insert(0, self._hook({"name": f"{probe}.example.com", "hook": probe, "objectSelector": selector}))
        name = f"{self.namespace}-{step.get('name', number)}"
        body = {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": f"{step['configure']}WebhookConfiguration",
            "metadata": {"name": name},
            "webhooks": hooks,
        }
        await super()._step(number, {"POST": f"{GROUP}/{plural}", "text": json.dumps(body), "setup": True})
        self.made.append(f"{GROUP}/{plural}/{name}")
        path = f"/api/v1/namespaces/{self.namespace}/configmaps?dryRun=All"
        asked = json.dumps({"metadata": {"name": probe, "labels": {"probe": probe}}})
        while step.get("wait", True) and f"{self.side}/{probe}" not in self.server.asked:
            response = await self.transport.send(self._request("POST", path, {}, asked))
            await response.read()
            await asyncio.sleep(0.02)
        for hook in step["webhooks"]:  # what it was asked about the probe
            self.server.asked.pop(f"{self.side}/{hook.get('hook')}", None)

    def _hook(self, hook: dict[str, Any]) -> dict[str, Any]:
        made = {
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
            "rules": [RULE],
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": self.namespace}},
            **hook,
        }
        made["rules"] = [{**RULE, **rule} for rule in made["rules"]]
        if "hook" in made:
            made["clientConfig"] = {"url": f"$hook/{made.pop('hook')}", "caBundle": "$ca"}
        return {name: value for name, value in made.items() if value is not None}


def _seen(review: dict[str, Any]) -> dict[str, Any]:
    """A review without who asks: the two servers have different administrators."""
    request = {**review["request"]}
    request.pop("userInfo", None)
    return {**review, "request": request}
