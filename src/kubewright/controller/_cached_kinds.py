"""`CachedKinds`: the informers of an operator, by kind; `ControllerCaches`: those that one controller reads."""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Sequence
from typing import Any, Final, TypeVar

from kubewright.api import Object, ResourceInfo, info_of
from kubewright.cache import Caches, IndexFunction, Informer, Labels, ObjectKey, Snapshot, whole_kind
from kubewright.client import NotFound
from kubewright.controller._reconcile import RetryLater
from kubewright.controller.registration._caching import CacheUse, resolve_caches

__all__ = ["CachedKinds", "ControllerCaches", "NotCached", "NotServed"]

O = TypeVar("O", bound=Object)  # noqa: E741

_RBAC: Final = "rbac.authorization.k8s.io"


class NotCached(LookupError):
    """The caches of the controller do not contain the kind or the namespace that is read."""


class NotServed(LookupError):
    """`ctx.apply` of an optional kind that the cluster does not have. Check `ctx.served(kind)` first."""


class CachedKinds:
    """The informers of an operator, by kind. It is the `CacheView` of `Applier`, and the `Reader` of whole caches."""

    def __init__(self) -> None:
        self._by_kind: dict[type[Object], list[Informer[Any]]] = {}
        self._whole: dict[type[Object], Informer[Any]] = {}
        self._uses: list[tuple[CacheUse, Informer[Any]]] = []

    def declare(self, uses: Sequence[CacheUse], caches: Caches) -> None:
        """Creates the informers of all declarations of an operator."""
        for use in resolve_caches(uses):
            options = use.options
            informer: Informer[Any] = caches.informer(
                use.kind,
                namespaces=options.namespaces,
                labels=options.labels or None,
                fields=options.fields or None,
                metadata_only=options.metadata_only,
                transform=options.transform,
                owned_by=options.owned_by,
                optional=options.optional,
            )
            self.add(use.kind, informer, whole=options.complete)
            self._uses.append((use, informer))

    def add(self, kind: type[O], informer: Informer[O], *, whole: bool = True) -> None:
        """Adds an informer. `whole`: it caches every object in the operator's namespaces, with all fields."""
        informers = self._by_kind.setdefault(kind, [])
        if informer not in informers:
            informers.append(informer)
        if whole:
            self._whole.setdefault(kind, informer)

    def of(self, controller: str) -> ControllerCaches:
        """Returns the caches as one controller sees them."""
        return ControllerCaches(self, controller)

    def all(self, kind: type[O]) -> Sequence[Informer[O]]:
        """Returns the informers of that kind."""
        return self._by_kind.get(whole_kind(kind), ())

    def informer(self, kind: type[O]) -> Informer[O]:
        """Returns the informer for reads of this kind: one that caches all objects whole. Raises `NotCached`."""
        found = self._whole.get(kind)
        if found is not None:
            return found
        info_of(kind)  # raises TypeError for a class that is not a kind
        name = kind.__name__
        places = [use.place for use, _ in self._uses if use.kind is kind]
        reason = f"is cached only in part, by {' and '.join(places)}" if places else "is not cached"
        raise NotCached(
            f"{name} {reason}: add reads=[{name}] (or owns=, watches=) to the reconciler, "
            f"or read from the server with ctx.client.get({name}, ...)"
        )

    def owned(self, kind: type[O]) -> Informer[O]:
        """Returns the informer for reads of owned objects."""
        return self.informer(kind)

    def served(self, kind: type[Object]) -> bool:
        """Returns whether the server serves a kind. Raises `NotCached` for a kind that no controller declares."""
        if not self.all(kind):
            self.informer(kind)  # raises NotCached
        return all(informer.served for informer in self.all(kind))

    def explain(self, error: NotFound, obj: Object) -> None:
        """Raises a better error of a write, if there is one: `NotServed` for an optional kind that is absent, and
        `RetryLater` for a binding to a role that is cached, but that the server does not know yet.
        """
        kind = type(obj)
        if not all(informer.served for informer in self.all(kind)):
            raise NotServed(
                f"{info_of(kind)} is not installed. It is optional: apply one only if ctx.served({kind.__name__})"
            ) from error
        if (role := self._role_of(obj)) is not None and _names(error, role, info_of(kind)):
            raise RetryLater(
                f"the API server does not know {role.kind.__name__} {role.key} yet, which {obj} refers to"
            ) from error

    def _role_of(self, binding: Object) -> Snapshot[Any] | None:
        """Returns the cached role of a RoleBinding or ClusterRoleBinding.

        To check a binding, kube-apiserver reads the role from a cache of its own, which a new role reaches later.
        """
        ref = getattr(binding, "role_ref", None)
        if ref is None or info_of(type(binding)).group != _RBAC:
            return None
        for kind in self._by_kind:
            info = info_of(kind)
            if (info.group, info.kind) == (_RBAC, ref.kind):
                return self.get(kind, ObjectKey((info.namespaced and binding.metadata.namespace) or "", ref.name))
        return None

    def synced(self, kind: type[Object]) -> bool:
        """Returns whether all caches of a kind are synced."""
        return all(informer.synced for informer in self.all(kind))

    def add_index(self, kind: type[O], name: str, function: IndexFunction[O]) -> None:
        """Adds an index to the caches of a kind: those with whole objects, or all of them if there are none.

        Raises `NotCached` for a kind that is not cached.
        """
        informers = self.all(kind)
        if not informers:
            self.informer(kind)  # raises NotCached
        for informer in [one for one in informers if not one.metadata_only] or informers:
            informer.add_index(name, function)

    # As a Reader

    def read(self, kind: type[O], name: str, namespace: str | None = None) -> O | None:
        """Returns one cached object, or None. Raises `NotCached` for a namespace that the cache does not contain."""
        informer = self.informer(kind)
        if informer.namespaces or informer.following:
            _check_namespace(informer, kind, namespace or "")
        return informer.lister.get(name, namespace or "")

    def list(self, kind: type[O], namespace: str | None = None, labels: Labels | None = None) -> list[O]:
        """Returns the cached objects of a kind. Raises `NotCached` for a namespace that the cache does not contain."""
        informer = self.informer(kind)
        if namespace is not None and (informer.namespaces or informer.following):
            _check_namespace(informer, kind, namespace)
        return informer.lister.list(namespace, labels)

    def by_index(self, kind: type[O], index: str, value: str, namespace: str | None = None) -> builtins.list[O]:
        """Returns the cached objects with this value in an index. Raises KeyError with the known indexes."""
        return self.informer(kind).lister.by_index(index, value, namespace)

    # As a CacheView

    def covers(self, kind: type[Object], namespace: str) -> bool:
        """Returns whether every object of the kind in the namespace is cached."""
        return any(
            not (informer.selection or informer.metadata_only or informer.transform) and informer.covers(namespace)
            for informer in self.all(kind)
        )

    def get(self, kind: type[O], key: ObjectKey) -> Snapshot[O] | None:
        """Returns the newest known state of an object, whole if possible; None if no cache has it."""
        found: Snapshot[O] | None = None
        for informer in self.all(kind):
            if (snapshot := informer.lister.snapshot(key)) is not None:
                if not snapshot.partial:
                    return snapshot
                found = snapshot
        return found

    def controlled_by(self, kind: type[O], uid: str) -> Iterable[Snapshot[O]]:
        """Returns the objects whose controller has this uid, from every cache of the kind."""
        found: dict[ObjectKey, Snapshot[O]] = {}
        if not self.all(kind):
            self.informer(kind)  # raises NotCached
        for informer in self.all(kind):
            for snapshot in informer.lister.snapshots_by_index("owner", uid):
                if (owner := snapshot.controller) is not None and owner.uid == uid:
                    found.setdefault(snapshot.key, snapshot)
        return found.values()

    def written(self, obj: Object) -> None:
        """Shows a write in every cache of the kind before the watch delivers it."""
        for informer in self.all(type(obj)):
            informer.written(obj)

    def removed(self, kind: type[Object], key: ObjectKey, uid: str) -> None:
        """Hides an object in every cache of the kind after its deletion was requested."""
        for informer in self.all(kind):
            informer.removed(key, uid)


def _names(error: NotFound, role: Snapshot[Any], binding: ResourceInfo) -> bool:
    """Returns whether the role is missing. kube-apiserver names the resource of the binding, and the role."""
    details, kinds = error.status.details, (binding.plural, info_of(role.kind).plural)
    return details is not None and details.name == role.name and details.kind in kinds


class ControllerCaches(CachedKinds):
    """The caches of an operator as one controller sees them. A read of a kind uses the cache of:

    1. its declaration in `reads`, if there is one;
    2. otherwise its only declaration; of several, the one that caches all objects whole;
    3. for a kind that this controller does not declare, the whole cache of another controller.

    All other reads raise `NotCached`: a read never uses a cache with fewer objects than the controller declares.
    """

    def __init__(self, shared: CachedKinds, controller: str) -> None:
        self._by_kind, self._whole, self._uses = shared._by_kind, shared._whole, shared._uses
        mine = [(use, informer) for use, informer in self._uses if use.controller == controller]
        self.primary: Informer[Any] = mine[0][1]
        self.owns = [informer for use, informer in mine if use.role == "owns"]
        self.watches = [informer for use, informer in mine if use.role == "watches"]
        self.optional = [informer for informer in dict.fromkeys(informer for _, informer in mine) if informer.optional]
        self._owned = {use.kind: informer for use, informer in mine if use.role == "owns"}
        self._mine: dict[type[Object], Informer[Any]] = {}
        self._ambiguous: dict[type[Object], builtins.list[CacheUse]] = {}
        for kind in dict.fromkeys(use.kind for use, _ in mine):
            self._choose(kind, [(use, informer) for use, informer in mine if use.kind is kind])

    def _choose(self, kind: type[Object], declared: builtins.list[tuple[CacheUse, Informer[Any]]]) -> None:
        preferred = [informer for use, informer in declared if use.role == "reads"]
        preferred += [informer for use, informer in declared if use.options.complete]
        different = dict.fromkeys(informer for _, informer in declared)
        if preferred or len(different) == 1:
            self._mine[kind] = (preferred or [*different])[0]
        else:
            self._ambiguous[kind] = [use for use, _ in declared]

    def informer(self, kind: type[O]) -> Informer[O]:
        """Returns the informer for reads of this kind. Raises `NotCached`."""
        found = self._mine.get(kind)
        if found is not None:
            return found
        if kind in self._ambiguous:
            name = kind.__name__
            raise NotCached(
                f"{name} is cached more than once, by {' and '.join(use.place for use in self._ambiguous[kind])}: say"
                f" which objects to read with reads=[Reads({name}, ...)]"
            )
        return super().informer(kind)

    def owned(self, kind: type[O]) -> Informer[O]:
        """Returns the informer for reads of owned objects: that of the declaration in `owns`, if there is one."""
        return self._owned.get(kind) or self.informer(kind)


def _check_namespace(informer: Informer[Any], kind: type[Object], namespace: Any) -> None:
    if isinstance(namespace, str) and not informer.covers(namespace):  # the lister rejects other types
        known = ", ".join(informer.namespaces) or "none"
        raise NotCached(
            f"{kind.__name__} in namespace {namespace!r} is not cached; the cached namespaces are: {known}. Add it to"
            f" namespaces=, or read from the server with ctx.client.get({kind.__name__}, ...)"
        )
