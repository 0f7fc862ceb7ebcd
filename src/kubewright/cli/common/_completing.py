"""Shell completion for the values of options: names that this machine knows, and names in the cluster.

After any error, nothing is offered.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from kubewright.cli.common._cluster_names import kinds_in_cluster, namespaces_in_cluster, objects_in_cluster

__all__ = ["Complete", "contexts", "files", "groups", "kinds", "namespaces", "objects", "one_of", "owned", "versions"]

Complete = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def one_of(names: Callable[[click.Context], Iterable[str]]) -> Complete:
    """Completes names that begin with the typed text."""

    def complete(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
        try:
            found = sorted({*names(ctx)})
        except Exception:  # an error message would disturb the user's command line
            return []
        return [CompletionItem(name) for name in found if name.lower().startswith(incomplete.lower())]

    return complete


def files(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Completes files, like the shell."""
    return [CompletionItem(incomplete, type="file")]


@one_of
def contexts(ctx: click.Context) -> Iterable[str]:
    """Returns the contexts of the kubeconfig."""
    from kubewright.yaml import load_yaml

    said = ctx.params.get("kubeconfig") or os.environ.get("KUBECONFIG") or "~/.kube/config"
    found = []
    for name in str(said).split(os.pathsep):
        path = Path(name).expanduser()
        if path.is_file():
            document = load_yaml(path.read_bytes())
            found += [str(context["name"]) for context in document.get("contexts") or []]
    return found


@one_of
def owned(_: click.Context) -> Iterable[str]:
    """Returns the built-in kinds that a reconciler may own."""
    from kubewright.scaffold import builtin_kinds

    return [one.kind for one in builtin_kinds()]


@one_of
def kinds(_: click.Context) -> Iterable[str]:
    """Returns the kinds of the project."""
    return [kind for _, _, kind in _recorded()]


@one_of
def groups(_: click.Context) -> Iterable[str]:
    """Returns the groups of the project's kinds."""
    return [group for group, _, _ in _recorded()]


@one_of
def versions(ctx: click.Context) -> Iterable[str]:
    """Returns the versions of the project's kinds, or of the kind that was given."""
    wanted = ctx.params.get("kind")
    return [version for _, version, kind in _recorded() if wanted in (None, kind)]


@one_of
def namespaces(ctx: click.Context) -> Iterable[str]:
    """Returns the namespaces of the cluster."""
    return namespaces_in_cluster(ctx)


def objects(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Completes KIND/NAME: the kinds of the project and of the cluster, then the names of objects."""
    kind, slash, _ = incomplete.partition("/")

    def found(ctx: click.Context) -> Iterable[str]:
        if slash:
            return [f"{kind}/{name}" for name in objects_in_cluster(ctx, kind)]
        try:
            listed = [*kinds_in_cluster(ctx)]
        except Exception:  # the kinds of the project are known without a cluster
            listed = []
        return [f"{one}/" for one in (*listed, *(kind for _, _, kind in _recorded()))]

    return one_of(found)(ctx, parameter, incomplete)


def _recorded() -> list[tuple[str, str, str]]:
    from kubewright.scaffold import Record, project_folder

    folder = project_folder(Path.cwd())
    record = Record.read(folder) if folder else None
    return [(kind.group, kind.version, kind.kind) for kind in record.kinds] if record else []
