"""`kubewright installer`: one file that others apply."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from kubewright.cli._output import Output, output_option
from kubewright.cli._projects import project_from, targets_argument, targets_or_project

__all__ = ["command"]


@click.command("installer")
@targets_argument
@click.option("--image", metavar="IMAGE", help="The operator's image; <operator>:<version> unless given.")
@click.option("--namespace", metavar="NAME", help="Where it runs; <operator>-system unless given.")
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path("dist/install.yaml"),
    show_default=True,
    metavar="FILE",
    help="The file that is written.",
)
@output_option
def command(targets: Sequence[str], image: str | None, namespace: str | None, out: Path, output: Output) -> None:
    """Write one file with all that runs the operator, for `kubectl apply --server-side -f`.

    \b
    Example:
      kubewright installer --image registry.example.com/guestbook:1.0.0
      kubectl apply --server-side -f dist/install.yaml
    """
    from kubewright.manifests import objects, yaml_file

    project = project_from(targets_or_project(targets), image=image, namespace=namespace)
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(yaml_file(out.name, *objects(project)).text, encoding="utf-8")
    output.line(f"wrote {out}")
    output.document(written=[str(out)])
