"""Addresses: the URL paths of pages, and the view that the URL of a list describes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from urllib.parse import quote, urlencode

from kubewright.console.kinds import Kind

__all__ = [
    "ListView",
    "home_address",
    "kind_address",
    "kind_named",
    "new_address",
    "object_address",
    "search_address",
]


@dataclass(frozen=True)
class ListView:
    """The view of a list. A shared URL shows the same view."""

    namespace: str = ""
    """Only this namespace. Default: all."""
    text: str = ""
    """Words that a row must contain, in any column."""
    labels: str = ""
    """A label selector."""
    sort: str = ""
    """The ID of a column, with the prefix `-` for descending."""
    wide: bool = False
    """Whether columns of lower priority are shown too."""

    def address(self, kind_path: str) -> str:
        """Returns the path of a kind's list in this view."""
        asked = {
            "namespace": self.namespace,
            "filter": self.text,
            "labels": self.labels,
            "sort": self.sort,
            "wide": "1" if self.wide else "",
        }
        query = urlencode({name: value for name, value in asked.items() if value}, quote_via=quote)
        return kind_address(kind_path) + (f"?{query}" if query else "")

    def replace(self, **changes: str | bool) -> ListView:
        """Returns a copy of the view with these changes."""
        return replace(self, **changes)  # type: ignore[arg-type]  # dataclasses.replace checks the names


def home_address(namespace: str = "") -> str:
    """Returns the path of the kinds, with counts for one namespace or all."""
    return f"/?namespace={quote(namespace, safe='')}" if namespace else "/"


def new_address(kind_path: str, namespace: str = "") -> str:
    """Returns the path of the form for a new object."""
    return f"{kind_address(kind_path)}/new" + (f"?namespace={quote(namespace, safe='')}" if namespace else "")


def kind_address(kind_path: str) -> str:
    """Returns the path of a kind's list: `/kinds/example.com/foos`."""
    return f"/kinds/{quote(kind_path)}"


def object_address(kind_path: str, namespace: str, name: str) -> str:
    """Returns the path of an object. The namespace of a cluster-scoped object is `-`."""
    return f"/objects/{quote(kind_path)}/{quote(namespace or '-', safe='')}/{quote(name, safe='')}"


def kind_named(kinds: Sequence[Kind], text: str) -> Kind | None:
    """Returns the kind with this name, plural or short name. Custom resources take precedence."""
    wanted = text.lower()

    def names(kind: Kind) -> tuple[str, ...]:
        return (
            kind.plural,
            kind.singular,
            kind.kind.lower(),
            kind.path,
            f"{kind.plural}.{kind.group}",
            *kind.short_names,
        )

    found = [kind for kind in kinds if wanted in names(kind)]
    return min(found, key=lambda kind: not kind.custom, default=None)


def search_address(kinds: Sequence[Kind], text: str) -> str:
    """Returns the path of a search: the list of the kind with this name, or the search results."""
    kind = kind_named(kinds, text)
    return kind_address(kind.path) if kind else f"/search?q={quote(text, safe='')}"
