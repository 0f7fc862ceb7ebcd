"""Where the cluster is and who we are there: `ClientConfig`, and `load_config` which finds it.

A `ClientConfig` is plain, frozen data. It names files (tokens, certificates) instead of holding their content, so
that the `Authenticator` made from it can read them again when they change. Its repr never shows a secret.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

__all__ = ["TLS", "ClientConfig", "Credentials", "ExecPlugin", "Impersonation", "InteractiveMode", "load_config"]

InteractiveMode = Literal["Never", "IfAvailable", "Always"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TLS:
    """How the server proves itself. Without a CA, the certificates that this machine trusts count.

    `ca_data` (PEM) wins over `ca_file`; a file is read again when it changes. `insecure` accepts any certificate and
    cannot be combined with a CA. `server_name` is expected in the certificate, and sent as SNI, instead of the host.
    """

    ca_file: str | None = None
    ca_data: bytes | None = field(default=None, repr=False)
    insecure: bool = False
    server_name: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecPlugin:
    """A command that prints an `ExecCredential`. `cluster_config` is JSON for the plugin, from the cluster's entry."""

    command: str
    # Arguments and variables often carry client secrets: neither is shown.
    args: tuple[str, ...] = field(default=(), repr=False)
    env: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    api_version: str = "client.authentication.k8s.io/v1"
    interactive_mode: InteractiveMode = "IfAvailable"
    provide_cluster_info: bool = False
    cluster_config: bytes | None = field(default=None, repr=False)
    install_hint: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    """How we prove ourselves. Nothing set means anonymous.

    `token_file` is read again and again and wins over `token`, which then only stands in until the file can be read.
    A client certificate needs its key, each from a file or as PEM data, where data wins. `exec` is only used when
    there is no token, password or certificate. `user` is the name in the kubeconfig, for messages.
    """

    token: str | None = field(default=None, repr=False)
    token_file: str | None = None
    certificate_file: str | None = None
    certificate_data: bytes | None = field(default=None, repr=False)
    key_file: str | None = None
    key_data: bytes | None = field(default=None, repr=False)
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    exec: ExecPlugin | None = None
    user: str | None = None

    @property
    def has_certificate(self) -> bool:
        """Whether there is a client certificate, of either form."""
        return self.certificate_file is not None or self.certificate_data is not None

    @property
    def has_basic(self) -> bool:
        """Whether there is a user name with a password."""
        return self.username is not None or self.password is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Impersonation:
    """Whom the server should take us for; needs the permission to impersonate."""

    user: str
    uid: str | None = None
    groups: tuple[str, ...] = ()
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientConfig:
    """A cluster and an identity there.

    `server` is `https://host:port`, perhaps with a path prefix, never with a slash at the end. `proxy` is an http or
    https URL. `context` and `source` only serve messages ("~/.kube/config, context kind", "in-cluster", "arguments").
    """

    server: str
    namespace: str = "default"
    tls: TLS = field(default_factory=TLS)
    credentials: Credentials = field(default_factory=Credentials)
    # A proxy URL may carry a password.
    proxy: str | None = field(default=None, repr=False)
    impersonate: Impersonation | None = None
    context: str | None = None
    source: str = "arguments"
    disable_compression: bool = False

    @property
    def secure(self) -> bool:
        """Whether the connection is encrypted."""
        return self.server.startswith("https:")


def load_config(
    *,
    kubeconfig: str | os.PathLike[str] | None = None,
    context: str | None = None,
    server: str | None = None,
    namespace: str | None = None,
    token: str | None = None,
    token_file: str | os.PathLike[str] | None = None,
    certificate_file: str | os.PathLike[str] | None = None,
    key_file: str | os.PathLike[str] | None = None,
    ca_file: str | os.PathLike[str] | None = None,
    ca_data: bytes | None = None,
    insecure: bool | None = None,
    server_name: str | None = None,
    proxy: str | None = None,
    impersonate_user: str | None = None,
    impersonate_uid: str | None = None,
    impersonate_groups: tuple[str, ...] | list[str] = (),
    impersonate_extra: Mapping[str, tuple[str, ...] | list[str]] | None = None,
    environ: Mapping[str, str] | None = None,
    service_account: str | os.PathLike[str] = "/var/run/secrets/kubernetes.io/serviceaccount",
) -> ClientConfig:
    """Find the cluster, in the order: arguments, `KUBECONFIG`, the pod's service account, `~/.kube/config`."""
    raise NotImplementedError
