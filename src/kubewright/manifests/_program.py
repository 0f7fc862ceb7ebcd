"""Finds the kinds, operators and projects of a program in its files and modules."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from types import ModuleType

from kubewright.api import Object, info_of
from kubewright.manifests._project import Project, definition_name
from kubewright.operator import Operator
from kubewright.operator.loading import LoadError, load_module, operator_in, split_target

__all__ = ["Program", "load"]


@dataclass(frozen=True, slots=True)
class Program:
    """The input of manifests: the program's own kinds in all versions, its operators, and its projects."""

    kinds: Sequence[type[Object]]
    operators: Sequence[Operator]
    projects: Sequence[Project] = ()

    @property
    def names_image(self) -> bool:
        """Whether a project names an image."""
        return any(project.image != project.default_image for project in self.projects)

    @property
    def converted(self) -> frozenset[str]:
        """The names of definitions whose objects the program converts between versions."""
        by_operators = (one for operator in self.operators for one in operator.webhooks.conversion_declarations())
        by_projects = (one for project in self.projects for one in project.conversions)
        return frozenset(definition_name(one.kind) for one in (*by_operators, *by_projects))


def load(given: Iterable[str], *, exclude: Sequence[str] = ()) -> Program:
    """Imports `foo.py` or `package.module` and finds their content; `foo.py:name` selects one operator of several.

    A kind is the program's own if these modules, or modules below them, define it, or if their operators reconcile it.
    Other imported kinds are ignored. `exclude` names groups whose kinds are ignored. Raises `LoadError` if nothing is
    found, or nothing to exclude.
    """
    kinds: dict[type[Object], None] = {}
    operators: dict[Operator, None] = {}
    projects: list[Project] = []
    targets = [split_target(target) for target in given]
    modules = {where: load_module(where) for where in dict.fromkeys(where for where, _ in targets)}
    for where, name in targets:
        module = modules[where]
        kinds.update(dict.fromkeys(_kinds_in(module)))
        all_of_it = [one for one in vars(module).values() if isinstance(one, Operator)]
        operators.update(dict.fromkeys([operator_in(module, where, name)] if name else all_of_it))
        projects += [one for one in vars(module).values() if isinstance(one, Project)]
        operators.update(dict.fromkeys(project.operator for project in projects))
    for operator in operators:
        reconciled = (registration.kind for registration in operator.registrations())
        handled = (*reconciled, *operator.webhooks.kinds())
        kinds.update(dict.fromkeys(kind for kind in handled if "__definition__" in vars(kind)))
    if not kinds and not operators:
        raise LoadError(f"{', '.join(modules)}: there is no class with @resource and no Operator")
    groups = sorted({info_of(kind).group for kind in kinds})
    for group in exclude:
        if group not in groups:
            known = f"; there is {', '.join(groups)}" if groups else ""
            raise LoadError(f"there is no kind of the group {group!r} to exclude{known}")
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
