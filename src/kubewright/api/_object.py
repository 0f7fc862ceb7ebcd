"""`Object`, the base of everything with `apiVersion`, `kind` and `metadata`, and `ResourceInfo`."""

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
    """The names of a kind on the server: group, version, kind, resource, scope, subresources."""

    group: str
    version: str
    kind: str
    plural: str
    singular: str
    namespaced: bool
    subresources: frozenset[str] = frozenset()

    @property
    def api_version(self) -> str:
        """Group and version as in objects: `apps/v1`, or `v1` for the core group."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def path(self) -> str:
        """The URL path of the group version: `/apis/apps/v1`, or `/api/v1` for the core group."""
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"

    def __str__(self) -> str:
        return f"{self.kind} ({self.api_version})"


class ObjectType(ModelType):
    """Sets `api_version` and `kind` of an object that is created by calling its class.

    `__post_init__` would also run for embedded objects that are decoded, such as the claim templates of a StatefulSet.
    Those must not gain fields that they do not have in JSON.
    """

    if not TYPE_CHECKING:

        def __call__(self, *args: Any, **fields: Any) -> Any:
            made = super().__call__(*args, **fields)
            if isinstance(made.metadata, dict | str):
                given = "a string" if isinstance(made.metadata, str) else "a dict"
                raise TypeError(
                    f"{self.__name__}: metadata must be an ObjectMeta, not {given}: "
                    'metadata=ObjectMeta(name="...", namespace="...")'
                )
            if "kind" not in fields or "api_version" not in fields:
                name_kind(made)
            return made


if TYPE_CHECKING:
    _ObjectBase = Model
else:

    class _ObjectBase(Model, metaclass=ObjectType):
        pass


class Object(_ObjectBase, omit_empty=True):
    """Anything with `apiVersion`, `kind` and `metadata`.

    The class fills in `api_version` and `kind` if an object is created or decoded without them, as the items of a list
    are.
    """

    __resource__: ClassVar[ResourceInfo]
    __definition__: ClassVar[Any]  # a `Definition`, which a higher module defines; see `definition_of`

    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)

    def __repr__(self) -> str:
        # The content of a Secret, or a token, must not reach a log through a traceback or a debug line.
        return f"<{self}, content hidden>" if self._is_secret else super().__repr__()

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        # The rich library prints tracebacks with all variables.
        return [("metadata", self.metadata)] if self._is_secret else super().__rich_repr__()

    @property
    def _is_secret(self) -> bool:
        return (self.api_version, self.kind) in _SECRETS

    def __str__(self) -> str:
        name = self.metadata.name or self.metadata.generate_name or "(no name)"
        return f"{self.kind} {self.metadata.namespace}/{name}" if self.metadata.namespace else f"{self.kind} {name}"


def name_kind(made: Object) -> None:
    """Sets `api_version` and `kind` of an object if they are absent."""
    if not made.api_version or not made.kind:
        info = info_of(type(made))
        made.api_version = info.api_version
        made.kind = info.kind


def info_of(kind: type[Object] | Object) -> ResourceInfo:
    """Returns the `ResourceInfo` of a kind. Raises TypeError for a class that is not a kind."""
    cls = kind if isinstance(kind, type) else type(kind)
    info = getattr(cls, "__resource__", None)
    if isinstance(info, ResourceInfo):
        return info
    if not isinstance(kind, type | Model):
        given = repr(kind) if isinstance(kind, str) else f"a {cls.__name__}"  # which may hold secrets
        raise TypeError(f"a kind must be a class, such as core.ConfigMap, not {given}")
    raise TypeError(f'{cls.__name__} is not a kind yet: put @kubewright.resource("group/version") above the class')


def builtin(
    api_version: str,
    kind: str,
    *,
    plural: str,
    namespaced: bool,
    subresources: tuple[str, ...] = (),
) -> Callable[[ObjectT], ObjectT]:
    """Makes a generated class a kind that Kubernetes itself serves."""
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
