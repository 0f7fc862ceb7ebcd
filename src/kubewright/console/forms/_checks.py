"""`Checker`: validates an object before it is sent to the server, and reports problems by path."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from kubewright.api.schema import rules_of, violations
from kubewright.console.forms._fields import Field
from kubewright.console.forms._locations import locate
from kubewright.console.forms._paths import Path, value_at
from kubewright.names import (
    label_value_problems,
    path_segment_problems,
    qualified_name_problems,
    subdomain_problems,
)

__all__ = ["METADATA", "Checker", "Problem"]

_STRING_MAP: Final = {"type": "object", "additionalProperties": {"type": "string"}}
METADATA: Final[dict[str, Any]] = {
    "type": "object",
    "required": ["name"],
    "properties": {
        "name": {"type": "string", "description": "Unique among objects of the same kind."},
        "generateName": {"type": "string"},
        "namespace": {"type": "string"},
        "labels": {**_STRING_MAP, "description": "Key-value pairs that selectors match."},
        "annotations": {**_STRING_MAP, "description": "Non-identifying metadata."},
    },
}
"""The metadata fields that users edit. The server sets the others."""
_SERVER_METADATA: Final = frozenset(
    [
        "creationTimestamp",
        "deletionGracePeriodSeconds",
        "deletionTimestamp",
        "finalizers",
        "generateName",
        "generation",
        "managedFields",
        "ownerReferences",
        "resourceVersion",
        "selfLink",
        "uid",
    ]
)
_IDENTITY: Final[tuple[Path, ...]] = (("apiVersion",), ("kind",), ("metadata", "name"), ("metadata", "namespace"))


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem and its location. `path` is empty for a problem without a field."""

    path: Path
    message: str


class Checker:
    """The rules of one kind. Create it once: it compiles the schema's CEL rules, if the extra `test` is installed."""

    def __init__(self, field: Field, *, namespaced: bool) -> None:
        self.field = field
        self._namespaced = namespaced
        self._has_schema = "kind" in field.members
        # Metadata is checked separately, so that its problems do not hide those that schema and rules find in the rest.
        name = field.schema["properties"]["metadata"]["properties"]["name"]
        metadata = {"type": "object", "properties": {"name": name}}
        self._schema = {**field.schema, "properties": {**field.schema["properties"], "metadata": metadata}}
        self._rules = rules_of(self._schema) if self._has_schema else None

    def check(self, value: dict[str, Any], old: dict[str, Any] | None = None) -> list[Problem]:
        """Returns all violations. With an old object, also checks transition rules."""
        found = [*self._metadata(value.get("metadata"))]
        if old is not None:
            found += [
                Problem(path, "cannot be changed") for path in _IDENTITY if value_at(value, path) != value_at(old, path)
            ]
        if not self._has_schema:
            return found
        for violation in violations(self._schema, value, rules=self._rules, old=old):
            path, rest = locate(violation.path, self.field, value)
            found.append(Problem(path, f"{rest.lstrip('.')} {violation.message}" if rest else violation.message))
        found += [Problem(path, "is not a field of this kind") for path in _unknown_fields(self.field, value)]
        return list(dict.fromkeys(found))

    def _metadata(self, metadata: Any) -> Iterator[Problem]:
        if not isinstance(metadata, dict):
            metadata = {}
        name = metadata.get("name")
        if name in (None, "") and not metadata.get("generateName"):
            yield Problem(("metadata", "name"), "is required")
        elif name:
            rule = path_segment_problems if not self._requires_dns_names else subdomain_problems
            yield from (Problem(("metadata", "name"), _without_regex(text)) for text in rule(str(name)))
        if self._namespaced and not metadata.get("namespace"):
            yield Problem(("metadata", "namespace"), "is required")
        for part in ("labels", "annotations"):
            members = metadata.get(part)
            if not isinstance(members, dict):
                continue
            for key, text in members.items():
                path: Path = ("metadata", part, key)
                yield from (Problem(path, _without_regex(problem)) for problem in qualified_name_problems(key))
                if not isinstance(text, str):
                    yield Problem(path, "must be a string")
                elif part == "labels":
                    yield from (Problem(path, _without_regex(problem)) for problem in label_value_problems(text))

    @property
    def _requires_dns_names(self) -> bool:
        """Whether names must be DNS subdomains. All kinds require that except those of RBAC."""
        return not str(self.field.name).startswith(("Role", "ClusterRole"))


def _unknown_fields(field: Field, value: Any, path: Path = ()) -> Iterator[Path]:
    """Yields the outermost paths of a value that the schema does not contain."""
    if field.shape == "object" and isinstance(value, dict):
        for name, member in value.items():
            below = field.members.get(name)
            if below is not None:
                yield from _unknown_fields(below, member, (*path, name))
            elif not field.preserves_unknown and not (path == ("metadata",) and name in _SERVER_METADATA):
                yield (*path, name)
    elif field.shape in ("list", "map") and isinstance(value, list | dict):
        steps = enumerate(value) if isinstance(value, list) else value.items()
        for step, member in steps:
            yield from _unknown_fields(field.element, member, (*path, step))


def _without_regex(problem: str) -> str:
    """Returns the server's message without the regular expression at its end."""
    return problem.split(", regex used for validation", 1)[0].split(" (e.g. ", 1)[0]
