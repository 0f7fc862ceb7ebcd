"""Images: the command lines that build and push them, for each container tool.

The three tools agree on `build` for one platform, but not for several. docker needs buildx with a suitable builder, and
keeps the result in a registry only. podman and buildah create a manifest list, which another command pushes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, TypeAlias, get_args

from kubewright.manifests import Image

__all__ = ["TOOLS", "Build", "BuildError", "Command", "Tool", "commands", "find_containerfile"]

Tool: TypeAlias = Literal["docker", "podman", "buildah"]
TOOLS: Final[tuple[Tool, ...]] = get_args(Tool)

_BUILDER: Final = "kubewright"
_PLATFORM: Final = re.compile(r"[a-z0-9]+/[a-z0-9_]+(/v[0-9]+)?")
_ARGUMENT: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(=.*)?", re.DOTALL)
_FILES: Final = ("Dockerfile", "Containerfile")


class BuildError(Exception):
    """An image cannot be built. The message gives the reason and the fix."""


@dataclass(frozen=True, kw_only=True)
class Build:
    """An image to build. Invalid values raise `BuildError`.

    Args:
        image: the image's name, with a tag.
        containerfile: the Dockerfile.
        context: the build context.
        platforms: such as `linux/arm64`. Default: this machine's.
        push: whether to push the image to its registry.
        arguments: `NAME=VALUE` for the Dockerfile's `ARG`s; `NAME` alone uses the environment variable.
    """

    image: str
    containerfile: Path
    context: Path = field(default_factory=Path)
    platforms: Sequence[str] = ()
    push: bool = False
    arguments: Sequence[str] = ()

    def __post_init__(self) -> None:
        try:
            if Image.parse(self.image).digest:
                raise BuildError(f"{self.image} has a digest, which is only known after the build; name a tag")
        except ValueError as error:
            raise BuildError(str(error)) from None
        for platform in self.platforms:
            if not _PLATFORM.fullmatch(platform):
                raise BuildError(f"{platform!r} is not a platform, such as linux/amd64 or linux/arm64")
        if len(set(self.platforms)) < len(self.platforms):
            raise BuildError(f"a platform is named twice in {','.join(self.platforms)}")
        for argument in self.arguments:
            if not _ARGUMENT.fullmatch(argument):
                raise BuildError(f"{argument!r} is not a build argument, such as NAME=VALUE")


@dataclass(frozen=True, kw_only=True)
class Command:
    """A command line. With `unless` or `only_if`, another command runs silently first, and its exit code decides."""

    line: Sequence[str]
    unless: Sequence[str] = ()
    only_if: Sequence[str] = ()


def commands(build: Build, tool: Tool) -> list[Command]:
    """Returns the commands to run, in order. Raises `BuildError` for a build that the tool does not support."""
    common = ["--file", str(build.containerfile), *_arguments(build)]
    if len(build.platforms) < 2:
        one = [*common, *(["--platform", *build.platforms] if build.platforms else ())]
        return [_build_one(build, tool, one), *([_push_one(build, tool)] if build.push else ())]
    if tool == "docker":
        return _with_buildx(build, common)
    return _with_manifest(build, tool, common)


def _arguments(build: Build) -> list[str]:
    return [part for argument in build.arguments for part in ("--build-arg", argument)]


def _build_one(build: Build, tool: Tool, options: Sequence[str]) -> Command:
    cached = ["--layers"] if tool == "buildah" else []  # the other tools do so by default
    return Command(line=[tool, "build", *cached, "--tag", build.image, *options, str(build.context)])


def _push_one(build: Build, tool: Tool) -> Command:
    where = [f"docker://{build.image}"] if tool == "buildah" else []
    return Command(line=[tool, "push", build.image, *where])


def _with_buildx(build: Build, options: Sequence[str]) -> list[Command]:
    if not build.push:
        raise BuildError(
            "docker keeps an image for several platforms only in a registry: add --push, name one platform, or use "
            "--tool podman or buildah"
        )
    return [
        # docker's default builder builds for its own platform only.
        Command(
            line=["docker", "buildx", "create", "--name", _BUILDER, "--driver", "docker-container"],
            unless=["docker", "buildx", "inspect", _BUILDER],
        ),
        Command(
            line=[
                *("docker", "buildx", "build", "--builder", _BUILDER, "--platform", ",".join(build.platforms)),
                *("--tag", build.image, *options, "--push", str(build.context)),
            ]
        ),
    ]


def _with_manifest(build: Build, tool: Tool, options: Sequence[str]) -> list[Command]:
    made = [
        # Images would be added to those of the last build.
        Command(line=[tool, "manifest", "rm", build.image], only_if=[tool, "manifest", "exists", build.image]),
        Command(
            line=[
                # Without buildah's --layers: it confused the layers of platforms (1.28, stages from scratch).
                *(tool, "build", "--platform", ",".join(build.platforms)),
                *("--manifest", build.image, *options, str(build.context)),
            ]
        ),
    ]
    if build.push:
        made.append(Command(line=[tool, "manifest", "push", "--all", build.image, f"docker://{build.image}"]))
    return made


def find_containerfile(folder: Path, given: Path | None = None) -> Path:
    """Returns the given file, or the Dockerfile or Containerfile of a folder. Raises `BuildError` if there is none."""
    if given is not None:
        if not given.is_file():
            raise BuildError(f"there is no file {given}")
        return given
    for name in _FILES:
        if (folder / name).is_file():
            return folder / name
    raise BuildError(
        f"there is no {' or '.join(_FILES)} in {folder.absolute()}: run this in a project's folder, or name one with "
        "--file"
    )
