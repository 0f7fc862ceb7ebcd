"""`scaffolded`: a project as a version of the scaffold has it, without what the user did since."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from kubewright.scaffold._api import new_api
from kubewright.scaffold._names import ScaffoldError
from kubewright.scaffold._plan import carry_out
from kubewright.scaffold._project import new_project
from kubewright.scaffold._record import RECORD, Record
from kubewright.scaffold._webhook import new_webhook

__all__ = ["scaffolded"]


def scaffolded(record: Record, *, scaffold: int, kubewright: str) -> Mapping[str, str]:
    """The files of a project by path, but for its record: `init` and every `create`, done again in a folder apart.

    `scaffold` and `kubewright` are the version and the release in place of the record's.
    """
    with tempfile.TemporaryDirectory(prefix="kubewright-") as name:
        folder = Path(name)
        made = replace(record, scaffold=scaffold, kubewright=kubewright, kinds=())
        carry_out(new_project(record.name, record.domain, repo=record.repo, like=made), folder)
        # The version of a kind that was made first is the one whose module has the kind's plain name.
        for kind in sorted(record.kinds, key=lambda one: (one.module != one.kind.lower(), one)):
            plan = new_api(
                folder,
                group=kind.group,
                version=kind.version,
                kind=kind.kind,
                namespaced=kind.namespaced,
                controller=kind.controller,
                owns=kind.owns,
            )
            carry_out(plan, folder)
        for kind in record.kinds:
            if kind.webhooks:
                _add_webhooks(folder, kind.group, kind.version, kind.kind, kind.webhooks)
        files = (path for path in folder.rglob("*") if path.is_file())
        texts = {path.relative_to(folder).as_posix(): path.read_bytes().decode() for path in files}
    texts.pop(RECORD)
    return dict(sorted(texts.items()))


def _add_webhooks(folder: Path, group: str, version: str, kind: str, webhooks: tuple[str, ...]) -> None:
    unknown = set(webhooks) - {"defaulting", "validation", "conversion"}
    if unknown:
        raise ScaffoldError(f"{RECORD} says that {kind} has webhooks for {', '.join(sorted(unknown))}, which are none")
    wanted = {name: name in webhooks for name in ("defaulting", "validation", "conversion")}
    carry_out(new_webhook(folder, group=group, version=version, kind=kind, **wanted), folder)
