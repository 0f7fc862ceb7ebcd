"""`kubewright completion`: the script by which a shell completes commands, options and values."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

__all__ = ["VARIABLE", "command"]

VARIABLE = "_KUBEWRIGHT_COMPLETE"
"""By this variable the script asks the program; its value says which shell it is."""


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print the completion script of a shell.

    \b
    bash: echo 'eval "$(kubewright completion bash)"' >> ~/.bashrc
    zsh:  echo 'eval "$(kubewright completion zsh)"' >> ~/.zshrc
    fish: kubewright completion fish > ~/.config/fish/completions/kubewright.fish

    Then begin a new shell. Commands, options, contexts of the kubeconfig and kinds of the project are completed.

    \b
    Example:
      kubewright completion bash
    """
    made = get_completion_class(shell)
    assert made is not None  # the choices above are shells that click knows
    template = made(ctx.find_root().command, {}, "kubewright", VARIABLE)
    # Not `source()`, which would ask the shell here for its version: the shell that reads this may be another one.
    click.echo(template.source_template % template.source_vars())
