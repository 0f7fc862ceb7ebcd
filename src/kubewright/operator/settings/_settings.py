"""The settings of a running operator, defined once.

Each field of `Settings` is an argument of `Operator`, `operator.run` and `operator.running`, an environment variable
(`KUBEWRIGHT_` and the name in capitals) and a flag of `kubewright run`. The flag wins over the variable, the variable
over the argument of `Operator`, and that over the default.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypedDict

import msgspec

from kubewright.arguments import unknown_name
from kubewright.controller.registration import DEFAULT_CONCURRENCY
from kubewright.durations import Duration
from kubewright.operator.settings import _values as values
from kubewright.suggestions import nearest

__all__ = [
    "SETTINGS",
    "Duration",
    "Options",
    "Setting",
    "SettingError",
    "Settings",
    "check_options",
    "from_environment",
]

PREFIX = "KUBEWRIGHT_"


class SettingError(ValueError):
    """A setting has a value that cannot be. The text names the setting where it was given, and what is valid."""


_described: list[tuple[values.Kind[Any], str, tuple[str, ...]]] = []  # the fields of `Settings`, one after the other


def _setting(kind: values.Kind[Any], default: Any, help_: str, *flags: str) -> Any:
    _described.append((kind, help_, flags))
    return default


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """How one run of an operator goes, with every value known and checked."""

    kubeconfig: str | None = _setting(
        values.path, None, "The file that names the cluster; otherwise KUBECONFIG, the pod, ~/.kube/config."
    )
    context: str | None = _setting(values.text, None, "The context in the kubeconfig.")
    server: str | None = _setting(
        values.text,
        None,
        "The API server's address, in place of the one in --kubeconfig; without that, no kubeconfig is read.",
        "--master",
        "--server",
    )
    namespaces: tuple[str, ...] = _setting(
        values.names, (), "Look at this namespace only. May be given several times.", "-n", "--namespace"
    )
    concurrency: int = _setting(
        values.count, DEFAULT_CONCURRENCY, "Reconciles at a time, of each controller that does not say otherwise."
    )
    resync: float | None = _setting(
        values.duration_or_never,
        None,
        "Reconcile every object again after this time, where a controller does not say otherwise; 0 is never.",
    )
    leader_elect: bool | None = _setting(
        values.switch, None, "Work only while this replica leads. Unless said, so it is in a pod and nowhere else."
    )
    lease_name: str | None = _setting(
        values.object_name, None, "The Lease to stand for; the operator's name unless given."
    )
    lease_namespace: str | None = _setting(
        values.namespace, None, "The namespace of the Lease; the pod's unless given."
    )
    lease_duration: float = _setting(values.duration, 15.0, "How long standbys wait after the last renewal they saw.")
    renew_deadline: float = _setting(values.duration, 10.0, "How long the leader trusts a renewal.")
    retry_period: float = _setting(values.duration, 2.0, "The time between two renewals.")
    metrics_bind: str | None = _setting(
        values.address, None, "Serve /metrics at this address; not served unless given. A port alone is on loopback."
    )
    metrics_secure: bool | None = _setting(
        values.switch,
        None,
        "Serve /metrics over HTTPS, to clients that the API server authorizes. Default: unless it is on loopback.",
    )
    metrics_cert_path: str | None = _setting(
        values.folder,
        None,
        "The folder of tls.crt and tls.key for HTTPS of /metrics. Default: a self-signed certificate in memory.",
    )
    health_bind: str | None = _setting(
        values.address,
        None,
        "Serve /healthz and /readyz at this address; not served unless given. A port alone is on loopback.",
    )
    debug_pages: bool | None = _setting(
        values.switch,
        None,
        "Serve /debug/kubewright with the other pages: on loopback, and where /metrics is secure. Default: loopback.",
    )
    tracing: bool | None = _setting(
        values.switch,
        None,
        "Make OpenTelemetry spans. Unless said, so it is when the program has loaded OpenTelemetry's SDK.",
    )
    event_version: str = _setting(
        values.event_version, "events.k8s.io/v1", "The API in which events are written; v1 is the older one."
    )
    webhook_bind: str | None = _setting(
        values.address_or_off,
        None,
        "Serve the webhooks at this address, if there are any; 127.0.0.1:9443 unless given, and nowhere with 0.",
    )
    webhook_client_ca: str | None = _setting(
        values.path, None, "A file of CAs: webhooks then answer only clients with a certificate that one has signed."
    )
    webhook_url: str | None = _setting(
        values.https_url,
        None,
        "Where the API server reaches the webhooks of this machine; they are then told to it for this run.",
    )
    webhook_certificates: str = _setting(
        values.certificates,
        "self-managed",
        "Where the certificate of the webhooks comes from: self-managed, cert-manager, olm or files.",
    )
    webhook_folder: str | None = _setting(
        values.folder,
        None,
        "The folder of tls.crt and tls.key, where the certificate of the webhooks comes from files.",
    )
    webhook_secret: str | None = _setting(
        values.text,
        None,
        "The Secret of a self-managed certificate; the operator's name and -webhook-certificate unless given.",
    )
    webhook_service: str | None = _setting(
        values.text, None, "The Service in front of the webhooks; the operator's name and -webhook unless given."
    )
    grace: float = _setting(
        values.duration_or_zero, 30.0, "The time that running reconciles have to finish when the operator stops."
    )
    sync_timeout: float = _setting(values.duration, 120.0, "The time that the caches have to fill at the start.")
    install_crds: bool | None = _setting(
        values.switch,
        None,
        "Define its kinds in the cluster at the start. Unless said, it does not.",
    )
    install_timeout: float = _setting(
        values.duration, 30.0, "The time that the server has to serve what is defined so."
    )
    log_level: str | None = _setting(values.log_level, None, "What is logged; info unless given.")
    log_format: str | None = _setting(
        values.log_format, None, "How it is logged; pretty on a terminal and json elsewhere, unless given."
    )


class Options(TypedDict, total=False):
    """The settings as arguments. See `Settings` for what each means."""

    kubeconfig: str | os.PathLike[str] | None
    context: str | None
    server: str | None
    namespaces: Sequence[str]
    concurrency: int
    resync: Duration | None
    leader_elect: bool | None
    lease_name: str | None
    lease_namespace: str | None
    lease_duration: Duration
    renew_deadline: Duration
    retry_period: Duration
    metrics_bind: str | int | None
    metrics_secure: bool | None
    metrics_cert_path: str | os.PathLike[str] | None
    health_bind: str | int | None
    debug_pages: bool | None
    tracing: bool | None
    event_version: str
    webhook_bind: str | int | None
    webhook_client_ca: str | os.PathLike[str] | None
    webhook_url: str | None
    webhook_certificates: str
    webhook_folder: str | os.PathLike[str] | None
    webhook_secret: str | None
    webhook_service: str | None
    grace: Duration
    sync_timeout: Duration
    install_crds: bool | None
    install_timeout: Duration
    log_level: str | None
    log_format: str | None


class Setting(msgspec.Struct, frozen=True):
    """One row of the table."""

    name: str
    kind: values.Kind[Any]
    default: Any
    help: str
    flags: tuple[str, ...]

    @property
    def variable(self) -> str:
        """The environment variable."""
        return PREFIX + self.name.upper()

    @property
    def repeatable(self) -> bool:
        """Whether the flag may be given several times."""
        return self.kind is values.names

    @property
    def is_switch(self) -> bool:
        """Whether the value is true or false, so that the flag takes none."""
        return self.kind is values.switch

    def check(self, given: object, where: str) -> Any:
        """A value that was given in Python, as the run will use it."""
        if given is None and self.default is None:
            return None
        return self._valid(self.kind.check, given, where)

    def read(self, text: str, where: str) -> Any:
        """A value that was given as a text: a flag, or an environment variable."""
        return self.check(self._valid(self.kind.read, text, where), where)

    def _valid(self, convert: Callable[[Any], Any], given: object, where: str) -> Any:
        try:
            return convert(given)
        except values.Unsuitable as error:
            # A flag that may be given several times comes as a tuple, which nobody wrote.
            shown = ", ".join(map(repr, given)) if isinstance(given, tuple) else repr(given)
            raise SettingError(f"{where} is {error}, not {shown}") from None


SETTINGS: Mapping[str, Setting] = {
    name: Setting(name, kind, default, help_, flags or (f"--{name.replace('_', '-')}",))
    for name, default, (kind, help_, flags) in zip(
        Settings.__struct_fields__, Settings.__struct_defaults__, _described, strict=True
    )
}


def check_options(where: str, options: Mapping[str, object]) -> dict[str, Any]:
    """Arguments as a run will use them. A name that does not exist is a `TypeError` that lists those that do."""
    checked = {}
    for name, given in options.items():
        if name not in SETTINGS:
            raise TypeError(unknown_name(where, name, SETTINGS))
        checked[name] = SETTINGS[name].check(given, name)
    return checked


def from_environment(environ: Mapping[str, str]) -> dict[str, Any]:
    """What the variables say. One that is empty says nothing."""
    return {
        name: setting.read(text, setting.variable)
        for name, setting in SETTINGS.items()
        if (text := environ.get(setting.variable, "").strip())
    }


def misspelled(environ: Mapping[str, str]) -> list[tuple[str, str]]:
    """Variables that are none of ours but look like one, each with the one that it looks like.

    Not an error: Kubernetes itself makes `KUBEWRIGHT_PORT` and others of a Service that is called kubewright.
    """
    known = {setting.variable for setting in SETTINGS.values()}
    strangers = [name for name in environ if name.startswith(PREFIX) and name not in known]
    return [(name, meant) for name in strangers if (meant := nearest(name, known, likeness=0.85))]
