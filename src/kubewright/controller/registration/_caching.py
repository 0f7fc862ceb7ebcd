"""The caches that controllers declare: the options of `Owns`, `Watch` and `Reads`, and the caches that result.

Each declaration has its own cache, unless another one has the same kind and options: then they share it.
`resolve_caches` applies two rules that need all declarations:

- A Secret is not cached whole by default. `Owns(Secret)` caches whole the Secrets that have an owner of the reconciled
  kind, and `Watch(Secret)` the metadata alone, unless the declaration has `labels`, `fields`, `transform` or
  `metadata_only`, or another one caches all Secrets anyway.
- A kind is optional only if every declaration of it says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeAlias, TypeVar

import msgspec
from msgspec.structs import replace

from kubewright.api import FieldSelector, Object, ResourceInfo, SelectorError, info_of
from kubewright.arguments import is_string_collection, is_string_mapping, known_options
from kubewright.cache import CacheOptions, Labels
from kubewright.controller.registration._options import check_kind, check_labels
from kubewright.signatures import can_take, is_async, name_of

if TYPE_CHECKING:
    from kubewright.cache import Fields, Transform

__all__ = ["CacheRole", "CacheUse", "DeclaredCache", "Reads", "check_cache", "resolve_caches"]

R = TypeVar("R", bound=Object)

CacheRole: TypeAlias = Literal["reconciles", "owns", "watches", "reads"]


class DeclaredCache(msgspec.Struct, frozen=True):
    """The cache options of one declaration, checked."""

    options: CacheOptions
    by_default: bool
    """Whether the declaration leaves open what is cached of an object."""

    def only_metadata_of(self, info: ResourceInfo) -> bool:
        """Returns whether this declaration caches only the metadata of a kind. Another one may cache more."""
        return self.options.metadata_only or (self.by_default and _is_secret(info))


class CacheUse(msgspec.Struct, frozen=True):
    """One declaration of a controller, and the cache that it uses."""

    controller: str
    role: CacheRole
    kind: type[Object]
    options: CacheOptions
    by_default: bool = False
    owner: type[Object] | None = None
    """The reconciled kind, for `owns`."""

    @property
    def place(self) -> str:
        """The declaration as it is written in the program."""
        word = {"reconciles": "reconciles", "owns": "Owns", "watches": "Watch", "reads": "Reads"}[self.role]
        options = str(self.options)
        return f"{word}({self.kind.__name__}{f', {options}' if options else ''}) of controller {self.controller!r}"


class Reads(Generic[R]):
    """Declares a kind that is read from a cache. `reads=[core.Node]` is short for `reads=[Reads(core.Node)]`.

    Args:
        kind: the kind to cache.
        labels: cache only objects that this label selector matches.
        fields: cache only objects that this field selector matches. The server supports few fields.
        namespaces: cache only these namespaces. Default: those of the operator.
        metadata_only: cache only the metadata. Reads then return objects without any other field.
        transform: changes an object's JSON before it is stored. See `transform_json`.
        optional: the cluster need not have the kind. See `Context.served`.
    """

    __slots__ = ("cache", "info", "kind", "labels")

    @known_options
    def __init__(
        self,
        kind: type[R],
        *,
        labels: Labels | None = None,
        fields: Fields | None = None,
        namespaces: Sequence[str] | None = None,
        metadata_only: bool = False,
        transform: Transform | None = None,
        optional: bool = False,
    ) -> None:
        self.info: ResourceInfo = check_kind(kind, "reads")
        self.kind = kind
        self.labels = labels
        self.cache = check_cache(
            f"Reads({self.info.kind})", self.info, labels, fields, namespaces, metadata_only, transform, optional
        )

    def __repr__(self) -> str:
        return f"Reads({self.kind.__name__})"


def check_cache(
    what: str,
    info: ResourceInfo,
    labels: Labels | None,
    fields: Fields | None,
    namespaces: Sequence[str] | None,
    metadata_only: bool | None,
    transform: Transform | None,
    optional: bool,
) -> DeclaredCache:
    """Checks the cache options of a declaration. The errors name the declaration and the option."""
    for name, switch in (("metadata_only", metadata_only), ("optional", optional)):
        if switch is not None and not isinstance(switch, bool):
            raise TypeError(f"{what}: {name} must be True or False, not {switch!r}")
    if metadata_only and transform is not None:
        raise ValueError(f"{what}: metadata_only leaves nothing to transform: leave out one of the two")
    options = CacheOptions.of(
        labels=check_labels(what, labels),
        fields=_check_fields(what, fields),
        namespaces=_check_namespaces(what, info, namespaces),
        metadata_only=bool(metadata_only),
        transform=_check_transform(what, transform),
        optional=optional,
    )
    by_default = metadata_only is None and transform is None and not options.selects
    return DeclaredCache(options, by_default)


def _check_fields(what: str, given: Fields | None) -> Fields | None:
    if given is not None and not isinstance(given, str | FieldSelector) and not is_string_mapping(given):
        raise TypeError(
            f'{what}: fields must be a field selector, such as "metadata.name=web" or {{"metadata.name": "web"}},'
            f" not {given!r}"
        )
    if isinstance(given, str):
        try:
            return FieldSelector.parse(given)
        except SelectorError as error:
            raise ValueError(f"{what}: fields is not a valid field selector: {error}") from None
    return given


def _check_namespaces(what: str, info: ResourceInfo, given: Sequence[str] | None) -> Sequence[str] | None:
    if given is None:
        return None
    if not is_string_collection(given) or not given:
        raise TypeError(f'{what}: namespaces takes a list of names, namespaces=["shop"], not {given!r}')
    if not info.namespaced:
        raise ValueError(f"{what}: {info.kind} is cluster-scoped: leave out namespaces")
    return given


def _check_transform(what: str, given: Transform | None) -> Transform | None:
    function: Any = given
    if function is not None and (not callable(function) or not can_take(function, 1) or is_async(function)):
        raise TypeError(
            f"{what}: transform must be a plain function from bytes to bytes, such as transform_json(function),"
            f" not {name_of(function) if callable(function) else repr(function)}"
        )
    return given


def resolve_caches(uses: Sequence[CacheUse]) -> list[CacheUse]:
    """Returns the declarations of all controllers with the caches that they use."""
    required = {use.kind for use in uses if not use.options.optional}
    return [replace(use, options=_resolved(use, uses, optional=use.kind not in required)) for use in uses]


def _resolved(use: CacheUse, uses: Sequence[CacheUse], *, optional: bool) -> CacheOptions:
    options = use.options if use.options.optional is optional else replace(use.options, optional=optional)
    if not use.by_default or not _is_secret(info_of(use.kind)):
        return options
    alike = [one for one in uses if one.kind is use.kind and one.options.namespaces == options.namespaces]
    if any(not one.by_default and replace(one.options, namespaces=None).complete for one in alike):
        return options
    owners = {one.owner: None for one in alike if one.by_default and one.owner is not None}
    return replace(options, owned_by=tuple(owners)) if owners else replace(options, metadata_only=True)


def _is_secret(info: ResourceInfo) -> bool:
    return (info.group, info.kind) == ("", "Secret")
