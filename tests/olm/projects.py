"""Operators to make bundles of: one with everything that a bundle can say, and one that is small."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import kubewright as kw
from kubewright.api import apps, core, meta
from kubewright.manifests import ConversionDeclaration, Project, WebhookDeclaration, rule_for
from kubewright.olm import Listing

GROUP = "olmtest.example.com"


class Backup(kw.Model):
    """How it is saved."""

    schedule: str = "@daily"
    """When. In cron's words."""
    keep: Annotated[int, kw.Range(1, 30)] = 7


class Layout(kw.Model):
    """An object with another one in it."""

    boards: int = 3
    reserve: Backup | None = None


class ShelfSpec(kw.Model):
    """What is asked for."""

    replicas: Annotated[int, kw.Range(1, 9)] = 2
    """How many servers."""
    tier: Literal["small", "large"]
    name: Annotated[str, kw.Length(3)]
    public: bool = False
    resources: core.ResourceRequirements | None = None
    backup: Backup | None = None
    layout: Layout | None = None


class ShelfStatus(kw.Model):
    """What is there."""

    replicas: int | None = None
    conditions: list[meta.Condition] | None = None


@kw.resource(f"{GROUP}/v1", plural="shelves", storage=True, scale_subresource=kw.Scale())
class Shelf(kw.Resource[ShelfSpec, ShelfStatus]):
    """Shelves for books. And for other things."""


class OldShelfSpec(kw.Model):
    count: int = 1


@kw.resource(f"{GROUP}/v1alpha1", kind="Shelf", plural="shelves")
class OldShelf(kw.Resource[OldShelfSpec, ShelfStatus]):
    """The older one."""


@kw.resource(f"{GROUP}/v1")
class Book(kw.Resource[OldShelfSpec, None]):
    """A book."""


def operator(name: str = "shelf-operator", **options: Any) -> kw.Operator:
    made = kw.Operator(name, **options)

    @made.reconciles(Shelf, owns=[apps.Deployment, Book], watches=[kw.Watch(core.Pod, map=lambda pod: [])])
    async def sync(shelf: Shelf, ctx: kw.Context[Shelf]) -> None: ...

    @made.reconciles(Book)
    async def read(book: Book, ctx: kw.Context[Book]) -> None: ...

    return made


VALIDATING = WebhookDeclaration(
    name="validate.shelves.olmtest.example.com", path="/validate", rules=[rule_for(Shelf, "CREATE", "UPDATE")]
)
LISTING = Listing(
    channels=["fast", "stable"],
    default_channel="stable",
    description="Keeps books.",
    keywords=["books", "shelves"],
    maintainers={"Ada": "ada@example.com"},
    provider="Example",
    links={"Source": "https://example.com/shelf"},
    icon=("image/svg+xml", "PHN2Zy8+"),
)


def project(**settings: Any) -> Project:
    """The operator with every kind, converted and validated."""
    settings.setdefault("operator", operator())
    settings.setdefault("kinds", (Shelf, OldShelf, Book))
    settings.setdefault("webhooks", [VALIDATING])
    settings.setdefault("conversions", [ConversionDeclaration(kind=Shelf)])
    settings.setdefault("version", "1.2.0")
    return Project(target="shelf.py", **settings)


def plain(**settings: Any) -> Project:
    """The operator without webhooks."""
    return project(kinds=(Shelf, Book), webhooks=[], conversions=[], **settings)
