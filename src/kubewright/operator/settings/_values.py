"""The types of setting values: how each is parsed from a string, and checked when it comes from Python."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

import msgspec

from kubewright.api import SelectorError
from kubewright.arguments import InvalidValue
from kubewright.cache import selector_of
from kubewright.durations import more_than_zero, parse_duration

__all__ = ["InvalidValue", "ValueType"]

T = TypeVar("T")


class ValueType(msgspec.Struct, Generic[T], frozen=True):
    """A type of values. `read` parses a string, `check` validates a Python value; both may raise `InvalidValue`."""

    metavar: str
    check: Callable[[object], T]
    read: Callable[[str], object] = str
    choices: tuple[str, ...] = ()


def _text(given: object) -> str:
    if not isinstance(given, str) or not given.strip():
        raise InvalidValue("a string that is not empty")
    return given.strip()


def _path(given: object) -> str:
    if not isinstance(given, str | os.PathLike) or not os.fspath(given):
        raise InvalidValue("the path of a file")
    return os.fspath(given)


def _folder(given: object) -> str:
    if not isinstance(given, str | os.PathLike) or not os.fspath(given):
        raise InvalidValue("the path of a folder")
    return os.fspath(given)


_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


def _names(given: object) -> tuple[str, ...]:
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise InvalidValue("a list of namespaces, [...]")
    for name in given:
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise InvalidValue("a list of namespace names (lower case letters, digits and '-')")
    return tuple(given)


def _labels(given: object) -> str:
    try:
        selector = selector_of(given)  # type: ignore[arg-type]  # it checks the type
    except (TypeError, SelectorError) as error:
        raise InvalidValue(f'a label selector, such as "team=shop" or {{"team": "shop"}} ({error})') from None
    if selector is None:
        raise InvalidValue('a label selector that selects some namespaces, such as "team=shop"')
    return str(selector)


_NAMES = re.compile(rf"(?=.{{1,253}}$){_NAME.pattern}(\.{_NAME.pattern})*")


def _object_name(given: object) -> str:
    if not isinstance(given, str) or not _NAMES.fullmatch(given.strip()):
        raise InvalidValue("the name of an object: lower case letters, digits, '-' and '.'")
    return given.strip()


def _namespace(given: object) -> str:
    if not isinstance(given, str) or not _NAME.fullmatch(given.strip()):
        raise InvalidValue("the name of a namespace: lower case letters, digits and '-'")
    return given.strip()


_KEY = re.compile(rf"({_NAMES.pattern}/)?[A-Za-z0-9]([A-Za-z0-9._-]{{0,61}}[A-Za-z0-9])?")


def _annotation(given: object) -> str:
    if not isinstance(given, str) or not _KEY.fullmatch(given.strip()):
        raise InvalidValue("the key of an annotation, such as example.com/paused")
    return given.strip()


def _count(given: object) -> int:
    if isinstance(given, bool) or not isinstance(given, int) or given < 1:
        raise InvalidValue("a whole number, at least 1")
    return given


def _whole_number(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise InvalidValue("a whole number, at least 1") from None


def _flag(given: object) -> bool:
    if not isinstance(given, bool):
        raise InvalidValue("true or false")
    return given


_WORDS = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}


def _word(text: str) -> bool:
    try:
        return _WORDS[text.lower()]
    except KeyError:
        raise InvalidValue(f"one of {', '.join(_WORDS)}") from None


_AN_ADDRESS = "an address to listen at, such as 8081, 127.0.0.1:8081, 0.0.0.0:8081, [::]:8081"


def _address(given: object) -> str | None:
    if isinstance(given, int) and not isinstance(given, bool):
        given = str(given)  # a port without a host
    if given in ("", "0"):
        return None  # disables the server, as in controller-runtime
    if not isinstance(given, str):
        raise InvalidValue(_AN_ADDRESS)
    split_address(given)
    return given.strip()


def _address_or_off(given: object) -> str:
    return _address(given) or "0"


def split_address(text: str) -> tuple[str, int]:
    """Returns host and port. The default host is loopback: other machines get access only if the user asks for it."""
    host, _, port = text.strip().rpartition(":")
    if not re.fullmatch(r"[0-9]{1,5}", port) or not int(port) < 65536:
        raise InvalidValue(_AN_ADDRESS)
    bracketed = re.fullmatch(r"\[([0-9a-fA-F:.%]+)\]", host)
    if bracketed:
        return bracketed[1], int(port)
    if not re.fullmatch(r"[A-Za-z0-9.-]*", host):
        raise InvalidValue(_AN_ADDRESS)
    return host or "127.0.0.1", int(port)


def _https_url(given: object) -> str:
    if not isinstance(given, str) or not re.fullmatch(r"https://[^\s/?#@]+(/[^\s?#]*)?", given.strip()):
        raise InvalidValue("a URL that starts with https:// and has neither user nor query")
    return given.strip().rstrip("/")


def _one_of(*words: str) -> Callable[[object], str]:
    def check(given: object) -> str:
        if not isinstance(given, str) or given.lower() not in words:
            raise InvalidValue(f"one of {', '.join(words)}")
        return given.lower()

    return check


LEVELS = ("debug", "info", "warning", "error")
FORMATS = ("pretty", "json")
EVENT_VERSIONS = ("events.k8s.io/v1", "v1")
CERTIFICATES = ("self-managed", "cert-manager", "olm", "files")

text = ValueType("TEXT", _text)
path = ValueType("FILE", _path)
folder = ValueType("FOLDER", _folder)
names = ValueType("NAME", _names, lambda given: [name for name in re.split(r"[,\s]+", given) if name])
labels = ValueType("SELECTOR", _labels)
object_name = ValueType("NAME", _object_name)
namespace = ValueType("NAME", _namespace)
annotation = ValueType("KEY", _annotation)
count = ValueType("NUMBER", _count, _whole_number)
switch = ValueType("BOOLEAN", _flag, _word)
duration = ValueType("TIME", more_than_zero)
duration_or_zero = ValueType("TIME", parse_duration)
duration_or_never: ValueType[float | None] = ValueType("TIME", lambda given: parse_duration(given) or None)
address = ValueType("ADDRESS", _address)
address_or_off = ValueType("ADDRESS", _address_or_off)
https_url = ValueType("URL", _https_url)
log_level = ValueType("LEVEL", _one_of(*LEVELS), choices=LEVELS)
log_format = ValueType("FORMAT", _one_of(*FORMATS), choices=FORMATS)
event_version = ValueType("VERSION", _one_of(*EVENT_VERSIONS), choices=EVENT_VERSIONS)
certificates = ValueType("SOURCE", _one_of(*CERTIFICATES), choices=CERTIFICATES)
