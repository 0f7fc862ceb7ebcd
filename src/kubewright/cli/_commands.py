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
    """The module of a command, and its summary in `kubewright --help`."""

    module: str
    summary: str


# Each module exports its command as `command`. The summaries are here so that `--help` imports no command.
COMMANDS: Mapping[str, Entry] = {
    "apply": Entry("kubewright.cli.cluster._apply", "Apply the objects of files to the cluster."),
    "build": Entry("kubewright.cli.package._build", "Build the operator's image with docker, podman or buildah."),
    "bundle": Entry("kubewright.cli.olm._bundle", "Generate a bundle for the Operator Lifecycle Manager."),
    "catalog": Entry("kubewright.cli.olm._catalog", "Generate a file-based catalog of bundles."),
    "chart": Entry("kubewright.cli.package._chart", "Generate a Helm chart of the operator."),
    "cluster": Entry("kubewright.cli.local._embedded", "Run the embedded cluster, an API server in this process."),
    "codegen": Entry("kubewright.cli.project._codegen", "Generate typed models from CustomResourceDefinitions."),
    "completion": Entry("kubewright.cli._completion", "Print the shell completion script."),
    "controlplane": Entry("kubewright.cli.local._controlplane", "Run a real Kubernetes control plane on this machine."),
    "create": Entry("kubewright.cli.project._create", "Add a kind or webhooks to the project."),
    "dashboards": Entry("kubewright.cli.package._dashboards", "Generate a Grafana dashboard and Prometheus alerts."),
    "deploy": Entry("kubewright.cli.cluster._deploy", "Deploy the operator to the cluster."),
    "dev": Entry("kubewright.cli.local._dev", "Run the operator on a private cluster; reload on save."),
    "docs": Entry("kubewright.cli.help._docs", "Open the documentation of this release, offline."),
    "doctor": Entry("kubewright.cli.cluster._doctor", "Check whether the operator will work on the cluster."),
    "explain": Entry("kubewright.cli.help._explain", "Explain an error: its cause and its fix."),
    "explore": Entry("kubewright.cli.local._explore", "Find bugs of the operator with faults and changes."),
    "init": Entry("kubewright.cli.project._init", "Create a project."),
    "install": Entry("kubewright.cli.cluster._install", "Install the CustomResourceDefinitions into the cluster."),
    "installer": Entry("kubewright.cli.package._installer", "Generate one file that deploys the operator."),
    "manifests": Entry("kubewright.cli.package._manifests", "Generate definitions and roles from the program."),
    "migrate-storage": Entry(
        "kubewright.cli.cluster._migrate_storage", "Rewrite stored objects to the storage version."
    ),
    "pause": Entry("kubewright.cli.cluster._pause", "Pause the reconciles of an object."),
    "resume": Entry("kubewright.cli.cluster._resume", "Resume the reconciles of a paused object."),
    "run": Entry("kubewright.cli.local._run", "Run the operator against the cluster of the kubeconfig."),
    "run-bundle": Entry("kubewright.cli.olm._run_bundle", "Install a bundle with the Operator Lifecycle Manager."),
    "test": Entry("kubewright.cli.local._test", "Run the project's tests on embedded or real clusters."),
    "ui": Entry("kubewright.cli.console._ui", "Serve the web console for custom resources."),
    "undeploy": Entry("kubewright.cli.cluster._undeploy", "Delete everything that deploy created."),
    "uninstall": Entry("kubewright.cli.cluster._uninstall", "Delete the CustomResourceDefinitions from the cluster."),
    "upgrade": Entry("kubewright.cli.project._upgrade", "Merge the templates of this release into the project."),
    "version": Entry("kubewright.cli._version", "Print the versions of Kubewright and its Kubernetes."),
    "why": Entry("kubewright.cli.cluster._why", "Show what a running operator knows about an object."),
}


class LazyGroup(click.Group):
    """The group of all commands in `COMMANDS`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Returns all names, sorted."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Imports and returns a command."""
        entry = COMMANDS.get(cmd_name)
        if entry is None:
            return None
        command: click.Command = importlib.import_module(entry.module).command
        return command

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parses like click, and explains where to put an option that precedes its command."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            if error.possibilities:
                raise
            hint = f"Put options after the command, as in `kubewright run {error.option_name} ...`."
            raise click.NoSuchOption(error.option_name, f"{error.message} {hint}", ctx=ctx) from None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Resolves like click, and suggests a name for a misspelled one."""
        name = args[0] if args else ""
        if name not in COMMANDS and not name.startswith("-"):
            meant = nearest(name, COMMANDS)
            hint = f" Did you mean {meant!r}?" if meant else f" There are: {', '.join(sorted(COMMANDS))}."
            ctx.fail(f"No such command {name!r}.{hint}")
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Returns the commands for shell completion, without importing any."""
        names = [name for name in sorted(COMMANDS) if name.startswith(incomplete)]
        found = [CompletionItem(name, help=COMMANDS[name].summary) for name in names]
        return [*found, *click.Command.shell_complete(self, ctx, incomplete)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the list of commands from the summaries."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name].summary) for name in sorted(COMMANDS)])
