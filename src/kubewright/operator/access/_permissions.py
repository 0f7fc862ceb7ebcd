"""Derives the permissions of a program from its declarations.

The verbs are those of the calls that Kubewright makes:

- cached kinds (reconciled, owned, watched, read): `list` and `watch`, and `get` where the cache does not suffice;
- finalizers: `patch` on the object; a status: `patch` on its subresource, or on the object if it has none. Taking over
  status fields of an earlier release is one more `patch` on the object;
- owned kinds: `ctx.apply` is `create` or `patch`; `ctx.prune` and `ctx.delete` are `delete`.
  Clusters with OwnerReferencesPermissionEnforcement also require `update` on the owner's `finalizers`, although no
  call shows it;
- events, in their API: `create`, and `patch` to increase the count. Events about cluster-scoped objects are in
  `default`;
- leader election: `get` and `update` of one Lease, and `create`, which cannot be limited to a name;
- metrics outside of loopback: `create` of token reviews and subject access reviews.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from types import NoneType
from typing import TYPE_CHECKING, Any

import msgspec

from kubewright.api import Object, ResourceInfo
from kubewright.arguments import check_string, is_string_collection
from kubewright.controller import Reads, Registration, Watch
from kubewright.controller.registration import check_kind
from kubewright.rbac import CLUSTER, OWN, WATCHED, Permission, check_verbs, permission

if TYPE_CHECKING:
    from kubewright.api.rbac.v1 import PolicyRule

__all__ = ["for_following", "for_installing", "for_leading", "for_reviewing", "needed", "permissions_of"]

_OWNED = ("get", "list", "watch", "create", "patch", "delete")
_READ = ("list", "watch")
_LEASES = "coordination.k8s.io"
EVENTS = "events.k8s.io/v1"
"""The default API of events."""


def permissions_of(
    registrations: Sequence[Registration[Any]],
    namespaces: Sequence[str],
    extra: Iterable[Permission] = (),
    *,
    events: str = EVENTS,
) -> list[Permission]:
    """Returns all permissions of a program: of its controllers, of the event recorder, and the extra ones."""
    found: list[Permission] = []
    for registration in registrations:
        found += _of_primary(registration)
        for owns in registration.owns:
            why = f"{registration.kind.__name__} owns {owns.kind.__name__}"
            verbs, where = owns.verbs or _OWNED, owns.cache.options.namespaces
            found += _of_verbs(owns.info, verbs, why, narrowed=owns.verbs is not None, namespaces=where)
        declared: list[Watch[Any] | Reads[Any]] = [*registration.watches, *registration.reads]
        for one in declared:
            what = "watches" if isinstance(one, Watch) else "reads"
            # The rest of an object whose metadata is cached is read with `get`.
            verbs = ("get", *_READ) if one.cache.only_metadata_of(one.info) else _READ
            why, where = f"{registration.kind.__name__} {what} {one.kind.__name__}", one.cache.options.namespaces
            found += _of_verbs(one.info, verbs, why, namespaces=where)
    found += _of_events(registrations, namespaces, events)
    return _distinct([*found, *extra])


def _of_primary(registration: Registration[Any]) -> Iterator[Permission]:
    info, why = registration.info, f"reconciles({registration.kind.__name__})"
    if registration.verbs is not None:
        yield from _of_verbs(info, registration.verbs, why, narrowed=True)
    else:
        yield from _of_verbs(info, ("get", *_READ), why)
        if hasattr(registration.kind, "__definition__"):
            # The status of built-in kinds belongs to their own controllers.
            part = "status" if "status" in info.subresources else None
            if part or _has_status(registration.kind):
                yield permission(info, "patch", subresource=part, why=f"the status of {registration.kind.__name__}")
            if part:
                why = f"managed fields of the status of {registration.kind.__name__}"
                yield permission(info, "patch", why=why, rare=True)
    if registration.finalizers or registration.class_finalizer:
        yield permission(info, "patch", why=f"finalizers of {registration.kind.__name__}")
    if registration.owns:
        why = f"{registration.kind.__name__} owns objects"
        yield permission(info, "update", subresource="finalizers", why=why, rare=True)


def _has_status(kind: type[Object]) -> bool:
    """Returns whether the kind has a status; a `Resource[Spec, None]` has none."""
    found = [field.type for field in msgspec.structs.fields(kind) if field.name == "status"]
    return bool(found) and found[0] not in (None, NoneType)


def _of_verbs(
    info: ResourceInfo,
    verbs: Sequence[str],
    why: str,
    *,
    narrowed: bool = False,
    namespaces: Sequence[str] | None = None,
) -> Iterator[Permission]:
    for text in verbs:
        verb, _, part = text.partition(" ")
        # A cache lists only if it cannot stream, and a get is needed only if the cache is behind.
        rare = verb == "list" or (verb == "get" and not narrowed)
        for where in (None,) if namespaces is None else namespaces:
            yield permission(info, verb, subresource=part or None, where=where, why=why, rare=rare)


def _of_events(
    registrations: Sequence[Registration[Any]], namespaces: Sequence[str], version: str
) -> Iterator[Permission]:
    namespaces_of_events = {WATCHED if one.info.namespaced or not namespaces else "default" for one in registrations}
    for where in sorted(namespaces_of_events):
        yield from _events_at(where, version)


def _events_at(where: str, version: str) -> Iterator[Permission]:
    group = version.rpartition("/")[0]
    for verb in ("create", "patch"):
        yield Permission(group=group, resource="events", verb=verb, where=where, why="events", rare=True)


def for_leading(lease: str, namespace: str | None = None, *, events: str = EVENTS) -> list[Permission]:
    """Returns the permissions of leader election: one Lease, and events. RBAC cannot limit `create` to a name."""
    where, why = namespace or OWN, "leader election"
    wanted = (("create", ""), ("get", lease), ("update", lease))
    return [
        *(
            Permission(group=_LEASES, resource="leases", verb=verb, where=where, name=name, why=why, rare=True)
            for verb, name in wanted
        ),
        *_events_at(where, events),
    ]


def for_following() -> list[Permission]:
    """Returns the permissions of `namespace_labels`: to follow the namespaces. They need a ClusterRole."""
    return [
        Permission(resource="namespaces", verb=verb, where=CLUSTER, why="namespace_labels", rare=verb == "list")
        for verb in _READ
    ]


def for_reviewing() -> list[Permission]:
    """Returns the permissions of secure metrics: token reviews. They are cluster-scoped and need a ClusterRole."""
    reviews = (("authentication.k8s.io", "tokenreviews"), ("authorization.k8s.io", "subjectaccessreviews"))
    return [
        Permission(group=group, resource=resource, verb="create", where=CLUSTER, why="secure metrics", rare=True)
        for group, resource in reviews
    ]


def for_installing(*kinds: type[Object]) -> list[Permission]:
    """Returns the permissions of `kubewright.crd.install`, for a program that installs its definitions itself."""
    names = sorted({f"{info.plural}.{info.group}" for info in (check_kind(kind, "install") for kind in kinds)})
    crds = {"group": "apiextensions.k8s.io", "resource": "customresourcedefinitions", "where": "*"}
    why = "installs its definitions"
    return [
        Permission(verb="create", why=why, rare=True, **crds),
        *(
            Permission(verb=verb, name=name, why=why, rare=verb == "patch", **crds)
            for name in names
            for verb in ("get", "patch", "watch")
        ),
    ]


def needed(
    kind: type[Object] | PolicyRule | Sequence[Permission],
    *,
    verbs: Sequence[str] = (),
    names: Sequence[str] = (),
    namespace: str | None = None,
) -> list[Permission]:
    """Returns the permissions of one call of `Operator.needs`."""
    if namespace is not None:
        check_string("needs: namespace", namespace, '"kube-system", or "." for the namespace of the operator')
    if isinstance(kind, Sequence) and not isinstance(kind, str):
        for one in kind:
            if not isinstance(one, Permission):
                item = one.__name__ if isinstance(one, type) else type(one).__name__
                raise TypeError(
                    f"needs takes one kind at a time, needs({item}, ...), or the permissions of a part of"
                    f" the program, such as for_installing(Foo); not a list that contains {item}"
                )
        if verbs or names or namespace:
            raise TypeError("needs: permissions already have verbs, names and a namespace: leave out these arguments")
        return list(kind)
    if not isinstance(kind, type) and hasattr(kind, "api_groups"):
        if verbs or names:
            raise TypeError("needs: a PolicyRule already has verbs and names: leave out these arguments")
        return list(_of_rule(kind, namespace))
    info = check_kind(kind, "needs")
    what = f"needs({info.kind})"
    if not is_string_collection(names):
        raise TypeError(f'{what}: names takes a list of strings, names=["settings"], not {names!r}')
    return [
        permission(info, verb, subresource=part or None, where=namespace, name=name, why=what)
        for verb, _, part in (text.partition(" ") for text in check_verbs(what, verbs))
        for name in names or ("",)
    ]


def _of_rule(rule: PolicyRule, namespace: str | None) -> Iterator[Permission]:
    if not rule.verbs or not (rule.resources or rule.non_resource_urls):
        raise ValueError("needs: a PolicyRule requires verbs, and resources or non_resource_urls")
    where = WATCHED if namespace is None else namespace
    for verb in rule.verbs:
        for url in rule.non_resource_urls or ():
            yield Permission(verb=verb, url=url, where="*", why="needs(PolicyRule)")
        for group in rule.api_groups or ("",):
            for resource in rule.resources or ():
                for name in rule.resource_names or ("",):
                    yield Permission(
                        group=group, resource=resource, verb=verb, where=where, name=name, why="needs(PolicyRule)"
                    )


def _distinct(found: Iterable[Permission]) -> list[Permission]:
    """Returns each permission once. A permission is rare only if all its declarations are."""
    kept: dict[tuple[str, ...], Permission] = {}
    for one in found:
        key = (one.where, one.group, one.resource, one.verb, one.name, one.url)
        if key not in kept or (kept[key].rare and not one.rare):
            kept[key] = one
    return [kept[key] for key in sorted(kept)]
