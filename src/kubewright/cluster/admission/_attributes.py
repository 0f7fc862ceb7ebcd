"""`Attributes`: the description of a write that admission plugins receive."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeAlias

from kubewright.cluster.machinery._calls import Call, User
from kubewright.cluster.machinery._failures import Failure, forbidden
from kubewright.cluster.machinery._resources import JSONObject, ResourceType

__all__ = ["Attributes", "GroupVersionKind", "Operation", "attributes_of", "kind_of", "options_of"]

Operation: TypeAlias = Literal["CREATE", "UPDATE", "DELETE", "CONNECT"]


class GroupVersionKind(NamedTuple):
    """The full name of a kind."""

    group: str
    version: str
    kind: str


def kind_of(type_: ResourceType, subresource: str) -> dict[str, str]:
    """Returns the kind of the body, as reviews contain it: the resource's own, or that of the subresource."""
    sub = type_.subresources.get(subresource)
    kind = sub.kind if sub is not None and sub.kind else type_.kind
    if sub is not None and sub.version:
        return {"group": sub.group, "version": sub.version, "kind": kind}
    return {"group": type_.group, "version": type_.version, "kind": kind}


@dataclass(slots=True, kw_only=True)
class Attributes:
    """One write, as admission plugins see it.

    `name` is empty while it is unknown: a generated name in the first phase, and each object of a deletecollection.
    `namespace` of a Namespace is its own name, as on the real server. `options` is the CreateOptions, UpdateOptions or
    DeleteOptions of the request. `warnings` are sent with the response.
    """

    operation: Operation
    type: ResourceType
    user: User
    verb: str = ""
    """The verb of the request. PUT and apply may create, too."""
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    object: JSONObject | None = field(default=None, repr=False)
    old: JSONObject | None = field(default=None, repr=False)
    options: JSONObject = field(default_factory=dict)
    dry_run: bool = False
    warnings: list[str] = field(default_factory=list)
    annotations: dict[str, str] = field(default_factory=dict)
    round: int = 0
    """0, or 1 when the mutating phase runs for the second time."""
    reinvoke: bool = False
    """Set by a plugin that changed the object: the mutating phase runs once more."""
    notes: dict[str, Any] = field(default_factory=dict, repr=False)
    """State that a plugin keeps for the second round, by plugin name."""

    @property
    def kind(self) -> GroupVersionKind:
        """Returns the kind of the object: the resource's own, or that of the subresource (`Scale`)."""
        shown = kind_of(self.type, self.subresource)
        return GroupVersionKind(shown["group"], shown["version"], shown["kind"])

    def replace(self, obj: JSONObject) -> None:
        """Replaces the object to be written; decodes and defaults it like an object from a client.

        Raises `UnreadableObject` if it does not match the types of the kind.
        """
        if self.kind.kind != self.type.kind:
            self.object = obj
            return
        made = self.type.strategy.read(obj, problems=None)
        made["apiVersion"], made["kind"] = self.type.api_version, self.type.kind
        self.type.strategy.default(made)
        self.object = made

    def forbidden(self, problem: str, causes: Sequence[JSONObject] = ()) -> Failure:
        """Returns a 403 that names the object as the real server does."""
        name = self.name
        if not name and self.object is not None:
            metadata = self.object["metadata"]
            name = metadata.get("name") or metadata.get("generateName") or ""
        return forbidden(self.type, name or "Unknown", problem, causes)


def attributes_of(
    call: Call, operation: Operation, obj: JSONObject | None = None, old: JSONObject | None = None
) -> Attributes:
    """Returns the attributes of a call."""
    name = call.name
    if not name and obj is not None:
        name = obj["metadata"].get("name", "")
    return Attributes(
        operation=operation,
        type=call.type,
        user=call.user,
        verb=call.verb,
        namespace=call.namespace or (name if call.type.storage == "/namespaces" else ""),
        name=name,
        subresource=call.subresource,
        object=obj,
        old=old,
        options=options_of(call, operation),
        dry_run=call.dry_run,
        warnings=call.warnings,
        annotations=call.annotations,
    )


_KINDS = {"CREATE": "CreateOptions", "UPDATE": "UpdateOptions", "DELETE": "DeleteOptions"}


def options_of(call: Call, operation: Operation) -> JSONObject:
    """Returns the options of a write, from its query, as an object of `meta.k8s.io`."""
    made: JSONObject = {"kind": _KINDS[operation], "apiVersion": "meta.k8s.io/v1"}
    query = call.query
    if query:
        if dry_run := query.get("dryRun"):
            made["dryRun"] = [dry_run]
        for name in ("fieldManager", "fieldValidation"):
            if value := query.get(name):
                made[name] = value
    return made
