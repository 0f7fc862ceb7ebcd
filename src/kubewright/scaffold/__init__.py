"""New projects, and new kinds in them: what `kubewright init` and `kubewright create` write.

- `new_project(...)`, `new_api(...)` and `new_webhook(...)` make a `Plan`: files with their text, and small additions to
  files that are there. Nothing is written by that. Names that Kubernetes or Python would refuse raise `ScaffoldError`.
- `carry_out(plan, folder)` writes it: all of it, or nothing. A file that is there and differs is in the way, which is a
  `ScaffoldError`, unless `force` is given; one that is the same already is left alone. So to do the same twice is
  harmless.
- `plan_upgrade(folder)` compares a project of an earlier scaffold with that of this release: an `Upgrade`, whose
  `plan()` merges the scaffold's changes into the user's files. Conflicts are told, and never overwritten.
- `Record` is the project's `kubewright.toml`: its name, its domain and its kinds. `Record.find()` reads it,
  and `project_folder(folder)` is where it is: there, or above.

What is scaffolded is little, because the framework holds the logic: a module for each kind, its tests and a sample.
"""

from __future__ import annotations

from kubewright.scaffold._api import new_api
from kubewright.scaffold._builtin_kinds import BuiltinKind, builtin_kinds
from kubewright.scaffold._names import ScaffoldError
from kubewright.scaffold._plan import Done, Plan, carry_out, read_text
from kubewright.scaffold._project import new_project
from kubewright.scaffold._record import RECORD, Kind, Record, project_folder
from kubewright.scaffold._upgrade import FileUpgrade, Upgrade, plan_upgrade
from kubewright.scaffold._versions import CURRENT
from kubewright.scaffold._webhook import new_webhook

__all__ = [
    "CURRENT",
    "RECORD",
    "BuiltinKind",
    "Done",
    "FileUpgrade",
    "Kind",
    "Plan",
    "Record",
    "ScaffoldError",
    "Upgrade",
    "builtin_kinds",
    "carry_out",
    "new_api",
    "new_project",
    "new_webhook",
    "plan_upgrade",
    "project_folder",
    "read_text",
]
