"""Runs scenarios on a server and normalizes its responses; see README.md in this folder."""

from __future__ import annotations

import asyncio
import base64
import json
import re
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from multidict import CIMultiDict

from kubewright.client import Request, Response, Transport
from kubewright.cluster.registry import group_order
from tests.patience import PATIENCE
from tests.yaml_files import load_yaml

HERE = Path(__file__).parent
POD_SECURITY = "pod-security.kubernetes.io/"
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")


@dataclass(frozen=True)
class Scenario:
    name: str
    steps: list[dict[str, Any]]
    file: str


@cache
def scenarios() -> tuple[Scenario, ...]:
    found = []
    for path in sorted((HERE / "scenarios").glob("*.yaml")):
        for entry in load_yaml(path):
            unknown = set(entry) - {"name", "steps"}
            assert not unknown, f"{path.name}: {entry['name']}: unknown {unknown}"
            found.append(Scenario(entry["name"], entry["steps"], path.stem))
    names = [scenario.name for scenario in found]
    assert len(set(names)) == len(names), "two scenarios have one name"
    return tuple(found)


@dataclass
class Run:
    """One scenario on one server."""

    transport: Transport
    namespace: str
    stranger: Transport | None = None
    """The transport without credentials, for steps with `token` or `anonymous`."""
    variables: dict[str, str] = field(default_factory=dict)
    watches: dict[str, tuple[Response, AsyncIterator[Any]]] = field(default_factory=dict)
    answers: list[dict[str, Any]] = field(default_factory=list)

    async def play(self, scenario: Scenario) -> list[dict[str, Any]]:
        self.variables["ns"] = self.namespace
        await self._prepare()
        try:
            async with asyncio.timeout(PATIENCE):
                for number, step in enumerate(scenario.steps):
                    for repetition in range(step.get("repeat", 1)):
                        self.variables["i"] = str(repetition)
                        await self._step(number, step)
        finally:
            for response, _ in self.watches.values():
                response.close()
        return normalized(self.answers, self.namespace)

    async def _prepare(self) -> None:
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.namespace}}
        response = await self.transport.send(self._request("POST", "/api/v1/namespaces", {}, json.dumps(body)))
        assert response.status == 201, await response.read()
        await response.read()

    def _filled(self, text: str) -> str:
        return re.sub(r"\$([a-z_]+)", lambda found: self.variables.get(found[1], found[0]), text)

    def _request(self, method: str, target: str, step: dict[str, Any], body: str | None) -> Request:
        path, _, query = target.partition("?")
        headers = CIMultiDict(self._identity(step))
        headers.update({"User-Agent": step.get("agent", "test/1"), "Accept": step.get("accept", "application/json")})
        if body is not None:
            headers["Content-Type"] = step.get("type", "application/json")
        return Request(
            method=method,
            path=path,
            query=parse_qsl(query, keep_blank_values=True),
            headers=headers,
            body=None if body is None else body.encode(step.get("encoding", "utf-8")),
            stream="watch=" in query,
            timeout=PATIENCE,
        )

    def _identity(self, step: dict[str, Any]) -> list[tuple[str, str]]:
        """The headers that say who asks."""
        own = [("Authorization", f"Bearer {self._filled(step['token'])}")] if "token" in step else []
        wanted = step.get("as", {})
        if isinstance(wanted, str):
            wanted = {"user": wanted}
        headers = [
            (f"Impersonate-{part}", str(wanted[part.lower()])) for part in ("User", "Uid") if part.lower() in wanted
        ]
        headers += [("Impersonate-Group", group) for group in wanted.get("groups", [])]
        headers += [(f"Impersonate-Extra-{key}", one) for key, all_ in wanted.get("extra", {}).items() for one in all_]
        return own + [(name, self._filled(value)) for name, value in headers]

    def _way(self, step: dict[str, Any]) -> Transport:
        if "token" not in step and "anonymous" not in step:
            return self.transport
        assert self.stranger is not None
        return self.stranger

    async def _step(self, number: int, step: dict[str, Any]) -> None:
        label = f"step {number + 1}"
        if "read" in step:
            events = self.watches[step["read"]][1]
            self.answers.append({"step": label, "events": await taken(events, step["events"])})
            return
        method = next(method for method in METHODS if method in step)
        body = step.get("text")
        if "body" in step:
            body = json.dumps(step["body"])
        target = self._filled(step[method])
        request = self._request(method, target, step, None if body is None else self._filled(body))
        way = self._way(step)
        if ("resourceVersion", "0") in request.query:
            await self._up_to_date(request.path)
        response = await way.send(request)
        while "until" in step and response.status != step["until"]:
            await response.read()
            await asyncio.sleep(0.05)  # real: the server is another process
            response = await way.send(request)
        answer: dict[str, Any] = {"step": f"{label}: {method} {step[method]}", "status": response.status}
        if warnings := response.warnings():
            answer["warnings"] = sorted(warnings)
        if step.get("setup"):
            content = await response.read()
            assert 200 <= response.status < 300, content
            self._save(step, json.loads(content))
            return
        if "open" in step:
            self.watches[step["open"]] = (response, lines_of(response))
        elif "events" in step:
            events = lines_of(response)
            answer["events"] = await taken(events, step["events"])
            response.close()
        else:
            content = await response.read()
            try:
                answer["body"] = json.loads(content)
            except ValueError:
                answer["body"] = content.decode()
            self._save(step, answer["body"])
        if method == "PATCH" and target == f"/api/v1/namespaces/{self.namespace}" and response.status == 200:
            await self._enforced(answer["body"]["metadata"]["labels"])
        self.answers.append(answer)

    async def _up_to_date(self, path: str) -> None:
        """Waits until the watch cache has every write so far: `resourceVersion=0` reads it as it is."""
        response = await self.transport.send(self._request("GET", f"{path}?limit=1", {}, None))
        revision = json.loads(await response.read())["metadata"]["resourceVersion"]
        query = f"limit=1&resourceVersionMatch=NotOlderThan&resourceVersion={revision}"
        response = await self.transport.send(self._request("GET", f"{path}?{query}", {}, None))
        assert response.status == 200, await response.read()
        await response.read()

    async def _enforced(self, labels: dict[str, str]) -> None:
        """Waits until admission has the Pod Security labels: it reads namespaces from a cache of its own."""
        level, version, status = "", "", 201
        for mode, expected in (("warn", 201), ("enforce", 403)):
            if labels.get(POD_SECURITY + mode, "privileged") != "privileged":
                level, status = labels[POD_SECURITY + mode], expected
                version = labels.get(f"{POD_SECURITY}{mode}-version", "latest")
        path = f"/api/v1/namespaces/{self.namespace}/pods?dryRun=All"
        container = {"name": "a", "image": "b", "securityContext": {"privileged": True}}
        body = json.dumps({"metadata": {"generateName": "probe-"}, "spec": {"containers": [container]}})
        while True:
            response = await self.transport.send(self._request("POST", path, {}, body))
            problem = (await response.read()).decode()
            text = (problem if response.status == 403 else "".join(response.warnings())).replace('\\"', '"')
            if response.status == status and (f'"{level}:{version}"' in text if level else not text):
                return
            await asyncio.sleep(0.02)  # real: nothing announces that the cache has a change

    def _save(self, step: dict[str, Any], body: Any) -> None:
        for name, path in step.get("save", {}).items():
            value = body
            for part in path.split("."):
                value = value[int(part)] if part.isdigit() else value[part]
            self.variables[name] = str(value)


async def lines_of(response: Response) -> AsyncIterator[Any]:
    rest = b""
    async for chunk in response.chunks():
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            yield json.loads(line)


async def taken(events: AsyncIterator[Any], count: int | str) -> list[Any]:
    """That many events; all until the end for `all`, or until an object is deleted for `deleted`."""
    found: list[Any] = []
    while isinstance(count, str) or len(found) < count:
        if count == "deleted" and found and found[-1].get("type") in ("DELETED", "ERROR"):
            break
        try:
            found.append(await anext(events))
        except StopAsyncIteration:
            found.append("END")
            break
    return found


# Normalization

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
AGE = re.compile(r"(\d+[smhd]){1,2}")
REVISION_LINE = re.compile(r'(resourceVersion: )"\d+"')
REVISION_IN_TEXT = re.compile(r"(resourceVersion\D{1,20})(\d+)", re.IGNORECASE)  # other numbers are none
QUOTED_OBJECT = re.compile(r'"\{(?:[^"\\]|\\.)*\}"')
GENERATED = re.compile(r"\b(\w+-gen-)[a-z0-9]{5}")


TOKEN = re.compile(r"eyJ[\w-]+\.([\w-]+)\.[\w-]+")


def _claims(token: re.Match[str]) -> str:
    """What a signed token says, with its times as seconds after it was issued."""
    claims = json.loads(base64.urlsafe_b64decode(token[1] + "=="))
    issued = claims.pop("iat", 0)
    for holder, name in ((claims, "exp"), (claims, "nbf"), (claims.get("kubernetes.io", {}), "warnafter")):
        if name in holder:
            holder[name] -= issued
    return f"<token {json.dumps(claims, sort_keys=True)}>"


def normalized(answers: list[dict[str, Any]], namespace: str) -> list[dict[str, Any]]:
    """The answers with uids, times and revisions replaced by what stays the same from run to run."""
    for answer in answers:
        if answer.get("step", "").endswith("GET /apis"):
            _without_custom_groups(answer["body"])
    revisions = sorted({int(found) for found in _revisions(answers)})
    ranks = {str(revision): f"<revision {rank + 1}>" for rank, revision in enumerate(revisions)}
    uids: dict[str, str] = {}

    def text(value: str, key: str) -> str:
        value = TOKEN.sub(_claims, value)
        value = UID.sub(lambda found: uids.setdefault(found[0], f"<uid {len(uids) + 1}>"), value)
        value = TIME.sub("<time>", value).replace(namespace, "<namespace>")
        value = GENERATED.sub(r"\1<generated>", value)
        if key == "body":  # YAML, which is compared as it was written
            value = REVISION_LINE.sub(r"\1<revision>", value)
        if key == "message":
            value = QUOTED_OBJECT.sub(lambda found: json.dumps(_sorted(found[0])), value)
        if key in ("message", "step"):
            return REVISION_IN_TEXT.sub(lambda found: found[1] + ranks.get(found[2], found[2]), value)
        if key == "cells" and AGE.fullmatch(value):
            return "<age>"
        return value

    def by_chance(key: str, made: list[Any]) -> bool:
        """Whether the order of a list means nothing: it is one of a map of Go's, or of writes in the same second."""
        conflicts = key == "causes" and any(cause.get("reason") == "FieldManagerConflict" for cause in made)
        return conflicts or key in ("resourceRules", "nonResourceRules", "managedFields")

    def walk(value: Any, key: str, parent: dict[str, Any]) -> Any:
        if isinstance(value, dict):
            return {text(name, ""): walk(item, name, value) for name, item in value.items()}
        if isinstance(value, list):
            made = [walk(item, key, parent) for item in value]
            if key == "causes":  # the real server checks some rules several times, and says so
                made = [cause for index, cause in enumerate(made) if cause not in made[:index]]
            return sorted(made, key=lambda entry: json.dumps(entry, sort_keys=True)) if by_chance(key, made) else made
        if key == "resourceVersion" and isinstance(value, str) and value:
            # Those of lists and bookmarks depend on what else the server does.
            return ranks.get(value, "<revision>") if "uid" in parent else "<revision>"
        if key == "continue" and isinstance(value, str) and value:
            return "<continue>"
        return text(value, key) if isinstance(value, str) else value

    return [walk(answer, "", {}) for answer in answers]


def _without_custom_groups(discovery: Any) -> None:
    """The real server is shared: other tests define kinds there. `test_facts.py` sees to the groups of its own."""
    known = {group_version.rpartition("/")[0] for group_version in group_order()}
    for key in ("groups", "items"):
        if key in discovery:
            discovery[key] = [
                group for group in discovery[key] if (group.get("name") or group["metadata"]["name"]) in known
            ]


def _sorted(quoted: str) -> str:
    """An object that is quoted in a message, with its fields in order."""
    try:
        return json.dumps(json.loads(json.loads(quoted)), sort_keys=True)
    except ValueError:
        return quoted


def _revisions(value: Any) -> Iterator[str]:
    """The resourceVersions of objects; those of lists and bookmarks depend on what else the server does."""
    if isinstance(value, list):
        for item in value:
            yield from _revisions(item)
    elif isinstance(value, dict):
        metadata = value.get("metadata")
        if isinstance(metadata, dict) and metadata.get("uid") and str(metadata.get("resourceVersion", "")).isdigit():
            yield metadata["resourceVersion"]
        for item in value.values():
            yield from _revisions(item)


# Comparing


def differences(embedded: Any, real: Any, path: str = "") -> Iterator[str]:
    """Where two answers differ, with both values."""
    if isinstance(embedded, dict) and isinstance(real, dict):
        for name in sorted({*embedded, *real}):
            here = f"{path}.{name}" if path else name
            if name not in real:
                yield f"{here}: only embedded has it: {_short(embedded[name])}"
            elif name not in embedded:
                yield f"{here}: only the real server has it: {_short(real[name])}"
            else:
                yield from differences(embedded[name], real[name], here)
    elif isinstance(embedded, list) and isinstance(real, list):
        if len(embedded) != len(real):
            counts = f"embedded has {len(embedded)} items, the real server {len(real)}"
            yield f"{path}: {counts}: {_short(embedded)} != {_short(real)}"
        for index, (one, other) in enumerate(zip(embedded, real, strict=False)):
            yield from differences(one, other, f"{path}[{index}]")
    elif embedded != real or type(embedded) is not type(real):
        yield f"{path}: embedded {_short(embedded)}, real {_short(real)}"


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) < 600 else f"{text[:600]}…"


def ignored(patterns: list[str]) -> Callable[[str], bool]:
    """Whether a difference is allowed by one of the patterns, in which `*` stands for anything."""
    compiled = [
        re.compile("".join(".*" if part == "*" else re.escape(part) for part in re.split(r"(\*)", each)), re.DOTALL)
        for each in patterns
    ]
    return lambda difference: any(pattern.match(difference) for pattern in compiled)
