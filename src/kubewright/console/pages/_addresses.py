"""`ListView`: what a list shows, as its address says it. An address that is shared shows the same."""

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
    """The part of a list's address behind its kind."""

    namespace: str = ""
    """Only this one; all of them when empty."""
    text: str = ""
    """Words that a row has, in any column."""
    labels: str = ""
    """A label selector."""
    sort: str = ""
    """The id of a column, with `-` before it for descending."""
    wide: bool = False
    """Whether the columns of lower priority are shown, too."""

    def address(self, kind_path: str) -> str:
        """The address of the list of a kind in this view."""
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
        """The same view, except for this."""
        return replace(self, **changes)  # type: ignore[arg-type]  # dataclasses.replace checks the names


def home_address(namespace: str = "") -> str:
    """Where the kinds are, with counts of one namespace or of all."""
    return f"/?namespace={quote(namespace, safe='')}" if namespace else "/"


def new_address(kind_path: str, namespace: str = "") -> str:
    """Where an object of a kind is made."""
    return f"{kind_address(kind_path)}/new" + (f"?namespace={quote(namespace, safe='')}" if namespace else "")


def kind_address(kind_path: str) -> str:
    """Where the list of a kind is: `/kinds/example.com/foos`."""
    return f"/kinds/{quote(kind_path)}"


def object_address(kind_path: str, namespace: str, name: str) -> str:
    """Where an object is; one without a namespace has `-` there."""
    return f"/objects/{quote(kind_path)}/{quote(namespace or '-', safe='')}/{quote(name, safe='')}"


def kind_named(kinds: Sequence[Kind], text: str) -> Kind | None:
    """The kind that somebody means who types this: custom resources first."""
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
    """Where a search leads: to the list of a kind that is called so, or to all that is found."""
    kind = kind_named(kinds, text)
    return kind_address(kind.path) if kind else f"/search?q={quote(text, safe='')}"
