"""Resource types and strategies: the contract between the generic code of the server and the rules of each kind.

A `ResourceType` is one version of one resource: its path (`/apis/apps/v1/deployments`), its discovery data, where its
objects are stored, and a `Strategy` with the rules of its kind. `ResourceTypes` contains all of them; dispatch looks
them up for each request. It changes at run time, when CRDs are created and deleted.

Objects are plain JSON dicts (`JSONObject`) with the field names of the wire. They always have `metadata`, and the
`apiVersion` and `kind` of their `ResourceType`. Strategies change an object in place. They must not change an `old`
object, which is passed for comparison.

Steps of a write, in order (those in brackets are generic code):

1. [decode the body: JSON, YAML, or a format with a registered `Decoder`]; `Strategy.read` fits the object to its schema
   and reports unknown fields; `Strategy.default` sets defaults;
2. [patch and apply: `read` and `default` run on the result, not on the patch];
3. [namespace and name; managed fields, by `kubewright.cluster.merge` with the schema];
4. `Strategy.prepare_create` or `prepare_update` sets the fields that only the server may set;
5. [validation of metadata]; `Strategy.validate_create` or `validate_update`; `Strategy.warnings`;
   `Strategy.canonicalize`;
6. [comparison with the stored object: a write without changes stores nothing, any other one creates a revision].
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

import msgspec

from kubewright.cluster.machinery._field_errors import FieldError
from kubewright.columns import Printer

__all__ = [
    "Conversion",
    "JSONObject",
    "ReadProblem",
    "ResourceType",
    "ResourceTypes",
    "Strategy",
    "Subresource",
    "UnreadableObject",
]

JSONObject: TypeAlias = dict[str, Any]
"""An object as JSON, with the field names of the wire."""


_UNCOUNTED = frozenset({"apiVersion", "kind", "metadata", "status"})


class ReadProblem(msgspec.Struct, frozen=True):
    """A part of a body that the server drops: `unknown field "spec.repliacs"`.

    `fieldValidation` makes it an error (Strict), a warning (Warn), or ignores it (Ignore).
    """

    message: str


class UnreadableObject(Exception):
    """The body does not fit the types of the kind. The message is the part after "cannot be handled as a X: "."""


class Subresource(msgspec.Struct, frozen=True, kw_only=True):
    """A subresource: `status`, `scale`, or one that is rejected.

    `kind`, with its group and version, is the kind of its bodies (`Scale` of `autoscaling/v1`); empty means the kind of
    the resource. For `scale`, the three paths say where the values are in the object (`.spec.replicas`).
    """

    name: str
    verbs: tuple[str, ...] = ("get", "patch", "update")
    group: str = ""
    version: str = ""
    kind: str = ""
    spec_replicas: str = ".spec.replicas"
    status_replicas: str = ".status.replicas"
    label_selector: str = ""


class Conversion(Protocol):
    """Converts between a version and the stored form of its objects. Each call returns a new object."""

    def to_storage(self, obj: JSONObject) -> JSONObject:
        """Returns the stored form of an object."""

    def from_storage(self, obj: JSONObject) -> JSONObject:
        """Returns a stored object in this version."""


class Strategy:
    """The rules of a kind. This base class adds none to those of all objects; kinds override what they need.

    `subresource` is "" for the object itself, or "status". If the kind has a status subresource, a write to `/status`
    keeps everything but the status, and every other write keeps the status. The generic code does this before
    `prepare_update`.
    """

    has_generation = False
    """Whether `metadata.generation` counts the changes outside metadata and status."""
    allows_create_on_update = False
    """Whether a PUT to a name that does not exist creates the object."""
    allows_unconditional_update = True
    """Whether a PUT may omit the resourceVersion."""
    default_grace_seconds: int | None = None
    """Seconds between a delete request and the removal. None removes immediately (all kinds but pods)."""
    returns_deleted = False
    """Whether the response to a delete is the object instead of a Status."""
    status_subresources: frozenset[str] = frozenset({"status"})
    """The subresources whose writes change the status and the metadata, and nothing else."""
    spec_subresources: frozenset[str] = frozenset()
    """The subresources whose writes change a part of the spec. `prepare_update` keeps the rest."""
    error_group: str | None = None
    """The group that messages of invalid objects name. Default: that of the kind."""
    checks_name_last = False
    """Whether the name is only checked if there are no other errors: the real server has no rule for this kind."""
    randomizes_names = True
    """Whether a generated name is `generateName` with a random suffix."""
    annotations_of_fields: frozenset[str] = frozenset()
    """Annotations that contain fields of older versions. Responses with metadata alone omit them."""
    garbage_collection_default = "Background"
    """The propagation policy of a delete that names none: `Background` or `Orphan`."""

    def read(self, obj: JSONObject, *, problems: list[ReadProblem] | None) -> JSONObject:
        """Fits an object to the schema of the kind: drops unknown fields, and adds them to `problems` unless that is
        None.

        Raises `UnreadableObject` for a value of the wrong type.
        """
        return obj

    def default(self, obj: JSONObject) -> None:
        """Sets the defaults of absent fields. Must be idempotent."""

    def early_warnings(self, obj: JSONObject) -> list[str]:
        """Returns warnings about values of a new object that `prepare_create`, which is called next, replaces."""
        return []

    def prepare_create(self, obj: JSONObject) -> None:
        """Sets and clears the fields of a new object that only the server may set. The status is already cleared."""

    def prepare_update(self, obj: JSONObject, old: JSONObject, subresource: str) -> None:
        """Sets and clears the fields of a changed object that only the server may set."""

    def end_write(self, uid: str) -> None:
        """Releases everything that was reserved for a prepared write. Called at its end, whether stored or not."""

    def increments_generation(self, obj: JSONObject, old: JSONObject) -> bool:
        """Returns whether a change increments the generation: by default, any outside metadata and status."""
        return any(obj.get(name) != old.get(name) for name in {*obj, *old} - _UNCOUNTED)

    def validate_create(self, obj: JSONObject) -> list[FieldError]:
        """Returns the errors of a new object. Metadata is validated separately."""
        return []

    def validate_update(self, obj: JSONObject, old: JSONObject, subresource: str) -> list[FieldError]:
        """Returns the errors of a changed object."""
        return []

    def ratcheting_warnings(self, obj: JSONObject) -> list[str]:
        """Returns warnings for errors that are tolerated because the invalid values did not change (ratcheting).

        Called right after `validate_update` of the same object, also if that returned errors.
        """
        return []

    def name_problems(self, name: str) -> list[str]:
        """Returns the server's error messages for a name; none for a DNS subdomain."""
        from kubewright.names import subdomain_problems

        return subdomain_problems(name)

    def prefix_problems(self, prefix: str) -> list[str]:
        """Returns the server's error messages for the prefix of a generated name, which may end with a dash."""
        return self.name_problems(f"{prefix[:-2]}a" if len(prefix) > 1 and prefix.endswith("-") else prefix)

    def canonicalize(self, obj: JSONObject) -> None:
        """Sets fields of a new object that are not validated, because they follow from validated ones."""

    def finalizers(self, obj: JSONObject) -> list[str]:
        """Returns what blocks the removal of an object: its finalizers, and those in the spec of a namespace."""
        return obj["metadata"].get("finalizers") or []

    def prepare_delete(self, obj: JSONObject) -> None:
        """Updates the status of an object that was marked as being deleted, if the kind has a state for that."""

    def warnings(self, obj: JSONObject, old: JSONObject | None) -> list[str]:
        """Returns the server's warnings, such as the use of a deprecated field. Sent as `Warning` headers."""
        return []

    def selectable_fields(self, obj: JSONObject) -> Mapping[str, str]:
        """Returns the values for field selectors beyond `metadata.name` and `metadata.namespace`, by path."""
        return {}

    selectable: frozenset[str] = frozenset()
    """The paths that `selectable_fields` returns."""
    unselectable = "field label not supported: {}"
    """The error for a selector with another field: `{}` is the field, `{quoted}` the field in quotes."""


@dataclass(slots=True, kw_only=True, eq=False)
class ResourceType:
    """One version of one resource. Compared by identity."""

    group: str
    version: str
    kind: str
    plural: str
    singular: str
    namespaced: bool
    list_kind: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
    subresources: Mapping[str, Subresource] = field(default_factory=dict)
    make_strategy: Callable[[], Strategy] = Strategy
    """Makes the strategy on first use: the validation of most kinds is never needed in a short-lived cluster."""
    storage: str = ""
    """The storage name of its objects, which all versions of a resource share. Default: `group/plural`."""
    storage_version_hash: str = ""
    conversion: Conversion | None = None
    """None if the stored form is this version, or differs only in the apiVersion."""
    stored_version: str = ""
    """The apiVersion in which custom objects are stored. An update rewrites objects that are stored in another one."""
    schema: Callable[[], Any] = lambda: None
    """The schema node of the kind (`kubewright.cluster.schema`), built on first use; None if it has none."""
    printer: Printer | None = None
    """Columns for `kubectl get`. None: name and age."""
    custom: bool = False
    """Whether a CRD defines it. Items of its lists have apiVersion and kind; strategic merge patches are rejected."""
    go_package: str = ""
    """The package of its Go type in messages. Default: that of its group, or `unstructured` for custom resources."""
    deprecation_warning: str = ""
    """Sent as a warning with each response, if not empty."""
    _strategy: Strategy | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        self.list_kind = self.list_kind or f"{self.kind}List"
        self.storage = self.storage or f"{self.group}/{self.plural}"

    @property
    def strategy(self) -> Strategy:
        """The rules of the kind."""
        if self._strategy is None:
            self._strategy = self.make_strategy()
        return self._strategy

    @property
    def api_version(self) -> str:
        """Group and version, as in objects."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def qualified(self) -> str:
        """The resource as in error messages: `deployments.apps`, `pods`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def go_name(self) -> str:
        """The name of its Go type, as in messages: `core.Pod`."""
        if self.custom:
            return "unstructured.Unstructured"
        group = "" if self.kind == "Event" else self.group  # events of both groups share a type
        return f"{self.go_package or group.partition('.')[0] or 'core'}.{self.kind}"

    @property
    def has_status(self) -> bool:
        """Whether the status is written only through `/status`."""
        return "status" in self.subresources

    def __repr__(self) -> str:
        return f"<ResourceType {self.qualified} {self.version}>"


class ResourceTypes:
    """All served resources, by group, version and plural name. `generation` increases with each change."""

    def __init__(self, types: Sequence[ResourceType] = ()) -> None:
        self._types: dict[tuple[str, str, str], ResourceType] = {}
        self.generation = 0
        for type_ in types:
            self.add(type_)

    def add(self, type_: ResourceType) -> None:
        """Serves a resource from now on. Replaces one with the same path."""
        self._types[type_.group, type_.version, type_.plural] = type_
        self.generation += 1

    def remove(self, group: str, version: str, plural: str) -> ResourceType | None:
        """Stops serving a resource. Its objects stay in storage."""
        self.generation += 1
        return self._types.pop((group, version, plural), None)

    def find(self, group: str, version: str, plural: str) -> ResourceType | None:
        """Returns the resource with that path."""
        return self._types.get((group, version, plural))

    def of_kind(self, group: str, kind: str, version: str = "") -> ResourceType | None:
        """Returns the resource of a kind, as named in owner references and bodies. Default: any version."""
        for type_ in self._types.values():
            if type_.kind == kind and type_.group == group and (not version or type_.version == version):
                return type_
        return None

    def stored_as(self, storage: str) -> list[ResourceType]:
        """Returns all versions of the resource whose objects have that storage name."""
        return [type_ for type_ in self._types.values() if type_.storage == storage]

    def __iter__(self) -> Iterator[ResourceType]:
        return iter(list(self._types.values()))
