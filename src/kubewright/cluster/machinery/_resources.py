"""What the server knows of each kind it serves: the contract between dispatch and the rules of kinds.

A `ResourceType` is one version of one resource: where it lives (`/apis/apps/v1/deployments`), what discovery says of
it, where its objects are stored, and a `Strategy` with the kind's rules. `ResourceTypes` is the registry that dispatch
looks up at each request. It may change while the server runs: CRDs come and go.

Objects are plain JSON dicts here (`JSONObject`), by the names on the wire, always with `metadata`, and with the
`apiVersion` and `kind` of their `ResourceType`. A hook that changes an object changes it in place; an `old` object that
it is given for comparison it must leave alone.

The life of a write, in the order of the hooks (dispatch does what stands in brackets):

1. [decode the body: JSON or YAML; other formats by `Decoder`s that are plugged in]; `Strategy.read` fits the object to
   its schema and reports what it does not know; `Strategy.default` sets defaults;
2. [patch and apply: `read` and `default` run on the outcome, not on the patch]
3. [namespace and name; managed fields, by `kubewright.cluster.merge` with the schema]
4. `Strategy.prepare_create` or `prepare_update` sets what only the server may set;
5. [rules of metadata]; `Strategy.validate_create` or `validate_update`; `Strategy.warnings`
6. [compare with what is stored: nothing is written when nothing changed; else a new revision].
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

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
"""An object as JSON, by the names on the wire."""


_UNCOUNTED = frozenset({"apiVersion", "kind", "metadata", "status"})


@dataclass(frozen=True, slots=True)
class ReadProblem:
    """Something in a body that the server drops: `unknown field "spec.repliacs"`. `fieldValidation` decides its fate.

    Strict makes it an error, Warn a warning, Ignore nothing.
    """

    message: str


class UnreadableObject(Exception):
    """The body does not fit the kind's types at all; the message is what stands after "cannot be handled as a X: "."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subresource:
    """What stands behind a resource's name in the path: `status`, `scale`, or one that is refused.

    `kind`, with its group and version, is what goes over the wire (`Scale` of `autoscaling/v1`); empty means the
    resource's own. For `scale`, the three paths say where the numbers stand (`.spec.replicas`).
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
    """Between a version and the form in which its objects are stored. Each call makes a new object."""

    def to_storage(self, obj: JSONObject) -> JSONObject:
        """The object as it is stored."""

    def from_storage(self, obj: JSONObject) -> JSONObject:
        """The stored object as this version shows it."""


class Strategy:
    """The rules of a kind. This one has none beyond what every object obeys; kinds override what they need.

    `subresource` is "" for the object itself, or "status". A write to `/status` keeps everything but the status, and
    every other write keeps the status, where the kind has that subresource: dispatch does both before `prepare_update`.
    """

    has_generation = False
    """Whether `metadata.generation` counts the changes of anything but metadata and status."""
    allows_create_on_update = False
    """Whether a PUT to a name that does not exist creates the object."""
    allows_unconditional_update = True
    """Whether a PUT needs no resourceVersion."""
    default_grace_seconds: int | None = None
    """Seconds between the request to delete an object and its end; None deletes at once (all kinds but pods)."""
    returns_deleted = False
    """Whether the answer to a deletion is the object; a Status otherwise."""
    garbage_collection_default = "Background"
    """What becomes of dependents when a delete names no propagation policy: `Background` or `Orphan`."""

    def read(self, obj: JSONObject, *, problems: list[ReadProblem] | None) -> JSONObject:
        """Fit an object to the kind's schema: drop what is not known, and name it in `problems` unless that is None.

        Raises `UnreadableObject` for a value of a wrong type.
        """
        return obj

    def default(self, obj: JSONObject) -> None:
        """Set the defaults of fields that are absent. Must change nothing in an object that has been through it."""

    def prepare_create(self, obj: JSONObject) -> None:
        """Set and clear what the server decides about new objects. The status is cleared already where it is apart."""

    def prepare_update(self, obj: JSONObject, old: JSONObject, subresource: str) -> None:
        """Set and clear what the server decides about changed objects."""

    def settle(self, uid: str) -> None:
        """The write that was prepared for this object is over, stored or not: let go of what was kept for it."""

    def counts(self, obj: JSONObject, old: JSONObject) -> bool:
        """Whether this change counts as a new generation: by default, any outside metadata and status."""
        return any(obj.get(name) != old.get(name) for name in {*obj, *old} - _UNCOUNTED)

    def validate_create(self, obj: JSONObject) -> list[FieldError]:
        """Which rules a new object breaks. Rules of metadata are checked apart from it."""
        return []

    def validate_update(self, obj: JSONObject, old: JSONObject, subresource: str) -> list[FieldError]:
        """Which rules a changed object breaks."""
        return []

    def forgiven(self, obj: JSONObject) -> list[str]:
        """Rules that a changed object breaks only where nothing has changed: warned of, also when others are broken.

        Asked right after `validate_update` of the same object.
        """
        return []

    def name_problems(self, name: str) -> list[str]:
        """What is wrong with a name, in the server's words; nothing for a DNS subdomain."""
        from kubewright.names import subdomain_problems

        return subdomain_problems(name)

    def finalizers(self, obj: JSONObject) -> list[str]:
        """What must be gone before the object can be: its finalizers, and those that a namespace has in its spec."""
        return obj["metadata"].get("finalizers") or []

    def prepare_delete(self, obj: JSONObject) -> None:
        """The object is marked as being deleted: say so in its status, too, where the kind does that."""

    def warnings(self, obj: JSONObject, old: JSONObject | None) -> list[str]:
        """What the server warns of, such as the use of a deprecated field; sent as `Warning` headers."""
        return []

    def selectable_fields(self, obj: JSONObject) -> Mapping[str, str]:
        """The values for field selectors beyond `metadata.name` and `metadata.namespace`, by path."""
        return {}

    selectable: frozenset[str] = frozenset()
    """The paths that `selectable_fields` has."""


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
    strategy: Strategy = field(default_factory=Strategy)
    storage: str = ""
    """Under which name objects are stored; versions of one resource share it. `group/plural` unless given."""
    storage_version_hash: str = ""
    conversion: Conversion | None = None
    """None when the stored form is this version's own, or differs in nothing but the apiVersion."""
    stored_version: str = ""
    """The apiVersion in which custom objects are stored. Those that are stored in another one are written anew."""
    schema: Callable[[], Any] = lambda: None
    """The schema node of the kind (`kubewright.cluster.schema`), made on first use; None where there is none."""
    printer: Printer | None = None
    """Columns for `kubectl get`; name and age when None."""
    custom: bool = False
    """Whether it comes from a CRD: items of its lists carry apiVersion and kind, strategic merge is refused."""
    deprecation_warning: str = ""
    """Sent as a warning with each answer, when not empty."""

    def __post_init__(self) -> None:
        self.list_kind = self.list_kind or f"{self.kind}List"
        self.storage = self.storage or f"{self.group}/{self.plural}"

    @property
    def api_version(self) -> str:
        """Group and version as objects carry them."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def qualified(self) -> str:
        """The resource as error messages name it: `deployments.apps`, `pods`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def has_status(self) -> bool:
        """Whether the status is written through `/status` alone."""
        return "status" in self.subresources

    def __repr__(self) -> str:
        return f"<ResourceType {self.qualified} {self.version}>"


class ResourceTypes:
    """All resources that are served, by group, version and plural name. `generation` grows with each change."""

    def __init__(self, types: Sequence[ResourceType] = ()) -> None:
        self._types: dict[tuple[str, str, str], ResourceType] = {}
        self.generation = 0
        for type_ in types:
            self.add(type_)

    def add(self, type_: ResourceType) -> None:
        """Serve a resource from now on, in place of one with the same path."""
        self._types[type_.group, type_.version, type_.plural] = type_
        self.generation += 1

    def remove(self, group: str, version: str, plural: str) -> ResourceType | None:
        """Serve it no longer. Its objects stay stored."""
        self.generation += 1
        return self._types.pop((group, version, plural), None)

    def find(self, group: str, version: str, plural: str) -> ResourceType | None:
        """The resource at that path."""
        return self._types.get((group, version, plural))

    def of_kind(self, group: str, kind: str, version: str = "") -> ResourceType | None:
        """The resource of a kind, in any version unless one is named; owner references and bodies name kinds."""
        for type_ in self._types.values():
            if type_.kind == kind and type_.group == group and (not version or type_.version == version):
                return type_
        return None

    def stored_as(self, storage: str) -> list[ResourceType]:
        """All versions that show the same objects."""
        return [type_ for type_ in self._types.values() if type_.storage == storage]

    def __iter__(self) -> Iterator[ResourceType]:
        return iter(list(self._types.values()))
