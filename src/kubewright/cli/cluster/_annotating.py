"""The common part of `pause` and `resume`: finds an object by kind and name, and sets or removes an annotation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import click

from kubewright.cli.common._completing import namespaces, objects
from kubewright.cli.common._connecting import cluster_options, connected
from kubewright.cli.common._exit_codes import WrongUse
from kubewright.cli.common._output import Output, output_option
from kubewright.client import Client, MergePatch, NotFound, ServedResource
from kubewright.pausing import PAUSE_ANNOTATION, pause_of
from kubewright.suggestions import nearest

__all__ = ["find_kind", "object_command", "set_annotation"]


def object_command(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the argument KIND/NAME and the options of `pause` and `resume` to a command."""
    for decorate in (
        output_option,
        cluster_options,
        click.option(
            "--annotation",
            metavar="KEY",
            envvar="KUBEWRIGHT_PAUSE_ANNOTATION",
            default=PAUSE_ANNOTATION,
            show_default=True,
            help="The operator's --pause-annotation. [KUBEWRIGHT_PAUSE_ANNOTATION]",
        ),
        click.option(
            "-n",
            "--namespace",
            shell_complete=namespaces,
            help="The object's namespace. Default: that of the context.",
        ),
        click.argument("target", metavar="KIND/NAME", shell_complete=objects),
    ):
        command = decorate(command)
    return command


def set_annotation(
    target: str,
    namespace: str | None,
    annotation: str,
    value: str | None,
    kubeconfig: str | None,
    context: str | None,
    output: Output,
) -> None:
    """Sets the annotation of an object, or removes it, and prints what changed."""
    kind, slash, name = target.partition("/")
    if not (kind and slash and name) or "/" in name:
        raise click.UsageError(f"name the object as KIND/NAME, such as Foo/example, not {target!r}")

    async def work(client: Client) -> tuple[str, bool]:
        return await _annotate(client, kind, name, namespace, annotation, value)

    found, changed = connected(kubeconfig, context, work)
    did = "resumed" if value is None else "paused"
    if changed:
        output.step(did, found)
    else:
        output.line(f"{found} is {'not paused' if value is None else 'already paused'}")
    output.document(steps=output.steps)


async def _annotate(
    client: Client, kind: str, name: str, namespace: str | None, annotation: str, value: str | None
) -> tuple[str, bool]:
    """Returns the object, and whether it was changed."""
    info = find_kind(await client.discovery.resources(), kind).info
    served = await client.kind(info.api_version, info.kind)
    where = (namespace or client.namespace) if info.namespaced else ""
    found = f"{info.kind} {where}/{name}" if where else f"{info.kind} {name}"
    try:
        current = await client.get(served, name, where or None)
        annotations = current.metadata.annotations or {}
        if annotation not in annotations if value is None else pause_of(annotations, annotation):
            return found, False
        await client.patch(served, name, MergePatch({"metadata": {"annotations": {annotation: value}}}), where or None)
    except NotFound as error:
        other = "" if not where or namespace else "; choose another namespace with -n"
        raise click.ClickException(f"there is no {found}{other}") from error
    return found, True


def find_kind(resources: Sequence[ServedResource], wanted: str) -> ServedResource:
    """Returns the resource of a kind, a plural, a singular or a short name, with or without the group.

    Raises WrongUse for an unknown kind, with the closest known one, and for a name that several groups have.
    """
    name, _, group = wanted.lower().partition(".")
    found = {
        (one.info.group, one.info.plural): one
        for one in reversed(resources)  # the preferred version of a group comes first
        if name in _names(one) and group in ("", one.info.group.lower()) and "patch" in one.verbs
    }
    if len(found) > 1:
        listed = ", ".join(sorted(f"{one.info.kind}.{one.info.group}".rstrip(".") for one in found.values()))
        if not group and ("", name) not in {(one.info.group, one.info.kind.lower()) for one in found.values()}:
            raise WrongUse(f"several groups have a kind {wanted}: name one of {listed}")
        return next(one for one in found.values() if not one.info.group)
    if found:
        return next(iter(found.values()))
    meant = nearest(wanted, sorted({one.info.kind for one in resources}))
    raise WrongUse(f"the cluster has no kind {wanted}" + (f"; did you mean {meant}?" if meant else ""))


def _names(resource: ServedResource) -> set[str]:
    info = resource.info
    return {info.kind.lower(), info.plural, info.singular, *resource.short_names}
