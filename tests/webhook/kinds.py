"""Kinds that webhooks are about, in two versions."""

from __future__ import annotations

from typing import Annotated

import msgspec

import kubewright as kw


class Wheel(kw.Model):
    name: str
    inches: int = 1


class ToySpec(kw.Model):
    size: int | None = None
    color: str | None = None
    wheels: Annotated[list[Wheel], kw.ListType("map", keys=["name"])] = msgspec.field(default_factory=list)


class ToyStatus(kw.Model):
    shelf: str | None = None


@kw.resource("webhooks.example.com/v1", storage=True)
class Toy(kw.Resource[ToySpec, ToyStatus]):
    """A toy, as it is stored."""


class OldToySpec(kw.Model):
    extent: int | None = None
    paint: str | None = None
    wheels: list[Wheel] = msgspec.field(default_factory=list)


@kw.resource("webhooks.example.com/v1alpha1", kind="Toy")
class OldToy(kw.Resource[OldToySpec, ToyStatus]):
    """The same, as it was called before."""
