"""`Object`: what has `apiVersion`, `kind` and `metadata`; and `ResourceInfo`, where its kind lives on the server."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import msgspec

from kubewright.api._model import Model, ModelType
from kubewright.api._object_meta import ObjectMeta

__all__ = ["Object", "ResourceInfo", "builtin", "info_of", "name_kind"]

ObjectT = TypeVar("ObjectT", bound="type[Object]")

_SECRETS = {
    ("v1", "Secret"),
    ("authentication.k8s.io/v1", "TokenRequest"),
    ("authentication.k8s.io/v1", "TokenReview"),
}


class ResourceInfo(msgspec.Struct, frozen=True, kw_only=True):
    """Where a kind lives on the server."""

    group: str
    version: str
    kind: str
    plural: str
    singular: str
    namespaced: bool
    subresources: frozenset[str] = frozenset()

    @property
    def api_version(self) -> str:
        """Group and version as objects carry them: `apps/v1`, or `v1` for the core group."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def path(self) -> str:
        """The URL path of the group version: `/apis/apps/v1`, or `/api/v1` for the core group."""
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"

    def __str__(self) -> str:
        return f"{self.kind} ({self.api_version})"


class ObjectType(ModelType):
    """Names the kind of an object that is made by calling its class.

    `__post_init__` would be the wrong place: it also runs when an object inside another one is decoded (the claim
    templates of a StatefulSet), and that must not gain names which it does not carry on the wire.
    """

    if not TYPE_CHECKING:

        def __call__(self, *args: Any, **fields: Any) -> Any:
            made = super().__call__(*args, **fields)
            if "kind" not in fields or "api_version" not in fields:
                name_kind(made)
            return made


if TYPE_CHECKING:
    _ObjectBase = Model
else:

    class _ObjectBase(Model, metaclass=ObjectType):
        pass


class Object(_ObjectBase, omit_empty=True):
    """Anything with `apiVersion`, `kind` and `metadata`. Both names are filled in from the class when an object is made
    or decoded without them (the items of a list carry none)."""

    __resource__: ClassVar[ResourceInfo]
    __definition__: ClassVar[Any]  # a `Definition`, see `definition_of`; it stands above this module

    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)

    def __repr__(self) -> str:
        # The content of a Secret, or a token, must not reach a log by way of a traceback or a debug line.
        return f"<{self}, content hidden>" if self._is_secret else super().__repr__()

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        # Nor by way of the rich library, which prints tracebacks with all variables.
        return [("metadata", self.metadata)] if self._is_secret else super().__rich_repr__()

    @property
    def _is_secret(self) -> bool:
        return (self.api_version, self.kind) in _SECRETS

    def __str__(self) -> str:
        name = self.metadata.name or self.metadata.generate_name or "(no name)"
        return f"{self.kind} {self.metadata.namespace}/{name}" if self.metadata.namespace else f"{self.kind} {name}"


def name_kind(made: Object) -> None:
    """Fill in the names of an object's kind where they are absent."""
    if not made.api_version or not made.kind:
        info = info_of(type(made))
        made.api_version = info.api_version
        made.kind = info.kind


def info_of(kind: type[Object] | Object) -> ResourceInfo:
    """Where a kind lives on the server; a clear error for a class that is not a kind."""
    cls = kind if isinstance(kind, type) else type(kind)
    info = getattr(cls, "__resource__", None)
    if isinstance(info, ResourceInfo):
        return info
    if not isinstance(kind, type | Model):
        given = repr(kind) if isinstance(kind, str) else f"a {cls.__name__}"  # which may hold secrets
        raise TypeError(f"a kind is a class, such as core.ConfigMap, not {given}")
    raise TypeError(f'{cls.__name__} is not a kind yet: put @kubewright.resource("group/version") above the class')


def builtin(
    api_version: str,
    kind: str,
    *,
    plural: str,
    namespaced: bool,
    subresources: tuple[str, ...] = (),
) -> Callable[[ObjectT], ObjectT]:
    """Make a generated class a kind that Kubernetes itself serves."""
    group, _, version = api_version.rpartition("/")

    def decorate(cls: ObjectT) -> ObjectT:
        cls.__resource__ = ResourceInfo(
            group=group,
            version=version,
            kind=kind,
            plural=plural,
            singular=kind.lower(),
            namespaced=namespaced,
            subresources=frozenset(subresources),
        )
        return cls

    return decorate
