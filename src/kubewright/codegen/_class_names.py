"""Names the classes of a module: the shortest unique end of a path, shallow ones first."""

from __future__ import annotations

from kubewright.codegen._models import Walk
from kubewright.codegen._names import TAKEN, camel_case

__all__ = ["name_classes"]


def name_classes(walk: Walk) -> None:
    """Names every class: first `KindSpec` and `KindStatus`, then all others. Kinds already have names."""
    used = set(TAKEN) | {kind.name for kind in walk.kinds}
    for kind in walk.kinds:
        for annotation, what in ((kind.spec, "Spec"), (kind.status, "Status")):
            if annotation is not None and annotation.model is not None:
                annotation.model.name = _free([kind.name, what], used, shortest=2)
    order = sorted(range(len(walk.models)), key=lambda index: (min(map(len, walk.models[index].uses)), -index))
    for index in order:
        model = walk.models[index]
        if not model.name:
            path = min(model.uses, key=len)
            model.name = _free([camel_case(name) for name in path], used, shortest=2 if len(path) == 2 else 1)


def _free(words: list[str], used: set[str], *, shortest: int) -> str:
    for count in range(shortest, len(words) + 1):
        name = "".join(words[-count:])
        if name not in used:
            used.add(name)
            return name
    number = 2
    while f"{''.join(words)}{number}" in used:
        number += 1
    name = f"{''.join(words)}{number}"
    used.add(name)
    return name
