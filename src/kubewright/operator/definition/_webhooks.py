"""Registration of webhooks: `@operator.defaults(Foo)`, `@operator.validates(Foo)`, `@operator.converts(Old, New)`."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, TypeVar, Unpack

from kubewright.api import Object
from kubewright.arguments import known_options

if TYPE_CHECKING:
    from kubewright.webhook import AdmissionOptions, ConvertDecorator, DefaultDecorator, ValidateDecorator, Webhooks

__all__ = ["WebhookRegistration"]

R = TypeVar("R", bound=Object)
S = TypeVar("S", bound=Object)


class WebhookRegistration:
    """The part of an operator that registers webhooks. `kubewright.webhook` is imported with the first webhook."""

    name: str

    @cached_property
    def webhooks(self) -> Webhooks:
        """The registered webhooks."""
        from kubewright.webhook import Webhooks

        return Webhooks(self.name)

    @property
    def has_webhooks(self) -> bool:
        """Whether any webhook is registered."""
        return "webhooks" in vars(self) and bool(self.webhooks)

    @known_options
    def defaults(self, kind: type[R], **options: Unpack[AdmissionOptions]) -> DefaultDecorator[R]:
        """Registers a function that changes objects of a kind before they are stored, such as to set default values.

        The function takes the object, and an `AdmissionRequest` if it has a second parameter. It changes the object or
        returns another one. Only the difference is sent, so fields that the model does not know are preserved. The
        function may run several times for one request, also on an object that it has already changed. It raises
        `Refused` to reject the request.

        Args:
            kind: the kind of the objects: your own class, a built-in one, or `Untyped` with `rules`.
            options: see `AdmissionOptions`.
        """
        return self.webhooks.defaults(kind, options)

    @known_options
    def validates(self, kind: type[R], **options: Unpack[AdmissionOptions]) -> ValidateDecorator[R]:
        """Registers a function, or a class with a method per operation, that accepts or rejects objects of a kind.

        A function takes the object (for a deletion, the stored one), and an `AdmissionRequest` if it has a second
        parameter. A class has any of `validate_create(self, obj)`, `validate_update(self, old, new)` and
        `validate_delete(self, obj)`. They return or yield `FieldError`s and `AdmissionWarning`s, or return nothing to
        accept the object. They may raise `Refused`, or `ValidationError` as `obj.validate()` does.

        Args:
            kind: the kind of the objects: your own class, a built-in one, or `Untyped` with `rules`.
            options: see `AdmissionOptions`.
        """
        return self.webhooks.validates(kind, options)

    @known_options
    def converts(self, source: type[R], target: type[S]) -> ConvertDecorator[R, S]:
        """Registers a function that converts objects of a kind from one version to another.

        The stored version is the hub: each other version needs a function to it and a function from it. The function
        takes an object of the source class and returns one of the target class. Kubewright preserves metadata and
        unknown fields. The function raises `ConversionError` for an object that it cannot convert.
        """
        return self.webhooks.converts(source, target)
