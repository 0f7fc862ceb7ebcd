"""`scaffolded`: a project as a version of the scaffold writes it, without the user's changes."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from kubewright.scaffold._api import new_api
from kubewright.scaffold._names import ScaffoldError
from kubewright.scaffold._plan import carry_out
from kubewright.scaffold._project import new_project
from kubewright.scaffold._record import RECORD, Kind, Record
from kubewright.scaffold._webhook import webhook_plan

__all__ = ["scaffolded"]


def scaffolded(record: Record, *, scaffold: int, kubewright: str) -> Mapping[str, str]:
    """Returns the files of a project by path, without its record, by repeating `init` and every `create`.

    `scaffold` and `kubewright` replace the version and the release of the record.
    """
    with tempfile.TemporaryDirectory(prefix="kubewright-") as name:
        folder = Path(name)
        made = replace(record, scaffold=scaffold, kubewright=kubewright, kinds=())
        carry_out(new_project(record.name, record.domain, repo=record.repo, like=made), folder)
        # The first version of a kind has the module with the kind's plain name.
        for kind in sorted(record.kinds, key=lambda one: (one.module != one.kind.lower(), one)):
            plan = new_api(
                folder,
                group=kind.group,
                version=kind.version,
                kind=kind.kind,
                namespaced=kind.namespaced,
                controller=kind.controller,
                owns=kind.owns if kind.controller else (),
            )
            carry_out(plan, folder)
        for kind in record.kinds:
            if kind.webhooks:
                _add_webhooks(folder, kind)
        files = (path for path in folder.rglob("*") if path.is_file())
        texts = {path.relative_to(folder).as_posix(): path.read_bytes().decode() for path in files}
    texts.pop(RECORD)
    return dict(sorted(texts.items()))


def _add_webhooks(folder: Path, kind: Kind) -> None:
    unknown = set(kind.webhooks) - {"defaulting", "validation", "conversion"}
    if unknown:
        these = ", ".join(sorted(unknown))
        raise ScaffoldError(f"{RECORD} has unknown webhooks of {kind.kind}: {these}")
    carry_out(webhook_plan(folder, Record.read(folder), replace(kind, webhooks=()), kind.webhooks), folder)
