"""`@operator.defaults(Foo)`, `@operator.validates(Foo)`, `@operator.converts(Old, New)`."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, TypeVar, Unpack

from kubewright.api import Object

if TYPE_CHECKING:
    from kubewright.webhook import AdmissionOptions, ConvertDecorator, DefaultDecorator, ValidateDecorator, Webhooks

__all__ = ["HasWebhooks"]

R = TypeVar("R", bound=Object)
S = TypeVar("S", bound=Object)


class HasWebhooks:
    """What an operator has of webhooks. Their room is entered with the first of them: most operators have none."""

    name: str

    @cached_property
    def webhooks(self) -> Webhooks:
        """The webhooks that were registered."""
        from kubewright.webhook import Webhooks

        return Webhooks(self.name)

    @property
    def has_webhooks(self) -> bool:
        """Whether any was registered."""
        return "webhooks" in vars(self) and bool(self.webhooks)

    def defaults(self, kind: type[R], **options: Unpack[AdmissionOptions]) -> DefaultDecorator[R]:
        """Let a function change objects of a kind before they are stored: fill in what was left out.

        It takes the object, and an `AdmissionRequest` if it wants one, and changes the object or returns another. The
        difference is sent, and nothing else is touched; fields that the model does not know stay. It may be called
        several times for one request, also with what it has changed already. To refuse is to raise `Refused`.

        Args:
            kind: whose objects; a class of your own, a built-in one, or `Untyped` with `rules`.
            options: see `AdmissionOptions`.
        """
        return self.webhooks.defaults(kind, options)

    def validates(self, kind: type[R], **options: Unpack[AdmissionOptions]) -> ValidateDecorator[R]:
        """Let a function, or a class with methods for operations, say whether objects of a kind may be stored.

        A function takes the object (of a deletion, the one that is to go), and an `AdmissionRequest` if it wants one. A
        class has any of `validate_create(self, obj)`, `validate_update(self, old, new)`, `validate_delete(self, obj)`.
        They return or yield `FieldError`s, all that there are, and `AdmissionWarning`s; or nothing. They may raise
        `Refused`, or `ValidationError` as `kw.validate(obj)` does.

        Args:
            kind: whose objects; a class of your own, a built-in one, or `Untyped` with `rules`.
            options: see `AdmissionOptions`.
        """
        return self.webhooks.validates(kind, options)

    def converts(self, source: type[R], target: type[S]) -> ConvertDecorator[R, S]:
        """Let a function convert objects of a kind from one version to another.

        The stored version is the hub: each other version needs a function to it, and one back. The function takes the
        object in its class and returns one of the other class. Metadata and unknown fields are carried over for it.
        What cannot be converted raises `ConversionError`.
        """
        return self.webhooks.converts(source, target)
