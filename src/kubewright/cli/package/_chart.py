"""`kubewright chart`: generate a Helm chart of an operator."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from kubewright.cli.common._folders import OUT_FOLDER
from kubewright.cli.common._output import Output, output_option
from kubewright.cli.common._project_command import ProjectCommand
from kubewright.cli.common._project_options import image_option, out_option, overwrite_option
from kubewright.cli.common._targets import load_project, targets_argument, targets_or_current_project
from kubewright.counts import counted

__all__ = ["command"]


@click.command("chart", cls=ProjectCommand)
@targets_argument
@image_option()
@out_option(OUT_FOLDER, "dist/chart", "The folder of the chart.")
@overwrite_option()
@output_option
def command(targets: Sequence[str], image: str | None, out: Path, overwrite: bool, output: Output) -> None:
    """Generate a Helm chart. Same as `kubewright manifests --package helm`.

    \b
    Example:
      kubewright chart --image registry.example.com/guestbook:1.0.0
      helm install guestbook dist/chart --namespace guestbook-system --create-namespace
    """
    from kubewright.crd import check_rules
    from kubewright.manifests import ForeignFile, chart_files, write

    project = load_project(targets_or_current_project(targets), image=image)
    check_rules(*(project.kinds or ()))
    files = chart_files(project)
    try:
        done = write(out, files, replace_foreign=overwrite)
    except ForeignFile as error:
        raise click.ClickException(f"{error} with --overwrite") from error
    for path in done.removed:
        output.line(f"removed {out}/{path}")
    output.line(f"{counted(len(files), 'file')} in {out}, {len(done.unchanged)} of them unchanged.")
    output.document(out=str(out), files=len(files), written=done.written, removed=done.removed)
