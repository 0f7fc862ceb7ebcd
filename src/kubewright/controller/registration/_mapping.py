"""Maps the change of an object to the keys that must be reconciled because of it.

`Owns` and `Watch` declare the other kinds that a controller watches. `owns=[apps.Deployment]` is short for
`owns=[Owns(apps.Deployment)]`.
"""

from __future__ import annotations

import builtins
import copy
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Generic, Protocol, Self, TypeAlias, TypeVar, get_args

from kubewright.api import Object, ResourceInfo
from kubewright.arguments import known_options
from kubewright.cache import Change, Labels, ObjectKey, Snapshot
from kubewright.controller.registration._caching import check_cache
from kubewright.controller.registration._options import check_kind
from kubewright.controller.registration._predicates import Predicate, PredicateFunction, predicate
from kubewright.rbac import check_verbs
from kubewright.signatures import can_take, is_async, location_of, name_of, return_annotation_of, signature_of

if TYPE_CHECKING:
    from kubewright.cache import Fields, Transform

__all__ = [
    "MapFunction",
    "Owns",
    "Reader",
    "ReferenceFunction",
    "Watch",
    "key_of_kind",
    "keys_of_owners",
    "owner_keys",
    "parse_key",
]

R = TypeVar("R", bound=Object)
O = TypeVar("O", bound=Object)  # noqa: E741  # another kind than R


class Reader(Protocol):
    """Reads from the caches. The methods never wait and never send a request."""

    def read(self, kind: type[O], name: str, namespace: str | None = None) -> O | None:
        """Returns one object, or None."""

    def list(self, kind: type[O], namespace: str | None = None, labels: Labels | None = None) -> list[O]:
        """Returns the objects of a kind, in one namespace or in all of them."""

    def by_index(self, kind: type[O], index: str, value: str, namespace: str | None = None) -> builtins.list[O]:
        """Returns the objects of a kind that have this value in an index of `operator.indexes`."""


Keys: TypeAlias = Iterable[ObjectKey] | ObjectKey | None
MapFunction: TypeAlias = Callable[[R], Keys] | Callable[[R, Reader], Keys]
"""Returns the keys that depend on an object, a single key, or None. May also take a `Reader`. It must not block."""


References: TypeAlias = Iterable[str | ObjectKey] | str | ObjectKey | None
ReferenceFunction: TypeAlias = Callable[[Any], References]
"""Returns the objects that a reconciled object refers to: names in its own namespace, keys, or None. It must not block.
"""


class Owns(Generic[R]):
    """Declares a kind of owned objects: a change of one reconciles its owner.

    Args:
        kind: the kind of the owned objects.
        when: a predicate for changes. Default: every change triggers a reconcile.
        controller_only: if False, every owner is reconciled, not only the one that is the object's controller.
        labels: cache only objects with these labels. Objects that you apply need them: other objects trigger no
            reconcile, and reads, `ctx.owned` and `ctx.prune` do not see them. An object that loses the labels is not
            deleted, and triggers its owner.
        fields: cache only objects that this field selector matches. The server supports few fields.
        namespaces: cache only these namespaces. Default: those of the operator.
        metadata_only: cache only the metadata. Each apply then reads the object from the server. Default: False; but of
            Secrets, only those with an owner of the reconciled kind are cached whole.
        transform: changes an object's JSON before it is stored. See `transform_json`. Its objects are read-only.
        optional: the cluster need not have the kind, and may get or lose it while the operator runs. See
            `Context.served`.
        verbs: the only verbs that the program uses on these objects. Roles contain no others, and other calls are
            refused before they are sent. Default: the verbs of `ctx.apply`, `ctx.prune` and `ctx.delete`.
    """

    __slots__ = ("cache", "controller_only", "info", "kind", "labels", "verbs", "when")

    @known_options
    def __init__(
        self,
        kind: type[R],
        *,
        when: PredicateFunction | None = None,
        controller_only: bool = True,
        labels: Labels | None = None,
        fields: Fields | None = None,
        namespaces: Sequence[str] | None = None,
        metadata_only: bool | None = None,
        transform: Transform | None = None,
        optional: bool = False,
        verbs: Sequence[str] | None = None,
    ) -> None:
        self.info: ResourceInfo = check_kind(kind, "owns")
        what = f"Owns({self.info.kind})"
        self.verbs = None if verbs is None else check_verbs(what, verbs, must=("list", "watch"))
        self.kind = kind
        self.when: Predicate | None = None if when is None else predicate(when)
        self.controller_only = controller_only
        self.labels = labels
        self.cache = check_cache(what, self.info, labels, fields, namespaces, metadata_only, transform, optional)

    def __repr__(self) -> str:
        return f"Owns({self.kind.__name__})"


class Watch(Generic[R]):
    """Declares a kind to watch: a change of an object reconciles the objects that depend on it.

    Exactly one of `map` and `referenced_by` says which ones. For an update, `map` is called with both states.

    Args:
        kind: the kind to watch.
        referenced_by: returns the watched objects that an object of the reconciled kind refers to; a change of one of
            them reconciles it: `lambda bucket: bucket.spec.secret_name`. A string is a name in the namespace of the
            reconciled object, an `ObjectKey` names another namespace, a list has several references, None means no
            reference. The watched object is not decoded.
        map: returns the keys that depend on an object: `lambda secret: [ObjectKey(secret.metadata.namespace, "main")]`.
            A function of two parameters also gets a `Reader` of the caches. Objects of the reconciled kind may be
            returned instead of keys; an object of another kind raises TypeError.
        when: a predicate for changes. Default: every change counts.
        labels: watch only objects with these labels.
        fields: cache only objects that this field selector matches. The server supports few fields.
        namespaces: cache only these namespaces. Default: those of the operator.
        metadata_only: cache only the metadata. `map` and reads then get objects without any other field. Default:
            False; True for Secrets, unless they are selected by labels or fields.
        transform: changes an object's JSON before it is stored. See `transform_json`. Its objects are read-only.
        optional: the cluster need not have the kind, and may get or lose it while the operator runs. See
            `Context.served`.
    """

    __slots__ = (
        "cache",
        "info",
        "kind",
        "labels",
        "map",
        "map_name",
        "map_returns",
        "reconciled_kind",
        "referenced_by",
        "when",
    )

    @known_options
    def __init__(
        self,
        kind: type[R],
        *,
        map: MapFunction[R] | None = None,  # noqa: A002  # as in controller-runtime
        referenced_by: ReferenceFunction | None = None,
        when: PredicateFunction | None = None,
        labels: Labels | None = None,
        fields: Fields | None = None,
        namespaces: Sequence[str] | None = None,
        metadata_only: bool | None = None,
        transform: Transform | None = None,
        optional: bool = False,
    ) -> None:
        self.info: ResourceInfo = check_kind(kind, "watches")
        self.kind = kind
        function = map if referenced_by is None else referenced_by
        if function is None or (map is not None and referenced_by is not None):
            raise TypeError(
                f"Watch({self.info.kind}) takes either map= or referenced_by=, which say what a change reconciles"
            )
        self.map = None if map is None else _with_reader(map)
        self.referenced_by = None if referenced_by is None else _check_reference(referenced_by)
        self.when: Predicate | None = None if when is None else predicate(when)
        self.labels = labels
        what = f"Watch({self.info.kind})"
        self.cache = check_cache(what, self.info, labels, fields, namespaces, metadata_only, transform, optional)
        self.map_name = f"{name_of(function)}{location_of(function)}"
        self.map_returns = () if map is None else tuple(_kinds_in(return_annotation_of(map)))
        self.reconciled_kind: ResourceInfo | None = None

    def waking(self, info: ResourceInfo) -> Self:
        """Returns a copy for the controller of one kind, whose keys `map` returns."""
        for kind in self.map_returns:
            if not _is_same_kind(info, kind):
                raise TypeError(
                    f"Watch({self.info.kind}): map returns keys of {info.kind}, but {self.map_name} is annotated to"
                    f" return {kind.__name__}: return ObjectKey(namespace, name) of the {info.kind}"
                )
        made = copy.copy(self)
        made.reconciled_kind = info
        return made

    def references(self, obj: Object) -> list[str]:
        """Returns the keys that an object of the reconciled kind refers to, as strings, for an index."""
        assert self.referenced_by is not None
        found = self.referenced_by(obj)
        if found is None or found == "":
            return []
        single = isinstance(found, ObjectKey | str)
        return [str(self._reference(obj, one)) for one in ((found,) if single else found)]

    def _reference(self, obj: Object, given: object) -> ObjectKey:
        if isinstance(given, ObjectKey):
            return given
        if not isinstance(given, str):
            raise TypeError(f"referenced_by must return names, ObjectKeys or None, not {given!r}")
        namespace = obj.metadata.namespace if self.info.namespaced else ""
        if self.info.namespaced and not namespace:
            raise TypeError(
                f"{obj} has no namespace, and {self.info.kind} {given!r} needs one: return ObjectKey(namespace, name)"
            )
        return ObjectKey(namespace or "", given)

    def key(self, value: object) -> ObjectKey:
        """Returns the key for a value of `map`. Raises TypeError for one that the reconciled kind cannot have."""
        return parse_key(value) if self.reconciled_kind is None else key_of_kind(self.reconciled_kind, value)

    def __repr__(self) -> str:
        return f"Watch({self.kind.__name__})"


def _with_reader(function: MapFunction[R]) -> Callable[[R, Reader], Keys]:
    if not callable(function):
        raise TypeError(f"map must be a function from an object to keys, not {function!r}")
    if not can_take(function, 1) and not can_take(function, 2):
        raise TypeError(f"map is a function of an object, or of an object and a Reader; {name_of(function)} is neither")
    if is_async(function):
        raise TypeError(f"the map function {name_of(function)} is async: make it a plain def, which must not wait")
    call: Any = function
    if _has_two_parameters(function):
        wants_reader: Callable[[R, Reader], Keys] = call
        return wants_reader
    return lambda obj, reader: call(obj)


def _check_reference(given: ReferenceFunction) -> ReferenceFunction:
    function: Any = given
    if not callable(function) or not can_take(function, 1):
        raise TypeError(
            "referenced_by must be a function from an object of the reconciled kind to names:"
            f" lambda bucket: bucket.spec.secret_name, not {function!r}"
        )
    if is_async(function):
        raise TypeError(f"referenced_by {name_of(function)} is async: make it a plain def, which must not wait")
    return given


def _kinds_in(hint: Any) -> Iterator[type[Object]]:
    """Yields the kinds in an annotation: Foo for `Foo` and `list[Foo] | None`."""
    if isinstance(hint, type) and issubclass(hint, Object):
        yield hint
    for argument in get_args(hint):
        yield from _kinds_in(argument)


def _is_same_kind(info: ResourceInfo, kind: type[Object]) -> bool:
    """Returns whether the class is of that kind, in any version. A class without a kind passes."""
    found: ResourceInfo | None = getattr(kind, "__resource__", None)
    return found is None or (found.group, found.kind) == (info.group, info.kind)


def _has_two_parameters(function: Callable[..., Any]) -> bool:
    try:
        return len(signature_of(function).parameters) >= 2
    except ValueError:  # a built-in function
        return False


def owner_keys(change: Change[Any], owner: ResourceInfo, *, controller_only: bool = True) -> set[ObjectKey]:
    """Returns the keys of the owners, of that group and kind, that the object has or had.

    The version is ignored: an owner is the same object in each of its versions. A cluster-scoped owner has no
    namespace, regardless of the namespace of the owned object.
    """
    keys: set[ObjectKey] = set()
    for snapshot in (change.old, change.new):
        if snapshot is not None and snapshot.owners:
            keys.update(keys_of_owners(snapshot, owner, controller_only=controller_only))
    return keys


def keys_of_owners(
    snapshot: Snapshot[Any], owner: ResourceInfo, *, controller_only: bool = True
) -> Iterator[ObjectKey]:
    """Yields the keys of the owners of one state of an object."""
    for reference in snapshot.owners:
        if reference.kind != owner.kind or reference.group != owner.group:
            continue
        if reference.controller or not controller_only:
            yield ObjectKey(snapshot.namespace if owner.namespaced else "", reference.name)


def parse_key(value: object) -> ObjectKey:
    """Returns the key for a value of a map function or trigger: a key, a pair, a string, or an object."""
    if isinstance(value, ObjectKey):
        return value
    if isinstance(value, str):
        return ObjectKey.parse(value)
    if isinstance(value, Object):
        return ObjectKey.of(value)
    if isinstance(value, tuple) and len(value) == 2 and all(isinstance(part, str) for part in value):
        return ObjectKey(*value)
    raise TypeError(f'expected an ObjectKey, "namespace/name" or an object, found {value!r}')


def key_of_kind(info: ResourceInfo, value: object) -> ObjectKey:
    """Returns the key for a value, for one kind. Raises TypeError for a key that no object of the kind can have."""
    if isinstance(value, Object) and not _is_same_kind(info, type(value)):
        where = "namespace, name" if info.namespaced else '"", name'
        raise TypeError(
            f"{value} is not a {info.kind}, and only {info.kind} objects are reconciled here. Return ObjectKey({where})"
            f" of the {info.kind}, or the {info.kind} itself"
        )
    found = parse_key(value)
    if bool(found.namespace) != info.namespaced:
        where = (
            "namespaced: return ObjectKey(namespace, name)"
            if info.namespaced
            else 'cluster-scoped: return ObjectKey("", name)'
        )
        raise TypeError(f"{value!r} cannot be the key of a {info.kind}, which is {where}, or the object itself")
    return found
