"""`CacheOptions`: the selection of objects that a cache contains, and their form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Self

import msgspec

from kubewright.api import FieldSelector, Object
from kubewright.cache._arguments import Fields, Labels, Transform, selector_of

__all__ = ["CacheOptions"]


class CacheOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of one cache, in a form that can be compared. `Informer` describes them."""

    labels: str = ""
    fields: str = ""
    namespaces: tuple[str, ...] | None = None
    """The namespaces; None for those of the operator."""
    metadata_only: bool = False
    transform: Transform | None = None
    owned_by: tuple[type[Object], ...] = ()
    optional: bool = False

    @classmethod
    def of(
        cls,
        *,
        labels: Labels | None = None,
        fields: Fields | None = None,
        namespaces: Sequence[str] | None = None,
        metadata_only: bool = False,
        transform: Transform | None = None,
        owned_by: Sequence[type[Object]] = (),
        optional: bool = False,
    ) -> Self:
        """Returns the options for the arguments of `Informer`."""
        return cls(
            labels=str(selector_of(labels) or ""),
            fields=str(FieldSelector.from_fields(fields)) if isinstance(fields, Mapping) else str(fields or ""),
            namespaces=None if namespaces is None else tuple(sorted(set(namespaces))),
            metadata_only=metadata_only,
            transform=transform,
            owned_by=tuple(owned_by),
            optional=optional,
        )

    @property
    def selects(self) -> bool:
        """Whether objects are left out by a selector."""
        return bool(self.labels or self.fields)

    @property
    def complete(self) -> bool:
        """Whether the cache contains every object of the operator's namespaces, whole and unchanged."""
        return not (self.selects or self.metadata_only or self.transform or self.owned_by) and self.namespaces is None

    def __str__(self) -> str:
        """Returns the options as they are written in Python; empty without options."""
        name = getattr(self.transform, "__qualname__", None) or repr(self.transform)
        parts = [
            f'labels="{self.labels}"' if self.labels else "",
            f'fields="{self.fields}"' if self.fields else "",
            f"namespaces={list(self.namespaces)}" if self.namespaces is not None else "",
            "metadata_only=True" if self.metadata_only else "",
            f"transform={name}" if self.transform is not None else "",
            "optional=True" if self.optional else "",
        ]
        return ", ".join(part for part in parts if part)
