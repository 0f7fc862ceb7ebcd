"""Whose an object is: the rules by which `apply` and `prune` may touch it, and the errors when they may not.

- An object is *ours* when its controller is the owner it is applied for, by uid. Applied without an owner, it is ours
  when our field manager has applied it before.
- An object without a controller can be *adopted*, when the caller asks for it.
- Everything else is refused: an object that another one controls cannot have a second controller.
"""

from __future__ import annotations

from typing import Literal

from kubewright.api import Object, OwnerReference, controller_of

__all__ = ["ApplyError", "BeingDeleted", "Claim", "NotOwned", "Outdated", "claim"]

Claim = Literal["ours", "adopt"]


class ApplyError(Exception):
    """The object could not be applied or pruned, although the server would have taken it.

    `existing` is the object in the way, as it was last seen; None when it is gone.
    """

    def __init__(self, message: str, existing: Object | None = None) -> None:
        super().__init__(message)
        self.existing = existing


class NotOwned(ApplyError):
    """An object of that name exists, and it is not ours: it was left alone. Trying again helps only if it goes away."""

    existing: Object

    def __init__(self, message: str, existing: Object) -> None:
        super().__init__(message, existing)

    @property
    def controller(self) -> OwnerReference | None:
        """What controls the existing object, if anything does."""
        return controller_of(self.existing)


class BeingDeleted(ApplyError):
    """An object of that name is on its way out. Nothing is gained by changing it: apply again when it is gone."""

    existing: Object

    def __init__(self, existing: Object) -> None:
        waiting = ", ".join(existing.metadata.finalizers)
        waits = f", which waits for its finalizers ({waiting})" if waiting else ""
        super().__init__(f"{existing} is being deleted{waits}; it can be applied anew once it is gone", existing)


class Outdated(ApplyError):
    """The object is not what it was a moment ago: gone, made anew, or claimed by somebody. Reconcile again."""


def claim(existing: Object, owner: Object | None, *, adopt: bool, applied_before: bool) -> Claim:
    """By which right the object may be written. Raises `NotOwned` when there is none."""
    controller = controller_of(existing)
    if owner is None:
        if applied_before:
            return "ours"
    elif controller is not None:
        if controller.uid == owner.metadata.uid:
            return "ours"
        raise NotOwned(_controlled_by_another(existing, owner, controller), existing)
    if adopt:
        return "adopt"
    whom = f"{owner} does not control it" if owner is not None else "this operator has not applied it before"
    raise NotOwned(
        f"{existing} exists already and {whom}, so it was left alone: "
        "choose another name, delete it, or take it over with adopt=True",
        existing,
    )


def _controlled_by_another(existing: Object, owner: Object, controller: OwnerReference) -> str:
    name = f"{controller.kind} {controller.name}"
    if controller.kind == owner.kind and controller.name == owner.metadata.name:
        return (
            f"{existing} belongs to an earlier {name} (uid {controller.uid}, now {owner.metadata.uid}), "
            "so it was left alone: the garbage collector removes it"
        )
    return f"{existing} exists already and {name} (uid {controller.uid}) controls it, so it was left alone"
