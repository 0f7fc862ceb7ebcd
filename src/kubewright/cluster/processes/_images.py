"""`Images`: maps images to local programs. The mapping is the administrator's; objects cannot extend it."""

from __future__ import annotations

import fnmatch
import os
import pwd
import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Final, Self

from kubewright.suggestions import nearest

__all__ = ["Image", "Images", "ImagesError", "Refused"]

_LIBRARY: Final = ("docker.io/library/", "docker.io/", "index.docker.io/library/", "index.docker.io/")
_MAX_FILE_BYTES: Final = 1 << 20
# Variables that make a program load or run other code.
_GUARDED: Final = (
    "PATH",
    "LD_*",
    "DYLD_*",
    "PYTHON*",
    "BASH_*",
    "BASHOPTS",
    "SHELLOPTS",
    "PS4",
    "PROMPT_COMMAND",
    "ENV",
    "IFS",
    "ZDOTDIR",
    "GCONV_PATH",
    "GLIBC_TUNABLES",
    "LOCPATH",
    "OPENSSL_*",
    "CLASSPATH",
    "JAVA_TOOL_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "_JAVA_OPTIONS",
    "NODE_OPTIONS",
    "NODE_PATH",
    "PERL*",
    "RUBY*",
    "GEM_*",
    "LUA_*",
    "PHPRC",
    "PHP_INI_SCAN_DIR",
    "GIT_CONFIG*",
    "GIT_EXEC_PATH",
    "GIT_SSH*",
    "DOTNET_STARTUP_HOOKS",
    "CORECLR_*",
    "KUBEWRIGHT_*",
)
_PYTHON: Final = "{python}"


class ImagesError(ValueError):
    """An invalid mapping; the message names the image and the setting."""


class Refused(Exception):
    """A pod asks for something that the mapping does not allow; the message says what to add to it."""


@dataclass(frozen=True, kw_only=True)
class Image:
    """The program of an image, and what pods may change about it. Default: nothing.

    Attributes:
        command: the program with its first arguments, like an image's ENTRYPOINT. `{python}` is this interpreter.
        args: the arguments that a pod's `args` replace, like an image's CMD.
        entrypoint: the command in the real image that `command` stands for. A pod may name it as its `command`.
        rewrite: parts of arguments and of a pod's variables to replace, such as `{"0.0.0.0": "$(POD_IP)"}`: all pods
            share this machine's ports.
        keep: files and folders of this machine that stay visible below a volume, such as an interpreter in `/tmp`, and
            for a `user` who may not enter the folders above them. `{python}` stands for this interpreter's folders.
        allow_command: whether a pod's `command` may name any program of this machine. Its volumes may then replace
            programs, too.
        allow_args: whether a pod's `args` are used.
        allow_exec: programs that exec sessions, probes and lifecycle hooks may start; `*` stands for any.
        allow_environment: names of guarded variables that a pod may set, such as `PATH`, `PYTHON*` or `LD_*`.
        environment: variables of the program. Those of a pod replace them.
        directory: the working directory. Default: the root folder.
        user: the user, as an image's USER: the ID, or the name of a user of this machine. Only for nodes that run as
            root.
    """

    command: Sequence[str]
    args: Sequence[str] = ()
    entrypoint: Sequence[str] = ()
    rewrite: Mapping[str, str] = field(default_factory=dict)
    keep: Sequence[str] = ()
    allow_command: bool = False
    allow_args: bool = False
    allow_exec: Sequence[str] = ()
    allow_environment: Sequence[str] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    directory: str | None = None
    user: int | str | None = None

    @property
    def user_id(self) -> int | None:
        """The ID of the user. Raises `Refused` if this machine has no user of that name."""
        if not isinstance(self.user, str):
            return self.user
        try:
            return pwd.getpwnam(self.user).pw_uid
        except KeyError:
            raise Refused(f"this machine has no user {self.user!r}, who is named in the mapping of images") from None

    def command_for(self, image: str, command: Sequence[str] | None, args: Sequence[str] | None) -> list[str]:
        """Returns the command of a container with this `command` and these `args`. Raises `Refused`."""
        own, given = list(self.command), list(args or ())
        if command and list(command) == list(self.entrypoint):
            command = None
        if command and list(command) != own and not self.allow_command:
            raise Refused(
                f'image "{image}" does not allow the command {command[0]!r} of a pod; {_hint("allow_command")}'
            )
        if given and given != list(self.args) and not self.allow_args and not (command and self.allow_command):
            raise Refused(f'image "{image}" does not allow the arguments of a pod; {_hint("allow_args")}')
        if command:
            return [*command, *given]
        return [*own, *(given if given else self.args)]

    def check_exec(self, image: str, command: Sequence[str]) -> None:
        """Raises `Refused` unless a session, probe or hook may start this command."""
        if not command or not any(fnmatch.fnmatchcase(command[0], each) for each in self.allow_exec):
            shown = command[0] if command else ""
            raise Refused(f'image "{image}" does not allow to execute {shown!r}; {_hint("allow_exec")}')

    def check_environment(self, image: str, names: Sequence[str]) -> None:
        """Raises `Refused` for a variable that could make the program run other code."""
        for name in names:
            if _matches(name, _GUARDED) and not _matches(name, self.allow_environment):
                raise Refused(f'image "{image}" does not allow the variable {name}; {_hint("allow_environment")}')


class Images:
    """A mapping from image patterns to local programs: `Images({"nginx": ["/usr/sbin/nginx"], "acme/*": Image(...)})`.

    A pattern without a tag matches every tag and digest; `*` stands for any characters. An exact name is preferred to a
    pattern, and a longer pattern to a shorter one. A value is an `Image`, its settings as a dict, or its command.
    Raises `ImagesError` for an invalid mapping.
    """

    def __init__(self, mapping: Mapping[str, Image | Sequence[str] | Mapping[str, Any]] | None = None) -> None:
        self._images = {pattern: _image(pattern, value) for pattern, value in (mapping or {}).items()}

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Self:
        """Reads a file such as `images.toml`, with a table `[images."PATTERN"]` for each. Raises `ImagesError`.

        A relative `directory`, and relative paths in `keep`, are relative to the file.
        """
        file = Path(path)
        try:
            if file.stat().st_size > _MAX_FILE_BYTES:
                raise ImagesError(f"{file} is larger than {_MAX_FILE_BYTES >> 20} MiB")
            content = tomllib.loads(file.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise ImagesError(f"cannot read {file}: {getattr(error, 'strerror', None) or error}") from error
        if set(content) - {"images"} or not isinstance(content.get("images", {}), dict):
            raise ImagesError(f'{file} has tables other than [images."PATTERN"]: {", ".join(sorted(content))}')
        tables = content.get("images", {})
        for table in tables.values():
            if not isinstance(table, dict):
                continue
            if isinstance(table.get("directory"), str):
                table["directory"] = str((file.parent / table["directory"]).resolve())
            if isinstance(table.get("keep"), list):
                table["keep"] = [_below(file.parent, each) for each in table["keep"]]
        try:
            return cls(tables)
        except ImagesError as error:
            raise ImagesError(f"{file}: {error}") from error

    def __or__(self, other: Images) -> Images:
        """Returns both mappings; `other` replaces entries of the same pattern."""
        return Images({**self._images, **other._images})

    def __len__(self) -> int:
        return len(self._images)

    def __repr__(self) -> str:
        return f"Images({sorted(self._images)})"

    def find(self, image: str | None) -> Image | None:
        """Returns the entry of an image, or None if it is not mapped."""
        names = _names(image or "")
        for pattern, entry in self._images.items():
            if pattern in names:
                return entry
        matching = [
            (len(pattern), pattern)
            for pattern in self._images
            if "*" in pattern and any(fnmatch.fnmatchcase(name, pattern) for name in names)
        ]
        return self._images[max(matching)[1]] if matching else None


def _names(image: str) -> set[str]:
    """Returns the names of an image: as written, without digest, without tag, without Docker Hub's prefix."""
    names = {image, image.partition("@")[0]}
    for name in tuple(names):
        before, _, last = name.rpartition("/")
        names.add(f"{before}/{last.partition(':')[0]}" if before else last.partition(":")[0])
    for name in list(names):
        names |= {name.removeprefix(prefix) for prefix in _LIBRARY}
    return names - {""}


def _matches(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatch.fnmatchcase(name.upper(), pattern) for pattern in patterns)


def _below(folder: Path, path: object) -> object:
    return str((folder / path).resolve()) if isinstance(path, str) and path != _PYTHON else path


def _interpreter() -> tuple[str, ...]:
    """Returns the folders of this interpreter: of its environment, and of the installation behind that."""
    return tuple(dict.fromkeys((sys.prefix, sys.base_prefix, os.path.dirname(os.path.realpath(sys.executable)))))


def _hint(setting: str) -> str:
    return f"set {setting} for it in the mapping of images"


def _image(pattern: str, value: Image | Sequence[str] | Mapping[str, Any]) -> Image:
    name: object = pattern
    if not isinstance(name, str) or not name or name.strip() != name:
        raise ImagesError(f"the image pattern {pattern!r} is not a name; expected one such as nginx or ghcr.io/acme/*")
    settings: Mapping[str, Any]
    if isinstance(value, Image):
        settings = {each.name: getattr(value, each.name) for each in fields(Image)}
    elif isinstance(value, Mapping):
        settings = value
    else:
        settings = {"command": value}
    known = [each.name for each in fields(Image)]
    for name in settings:
        if name not in known:
            close = nearest(str(name), known)
            hint = f"; did you mean {close}?" if close else f"; the settings are {', '.join(known)}"
            raise ImagesError(f'image "{pattern}" has an unknown setting {name!r}{hint}')
    checked = {name: _checked(pattern, name, setting) for name, setting in settings.items() if setting is not None}
    if not checked.get("command"):
        raise ImagesError(f'image "{pattern}" has no command; expected the program as a list, such as ["nginx"]')
    return Image(**checked)


def _checked(pattern: str, name: str, value: Any) -> Any:
    if name in ("allow_command", "allow_args"):
        valid, expected = isinstance(value, bool), "true or false"
    elif name in ("environment", "rewrite"):
        valid = isinstance(value, Mapping) and all(isinstance(each, str) for pair in value.items() for each in pair)
        expected = "a table of strings"
    elif name == "user":
        is_id = isinstance(value, int) and not isinstance(value, bool) and value >= 0
        valid, expected = is_id or (isinstance(value, str) and bool(value)), "a user ID or the name of a user"
    elif name == "directory":
        valid, expected = isinstance(value, str) and os.path.isabs(value), "an absolute path"
    else:
        valid = isinstance(value, list | tuple) and all(isinstance(each, str) and "\0" not in each for each in value)
        expected = "a list of strings"
    if not valid:
        raise ImagesError(f'image "{pattern}": {name} is {value!r}; expected {expected}')
    if name == "command":
        return tuple(sys.executable if each == _PYTHON else each for each in value)
    if name == "keep":
        return tuple(path for each in value for path in (_interpreter() if each == _PYTHON else (each,)))
    return tuple(value) if isinstance(value, list) else value
