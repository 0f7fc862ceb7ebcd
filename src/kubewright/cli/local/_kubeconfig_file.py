"""The kubeconfig file of a cluster that a command runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from kubewright.cli.common._exit_codes import WrongUse

__all__ = ["check_replaceable", "write_kubeconfig_option"]


def write_kubeconfig_option(
    what: str = "Write the administrator's kubeconfig to FILE",
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Adds `--write-kubeconfig` to a command."""
    return click.option(
        "--write-kubeconfig",
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="FILE",
        help=f"{what}. It is deleted when the command ends.",
    )


def check_replaceable(path: Path) -> None:
    """Raises an error if a file has other content than the kubeconfig of an earlier cluster."""
    from kubewright.yaml import InvalidYAML, load_yaml

    try:
        found = load_yaml(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        found = None
    except PermissionError as error:
        raise click.ClickException(f"{path} cannot be written: {error.strerror}") from error
    except OSError as error:  # a folder, or a name that is too long
        raise WrongUse(f"{path} cannot be written: {error.strerror}") from error
    except InvalidYAML:
        found = "something else"
    clusters = found.get("clusters") if isinstance(found, dict) else found
    ours = isinstance(clusters, list) and [cluster.get("name") for cluster in clusters] == ["kubewright"]
    if found and not ours:
        raise click.ClickException(
            f"{path} is not a kubeconfig of an earlier cluster, so it is not replaced; name another file"
        )
    if not path.parent.is_dir():
        raise WrongUse(f"{path} cannot be written: the folder {path.parent} does not exist")
    is_new = not path.exists()
    try:
        path.open("ab").close()  # fail now and not after the cluster has started
    except OSError as error:
        raise click.ClickException(f"{path} cannot be written: {error.strerror}") from error
    if is_new:
        path.unlink(missing_ok=True)
