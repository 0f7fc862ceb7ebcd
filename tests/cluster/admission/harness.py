"""Scenarios with webhooks, for both servers; see README.md beside this file and in ../differential."""

from __future__ import annotations

import asyncio
import json
import secrets
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kubewright.client import Transport
from kubewright.cluster import Cluster
from tests.cluster.admission.hooks import HookServer
from tests.cluster.differential.harness import METHODS, Run, Scenario, differences, ignored
from tests.yaml_files import load_yaml

HERE = Path(__file__).parent
FAR = 1_000_000  # embedded revisions start here, so that none equals another number by chance
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
        for entry in load_yaml(path)
    ]
    names = [scenario.name for scenario in found]
    assert len(set(names)) == len(names), "two scenarios have one name"
    return found


async def check_alike(scenario: HookScenario, real: Transport, server: HookServer, known: list[dict[str, str]]) -> None:
    """Plays a scenario on both servers and fails unless their differences are exactly the known ones."""
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
        for name, behavior in scenario.hooks.items():
            self.server.behaviors[f"{self.side}/{name}"] = behavior
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
            for name, behavior in step["behave"].items():
                self.server.behaviors[f"{self.side}/{name}"] = behavior
        elif "reviews" in step:
            received = self.server.received.pop(f"{self.side}/{step['reviews']}", [])
            self.answers.append(
                {"step": f"step {number + 1}: reviews", "asked": [_seen(review) for review in received]}
            )
        else:
            await super()._step(number, step)
            await self._cached(step)

    async def _cached(self, step: dict[str, Any]) -> None:
        """Waits until the real server's cache has the written object.

        The server runs admission on the cached object, and again if that is outdated.
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
        if path.endswith("/"):  # a generated name
            return
        response = await self.transport.send(self._request("GET", path, {}, None))
        content = json.loads(await response.read())
        if response.status == 200:
            at = f"?resourceVersion={content['metadata']['resourceVersion']}"
            cached = await self.transport.send(self._request("GET", path + at, {}, None))
            await cached.read()

    async def _configure(self, number: int, step: dict[str, Any]) -> None:
        """Creates a configuration and waits until the server uses it: a probe hook confirms it."""
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
        while step.get("wait", True) and f"{self.side}/{probe}" not in self.server.received:
            response = await self.transport.send(self._request("POST", path, {}, asked))
            await response.read()
            await asyncio.sleep(0.02)  # real: the server is another process
        self._forget(probe)

    def _forget(self, probe: str) -> None:
        """Drops the reviews of a probe from all webhooks: how many probes a server needs depends on its load."""
        for hook, reviews in self.server.received.items():
            if hook.startswith(f"{self.side}/"):
                reviews[:] = [review for review in reviews if review["request"].get("name") != probe]

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
    """Returns a review without its user: the two servers have different administrators."""
    request = {**review["request"]}
    request.pop("userInfo", None)
    return {**review, "request": request}
