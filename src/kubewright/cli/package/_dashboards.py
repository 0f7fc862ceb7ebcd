"""`kubewright dashboards`: generate a Grafana dashboard and Prometheus alerts for an operator."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from kubewright.cli.common._folders import OUT_FOLDER
from kubewright.cli.common._output import Output, output_option
from kubewright.cli.common._project_command import ProjectCommand
from kubewright.cli.common._project_options import namespace_option, out_option, overwrite_option
from kubewright.cli.common._targets import load_project, targets_argument, targets_or_current_project
from kubewright.counts import counted

__all__ = ["command"]


@click.command("dashboards", cls=ProjectCommand)
@targets_argument
@out_option(OUT_FOLDER, "dashboards", "The folder to write to.")
@click.option(
    "--job",
    metavar="NAME",
    help="The job label that Prometheus gives to the metrics. Default: that of the ServiceMonitor, <operator>-metrics.",
)
@namespace_option
@overwrite_option()
@output_option
def command(
    targets: Sequence[str], out: Path, job: str | None, namespace: str | None, overwrite: bool, output: Output
) -> None:
    """Generate a Grafana dashboard and Prometheus alerts for the operator.

    Writes dashboard.json for Grafana, alerts.yaml for Prometheus, and prometheus-rule.yaml with the same alerts for the
    Prometheus operator. Parts that the operator does not have, such as webhooks, are left out.

    \b
    Example:
      kubewright dashboards foo.py --out monitoring
      kubectl apply --server-side -f monitoring/prometheus-rule.yaml
    """
    from kubewright.manifests import ForeignFile, write
    from kubewright.manifests.dashboards import dashboard_files

    project = load_project(targets_or_current_project(targets), namespace=namespace)
    if not project.metrics:
        raise click.ClickException("the project has metrics=False: there is nothing to show")
    files = dashboard_files(project, job=job or "")
    try:
        done = write(out, files, replace_foreign=overwrite)
    except ForeignFile as error:
        raise click.ClickException(f"{error} with --overwrite") from error
    for path in done.written:
        output.line(f"wrote {out}/{path}")
    output.line(f"{counted(len(files), 'file')} in {out}, {len(done.unchanged)} of them unchanged.")
    output.document(out=str(out), files=len(files), written=done.written, removed=done.removed)
