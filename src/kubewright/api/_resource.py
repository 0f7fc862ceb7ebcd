"""Objects and kinds: `Object` is what has metadata; `Resource[Spec, Status]` is what a user defines.

A class becomes a kind by `@resource("example.com/v1")`, which attaches a `ResourceInfo`: all that the client needs to
find it on the server. Nothing is registered anywhere else.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, TypeVar, Union, cast, get_args, get_origin

import msgspec

from kubewright.api._definition import Column, Conversion, Definition, Scale, make_definition
from kubewright.api._model import Model, ModelType
from kubewright.api._object_meta import ObjectMeta
from kubewright.api._pydantic import is_pydantic, required_of

__all__ = ["Object", "Resource", "ResourceInfo", "builtin", "definition_of", "info_of", "requires_spec", "resource"]

SpecT = TypeVar("SpecT")
StatusT = TypeVar("StatusT")
ObjectT = TypeVar("ObjectT", bound="type[Object]")

_KIND = re.compile(r"[A-Z][A-Za-z0-9]{0,62}")
# The server takes `postgresql` too. Whoever also spells out the plural means it: it is somebody else's kind.
_ANY_KIND = re.compile(r"[A-Za-z][A-Za-z0-9]{0,62}")
_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_VERSION = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceInfo:
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
    __definition__: ClassVar[Definition]

    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)

    def __repr__(self) -> str:
        # The content of a Secret must not reach a log by way of a traceback or a debug line.
        if self.kind == "Secret" and self.api_version == "v1":
            return f"<{self}, content hidden>"
        return super().__repr__()

    def validate(self) -> None:
        """Raise `ValidationError` when the object breaks a rule of its kind; see `kubewright.api.validate`."""
        from kubewright.api._validate import validate

        validate(self)

    def __str__(self) -> str:
        name = self.metadata.name or self.metadata.generate_name or "(no name)"
        return f"{self.kind} {self.metadata.namespace}/{name}" if self.metadata.namespace else f"{self.kind} {name}"


class _Absent:
    """Stands in for a spec or status that was not given, until `__post_init__` replaces it."""


_ABSENT = _Absent()


class Resource(Object, Generic[SpecT, StatusT]):
    """A kind with a spec and a status.

    A spec or status that is absent decodes to an empty model where the model allows it. A status is absent until
    somebody writes it: so its fields all have defaults, or the status is declared with `| None` (also a plain string:
    `Resource[FooSpec, str | None]`). `Resource[FooSpec, None]` has no status at all.
    """

    __empty_spec__: ClassVar[Callable[[], Any]]
    __empty_status__: ClassVar[Callable[[], Any]]

    if TYPE_CHECKING:
        spec: SpecT
        status: StatusT = msgspec.field(default=cast("StatusT", None))
    else:
        spec: SpecT = msgspec.field(default_factory=lambda: _ABSENT)
        status: StatusT = msgspec.field(default_factory=lambda: _ABSENT)

    def __post_init__(self) -> None:
        if not hasattr(type(self), "__resource__"):
            info_of(type(self))  # raises, and says what to do
        spec: object = self.spec
        if spec is _ABSENT:
            self.spec = type(self).__empty_spec__()
        status: object = self.status
        if status is _ABSENT:
            self.status = type(self).__empty_status__()


def resource(
    api_version: str,
    *,
    kind: str | None = None,
    plural: str | None = None,
    singular: str | None = None,
    list_kind: str | None = None,
    short_names: Sequence[str] = (),
    categories: Sequence[str] = (),
    scope: Literal["Namespaced", "Cluster"] = "Namespaced",
    status_subresource: bool | None = None,
    scale_subresource: bool | Scale = False,
    columns: Mapping[str, str | Column] | None = None,
    selectable_fields: Sequence[str] = (),
    served: bool = True,
    storage: bool | None = None,
    deprecated: bool | str = False,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    api_approved: str | None = None,
    conversion: Conversion | None = None,
) -> Callable[[ObjectT], ObjectT]:
    """Make a class a kind of your own.

    Where the kind lives is all that the client needs. The rest is for its CustomResourceDefinition
    (`kubewright.crd`). Rules that stand where they mean nothing, and paths that lead nowhere, raise TypeError here;
    only when annotations name classes that are defined further down are they looked at later, with the definition.

    Args:
        api_version: group and version, `example.com/v1alpha1`.
        kind: the kind's name; the class's name unless given.
        plural: the resource's name in URLs; the kind in lower case, in the plural, unless given.
        singular: the kind in lower case unless given.
        list_kind: the kind of lists; the kind with `List` behind it unless given.
        short_names: what `kubectl get` takes instead of the plural.
        categories: groups of kinds that `kubectl get` takes, such as `all`.
        scope: whether objects live in a namespace.
        status_subresource: whether the status is written through `/status`; by default it is when the status is a
            model.
        scale_subresource: whether the kind has `/scale`, and at which paths; True is `Scale()`.
        columns: what `kubectl get` shows, by title: a path, or a `Column`.
        selectable_fields: paths by which lists and watches can select.
        served: whether the server offers this version.
        storage: whether objects are stored in this version; needed only when a kind has several versions.
        deprecated: whether the server warns of this version, or the warning itself.
        labels: labels of the definition.
        annotations: annotations of the definition.
        api_approved: for groups that Kubernetes protects (`*.k8s.io`): the URL of the approval, or
            `unapproved, <reason>`.
        conversion: the webhook that converts between the versions of the kind; without one, the server only changes
            `apiVersion`. One version says it for all.
    """
    from kubewright.api._structural import check_kind  # programs without kinds of their own do not need it

    group, version = _split_api_version(api_version)

    def decorate(cls: ObjectT) -> ObjectT:
        if not issubclass(cls, Object):
            raise TypeError(f"@resource is for classes that derive from Resource or Object, not for {cls!r}")
        name = kind or cls.__name__
        if not (_ANY_KIND if kind and plural else _KIND).fullmatch(name):
            raise ValueError(f"kind {name!r} must be CamelCase letters and digits, at most 63 of them")
        if scope not in ("Namespaced", "Cluster"):
            raise ValueError(f'scope of {name} must be "Namespaced" or "Cluster", not {scope!r}')
        resource_name = plural or _pluralize(name.lower())
        for what, value in (("plural", resource_name), ("singular", singular or name.lower())):
            if not _LABEL.fullmatch(value):
                raise ValueError(f"{what} {value!r} of kind {name} must be lower case letters, digits and '-'")
        status_type = _bind_spec_and_status(cls) if issubclass(cls, Resource) else None
        own_status = _is_model(status_type) if status_subresource is None else status_subresource
        cls.__resource__ = ResourceInfo(
            group=group,
            version=version,
            kind=name,
            plural=resource_name,
            singular=singular or name.lower(),
            namespaced=scope == "Namespaced",
            subresources=frozenset(
                part for part, there in (("status", own_status), ("scale", bool(scale_subresource))) if there
            ),
        )
        cls.__definition__ = make_definition(
            name,
            list_kind=list_kind,
            short_names=short_names,
            categories=categories,
            columns=columns or {},
            selectable_fields=selectable_fields,
            scale=scale_subresource if isinstance(scale_subresource, Scale) else None,
            served=served,
            storage=storage,
            deprecated=deprecated,
            labels=labels or {},
            annotations=annotations or {},
            api_approved=api_approved,
            conversion=conversion,
        )
        # A class further down: the definition looks again, and nothing decodes while the name is missing.
        with contextlib.suppress(NameError):
            check_kind(cls)
            cls.__definition__.check(cls)
        return cls

    return decorate


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
    raise TypeError(f'{cls.__name__} is not a kind yet: put @kubewright.resource("group/version") above the class')


def definition_of(kind: type[Object]) -> Definition:
    """What `@resource` says about a kind; a clear error for a class that it did not make one."""
    info_of(kind)
    found = getattr(kind, "__definition__", None)
    if isinstance(found, Definition):
        return found
    raise TypeError(f"{kind.__name__} is not a kind of your own: only classes under @resource have a definition")


def requires_spec(kind: type[Resource[Any, Any]]) -> bool:
    """Whether an object of the kind must have a spec: whether an empty one would lack something."""
    spec = next(field.type for field in msgspec.structs.fields(kind) if field.name == "spec")
    return not _allows_none(spec) and not (_is_model(spec) and not _required_fields(spec))


def _split_api_version(api_version: str) -> tuple[str, str]:
    group, slash, version = api_version.partition("/")
    labels = group.split(".")
    if not slash or len(labels) < 2 or not all(_LABEL.fullmatch(label) for label in labels):
        raise ValueError(
            f'api version {api_version!r} must be "group/version" with a DNS name as group: example.com/v1'
        )
    if not _VERSION.fullmatch(version):
        raise ValueError(f"version {version!r} in {api_version!r} must be lower case, such as v1 or v1alpha1")
    return group, version


def _bind_spec_and_status(cls: type[Resource[Any, Any]]) -> Any:
    """Note the type arguments of `Resource[Spec, Status]` on the class, and return the status type."""
    for base in cls.__mro__:
        for parametrized in getattr(base, "__orig_bases__", ()):
            if get_origin(parametrized) is Resource:
                spec, status = get_args(parametrized)
                _check_status(cls.__name__, status)
                cls.__empty_spec__ = staticmethod(_empty("spec", spec))
                cls.__empty_status__ = staticmethod(_empty("status", status))
                return status
    raise TypeError(f"{cls.__name__} must say its spec and status: class {cls.__name__}(Resource[Spec, Status])")


def _check_status(kind: str, status: Any) -> None:
    if _allows_none(status):
        return
    if not _is_model(status):
        raise TypeError(f"the status of {kind} is absent until somebody writes it: declare it with | None")
    if required := _required_fields(status):
        name = status.__name__
        raise TypeError(
            f"the status of {kind} is absent until somebody writes it, but {name} requires {', '.join(required)}:"
            f" give them defaults, or declare Resource[..., {name} | None]"
        )


def _empty(field: str, type_: Any) -> Callable[[], Any]:
    """What makes the value of an absent spec or status; the error is worded as msgspec words it while decoding."""
    if _allows_none(type_):
        return lambda: None
    if _is_model(type_) and not _required_fields(type_):
        made: Callable[[], Any] = type_
        return made

    def missing() -> Any:
        raise TypeError(f"Object missing required field `{field}`")

    return missing


def _is_model(type_: Any) -> bool:
    return (isinstance(type_, type) and issubclass(type_, Model)) or is_pydantic(type_)


def _allows_none(type_: Any) -> bool:
    return type_ in (None, NoneType, Any) or (get_origin(type_) in (Union, UnionType) and NoneType in get_args(type_))


def _required_fields(model: type[Any]) -> list[str]:
    if is_pydantic(model):
        return required_of(model)
    # Not msgspec.structs.fields: that resolves annotations, which may name classes that do not exist yet.
    defaults = model.__struct_defaults__
    names = model.__struct_fields__
    return [
        name
        for name, default in zip(names[len(names) - len(defaults) :], defaults, strict=True)
        if default is msgspec.NODEFAULT
    ] + list(names[: len(names) - len(defaults)])


def _pluralize(word: str) -> str:
    """English plurals as they stand in URLs: policy, ingress, gateway are policies, ingresses, gateways."""
    if re.search(r"[^aeiou]y$", word):
        return word[:-1] + "ies"
    if word.endswith(("s", "x", "z", "ch", "sh")):
        return word + "es"
    return word + "s"
