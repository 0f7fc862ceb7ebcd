"""The patch types of the API server. Server-side apply is a separate verb."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import msgspec

from kubewright.api import JSON
from kubewright.redaction import Redacted

__all__ = ["JsonPatch", "MergePatch", "Patch", "StrategicPatch"]


class JsonPatch(Redacted, msgspec.Struct, frozen=True):
    """RFC 6902: a list of operations, `[{"op": "add", "path": "/metadata/labels/a", "value": "b"}]`."""

    redacted = frozenset({"operations"})

    operations: Sequence[Mapping[str, Any]]

    content_type = "application/json-patch+json"

    def __post_init__(self) -> None:
        given: object = self.operations
        if isinstance(given, str | bytes) or not isinstance(given, Sequence):
            raise TypeError(
                'JsonPatch takes a list of operations, [{"op": "add", "path": "/spec/size", "value": 1}], not a'
                f" {type(given).__name__}; a patch that looks like the object is a MergePatch"
            )

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        # Shows the operations and paths, but no values, which may be those of a Secret.
        return [("operations", [f"{each.get('op')} {each.get('path')}" for each in self.operations])]

    @property
    def body(self) -> JSON:
        """The content of the request."""
        return list(self.operations)

    @property
    def guarded(self) -> bool:
        """Whether the patch applies to one version of the object only."""
        return any(operation["path"] == "/metadata/resourceVersion" for operation in self.operations)


class _Content(Redacted, msgspec.Struct, frozen=True):
    """A patch that looks like the object it changes."""

    redacted = frozenset({"content"})

    content: Mapping[str, Any]

    def __post_init__(self) -> None:
        if not isinstance(self.content, Mapping):
            raise TypeError(
                f'{type(self).__name__} takes a dict that looks like the object, {{"spec": {{"size": 1}}}}, not a'
                f" {type(self.content).__name__}; a list of operations is a JsonPatch"
            )

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        return [("members", [*self.content])]

    @property
    def body(self) -> JSON:
        """The content of the request."""
        return self.content

    @property
    def guarded(self) -> bool:
        """Whether the patch applies to one version of the object only."""
        return "resourceVersion" in (self.content.get("metadata") or {})


class MergePatch(_Content, frozen=True):
    """RFC 7386: values replace, null removes, lists are replaced as a whole. Uses the JSON names."""

    content_type = "application/merge-patch+json"


class StrategicPatch(_Content, frozen=True):
    """Kubernetes' own: like a merge patch, but lists merge by their keys. For built-in kinds only."""

    content_type = "application/strategic-merge-patch+json"


Patch: TypeAlias = JsonPatch | MergePatch | StrategicPatch
