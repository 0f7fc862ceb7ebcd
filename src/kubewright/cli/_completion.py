"""`kubewright completion`: the script with which a shell completes commands, options and values."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

__all__ = ["VARIABLE", "command"]

VARIABLE = "_KUBEWRIGHT_COMPLETE"
"""The environment variable through which the script asks the program. Its value names the shell."""


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print the shell completion script.

    \b
    bash: echo 'eval "$(kubewright completion bash)"' >> ~/.bashrc
    zsh:  echo 'eval "$(kubewright completion zsh)"' >> ~/.zshrc
    fish: kubewright completion fish > ~/.config/fish/completions/kubewright.fish

    Then start a new shell. It completes commands, options, contexts of the kubeconfig, kinds of the project, and names
    in the cluster: namespaces, kinds and objects, if it answers within a second.

    \b
    Example:
      kubewright completion bash
    """
    made = get_completion_class(shell)
    assert made is not None  # click supports all shells in the choices above
    template = made(ctx.find_root().command, {}, "kubewright", VARIABLE)
    # Not `source()`, which asks the local shell for its version: another machine may read this script.
    click.echo(template.source_template % template.source_vars())
