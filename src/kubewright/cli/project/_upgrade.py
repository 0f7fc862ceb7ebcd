"""`kubewright upgrade`: merge the templates of this release into a project."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kubewright.cli.common._completing import files
from kubewright.cli.common._exit_codes import WrongUse, differs
from kubewright.cli.common._output import Output, output_option
from kubewright.cli.common._project_command import ProjectCommand, require_project
from kubewright.cli.project._plans import write_plan
from kubewright.scaffold import ScaffoldError, plan_upgrade

if TYPE_CHECKING:
    from kubewright.scaffold import FileUpgrade, Plan, Upgrade

__all__ = ["command"]

_REASONS = {
    "added": "new in the scaffold",
    "updated": "you had not changed it",
    "merged": "your changes and the scaffold's",
    "rewritten": "names that Kubewright has renamed",
    "renamed": "the scaffold uses this name now; your changes are kept",
    "removed": "no longer in the scaffold, and you had not changed it",
    "conflict": "you and the scaffold changed the same lines",
    "deleted": "you deleted it, so it is not restored",
    "kept": "no longer in the scaffold, but you have changed it: delete it if you do not need it",
}


@click.command("upgrade", cls=ProjectCommand)
@click.option("--check", is_flag=True, help="Write nothing; exit with 3 if there is something to upgrade.")
@click.option(
    "--write-conflicts",
    is_flag=True,
    help="Write conflicts into the files, with markers around both versions, as git does.",
)
@click.option(
    "--keep",
    multiple=True,
    metavar="FILE",
    shell_complete=files,
    help="Leave this file unchanged. May be repeated.",
)
@click.option("--allow-dirty", is_flag=True, help="Upgrade even if git has uncommitted changes.")
@output_option
def command(check: bool, write_conflicts: bool, keep: Sequence[str], allow_dirty: bool, output: Output) -> None:
    """Upgrade the project to the scaffold of this release.

    The command merges what changed in the scaffold since it created the project into your files, line by line. Your
    changes stay. It also replaces names that Kubewright has renamed, in all Python files.

    If you and the scaffold changed the same lines, the command shows the conflict, leaves the file unchanged, and exits
    with 3. Use --write-conflicts or --keep to continue. Files that you deleted are not restored. The command writes
    either all files or none. Running it again is safe.

    \b
    Example:
      kubewright upgrade --check
      kubewright upgrade
      kubewright upgrade --keep Makefile --write-conflicts
    """
    folder = require_project()
    keep = [Path(os.path.relpath(each, folder)).as_posix() for each in keep]
    try:
        upgrade = plan_upgrade(folder)
        plan = upgrade.plan(write_conflicts=write_conflicts, keep=keep)
    except ScaffoldError as error:
        raise WrongUse(str(error)) from error
    open_conflicts = upgrade.conflicts(keep)
    if not check and (plan.changes or plan.removals) and not allow_dirty:
        _check_committed(folder, {file.path for file in upgrade.files if file.what == "settled"})
    if not check:
        write_plan(plan, folder, force=False)
    _print_upgrade(upgrade, plan, open_conflicts, keep, output, check=check)
    if open_conflicts or (check and upgrade.needed):
        differs()


def _check_committed(folder: Path, settled: set[str]) -> None:
    """Raises an error if git has uncommitted changes, except those of an earlier upgrade."""
    changed = [path for path in _uncommitted_files(folder) if path not in settled]
    if changed:
        more = f" and {len(changed) - 3} more" if len(changed) > 3 else ""
        raise click.ClickException(
            f"there are uncommitted changes: {', '.join(changed[:3])}{more}. Commit them first, so that you can"
            " review and undo the upgrade, or use --allow-dirty"
        )


def _uncommitted_files(folder: Path) -> list[str]:
    """Returns the uncommitted files below a folder. Returns none if git is missing or the folder has no repository."""
    try:
        prefix = _git(folder, "rev-parse", "--show-prefix").strip()
        status = ("status", "--porcelain", "--no-renames", "--untracked-files=all", "-z", "--", ".")
        entries = _git(folder, *status).split("\0")
    except (FileNotFoundError, subprocess.CalledProcessError):
        return []
    return [entry[3:].removeprefix(prefix) for entry in entries if entry]


def _git(folder: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, check=True).stdout


def _print_upgrade(
    upgrade: Upgrade,
    plan: Plan,
    open_conflicts: Sequence[FileUpgrade],
    keep: Sequence[str],
    output: Output,
    *,
    check: bool,
) -> None:
    before, after = upgrade.record.scaffold, upgrade.version
    files = {file.path: "kept by --keep" if file.is_among(keep) else file.what for file in upgrade.files}
    output.document(
        scaffold={"from": before, "to": after},
        files=[{"path": path, "what": what} for path, what in files.items()],
        conflicts=[file.path for file in open_conflicts],
        written=[] if check else [*plan.changes, *plan.removals],
    )
    if not upgrade.needed:
        output.line(f"The project is up to date with the scaffold of this release, version {after}.")
        return
    for file in upgrade.files:
        if file.what == "settled":
            continue
        name = f"{file.former} -> {file.path}" if file.former else file.path
        if file.is_among(keep):
            output.line(f"kept      {file.former or file.path}: you passed --keep")
            continue
        output.line(f"{file.what:<9} {name}: {file.why or _REASONS[file.what]}")
        for conflict in file.conflicts:
            output.line(f"  {file.path}:{conflict.line}")
            output.line("\n".join(f"    {line}" for line in conflict.shown(*upgrade.names).splitlines()))
    output.line(_summary(upgrade, plan, open_conflicts, check=check))


def _summary(upgrade: Upgrade, plan: Plan, open_conflicts: Sequence[FileUpgrade], *, check: bool) -> str:
    before, after = upgrade.names
    paths = ", ".join(file.path for file in open_conflicts)
    if check:
        return f"The project uses {before}, and this release has {after}: run `kubewright upgrade`."
    if any(file.path not in plan.changes for file in open_conflicts):
        return (
            f"Not changed: {paths}. Use --write-conflicts to write both versions into the file, or --keep FILE to keep"
            f" yours. Until then the project uses {before}."
        )
    if open_conflicts:
        return f"Upgraded from {before} to {after}. Resolve the conflicts between the markers in {paths}."
    return f"Upgraded from {before} to {after}. Review the changes with `git diff`, then run `make manifests test`."
