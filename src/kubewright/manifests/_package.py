"""The project that a command line means: one that the program has itself, or one with the usual settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import Any

from kubewright.crd import Descriptions
from kubewright.manifests._program import Program
from kubewright.manifests._project import Project
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
    """The `Project` among the names of the program's modules, or else one of its only operator.

    What is given comes before what the program says. Raises `LoadError` when there are several or none, and ValueError
    when the settings cannot be.
    """
    given: dict[str, Any] = {"descriptions": descriptions}
    given |= {name: value for name, value in (("image", image), ("namespace", namespace)) if value}
    if len(program.projects) > 1:
        raise LoadError(f"{', '.join(targets)}: there are several Projects; package each in a command of its own")
    if program.projects:
        return replace(program.projects[0], **given)
    if len(program.operators) != 1:
        found = " and ".join(one.name for one in program.operators) or "none"
        raise LoadError(f"a package is for one operator, and there is {found}: name it, such as foo.py:operator")
    return Project(operator=program.operators[0], target=_in_image(targets[0]), kinds=program.kinds, **given)


def _in_image(target: str) -> str:
    """A file lies in the working directory of the image; a module is called as it is here."""
    return PurePath(target).name
