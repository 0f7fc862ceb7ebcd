"""The project of a command line: one that the program defines, or one with default settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import Any

from kubewright.crd import Descriptions
from kubewright.manifests._program import Program
from kubewright.manifests._project import Project, own_kinds
from kubewright.operator.loading import LoadError

__all__ = ["project_of"]


def project_of(
    program: Program,
    targets: Sequence[str],
    *,
    image: str | None = None,
    namespace: str | None = None,
    descriptions: Descriptions = True,
) -> Project:
    """Returns the `Project` of the program's modules, or else one of its only operator.

    Arguments take precedence over the program. Raises `LoadError` if there are several or none, and ValueError for
    invalid settings.
    """
    given: dict[str, Any] = {"descriptions": descriptions}
    given |= {name: value for name, value in (("image", image), ("namespace", namespace)) if value}
    if len(program.projects) > 1:
        raise LoadError(f"{', '.join(targets)}: there are several Projects; run the command once for each")
    if program.projects:
        [project] = program.projects
        if set(project.kinds or ()) == set(own_kinds(project.operator)):  # also kinds without a reconciler
            given["kinds"] = program.kinds
        return replace(project, **given)
    if len(program.operators) != 1:
        found = " and ".join(one.name for one in program.operators) or "none"
        raise LoadError(f"a package needs exactly one operator, and there is {found}: name it, such as foo.py:operator")
    return Project(operator=program.operators[0], target=_in_image(targets[0]), kinds=program.kinds, **given)


def _in_image(target: str) -> str:
    """Returns the target in the image: a file in its working directory, or a module."""
    return PurePath(target).name
