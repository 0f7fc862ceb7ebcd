"""Reads kubeconfig files and merges several, as kubectl does.

The rules are those of client-go:

- An explicitly named file must exist. Files of a `KUBECONFIG` list that do not exist are skipped.
- The first file that has an entry of some name provides the whole entry; later ones are ignored.
- The first current-context that is not empty counts.
- Relative paths in an entry are relative to the folder of its file.

Entries are checked when they are used, so that one broken user does not affect the others. The result is always a
`Kubeconfig` or a `ConfigError` that names the file.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

import msgspec

from kubewright.client._config_errors import ConfigError, did_you_mean
from kubewright.client._kubeconfig_warnings import warn_if_readable_by_others
from kubewright.redaction import Redacted

__all__ = ["Cluster", "Context", "Entry", "ExecConfig", "ExecEnvVar", "Kubeconfig", "User", "read_kubeconfig"]


class _Body(msgspec.Struct, rename="kebab", frozen=True):
    """Every field may be null, because Go treats null as the zero value and tools write it."""


class Cluster(Redacted, _Body, frozen=True):
    """The address of a server, and how to verify it."""

    redacted = frozenset({"certificate_authority_data", "proxy_url", "extensions"})

    server: str | None = None
    tls_server_name: str | None = None
    insecure_skip_tls_verify: bool | None = None
    certificate_authority: str | None = None
    certificate_authority_data: str | None = None
    proxy_url: str | None = None
    disable_compression: bool | None = None
    extensions: list[dict[str, Any]] | None = None


class Context(_Body, frozen=True):
    """The names of a cluster, a user and a namespace."""

    cluster: str | None = None
    user: str | None = None
    namespace: str | None = None


class ExecEnvVar(Redacted, msgspec.Struct, frozen=True):
    """An environment variable of an exec plugin."""

    redacted = frozenset({"value"})

    name: str | None = None
    value: str | None = None


class ExecConfig(Redacted, msgspec.Struct, rename="camel", frozen=True):
    """The command that prints credentials."""

    redacted = frozenset({"args", "install_hint"})

    command: str | None = None
    args: list[str] | None = None
    env: list[ExecEnvVar] | None = None
    api_version: str | None = None
    install_hint: str | None = None
    provide_cluster_info: bool | None = None
    interactive_mode: str | None = None


class User(Redacted, _Body, frozen=True):
    """The credentials of a user."""

    redacted = frozenset({"client_certificate_data", "client_key_data", "token", "password", "auth_provider"})

    client_certificate: str | None = None
    client_certificate_data: str | None = None
    client_key: str | None = None
    client_key_data: str | None = None
    token: str | None = None
    token_file: str | None = msgspec.field(name="tokenFile", default=None)
    as_: str | None = msgspec.field(name="as", default=None)
    as_uid: str | None = None
    as_groups: list[str] | None = None
    as_user_extra: dict[str, list[str]] | None = None
    username: str | None = None
    password: str | None = None
    auth_provider: dict[str, Any] | None = None
    exec: ExecConfig | None = None


B = TypeVar("B", bound=_Body)

_MAX_DEPTH = 64


class Entry(Redacted, msgspec.Struct, frozen=True):
    """A named entry of a file, not yet checked."""

    redacted = frozenset({"body"})

    section: str
    name: str
    file: str
    body: object

    def decode(self, kind: type[B]) -> B:
        """Returns the entry as that type. Raises ConfigError, which names the invalid field."""
        if self.body is None:
            return kind()
        try:
            return msgspec.convert(self.body, kind)
        except msgspec.ValidationError as error:
            # msgspec reports types and the path, never the value, so the message contains no secret.
            raise self.error(f"is not valid: {_sentence(error)}") from None

    def path(self, value: str) -> str:
        """Returns a path relative to the folder of the entry's file."""
        return os.path.join(os.path.dirname(os.path.abspath(self.file)), value)

    def error(self, problem: str) -> ConfigError:
        """Returns an error about this entry."""
        return ConfigError(self.where(problem))

    def where(self, what: str) -> str:
        """Returns the location of this entry, for messages."""
        return f"kubeconfig {self.file}: {self.section} {self.name!r}: {what}"


class Kubeconfig(msgspec.Struct, frozen=True):
    """One file, or several merged files."""

    files: tuple[str, ...]
    current_context: str
    contexts: Mapping[str, Entry]
    clusters: Mapping[str, Entry]
    users: Mapping[str, Entry]

    @property
    def label(self) -> str:
        """The files, for messages."""
        return ", ".join(self.files)

    def context(self, name: str | None) -> Entry:
        """Returns the context of that name. Default: the current context."""
        wanted = name or self.current_context
        if not (self.contexts or self.clusters or self.users):
            raise ConfigError(
                f"kubeconfig {self.label}: it is empty; expected clusters, users and contexts "
                "(`kubectl config view` shows what kubectl sees)"
            )
        if not wanted:
            raise ConfigError(
                f"kubeconfig {self.label}: no current-context is set; name a context{_listing(self.contexts)}"
            )
        if (entry := self.contexts.get(wanted)) is None:
            origin = "context" if name else "current-context"
            raise ConfigError(
                f"kubeconfig {self.label}: {origin} {wanted!r} does not exist{did_you_mean(wanted, self.contexts)}"
            )
        return entry

    def cluster(self, context: Entry, name: str) -> Entry:
        """Returns the cluster that a context names."""
        return _referenced(context, "cluster", name, self.clusters)

    def user(self, context: Entry, name: str) -> Entry:
        """Returns the user that a context names."""
        return _referenced(context, "user", name, self.users)


def _referenced(context: Entry, section: str, name: str, entries: Mapping[str, Entry]) -> Entry:
    if (entry := entries.get(name)) is None:
        raise context.error(f"it names the {section} {name!r}, which does not exist{did_you_mean(name, entries)}")
    return entry


def _listing(entries: Mapping[str, Entry]) -> str:
    return f" ({', '.join(sorted(entries)[:10])})" if entries else ", there is none yet"


def read_kubeconfig(files: Iterable[str], *, must_exist: bool) -> Kubeconfig | None:
    """Reads and merges the files. Returns None if none exists. With `must_exist`, a missing file is an error."""
    documents = [(file, document) for file in files if (document := _read(file, must_exist)) is not None]
    if not documents:
        return None
    sections: dict[str, dict[str, Entry]] = {"context": {}, "cluster": {}, "user": {}}
    current = ""
    for file, document in documents:
        for section, merged in sections.items():
            for entry in _entries(file, document, section):
                merged.setdefault(entry.name, entry)
        current = current or _current_context(file, document)
    return Kubeconfig(
        files=tuple(file for file, _ in documents),
        current_context=current,
        contexts=sections["context"],
        clusters=sections["cluster"],
        users=sections["user"],
    )


def _read(file: str, must_exist: bool) -> dict[str, Any] | None:
    try:
        with open(file, "rb") as stream:
            content = stream.read()
    except FileNotFoundError:
        if must_exist:
            raise ConfigError(f"kubeconfig {file}: the file does not exist; check the path") from None
        return None
    except OSError as error:
        raise ConfigError(f"kubeconfig {file}: it cannot be read: {error.strerror}") from None
    warn_if_readable_by_others(file)
    document = _parse(file, content)
    if document is None:
        return {}
    if not isinstance(document, dict):
        kind = {list: "a list", str: "a plain string", int: "a number", float: "a number", bool: "a boolean"}
        found = kind.get(type(document), "something else")
        raise ConfigError(f"kubeconfig {file}: expected a mapping with clusters, users and contexts, found {found}")
    if (kind_ := document.get("kind") or "Config") != "Config":
        raise ConfigError(f"kubeconfig {file}: it contains a {kind_!r}, expected 'Config'; check the path")
    if (version := document.get("apiVersion") or "v1") != "v1":
        raise ConfigError(f"kubeconfig {file}: its apiVersion is {version!r}, expected 'v1'")
    return document


def _parse(file: str, content: bytes) -> object:
    from kubewright.yaml import InvalidYAML, load_yaml

    try:
        return load_yaml(content, max_depth=_MAX_DEPTH)
    except InvalidYAML as error:
        place = f" in line {error.line}, column {error.column}" if error.line else ""
        raise ConfigError(f"kubeconfig {file}: it is not valid YAML{place}: {error.problem}") from None


def _entries(file: str, document: Mapping[str, Any], section: str) -> Iterable[Entry]:
    items = document.get(f"{section}s")
    if items is None:
        return
    if not isinstance(items, list):
        raise ConfigError(f"kubeconfig {file}: {section}s must be a list of named entries")
    seen = set()
    for position, item in enumerate(items):
        name = item.get("name") if isinstance(item, dict) else None
        if not isinstance(name, str):
            raise ConfigError(
                f"kubeconfig {file}: {section}s[{position}] must be a mapping with a name (string) and a {section}"
            )
        if name in seen:
            raise ConfigError(f"kubeconfig {file}: {section} {name!r} exists twice; remove one")
        seen.add(name)
        yield Entry(section, name, file, item.get(section))


def _current_context(file: str, document: Mapping[str, Any]) -> str:
    value = document.get("current-context") or ""
    if not isinstance(value, str):
        raise ConfigError(f"kubeconfig {file}: current-context must be a string; put it in quotes")
    return value


def _sentence(error: msgspec.ValidationError) -> str:
    """Turns "Expected `str`, got `int` - at `$.token`" into a sentence about the field."""
    problem, _, place = str(error).partition(" - at ")
    words = problem.replace("`", "").replace(" | null", "").replace("str", "text", 1)
    field = place.strip("`").removeprefix("$.")
    return f"{field}: {words[0].lower()}{words[1:]}" if field and field != "$" else words[0].lower() + words[1:]
