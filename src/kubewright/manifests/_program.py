"""The kinds, operators and projects of a program, found in its files and modules."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from types import ModuleType

from kubewright.api import Object, info_of
from kubewright.manifests._project import Project
from kubewright.operator import Operator
from kubewright.operator._load import LoadError, load_module, load_operator, split_target

__all__ = ["Program", "load"]


@dataclass(frozen=True, slots=True)
class Program:
    """What manifests are made from: the kinds of its own, all versions of them, the operators, and their projects."""

    kinds: Sequence[type[Object]]
    operators: Sequence[Operator]
    projects: Sequence[Project] = ()


def load(targets: Iterable[str], *, exclude: Sequence[str] = ()) -> Program:
    """Import `foo.py` or `package.module`, and find what is in them; `foo.py:name` takes one operator of several.

    Kinds count when they are defined in these modules, or in modules below them, or are reconciled by their operators;
    a kind that is only imported belongs to somebody else. `exclude` names groups whose kinds do not count. Raises
    `LoadError` when there is nothing.
    """
    kinds: dict[type[Object], None] = {}
    operators: dict[Operator, None] = {}
    projects: list[Project] = []
    targets = list(targets)
    for target in targets:
        where, name = split_target(target)
        module = load_module(where)
        kinds.update(dict.fromkeys(_kinds_in(module)))
        found = [load_operator(target)] if name else [one for one in vars(module).values() if isinstance(one, Operator)]
        operators.update(dict.fromkeys(found))
        projects += [one for one in vars(module).values() if isinstance(one, Project)]
        operators.update(dict.fromkeys(project.operator for project in projects))
    for operator in operators:
        reconciled = (registration.kind for registration in operator.registrations())
        kinds.update(dict.fromkeys(kind for kind in reconciled if "__definition__" in vars(kind)))
    if not kinds and not operators:
        raise LoadError(f"{', '.join(targets)}: there is neither a class under @resource nor an Operator")
    own = [kind for kind in kinds if info_of(kind).group not in exclude]
    own.sort(key=lambda kind: str(info_of(kind)))
    return Program(own, sorted(operators, key=lambda one: one.name), projects)


def _kinds_in(module: ModuleType) -> list[type[Object]]:
    return [
        value
        for value in vars(module).values()
        if isinstance(value, type)
        and issubclass(value, Object)
        and "__definition__" in vars(value)
        and (value.__module__ == module.__name__ or value.__module__.startswith(f"{module.__name__}."))
    ]
