"""`kubewright installer`: generate one file that deploys an operator."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from kubewright.cli.common._folders import OUT_FILE
from kubewright.cli.common._output import Output, output_option
from kubewright.cli.common._project_command import ProjectCommand
from kubewright.cli.common._project_options import image_option, namespace_option, out_option, overwrite_option
from kubewright.cli.common._targets import load_project, targets_argument, targets_or_current_project

__all__ = ["command"]


@click.command("installer", cls=ProjectCommand)
@targets_argument
@image_option()
@namespace_option
@out_option(OUT_FILE, "dist/install.yaml", "The file to write.")
@overwrite_option("an existing file that was")
@output_option
def command(
    targets: Sequence[str], image: str | None, namespace: str | None, out: Path, overwrite: bool, output: Output
) -> None:
    """Generate one file that deploys the operator with `kubectl apply --server-side -f`.

    \b
    Example:
      kubewright installer --image registry.example.com/guestbook:1.0.0
      kubectl apply --server-side -f dist/install.yaml
    """
    from kubewright.crd import check_rules
    from kubewright.files import write_all
    from kubewright.manifests import MARK, objects, yaml_file

    project = load_project(targets_or_current_project(targets), image=image, namespace=namespace)
    check_rules(*(project.kinds or ()))
    if out.exists() and MARK.encode() not in out.read_bytes().partition(b"\n")[0] and not overwrite:
        raise click.ClickException(f"{out}: not generated, so it is not replaced. Move it away, or use --overwrite")
    write_all(out.parent, {out.name: yaml_file(out.name, *objects(project)).text})
    output.line(f"wrote {out}")
    output.document(written=[str(out)])
