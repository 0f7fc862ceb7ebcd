"""The list of commands, and a click group that imports each one when it is used."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass

import click
from click.shell_completion import CompletionItem

from kubewright.suggestions import nearest

__all__ = ["COMMANDS", "Entry", "LazyGroup"]


@dataclass(frozen=True)
class Entry:
    """Where a command lives, and the line that describes it in `kubewright --help`."""

    module: str
    summary: str


# Each module has the command as `command`. The summary is here so that showing the list imports none of them.
COMMANDS: Mapping[str, Entry] = {
    "build": Entry("kubewright.cli._build", "Build the operator's image: docker, podman or buildah."),
    "bundle": Entry("kubewright.cli._bundle", "Write a bundle for the Operator Lifecycle Manager."),
    "catalog": Entry("kubewright.cli._catalog", "Write a catalog of bundles."),
    "chart": Entry("kubewright.cli._chart", "Write a Helm chart of the operator."),
    "cluster": Entry("kubewright.cli._cluster", "Run the embedded cluster: an API server inside this program."),
    "codegen": Entry("kubewright.cli._codegen", "Write typed models from CustomResourceDefinitions."),
    "completion": Entry("kubewright.cli._completion", "Print the script that lets your shell complete all this."),
    "controlplane": Entry("kubewright.cli._controlplane", "Run a real Kubernetes control plane on this machine."),
    "create": Entry("kubewright.cli._create", "Add a kind, or webhooks of one, to the project."),
    "deploy": Entry("kubewright.cli._deploy", "Run the operator in the cluster, with all that it needs."),
    "dev": Entry("kubewright.cli._dev", "Run a program on a cluster of its own, anew with each save."),
    "doctor": Entry("kubewright.cli._doctor", "Say whether the program will work on the cluster."),
    "init": Entry("kubewright.cli._init", "Make a new project."),
    "install": Entry("kubewright.cli._install", "Define the program's kinds in the cluster."),
    "installer": Entry("kubewright.cli._installer", "Write one file with all that runs the operator."),
    "manifests": Entry("kubewright.cli._manifests", "Write definitions and roles from the program that needs them."),
    "run": Entry("kubewright.cli._run", "Run an operator on the cluster of the kubeconfig."),
    "run-bundle": Entry("kubewright.cli._run_bundle", "Have the Operator Lifecycle Manager install a bundle."),
    "test": Entry("kubewright.cli._test", "Run the project's tests, on embedded clusters or a real one."),
    "ui": Entry("kubewright.cli._ui", "Serve the console: a web page for every custom resource."),
    "undeploy": Entry("kubewright.cli._undeploy", "Remove all that deploy has made."),
    "uninstall": Entry("kubewright.cli._uninstall", "Remove the program's kinds from the cluster."),
    "upgrade": Entry("kubewright.cli._upgrade", "Merge the scaffold of this release into the project."),
    "version": Entry("kubewright.cli._version", "Print the versions of Kubewright and of the pinned Kubernetes."),
    "why": Entry("kubewright.cli._why", "Say what a running operator knows about an object."),
}


class LazyGroup(click.Group):
    """A group whose commands are those of `COMMANDS`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All names, sorted."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return that command."""
        entry = COMMANDS.get(cmd_name)
        if entry is None:
            return None
        command: click.Command = importlib.import_module(entry.module).command
        return command

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click does, with a hint for whoever writes the options of a command before it."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            if error.possibilities:
                raise
            hint = f"Options stand behind their command, as in `kubewright run {error.option_name} ...`."
            raise click.NoSuchOption(error.option_name, f"{error.message} {hint}", ctx=ctx) from None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does, with a suggestion for a misspelled name."""
        name = args[0] if args else ""
        if name not in COMMANDS and not name.startswith("-"):
            meant = nearest(name, COMMANDS)
            hint = f" Did you mean {meant!r}?" if meant else f" There are: {', '.join(sorted(COMMANDS))}."
            ctx.fail(f"No such command {name!r}.{hint}")
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """What a shell offers, without importing any command."""
        names = [name for name in sorted(COMMANDS) if name.startswith(incomplete)]
        found = [CompletionItem(name, help=COMMANDS[name].summary) for name in names]
        return [*found, *click.Command.shell_complete(self, ctx, incomplete)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list in the help text, from the summaries alone."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name].summary) for name in sorted(COMMANDS)])
