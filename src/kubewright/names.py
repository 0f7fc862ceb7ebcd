"""Validates names as the API server does, with its messages."""

from __future__ import annotations

import re
from typing import Final

__all__ = [
    "label_1035_problems",
    "label_problems",
    "label_value_problems",
    "path_segment_problems",
    "qualified_name_problems",
    "subdomain_problems",
]

_LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_LABEL_1035: Final = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_SUBDOMAIN: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_QUALIFIED: Final = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
_LABEL_VALUE: Final = re.compile(r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?")

_SUBDOMAIN_RULE: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
_LABEL_RULE: Final = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
    "an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
_LABEL_1035_RULE: Final = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
    "'[a-z]([-a-z0-9]*[a-z0-9])?')"
)
_QUALIFIED_RULE: Final = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character "
    "(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
_LABEL_VALUE_RULE: Final = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)


def _longer_than(text: str, most: int, unit: str = "bytes") -> list[str]:
    return [f"must be no more than {most} {unit}"] if len(text.encode()) > most else []


def subdomain_problems(name: str) -> list[str]:
    """Returns the problems of a DNS subdomain, the form of most names."""
    found = _longer_than(name, 253, "characters")
    return found if _SUBDOMAIN.fullmatch(name) else [*found, _SUBDOMAIN_RULE]


def label_problems(name: str) -> list[str]:
    """Returns the problems of a DNS label, the form of names of namespaces and Services."""
    found = _longer_than(name, 63, "characters")
    if _LABEL.fullmatch(name):
        return found
    return [*found, "must not contain dots" if _SUBDOMAIN.fullmatch(name) else _LABEL_RULE]


def label_1035_problems(name: str) -> list[str]:
    """Returns the problems of a DNS-1035 label, which starts with a letter."""
    found = _longer_than(name, 63, "characters")
    return found if _LABEL_1035.fullmatch(name) else [*found, _LABEL_1035_RULE]


def path_segment_problems(name: str) -> list[str]:
    """Returns the problems of a path segment, the form of names of roles."""
    if name in (".", ".."):
        return [f"may not be '{name}'"]
    return [f"may not contain '{part}'" for part in ("/", "%") if part in name]


def qualified_name_problems(name: str) -> list[str]:
    """Returns the problems of a qualified name, the form of label keys, annotation keys and finalizers."""
    prefix, slash, last = name.rpartition("/")
    if "/" in prefix:
        text = "a valid label key " + _QUALIFIED_RULE
        return [text + " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"]
    found = []
    if slash:
        if not prefix:
            found.append("prefix part must be non-empty")
        else:
            found += [f"prefix part {problem}" for problem in subdomain_problems(prefix)]
    if not last:
        found.append("name part must be non-empty")
    else:
        found += [f"name part {problem}" for problem in _longer_than(last, 63)]
    if not _QUALIFIED.fullmatch(last):
        found.append("name part " + _QUALIFIED_RULE)
    return found


def label_value_problems(value: str) -> list[str]:
    """Returns the problems of a label value."""
    found = _longer_than(value, 63)
    return found if _LABEL_VALUE.fullmatch(value) else [*found, _LABEL_VALUE_RULE]
