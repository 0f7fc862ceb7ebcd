"""Owner references: which object owns another one, and is its controller.

An owner is identified by its uid: a later object of the same kind and name is another one. At most one owner is the
controller. A namespaced owner can own only objects in its namespace, because the garbage collector looks nowhere else;
a cluster-scoped owner can own any object.
"""

from __future__ import annotations

from kubewright.api._object import Object, ResourceInfo
from kubewright.api._object_meta import OwnerReference

__all__ = [
    "AlreadyOwned",
    "OwnerError",
    "add_owner",
    "controller_of",
    "is_controlled_by",
    "owner_reference",
    "remove_owner",
    "set_controller",
]


class OwnerError(ValueError):
    """An object cannot own the other one."""


class AlreadyOwned(OwnerError):
    """Another object controls this one already. `controller` is the reference to it."""

    def __init__(self, message: str, controller: OwnerReference) -> None:
        super().__init__(message)
        self.controller = controller


def owner_reference(owner: Object, *, controller: bool = True, block_owner_deletion: bool = True) -> OwnerReference:
    """Returns the reference to this object as an owner.

    Raises OwnerError if the object has no name or uid, that is, if it was neither read from nor created on a server.
    """
    for field in ("api_version", "kind"):
        if not getattr(owner, field):
            raise OwnerError(f"{owner} cannot own anything: it has no {field}")
    for field in ("name", "uid"):
        if not getattr(owner.metadata, field):
            raise OwnerError(
                f"{owner} cannot own anything: it has no metadata.{field}. Create it first, or read it from the server"
            )
    return OwnerReference(
        api_version=owner.api_version,
        kind=owner.kind,
        name=owner.metadata.name,
        uid=owner.metadata.uid,
        controller=controller or None,
        block_owner_deletion=block_owner_deletion or None,
    )


def set_controller(obj: Object, *, owner: Object, block_owner_deletion: bool = True) -> None:
    """Makes `owner` the controller of `obj`. Updates an existing reference to the same owner.

    Raises AlreadyOwned if another object controls it, and OwnerError if the owner cannot own it.
    """
    reference = owner_reference(owner, block_owner_deletion=block_owner_deletion)
    _check_scope(obj, owner)
    current = controller_of(obj)
    if current is not None and current.uid != reference.uid:
        raise AlreadyOwned(
            f"{obj} cannot be controlled by {owner} (uid {reference.uid}): "
            f"{current.kind} {current.name} (uid {current.uid}) controls it already",
            current,
        )
    _put(obj, reference)


def add_owner(obj: Object, *, owner: Object, block_owner_deletion: bool = False) -> None:
    """Adds `owner` to the owners of `obj`, without making it the controller. Changes nothing if it already is one.

    Raises OwnerError if the owner cannot own it.
    """
    reference = owner_reference(owner, controller=False, block_owner_deletion=block_owner_deletion)
    _check_scope(obj, owner)
    if all(existing.uid != reference.uid for existing in obj.metadata.owner_references):
        _put(obj, reference)


def remove_owner(obj: Object, *, owner: Object) -> bool:
    """Removes `owner` from the owners of `obj`, and returns whether it was one."""
    references = obj.metadata.owner_references
    kept = [reference for reference in references if not owner.metadata.uid or reference.uid != owner.metadata.uid]
    obj.metadata.owner_references = kept
    return len(kept) < len(references)


def controller_of(obj: Object) -> OwnerReference | None:
    """Returns the reference to the controller of this object; None if it has none."""
    return next((reference for reference in obj.metadata.owner_references if reference.controller), None)


def is_controlled_by(obj: Object, owner: Object) -> bool:
    """Whether `owner` is the controller of `obj`, by uid."""
    reference = controller_of(obj)
    return reference is not None and reference.uid == owner.metadata.uid


def _put(obj: Object, reference: OwnerReference) -> None:
    references = obj.metadata.owner_references
    for index, existing in enumerate(references):
        if existing.uid == reference.uid:
            references[index] = reference
            return
    references.append(reference)


def _check_scope(obj: Object, owner: Object) -> None:
    namespace = owner.metadata.namespace
    if not namespace or obj.metadata.namespace == namespace:
        return
    if obj.metadata.namespace:
        raise OwnerError(f"{owner} cannot own {obj}: an owner in a namespace can own only objects in the same one")
    # An untyped object may not know its scope.
    info: ResourceInfo | None = getattr(type(obj), "__resource__", None)
    if info is not None and info.namespaced:
        raise OwnerError(f"{owner} cannot own {obj} yet: set its metadata.namespace, to {namespace!r}, first")
    raise OwnerError(f"{owner} cannot own {obj}: an object in a namespace cannot own one that is cluster-scoped")
