"""The benchmark's kind as a Kubewright user writes it."""

from __future__ import annotations

import kubewright as kw
from benchmarks.samples import GROUP, VERSION

__all__ = ["Foo", "FooItem", "FooSpec", "FooStatus"]


class FooItem(kw.Model):
    name: str
    value: int = 0
    tags: list[str] | None = None


class FooSpec(kw.Model):
    deployment_name: str
    replicas: int | None = None
    config: dict[str, str] | None = None
    items: list[FooItem] | None = None


class FooStatus(kw.Model):
    available_replicas: int = 0


@kw.resource(f"{GROUP}/{VERSION}")
class Foo(kw.Resource[FooSpec, FooStatus]):
    """About 2 KB of configuration."""
