"""The Pod Security Standards: the checks of each level and version, and the policy that a namespace's labels set."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Final, NamedTuple

from kubewright.cluster.machinery._field_errors import FieldError, invalid
from kubewright.cluster.machinery._resources import JSONObject
from kubewright.cluster.pod_security import _checks as checks

__all__ = ["LEVELS", "PREFIX", "Level", "Policy", "detail", "policy_of", "violations"]

PREFIX: Final = "pod-security.kubernetes.io/"
LEVELS: Final = ("privileged", "baseline", "restricted")
"""The levels, from the least to the most strict."""

_LATEST: Final = "latest"
_VERSION: Final = re.compile(r"v1\.(0|[1-9][0-9]{0,17})", re.ASCII)
_NEWEST: Final = 35
"""The last minor release in which a check changed."""

_SYSCTLS_0: Final = (
    "kernel.shm_rmid_forced",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.tcp_syncookies",
    "net.ipv4.ping_group_range",
    "net.ipv4.ip_unprivileged_port_start",
)
_SYSCTLS_27: Final = (*_SYSCTLS_0, "net.ipv4.ip_local_reserved_ports")
_SYSCTLS_29: Final = (
    *_SYSCTLS_27,
    *(f"net.ipv4.tcp_{name}" for name in ("keepalive_time", "fin_timeout", "keepalive_intvl", "keepalive_probes")),
)
_SYSCTLS_32: Final = (*_SYSCTLS_29, "net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem")
_TYPES: Final = ("container_t", "container_init_t", "container_kvm_t")

# By name: the check since each minor release. The order is that of the real server's messages.
_BASELINE: Final[dict[str, dict[int, checks.Check]]] = {
    "appArmorProfile": {0: checks.app_armor},
    "capabilities_baseline": {0: checks.baseline_capabilities},
    "hostNamespaces": {0: checks.host_namespaces},
    "hostPathVolumes": {0: checks.host_paths},
    "hostPorts": {0: checks.host_ports},
    "hostProbesAndHostLifecycle": {34: checks.host_probes},
    "privileged": {0: checks.privileged},
    "procMount": {0: checks.proc_mount, 35: checks.unless_user_namespace(checks.proc_mount)},
    "seLinuxOptions": {0: checks.se_linux(*_TYPES), 31: checks.se_linux(*_TYPES, "container_engine_t")},
    "seccompProfile_baseline": {0: checks.seccomp_annotations, 19: checks.baseline_seccomp},
    "sysctls": {
        0: checks.sysctls(*_SYSCTLS_0),
        27: checks.sysctls(*_SYSCTLS_27),
        29: checks.sysctls(*_SYSCTLS_29),
        32: checks.sysctls(*_SYSCTLS_32),
    },
    "windowsHostProcess": {0: checks.host_process},
}
_RESTRICTED: Final[dict[str, dict[int, checks.Check]]] = {
    "allowPrivilegeEscalation": {8: checks.no_escalation, 25: checks.unless_windows(checks.no_escalation)},
    "capabilities_restricted": {
        22: checks.restricted_capabilities,
        25: checks.unless_windows(checks.restricted_capabilities),
    },
    "procMount_restricted": {35: checks.proc_mount},
    "restrictedVolumes": {0: checks.restricted_volumes},
    "runAsNonRoot": {0: checks.run_as_non_root, 35: checks.unless_user_namespace(checks.run_as_non_root)},
    "runAsUser": {23: checks.run_as_user, 35: checks.unless_user_namespace(checks.run_as_user)},
    "seccompProfile_restricted": {19: checks.restricted_seccomp, 25: checks.unless_windows(checks.restricted_seccomp)},
}
_INSTEAD_OF: Final = {
    "capabilities_restricted": "capabilities_baseline",
    "procMount_restricted": "procMount",
    "restrictedVolumes": "hostPathVolumes",
    "seccompProfile_restricted": "seccompProfile_baseline",
}
"""Restricted checks that replace a baseline check."""


class Level(NamedTuple):
    """A level of the standards, in a version."""

    name: str = "privileged"
    version: str = _LATEST

    def __str__(self) -> str:
        return f"{self.name}:{self.version}"

    @property
    def strictness(self) -> int:
        """Returns the position in `LEVELS`."""
        return LEVELS.index(self.name)


class Policy(NamedTuple):
    """The levels of a namespace."""

    enforce: Level = Level()
    audit: Level = Level()
    warn: Level = Level()


def policy_of(labels: Mapping[str, str]) -> tuple[Policy, list[FieldError]]:
    """Returns the policy that labels set, and the problems of invalid ones. An invalid level enforces `restricted`."""
    errors: list[FieldError] = []
    found = {mode: _level(labels, mode, errors) for mode in ("enforce", "audit", "warn")}
    enforce, warn = found["enforce"], found["warn"]
    valid = labels.get(f"{PREFIX}enforce") in LEVELS
    if f"{PREFIX}warn" not in labels and valid and enforce.strictness > warn.strictness:
        given = f"{PREFIX}warn-version" in labels
        found["warn"] = Level(enforce.name, warn.version if given else enforce.version)
    return Policy(**found), errors


def _level(labels: Mapping[str, str], mode: str, errors: list[FieldError]) -> Level:
    name, version = labels.get(f"{PREFIX}{mode}", LEVELS[0]), labels.get(f"{PREFIX}{mode}-version", _LATEST)
    if name not in LEVELS:
        errors.append(invalid(_label(mode), name, f"must be one of {', '.join(LEVELS)}"))
        name = LEVELS[-1] if mode == "enforce" else LEVELS[0]
    if version != _LATEST and not _VERSION.fullmatch(version):
        errors.append(invalid(_label(f"{mode}-version"), version, 'must be "latest" or "v1.x"'))
        version = _LATEST
    return Level(name, version)


def _label(name: str) -> str:
    return f"metadata.labels[{PREFIX}{name}]"


def violations(level: Level, metadata: JSONObject, spec: JSONObject) -> list[checks.Violation]:
    """Returns how a pod violates a level."""
    if level.name == LEVELS[0]:
        return []
    minor = _NEWEST if level.version == _LATEST else min(int(level.version.removeprefix("v1.")), _NEWEST)
    found = (check(metadata, spec) for check in _checks(level.name, minor))
    return [violation for violation in found if violation is not None]


def detail(found: list[checks.Violation]) -> str:
    """Returns the violations as one string."""
    return ", ".join(f"{each.reason} ({each.detail})" if each.detail else each.reason for each in found)


@cache
def _checks(level: str, minor: int) -> tuple[checks.Check, ...]:
    """Returns the checks of a level in a minor release. The cache is bounded: two levels, `_NEWEST` releases."""
    return tuple(_chosen(level, minor))


def _chosen(level: str, minor: int) -> Iterator[checks.Check]:
    restricted = _of_release(_RESTRICTED, minor) if level == LEVELS[-1] else {}
    replaced = {_INSTEAD_OF.get(name) for name in restricted}
    yield from (check for name, check in _of_release(_BASELINE, minor).items() if name not in replaced)
    yield from restricted.values()


def _of_release(table: Mapping[str, Mapping[int, checks.Check]], minor: int) -> dict[str, checks.Check]:
    chosen = {}
    for name, versions in table.items():
        if known := [first for first in versions if first <= minor]:
            chosen[name] = versions[max(known)]
    return chosen
