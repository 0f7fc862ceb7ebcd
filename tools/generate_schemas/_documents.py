"""The OpenAPI v3 documents: definitions without descriptions, and where kinds are served."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from tools.generate_schemas._enumerations import add_enumerations

__all__ = ["Documents"]

_PATH: Final = re.compile(
    r"/apis?/(?:[^/]+/)??v[^/]+"
    r"(?P<namespaced>/namespaces/\{namespace\})?"
    r"/(?P<plural>[a-z]+)(?:/\{name\}(?:/(?P<subresource>[a-z]+))?)?"
)
# What a path's operation is called among the verbs of discovery.
_VERBS: Final = {
    "post": "create",
    "put": "update",
    "get": "get",
    "list": "list",
    "patch": "patch",
    "delete": "delete",
    "deletecollection": "deletecollection",
    "connect": "connect",
}


@dataclass(frozen=True)
class Documents:
    """What the documents of all group versions say.

    `definitions` by name; `members`: the names that each group version's document holds; `kinds`: the definition of
    each kind, by group version; `resources`: what is served there, as (plural, kind, namespaced, verbs, subresources).
    """

    definitions: dict[str, dict[str, Any]] = field(default_factory=dict)
    members: dict[str, list[str]] = field(default_factory=dict)
    kinds: dict[str, dict[str, str]] = field(default_factory=dict)
    resources: dict[str, list[list[Any]]] = field(default_factory=dict)

    @classmethod
    def load(cls, kubernetes: Path) -> Documents:
        """Read the documents from the folder of the Go module `k8s.io/kubernetes`.

        The documents lack the values of enumerations, which a server shows: those are in the generated Go code.
        """
        found = cls()
        for path in sorted((kubernetes / "api/openapi-spec/v3").glob("api*__v*_openapi.json")):
            document = json.loads(path.read_bytes())
            group_version = path.name.removesuffix("_openapi.json").removeprefix("apis__").removeprefix("api__")
            found._add(group_version.replace("__", "/"), document)
        add_enumerations(found.definitions, kubernetes / "pkg/generated/openapi/zz_generated.openapi.go")
        return found

    def _add(self, group_version: str, document: dict[str, Any]) -> None:
        schemas = document["components"]["schemas"]
        self.members[group_version] = sorted(schemas)
        for name, schema in schemas.items():
            self.definitions[name] = _facts(schema)
            for kind in schema.get("x-kubernetes-group-version-kind", ()):
                self.kinds.setdefault(_joined(kind), {})[kind["kind"]] = name
        self.resources[group_version] = _resources(group_version, document["paths"])


def _facts(schema: Any) -> Any:
    """The schema without descriptions; a property may be called description, though."""
    if isinstance(schema, dict):
        return {
            key: {name: _facts(each) for name, each in sorted(value.items())} if key == "properties" else _facts(value)
            for key, value in schema.items()
            if key != "description"
        }
    return [_facts(each) for each in schema] if isinstance(schema, list) else schema


def _resources(group_version: str, paths: dict[str, Any]) -> list[list[Any]]:
    found: dict[str, dict[str, Any]] = {}
    watched: set[str] = set()
    for path, operations in paths.items():
        match = _PATH.fullmatch(path)
        if match is None or match["plural"] == "watch":
            if "/watch/" in path:
                watched.add(path.removesuffix("/{name}").rpartition("/")[2])
            continue
        entry = found.setdefault(match["plural"], {"kind": "", "namespaced": False, "verbs": set(), "sub": {}})
        if match["namespaced"]:
            entry["namespaced"] = True
        for verb, kind, where in _operations(operations):
            if match["subresource"]:
                sub = entry["sub"].setdefault(match["subresource"], {"kind": kind, "where": where, "verbs": set()})
                sub["verbs"].add(verb)
            else:
                entry["kind"] = kind
                entry["verbs"].add(verb)
    return [
        [
            plural,
            entry["kind"],
            entry["namespaced"],
            sorted(entry["verbs"] | ({"watch"} if plural in watched else set())),
            [
                [name, sub["kind"], "" if sub["where"] == group_version else sub["where"], sorted(sub["verbs"])]
                for name, sub in sorted(entry["sub"].items())
            ],
        ]
        for plural, entry in sorted(found.items())
    ]


def _operations(operations: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    for method, operation in operations.items():
        if method == "parameters" or "x-kubernetes-action" not in operation:
            continue
        kind = operation["x-kubernetes-group-version-kind"]
        verb = _VERBS.get(operation["x-kubernetes-action"])
        if verb:
            yield verb, kind["kind"], _joined(kind)


def _joined(kind: dict[str, str]) -> str:
    return f"{kind['group']}/{kind['version']}" if kind["group"] else kind["version"]
