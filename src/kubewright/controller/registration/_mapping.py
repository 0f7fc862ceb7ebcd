"""From a change of some object to the keys that must be reconciled because of it.

`Owns` and `Watch` say which other kinds a controller listens to: `owns=[apps.Deployment]` is short for
`owns=[Owns(apps.Deployment)]`.
"""

from __future__ import annotations

import builtins
import copy
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Generic, Protocol, Self, TypeAlias, TypeVar, get_args

from kubewright.api import Object, ResourceInfo
from kubewright.arguments import known_options
from kubewright.cache import Change, Labels, ObjectKey, Snapshot
from kubewright.controller.registration._options import check_kind, check_labels
from kubewright.controller.registration._predicates import Predicate, PredicateFunction, predicate
from kubewright.rbac import check_verbs
from kubewright.signatures import can_take, is_async, name_of, place_of, return_annotation_of, signature_of

__all__ = [
    "MapFunction",
    "Owned",
    "Owns",
    "Reader",
    "Watch",
    "key_of_kind",
    "keys_of_owners",
    "owner_keys",
    "parse_key",
]

R = TypeVar("R", bound=Object)
O = TypeVar("O", bound=Object)  # noqa: E741  # another kind than R


class Reader(Protocol):
    """Reads from the caches: plain calls that never wait and never reach the server."""

    def read(self, kind: type[O], name: str, namespace: str | None = None) -> O | None:
        """One object, or None."""

    def list(self, kind: type[O], namespace: str | None = None, labels: Labels | None = None) -> list[O]:
        """The objects of a kind, in one namespace or all of them."""

    def by_index(self, kind: type[O], index: str, value: str) -> builtins.list[O]:
        """The objects of a kind that have this value in an index of `operator.indexes`."""


Keys: TypeAlias = Iterable[ObjectKey] | ObjectKey | None
MapFunction: TypeAlias = Callable[[R], Keys] | Callable[[R, Reader], Keys]
"""From an object to the keys that depend on it, to one alone, or to None; may take a `Reader` of the caches as well. It
must not block."""


class Owns(Generic[R]):
    """Reconcile the owner of every changed object of this kind.

    Args:
        kind: the kind of the owned objects.
        when: which changes count; all of them unless given.
        controller_only: with False, every owner is reconciled, not only the one that is the object's controller.
        labels: cache only objects with these labels. What you apply needs them: others wake nobody, and neither reads
            nor `ctx.owned` nor `ctx.prune` see them.
        verbs: all that the program does with them: roles get no other verbs, and other calls are refused before they
            are sent. Everything that `ctx.apply`, `ctx.prune` and `ctx.delete` do, unless given.
    """

    __slots__ = ("controller_only", "info", "kind", "labels", "verbs", "when")

    @known_options
    def __init__(
        self,
        kind: type[R],
        *,
        when: PredicateFunction | None = None,
        controller_only: bool = True,
        labels: Labels | None = None,
        verbs: Sequence[str] | None = None,
    ) -> None:
        self.info: ResourceInfo = check_kind(kind, "owns")
        what = f"Owns({self.info.kind})"
        self.verbs = None if verbs is None else check_verbs(what, verbs, must=("list", "watch"))
        self.kind = kind
        self.when: Predicate | None = None if when is None else predicate(when)
        self.controller_only = controller_only
        self.labels = check_labels(what, labels)

    def __repr__(self) -> str:
        return f"Owns({self.kind.__name__})"


Owned = Owns
"""The same under another name: `owns=[Owned(core.Secret, verbs=[...])]` reads better where the objects are meant."""


class Watch(Generic[R]):
    """Reconcile what `map` answers for every changed object of this kind; for an update, of both its states.

    Args:
        kind: the kind to listen to.
        map: the keys that depend on an object: `lambda secret: [ObjectKey(secret.metadata.namespace, "main")]`. A
            function of two parameters is given a `Reader` of the caches too. An object may stand for its key, if it
            is of the kind that is reconciled; an object of another kind raises TypeError.
        when: which changes count; all of them unless given.
        labels: listen only to objects with these labels.
    """

    __slots__ = ("info", "kind", "labels", "map", "map_name", "map_returns", "wakes", "when")

    @known_options
    def __init__(
        self,
        kind: type[R],
        *,
        map: MapFunction[R],  # noqa: A002  # the word for it
        when: PredicateFunction | None = None,
        labels: Labels | None = None,
    ) -> None:
        self.info: ResourceInfo = check_kind(kind, "watches")
        self.kind = kind
        self.map = _with_reader(map)
        self.when: Predicate | None = None if when is None else predicate(when)
        self.labels = check_labels(f"Watch({self.info.kind})", labels)
        self.map_name = f"{name_of(map)}{place_of(map)}"
        self.map_returns = tuple(_kinds_in(return_annotation_of(map)))
        self.wakes: ResourceInfo | None = None

    def waking(self, info: ResourceInfo) -> Self:
        """The same for the controller of one kind, whose keys `map` answers."""
        for kind in self.map_returns:
            if not _is_same_kind(info, kind):
                raise TypeError(
                    f"Watch({self.info.kind}): map wakes {info.kind} objects, but {self.map_name} is annotated to"
                    f" return {kind.__name__}: return ObjectKey(namespace, name) of the {info.kind}"
                )
        made = copy.copy(self)
        made.wakes = info
        return made

    def key(self, value: object) -> ObjectKey:
        """A key that `map` has answered. Raises TypeError for what no object of the kind that is woken can have."""
        return parse_key(value) if self.wakes is None else key_of_kind(self.wakes, value)

    def __repr__(self) -> str:
        return f"Watch({self.kind.__name__})"


def _with_reader(function: MapFunction[R]) -> Callable[[R, Reader], Keys]:
    if not callable(function):
        raise TypeError(f"map is a function from an object to keys, not {function!r}")
    if not can_take(function, 1) and not can_take(function, 2):
        raise TypeError(f"map is a function of an object, or of an object and a Reader; {name_of(function)} is neither")
    if is_async(function):
        raise TypeError(f"the map function {name_of(function)} is async: make it a plain def, which must not wait")
    call: Any = function
    if _has_two_parameters(function):
        wants_reader: Callable[[R, Reader], Keys] = call
        return wants_reader
    return lambda obj, reader: call(obj)


def _kinds_in(hint: Any) -> Iterator[type[Object]]:
    """The kinds that an annotation names: `Foo` and `list[Foo] | None` name Foo."""
    if isinstance(hint, type) and issubclass(hint, Object):
        yield hint
    for argument in get_args(hint):
        yield from _kinds_in(argument)


def _is_same_kind(info: ResourceInfo, kind: type[Object]) -> bool:
    """Whether the class is of that kind, in whatever version. A class that may be any kind passes."""
    found: ResourceInfo | None = getattr(kind, "__resource__", None)
    return found is None or (found.group, found.kind) == (info.group, info.kind)


def _has_two_parameters(function: Callable[..., Any]) -> bool:
    try:
        return len(signature_of(function).parameters) >= 2
    except ValueError:  # a function that is built in
        return False


def owner_keys(change: Change[Any], owner: ResourceInfo, *, controller_only: bool = True) -> set[ObjectKey]:
    """The keys of the owners, of that group and kind, that the object has or had.

    The version does not matter: an owner is the same object in each of its versions. A cluster-scoped owner has no
    namespace, wherever the owned object lives.
    """
    keys: set[ObjectKey] = set()
    for snapshot in (change.old, change.new):
        if snapshot is not None and snapshot.owners:
            keys.update(keys_of_owners(snapshot, owner, controller_only=controller_only))
    return keys


def keys_of_owners(
    snapshot: Snapshot[Any], owner: ResourceInfo, *, controller_only: bool = True
) -> Iterator[ObjectKey]:
    """The keys of the owners of one state of an object."""
    for reference in snapshot.owners:
        if reference.kind != owner.kind or reference.group != owner.group:
            continue
        if reference.controller or not controller_only:
            yield ObjectKey(snapshot.namespace if owner.namespaced else "", reference.name)


def parse_key(value: object) -> ObjectKey:
    """What a map function or trigger named: a key, a (namespace, name) pair, its text, or an object."""
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
    """The same for one kind. Raises TypeError for what no object of it can have."""
    if isinstance(value, Object) and not _is_same_kind(info, type(value)):
        where = "namespace, name" if info.namespaced else '"", name'
        raise TypeError(
            f"{value} is not a {info.kind}: only {info.kind} objects are woken here. Return ObjectKey({where}) of the"
            f" {info.kind}, or the {info.kind} itself"
        )
    found = parse_key(value)
    if bool(found.namespace) != info.namespaced:
        where = (
            "in a namespace: answer ObjectKey(namespace, name)"
            if info.namespaced
            else 'in no namespace: answer ObjectKey("", name)'
        )
        raise TypeError(f"{value!r} is the key of no {info.kind}. They live {where}, or the object itself")
    return found
