"""Expectations about an operator that tests check: invariants, and exemptions from comparisons."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any, Final, TypeAlias, TypeVar

import msgspec

from kubewright.api import Object, decode, info_of
from kubewright.arguments import check_string
from kubewright.controller import Dependency

__all__ = ["Exemption", "ExpectationRegistration", "Invariant", "World", "broken_invariants"]

R = TypeVar("R", bound=Object)
F = TypeVar("F", bound="Invariant")


class World:
    """All objects of a cluster at one moment, for an invariant. It reads only the kinds that the invariant asks for.

    Objects are decoded from the version in which they are stored. Changing them changes nothing in the cluster.
    """

    def __init__(self, read: Callable[[type[Object], str], Iterable[bytes]]) -> None:
        self._read = read

    def list(self, kind: type[R], namespace: str = "", *, labels: dict[str, str] | None = None) -> list[R]:
        """Returns the objects of a kind, sorted by namespace and name. Default: of all namespaces, with any labels."""
        wanted = (labels or {}).items()
        found = [decode(kind, raw) for raw in self._read(kind, namespace)]
        return [each for each in found if wanted <= (each.metadata.labels or {}).items()]

    def get(self, kind: type[R], name: str, namespace: str = "") -> R | None:
        """Returns an object, or None."""
        return next((each for each in self.list(kind, namespace) if each.metadata.name == name), None)


Invariant: TypeAlias = Callable[[World], object]
"""A plain function that raises AssertionError, or returns False, if the world must never be like this."""


class Exemption(msgspec.Struct, frozen=True):
    """A field that the explorer does not compare, or a kind whose objects it does not compare."""

    resource: str
    """The resource with its group: `secrets`, `databases.example.com`."""
    path: tuple[str, ...]
    """The field; `*` matches every item of a list. Empty for the whole object."""
    reason: str
    name: str = "*"
    """The names of the objects: a shell pattern."""

    def concerns(self, resource: str, name: str) -> bool:
        """Returns whether the exemption covers an object."""
        return resource == self.resource and fnmatchcase(name, self.name)

    def __str__(self) -> str:
        named = "" if self.name == "*" else f" {self.name}"
        field = f" {'.'.join(self.path)}" if self.path else ""
        return f"{self.resource}{named}{field}: {self.reason}"


class ExpectationRegistration:
    """The part of an operator that registers invariants and exemptions. A run of the operator does not use them."""

    @cached_property
    def invariants(self) -> dict[str, Invariant]:
        """The invariants by name."""
        return {}

    @cached_property
    def exemptions(self) -> list[Exemption]:
        """The declared exemptions."""
        return []

    def invariant(self, check: F) -> F:
        """Registers a condition that holds after every write, whichever client writes.

            @operator.invariant
            def never_two_primaries(world: kw.World) -> None:
                assert len(world.list(core.Pod, labels={"role": "primary"})) <= 1

        The explorer checks it after every write of every run. In a test, `with cluster.lab.invariants(operator)` does.
        The check is a plain function; it fails if it raises or returns False. It must be quick, and must not write.
        """
        given: object = check
        if not callable(given) or inspect.iscoroutinefunction(given):
            raise TypeError(f"an invariant must be a plain function with one argument, the world, not {check!r}")
        name: str = getattr(check, "__name__", repr(check))
        if name in self.invariants:
            raise ValueError(f"there is already an invariant {name!r}: use another name")
        self.invariants[name] = check
        return check

    def exempt(self, kind: type[Object] | Dependency[Any], field: str = "", *, reason: str, name: str = "*") -> None:
        """Declares a field whose changes cannot be inverted, or a kind that is kept, such as volumes and passwords.

            operator.exempt(Database, "spec.storage", reason="volumes cannot shrink")
            operator.exempt(core.Secret, "data.password", reason="is generated once")
            operator.exempt(core.PersistentVolumeClaim, reason="data outlives its database")
            operator.exempt(core.Secret, name="*.credentials", reason="users may read it after a deletion")

        The explorer does not compare this field. It does not expect that a changed value leads to the same state as a
        fresh start, or can be changed back. Without a field, objects of this kind are not compared, and may outlive
        their owner.

        Args:
            kind: the class of the objects, or a dependency with a simulation, for the state of an external system.
            field: the path of the field with dots; `*` for every item of a list. A JSON pointer if it starts with `/`.
            reason: why, for the report.
            name: the names of the objects, with `*`, `?` and `[…]` as in a shell.
        """
        if not check_string("the reason of an exemption", reason, "volumes cannot shrink").strip():
            raise ValueError("an exemption needs a reason, such as 'volumes cannot shrink'")
        check_string("the name of an exemption", name, "*.credentials")
        if isinstance(kind, Dependency):
            self.exemptions.append(Exemption(f"external/{kind.name}", ("state", *_path_of(field)), reason, name))
            return
        info = info_of(kind)
        resource = f"{info.plural}.{info.group}" if info.group else info.plural
        self.exemptions.append(Exemption(resource, _path_of(field), reason, name))


_ESCAPES: Final = (("~1", "/"), ("~0", "~"))


def _path_of(field: str) -> tuple[str, ...]:
    check_string("the field of an exemption", field, "spec.storage")
    if not field.startswith("/"):
        return tuple(field.split(".")) if field else ()
    parts = field[1:].split("/")
    return tuple(part.replace(*_ESCAPES[0]).replace(*_ESCAPES[1]) for part in parts)


def broken_invariants(invariants: dict[str, Invariant], world: World) -> list[tuple[str, str]]:
    """Returns the name of each invariant that does not hold, with the reason. Never raises."""
    broken: list[tuple[str, str]] = []
    for name, check in invariants.items():
        try:
            result: Any = check(world)
        except AssertionError as error:
            broken.append((name, str(error) or "its assertion failed"))
        except Exception as error:  # an invariant that cannot be evaluated does not hold
            broken.append((name, f"it raised {type(error).__name__}: {error}"))
        else:
            if result is False:
                broken.append((name, "it returned False"))
    return broken
