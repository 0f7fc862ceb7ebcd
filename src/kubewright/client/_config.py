"""`ClientConfig`: a cluster, and the identity that a client has there.

A `ClientConfig` is plain, frozen data. It names files (tokens, certificates) instead of holding their content, so that
the `Authenticator` made from it can read them again when they change. Its repr never shows a secret.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from kubewright.redaction import Redacted

__all__ = [
    "TLS",
    "ClientConfig",
    "Credentials",
    "ExecPlugin",
    "Impersonation",
    "InteractiveMode",
]

InteractiveMode = Literal["Never", "IfAvailable", "Always"]


class TLS(Redacted, msgspec.Struct, frozen=True, kw_only=True):
    """How the server is verified. Default: by the CAs of this machine.

    `ca_data` (PEM) takes precedence over `ca_file`; a file is read again when it changes. `insecure` accepts any
    certificate and cannot be combined with a CA. `server_name` is expected in the certificate, and sent as SNI, instead
    of the host.
    """

    redacted = frozenset({"ca_data"})

    ca_file: str | None = None
    ca_data: bytes | None = None
    insecure: bool = False
    server_name: str | None = None


class ExecPlugin(Redacted, msgspec.Struct, frozen=True, kw_only=True):
    """A command that prints an `ExecCredential`. `cluster_config` is JSON for the plugin, from the cluster's entry."""

    redacted = frozenset({"args", "env", "cluster_config", "install_hint"})

    command: str
    # Arguments and variables often contain client secrets: neither is shown.
    args: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    api_version: str = "client.authentication.k8s.io/v1"
    interactive_mode: InteractiveMode = "IfAvailable"
    provide_cluster_info: bool = False
    cluster_config: bytes | None = None
    install_hint: str | None = None


class Credentials(Redacted, msgspec.Struct, frozen=True, kw_only=True):
    """How the client authenticates. Default: anonymous.

    `token_file` is read repeatedly and takes precedence over `token`, which is used until the file can be read. A
    client certificate needs its key, each from a file or as PEM data, where data takes precedence. `exec` is used only
    if there is no token, password or certificate. `user` is the name in the kubeconfig, for messages.
    """

    redacted = frozenset({"token", "certificate_data", "key_data", "password"})

    token: str | None = None
    token_file: str | None = None
    certificate_file: str | None = None
    certificate_data: bytes | None = None
    key_file: str | None = None
    key_data: bytes | None = None
    username: str | None = None
    password: str | None = None
    exec: ExecPlugin | None = None
    user: str | None = None

    @property
    def has_certificate(self) -> bool:
        """Whether there is a client certificate, as a file or as data."""
        return self.certificate_file is not None or self.certificate_data is not None

    @property
    def has_basic(self) -> bool:
        """Whether there is a user name with a password."""
        return self.username is not None or self.password is not None


class Impersonation(msgspec.Struct, frozen=True, kw_only=True):
    """The user to impersonate. Needs the permission to impersonate."""

    user: str
    uid: str | None = None
    groups: tuple[str, ...] = ()
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()


class ClientConfig(Redacted, msgspec.Struct, frozen=True, kw_only=True):
    """A cluster and an identity there.

    `server` is `https://host:port`, optionally with a path prefix, without a trailing slash. `proxy` is an http or
    https URL. `context` and `source` are for messages ("~/.kube/config, context kind", "in-cluster", "arguments").

    `max_response_bytes` and `max_watch_event_bytes` bound the memory that a server can make this process use. A longer
    body after decompression, or a longer watch event, raises `ResponseTooLarge`. Lists in pages ask for smaller pages
    first.
    """

    redacted = frozenset({"proxy"})

    server: str
    namespace: str = "default"
    tls: TLS = msgspec.field(default_factory=TLS)
    credentials: Credentials = msgspec.field(default_factory=Credentials)
    # A proxy URL may contain a password.
    proxy: str | None = None
    impersonate: Impersonation | None = None
    context: str | None = None
    source: str = "arguments"
    disable_compression: bool = False
    max_response_bytes: int = 48 * 2**20
    max_watch_event_bytes: int = 16 * 2**20

    @property
    def secure(self) -> bool:
        """Whether the connection is encrypted."""
        return self.server.startswith("https:")
