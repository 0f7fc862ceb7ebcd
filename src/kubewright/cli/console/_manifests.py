"""`kubewright ui --manifests`: the folder that runs the console in a cluster."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from kubewright.cli.common._output import Output

if TYPE_CHECKING:
    from kubewright.console import OIDC
    from kubewright.console.manifests import CertificateSource

__all__ = ["ManifestOptions", "manifest_options", "write_manifests"]

_SOURCES: Final = ("self-signed", "cert-manager", "secret", "none")


@dataclass(frozen=True)
class ManifestOptions:
    """The options of `--manifests`. `folder` is None if the console is to be served instead."""

    folder: Path | None
    image: str | None
    base_image: str | None
    groups: Sequence[str]
    secrets: bool
    certificates: CertificateSource | None


def manifest_options(function: Callable[..., None]) -> Callable[..., None]:
    """Adds the options to a command, which gets them as `manifests`."""

    @functools.wraps(function)
    def called(
        manifests: Path | None,
        image: str | None,
        base_image: str | None,
        groups: Sequence[str],
        secrets: bool,
        certificates: CertificateSource | None,
        **others: Any,
    ) -> None:
        given = {
            "--image": image,
            "--base-image": base_image,
            "--group": groups,
            "--secrets": secrets,
            "--certificates": certificates,
        }
        if manifests is None and (alone := next((name for name, value in given.items() if value), None)):
            raise click.UsageError(f"{alone} requires --manifests")
        options = ManifestOptions(manifests, image, base_image, groups, secrets, certificates)
        function(manifests=options, **others)

    for option in reversed(_options()):
        called = option(called)
    return called


def _options() -> list[Callable[[Callable[..., None]], Callable[..., None]]]:
    return [
        click.option(
            "--manifests",
            type=click.Path(file_okay=False, path_type=Path),
            metavar="FOLDER",
            help="Write a kustomize folder that runs the console in a cluster, and do nothing else.",
        ),
        click.option(
            "--image",
            metavar="IMAGE",
            callback=_image,
            help="The container image of --manifests, with a digest to pin it.",
        ),
        click.option(
            "--base-image",
            metavar="IMAGE",
            callback=_image,
            help="The image that the Dockerfile of --manifests starts from, with a digest to pin it.",
        ),
        click.option(
            "--group",
            "groups",
            multiple=True,
            metavar="GROUP",
            callback=_group,
            help="Let the console of --manifests read the custom resources of this API group.",
        ),
        click.option("--secrets", is_flag=True, help="Let the console of --manifests read Secrets."),
        click.option(
            "--certificates",
            type=click.Choice(_SOURCES),
            help="Where the TLS certificate of --manifests comes from; none is plain HTTP. [default: self-signed]",
        ),
    ]


def _image(_: click.Context, parameter: click.Parameter, given: str | None) -> str | None:
    from kubewright.manifests import Image

    try:
        return None if given is None else str(Image.parse(given))
    except ValueError as error:
        raise click.BadParameter(str(error), param=parameter) from None


def _group(_: click.Context, parameter: click.Parameter, given: tuple[str, ...]) -> tuple[str, ...]:
    for group in given:
        if not re.fullmatch(r"[a-z0-9-]+(\.[a-z0-9-]+)+", group):
            raise click.BadParameter(f"{group!r} is not an API group such as example.com", param=parameter)
    return given


def write_manifests(
    options: ManifestOptions,
    kinds: Sequence[str],
    extensions: Sequence[str],
    *,
    oidc: OIDC | None,
    read_only: bool,
    output: Output,
) -> None:
    """Writes the folder."""
    from kubewright.console import manifests
    from kubewright.manifests import ForeignFile

    assert options.folder is not None
    if kinds and options.groups:
        raise click.UsageError("--group and --kind exclude each other: name the kinds as --kind 'example.com/*'")
    try:
        written = manifests.write_manifests(
            options.folder,
            image=options.image,
            base_image=options.base_image or manifests.BASE_IMAGE,
            kinds=kinds,
            groups=options.groups,
            secrets=options.secrets,
            certificates=options.certificates or "self-signed",
            read_only=read_only,
            extensions=extensions,
            oidc=oidc,
        )
    except ForeignFile as error:
        raise click.ClickException(str(error)) from error
    for path in written:
        output.step("wrote", str(options.folder / path))
    files = {} if oidc is None else {"client-secret": oidc.client_secret_file, "ca.crt": oidc.ca_file}
    if given := [f"--from-file={key}={path}" for key, path in files.items() if path is not None]:
        # Secrets are never written to a folder that is meant to be committed.
        namespace, name = manifests.NAMESPACE, manifests.OIDC_SECRET
        output.line(f"\nCreate the Secret: kubectl -n {namespace} create secret generic {name} {' '.join(given)}")
    output.line(f"\nBuild the image, then: kubectl apply -k {options.folder}")
    output.document(steps=output.steps)
