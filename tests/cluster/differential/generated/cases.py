"""The generated requests. Each is independent of the others: it changes nothing, or only what no other one reads."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

import yaml

from tests.cluster.differential.generated.fields import ABSENT, Change, applied, changes
from tests.cluster.differential.generated.kinds import Kind, kinds
from tests.cluster.differential.generated.options import Option, options

__all__ = ["Case", "cases", "sample_of"]

_LIMIT: Final = 360
_LIMITS: Final = {
    "v1/pods": 2400,
    "v1/services": 700,
    "v1/persistentvolumes": 700,
    "apiextensions.k8s.io/v1/customresourcedefinitions": 700,
}
"""How many requests about fields a kind has."""
_WITH_METADATA: Final = ("v1/configmaps", "v1/namespaces", "v1/pods", "apps/v1/deployments")
_IN_YAML: Final = 24  # of 256
_CONTENT: Final = {
    "json": "application/json-patch+json",
    "merge": "application/merge-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "apply": "application/apply-patch+yaml",
}
_WRITES: Final = ("update", "json", "merge", "strategic", "apply")
_MODES: Final = ("Strict", "Warn", "Ignore", "")
_Dumper: Final = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


@dataclass(frozen=True)
class Case:
    """One request, and the behavior that it is about."""

    kind: str
    verb: str
    rule: str
    method: str
    target: str
    body: str | None = None
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return f"{self.kind} {self.verb} {self.rule}"

    @property
    def order(self) -> str:
        """A place among all cases that does not depend on the others."""
        return hashlib.sha256(self.name.encode()).hexdigest()


@cache
def cases() -> tuple[Case, ...]:
    """All of them."""
    found = [case for kind in kinds() for case in (*_of_options(kind), *_of_fields(kind))]
    by_name = {case.name: case for case in found}
    return tuple(by_name.values())


def sample_of(count: int) -> tuple[Case, ...]:
    """That many cases, spread over all kinds and rules; the same ones in every run."""
    return tuple(sorted(cases(), key=lambda case: case.order)[:count])


def _of_options(kind: Kind) -> Iterator[Case]:
    for option in options(kind):
        yield _of_option(kind, option)


def _of_option(kind: Kind, option: Option) -> Case:
    body = option.body
    text = body if isinstance(body, str) or body is None else json.dumps(body)
    headers = {"Accept": option.accept or "application/json"}
    if text is not None:
        headers["Content-Type"] = option.type or "application/json"
    return Case(kind.key, option.verb, option.rule, option.method, option.target, text, headers)


def _of_fields(kind: Kind) -> Iterator[Case]:
    """A bounded number of them, chosen before they are built: a pod alone would have tens of thousands."""
    found = [
        (hashlib.sha256(f"{change.field} {change.rule} {verb} {mode}".encode()).digest(), change, verb, mode)
        for change in changes(kind.schemas, kind.schema, kind.object())
        if change.path[0] != "metadata" or kind.key in _WITH_METADATA
        for verb, mode in _ways(kind, change)
    ]
    found.sort(key=lambda entry: entry[0])
    for _, change, verb, mode in found[: _LIMITS.get(kind.key, _LIMIT)]:
        yield _create(kind, change, mode) if verb == "create" else _write(kind, change, verb)


def _ways(kind: Kind, change: Change) -> Iterator[tuple[str, str]]:
    """The verbs that a change is written with, and the modes of field validation."""
    digest = int.from_bytes(hashlib.sha256(f"{change.field} {change.rule}".encode()).digest()[:4])
    of_status = change.path[0] == "status"
    modes = _MODES if change.rule == "unknown" else (_MODES[digest % 4],)
    if not of_status:
        yield from (("create", mode) for mode in modes)
    if "update" not in kind.verbs or (of_status and "status" not in kind.subresources):
        return
    verbs = _WRITES if change.rule == "unknown" else (_WRITES[digest % len(_WRITES)],)
    yield from ((verb, "Strict" if change.rule == "unknown" else "") for verb in verbs)


def _create(kind: Kind, change: Change, mode: str) -> Case:
    obj = applied(kind.object("new"), change)
    rule = f"{change.field}: {change.rule}" + (f" ({mode or 'default'})" if change.rule == "unknown" else "")
    query = "?dryRun=All" + (f"&fieldValidation={mode}" if mode else "")
    in_yaml = hashlib.sha256(rule.encode()).digest()[0] < _IN_YAML
    body = yaml.dump(obj, Dumper=_Dumper) if in_yaml else json.dumps(obj)
    headers = {"Content-Type": "application/yaml" if in_yaml else "application/json"}
    return Case(kind.key, "create", rule, "POST", kind.collection + query, body, headers)


def _write(kind: Kind, change: Change, verb: str) -> Case:
    path = f"{kind.item}/status" if change.path[0] == "status" else kind.item
    sample = kind.object()
    obj = applied(sample, change)
    query = "?dryRun=All&fieldValidation=Strict" if change.rule == "unknown" else "?dryRun=All"
    method = "PATCH"
    body: Any = None
    match verb:
        case "update":
            method, body = "PUT", obj
        case "json":
            body = [_operation(sample, obj, change)]
        case "merge":
            body = _nested(obj, change, only_first=False)
        case "strategic":
            body = _nested(obj, change, only_first=True)
        case "apply":
            body, query = obj, query + "&fieldManager=another&force=true"
    name = f"{verb} status" if path.endswith("/status") else verb
    headers = {"Content-Type": _CONTENT.get(verb, "application/json")}
    return Case(kind.key, name, f"{change.field}: {change.rule}", method, path + query, json.dumps(body), headers)


def _operation(sample: Any, obj: Any, change: Change) -> dict[str, Any]:
    """A JSON Patch operation: at the field, or at the first object above it that the sample lacks."""
    path = list(change.path)
    holder, value = sample, obj
    for count, part in enumerate(path):
        has = part < len(holder) if isinstance(part, int) else part in holder
        if count == len(path) - 1 and change.value is ABSENT:
            return {"op": "remove", "path": _pointer(path)}
        value = value[part]
        last = count == len(path) - 1
        if not has or last or type(holder[part]) is not type(value):
            operation = "replace" if isinstance(part, int) and has else "add"
            return {"op": operation, "path": _pointer(path[: count + 1]), "value": value}
        holder = holder[part]
    raise AssertionError(change)


def _pointer(path: list[str | int]) -> str:
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path)


def _nested(obj: Any, change: Change, *, only_first: bool) -> dict[str, Any]:
    """A merge patch: the path down to the field, or to the first list on it."""
    names: list[str] = []
    value: Any = obj
    for part in change.path:
        if isinstance(part, int):
            value = value[:1] if only_first else value
            break
        names.append(part)
        value = None if change.value is ABSENT and len(names) == len(change.path) else value[part]
    for part in reversed(names):
        value = {part: value}
    assert isinstance(value, dict)
    return value
