"""Checks the names of projects, groups, versions and kinds before anything is written."""

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
# The API server requires an approval annotation for these groups.
_PROTECTED: Final = re.compile(r"(^|\.)(k8s|kubernetes)\.io$")
_LONGEST_NAME: Final = 55
_LONGEST_GROUP: Final = 200
_LONGEST_KIND: Final = 60
# The standard library, including its tests, which Python does not list.
_STANDARD: Final = sys.stdlib_module_names | {"test"}
# Modules that every project has, which a kind must not replace.
_TAKEN: Final = frozenset({"operator", "__init__", "__main__"})
# Names that the code of a kind, its webhooks and its tests uses otherwise.
_USED: Final = frozenset({"ctx", "fielderror", "invalid", "iterator", "self"})


class ScaffoldError(Exception):
    """A project, kind or webhook cannot be scaffolded. The message has the reason and the fix."""


def check_name(name: str) -> str:
    """Checks the name of a project. Its operator has the same name; its package has `_` for `-`."""
    if not _NAME.fullmatch(name) or len(name) > _LONGEST_NAME:
        raise ScaffoldError(
            "the project's name must be lower case letters, digits and '-', begin with a letter and have at most"
            f" {_LONGEST_NAME} characters, not {name!r}: choose one with --name"
        )
    package_of(name)
    return name


def check_not_standard(name: str) -> None:
    """Rejects the name of a new project whose package would hide a module of the standard library."""
    package = package_of(name)
    if package in _STANDARD:
        raise ScaffoldError(
            f"a project cannot be called {name!r}: its package would hide the standard library's module {package} for"
            " programs in its folder; choose another name with --name"
        )


def package_of(name: str) -> str:
    """Returns the package of a project."""
    package = name.replace("-", "_")
    if keyword.iskeyword(package) or package in ("kubewright", "tests", "config"):
        raise ScaffoldError(f"a project cannot be called {name!r}: its package could not be imported; use --name")
    return package


def check_domain(domain: str) -> str:
    """Checks the suffix of a project's groups."""
    if not _DOMAIN.fullmatch(domain) or "." not in domain or len(domain) > _LONGEST_GROUP:
        raise ScaffoldError(f"the domain must be a DNS name in lower case, such as example.com, not {domain!r}")
    if _PROTECTED.search(domain):
        raise ScaffoldError(
            "groups that end in k8s.io or kubernetes.io are reserved for Kubernetes, so the domain cannot be"
            f" {domain!r}: use your own, such as example.com"
        )
    return domain


def check_group(group: str, domain: str) -> str:
    """Returns a group with the domain."""
    if not _DOMAIN.fullmatch(group):
        raise ScaffoldError(f"a group must be lower case letters, digits, '-' and '.', such as webapp, not {group!r}")
    whole = group if group == domain or group.endswith(f".{domain}") else f"{group}.{domain}"
    if len(whole) > _LONGEST_GROUP:
        raise ScaffoldError(f"the group {whole} has more than {_LONGEST_GROUP} characters")
    return whole


def check_version(version: str) -> str:
    """Checks an API version."""
    if not _VERSION.fullmatch(version):
        raise ScaffoldError(f"a version must be like v1, v1beta1 or v2alpha3, not {version!r}")
    return version


def check_kind(kind: str) -> str:
    """Checks the name of a kind. Its class has the same name, its module the name in lower case."""
    if not _KIND.fullmatch(kind) or len(kind) > _LONGEST_KIND:
        hint = f"; did you mean {kind[:1].upper()}{kind[1:]}?" if _KIND.fullmatch(kind[:1].upper() + kind[1:]) else ""
        raise ScaffoldError(f"a kind must be in CamelCase, such as Guestbook, not {kind!r}{hint}")
    if kind.lower() in _TAKEN or keyword.iskeyword(kind.lower()) or keyword.iskeyword(kind):
        raise ScaffoldError(f"a kind cannot be called {kind!r}: its module {kind.lower()}.py would not work")
    if kind.lower() in _USED:
        raise ScaffoldError(f"a kind cannot be called {kind!r}: the generated code uses that name for something else")
    return kind
