"""Creates projects and adds kinds to them: the files of `kubewright init`, `create` and `upgrade`.

- `new_project(...)`, `new_api(...)` and `new_webhook(...)` return a `Plan`: new files, and changes of existing ones.
  They write nothing. Names that Kubernetes or Python would reject raise `ScaffoldError`.
- `carry_out(plan, folder)` writes a plan, all of it or nothing. An existing file with other content raises
  `ScaffoldError`, unless `force` is set. Doing the same twice changes nothing.
- `plan_upgrade(folder)` compares a project with the scaffold of this release. It returns an `Upgrade`, whose `plan()`
  merges the scaffold's changes into the user's files. Conflicts are reported and never overwritten.
- `Record` is the project's `kubewright.toml`: its name, domain and kinds. `Record.find()` reads it.
  `project_folder(folder)` returns the folder that has it: the given one or the nearest above.
- `versions()` lists the recorded versions of the scaffold, `templates_of` returns the templates of one, and
  `scaffolded` the files that a project of a version has.

A scaffold is small, because the framework holds the logic: a module for each kind, its tests and a sample.
"""

from __future__ import annotations

from kubewright.scaffold._api import new_api
from kubewright.scaffold._builtin_kinds import BuiltinKind, builtin_kinds, find_builtin_kind
from kubewright.scaffold._names import ScaffoldError
from kubewright.scaffold._plan import Done, Plan, carry_out, read_text
from kubewright.scaffold._project import new_project
from kubewright.scaffold._record import RECORD, Kind, Record, project_folder
from kubewright.scaffold._replay import scaffolded
from kubewright.scaffold._upgrade import FileUpgrade, Upgrade, plan_upgrade
from kubewright.scaffold._versions import CURRENT, FIRST, frozen_templates, present_templates, templates_of, versions
from kubewright.scaffold._webhook import new_webhook

__all__ = [
    "CURRENT",
    "FIRST",
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
    "find_builtin_kind",
    "frozen_templates",
    "new_api",
    "new_project",
    "new_webhook",
    "plan_upgrade",
    "present_templates",
    "project_folder",
    "read_text",
    "scaffolded",
    "templates_of",
    "versions",
]
