"""The OpenAPI v3 documents: definitions without descriptions, and the kinds of each group version."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tools.generate_schemas._enumerations import add_enumerations

__all__ = ["Documents"]


@dataclass(frozen=True)
class Documents:
    """What the documents of all group versions say.

    `definitions` by name; `kinds`: the definition of each kind, by group version.
    """

    definitions: dict[str, dict[str, Any]] = field(default_factory=dict)
    kinds: dict[str, dict[str, str]] = field(default_factory=dict)

    @classmethod
    def load(cls, kubernetes: Path) -> Documents:
        """Read the documents from the folder of the Go module `k8s.io/kubernetes`.

        The documents lack the values of enumerations, which a server shows: those are in the generated Go code.
        """
        found = cls()
        for path in sorted((kubernetes / "api/openapi-spec/v3").glob("api*__v*_openapi.json")):
            document = json.loads(path.read_bytes())
            found._add(document)
        add_enumerations(found.definitions, kubernetes / "pkg/generated/openapi/zz_generated.openapi.go")
        return found

    def _add(self, document: dict[str, Any]) -> None:
        for name, schema in document["components"]["schemas"].items():
            self.definitions[name] = _facts(schema)
            for kind in schema.get("x-kubernetes-group-version-kind", ()):
                self.kinds.setdefault(_joined(kind), {})[kind["kind"]] = name


def _facts(schema: Any) -> Any:
    """The schema without descriptions; a property may be called description, though."""
    if isinstance(schema, dict):
        return {
            key: {name: _facts(each) for name, each in sorted(value.items())} if key == "properties" else _facts(value)
            for key, value in schema.items()
            if key != "description"
        }
    return [_facts(each) for each in schema] if isinstance(schema, list) else schema


def _joined(kind: dict[str, str]) -> str:
    return f"{kind['group']}/{kind['version']}" if kind["group"] else kind["version"]
