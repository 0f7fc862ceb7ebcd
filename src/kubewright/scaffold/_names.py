"""The names of projects, groups, versions and kinds: checked before anything is written."""

from __future__ import annotations

import keyword
import re
import sys
from typing import Final

__all__ = [
    "ScaffoldError",
    "check_domain",
    "check_group",
    "check_kind",
    "check_name",
    "check_not_standard",
    "check_version",
    "package_of",
]

_LABEL: Final = r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?"
_DOMAIN: Final = re.compile(rf"{_LABEL}(\.{_LABEL})*")
_NAME: Final = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_VERSION: Final = re.compile(r"v[1-9]\d*((alpha|beta)[1-9]\d*)?")
_KIND: Final = re.compile(r"[A-Z][A-Za-z0-9]*")
# The API server asks for an approval of such a group.
_PROTECTED: Final = re.compile(r"(^|\.)(k8s|kubernetes)\.io$")
_LONGEST_NAME: Final = 55
_LONGEST_GROUP: Final = 200
_LONGEST_KIND: Final = 60
# The standard library, also where Python does not count it in, as its own tests.
_STANDARD: Final = sys.stdlib_module_names | {"test"}
# Modules that every project has: a kind of that name would take their place.
_TAKEN: Final = frozenset({"operator", "__init__", "__main__"})
# What the code of a kind, its webhooks and its tests calls other things.
_USED: Final = frozenset({"ctx", "fielderror", "invalid", "iterator", "self"})


class ScaffoldError(Exception):
    """It cannot be scaffolded; the text says why, and what to do."""


def check_name(name: str) -> str:
    """The name of a project, which is that of its operator and, with `_`, of its package."""
    if not _NAME.fullmatch(name) or len(name) > _LONGEST_NAME:
        raise ScaffoldError(
            f"the project's name is lower case letters, digits and '-', begins with a letter and has at most"
            f" {_LONGEST_NAME}, not {name!r}: choose one with --name"
        )
    package_of(name)
    return name


def check_not_standard(name: str) -> None:
    """Refuse the name of a new project whose package would hide a module of Python's standard library."""
    package = package_of(name)
    if package in _STANDARD:
        raise ScaffoldError(
            f"a project cannot be called {name!r}: its package would hide Python's own module {package}, for all"
            " that runs in its folder; choose another name with --name"
        )


def package_of(name: str) -> str:
    """The package of a project of that name."""
    package = name.replace("-", "_")
    if keyword.iskeyword(package) or package in ("kubewright", "tests", "config"):
        raise ScaffoldError(f"a project cannot be called {name!r}: its package could not be imported; use --name")
    return package


def check_domain(domain: str) -> str:
    """What the groups of a project end with."""
    if not _DOMAIN.fullmatch(domain) or "." not in domain or len(domain) > _LONGEST_GROUP:
        raise ScaffoldError(f"the domain is a DNS name such as example.com, in lower case, not {domain!r}")
    if _PROTECTED.search(domain):
        raise ScaffoldError(
            f"groups that end in k8s.io or kubernetes.io are Kubernetes' own, so the domain cannot be {domain!r}: use"
            " one that is yours, such as example.com"
        )
    return domain


def check_group(group: str, domain: str) -> str:
    """A group as it was given, with the domain behind it."""
    if not _DOMAIN.fullmatch(group):
        raise ScaffoldError(f"a group is lower case letters, digits, '-' and '.', such as webapp, not {group!r}")
    whole = group if group == domain or group.endswith(f".{domain}") else f"{group}.{domain}"
    if len(whole) > _LONGEST_GROUP:
        raise ScaffoldError(f"the group {whole} has more than {_LONGEST_GROUP} characters")
    return whole


def check_version(version: str) -> str:
    """A version of an API."""
    if not _VERSION.fullmatch(version):
        raise ScaffoldError(f"a version is v1, v1beta1, v2alpha3 and the like, not {version!r}")
    return version


def check_kind(kind: str) -> str:
    """The name of a kind, which is that of its class and, in lower case, of its module."""
    if not _KIND.fullmatch(kind) or len(kind) > _LONGEST_KIND:
        hint = f"; did you mean {kind[:1].upper()}{kind[1:]}?" if _KIND.fullmatch(kind[:1].upper() + kind[1:]) else ""
        raise ScaffoldError(f"a kind is written in CamelCase, such as Guestbook, not {kind!r}{hint}")
    if kind.lower() in _TAKEN or keyword.iskeyword(kind.lower()) or keyword.iskeyword(kind):
        raise ScaffoldError(f"a kind cannot be called {kind!r}: there could be no module {kind.lower()}.py for it")
    if kind.lower() in _USED:
        raise ScaffoldError(f"a kind cannot be called {kind!r}: the code that is written for it calls other things so")
    return kind
