"""Rules for definitions, apart from schemas: names, versions, columns, conversion."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from kubewright.olm._problems import Problem, problem
from kubewright.olm._read import Bundle

__all__ = ["check_definitions"]

_API: Final = "apiextensions.k8s.io/v1"
_LABEL: Final = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")
_GROUP: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)+")
_COLUMNS: Final = ("integer", "number", "string", "boolean", "date")
_APPROVAL: Final = "api-approved.kubernetes.io"


def check_definitions(bundle: Bundle) -> Iterator[Problem]:
    """Returns the problems for which a cluster rejects a definition."""
    for path, definition in bundle.of_kind("CustomResourceDefinition"):
        yield from _Check(path, definition).all()


class _Check:
    def __init__(self, file: str, definition: Mapping[str, Any]) -> None:
        self.file, self.definition = file, definition
        self.spec = _mapping(definition.get("spec"))
        self.names = _mapping(self.spec.get("names"))
        self.versions = [_mapping(one) for one in _elements(self.spec.get("versions"))]

    def say(self, field: str, message: str, advice: str) -> Problem:
        return problem("error", self.file, message, advice, field=field, check="crd")

    def all(self) -> Iterator[Problem]:
        if self.definition.get("apiVersion") != _API:
            yield self.say("apiVersion", f"{self.definition.get('apiVersion')!r} is not supported", f"use {_API}")
            return
        yield from self.check_names()
        yield from self.check_versions()
        yield from self.check_conversion()
        yield from self.check_approval()

    def check_names(self) -> Iterator[Problem]:
        group, plural, kind = self.spec.get("group") or "", self.names.get("plural") or "", self.names.get("kind") or ""
        name = _mapping(self.definition.get("metadata")).get("name") or ""
        if name != f"{plural}.{group}":
            yield self.say("metadata.name", f"it is {name!r}", f"it must be plural and group: {plural}.{group}")
        if not _GROUP.fullmatch(group):
            yield self.say("spec.group", f"{group!r} is not a domain", "use one such as example.com")
        if self.spec.get("scope") not in ("Namespaced", "Cluster"):
            yield self.say("spec.scope", f"it is {self.spec.get('scope')!r}", "set Namespaced or Cluster")
        listed = self.names.get("listKind") or f"{kind}List"
        singular = self.names.get("singular") or kind.lower()
        for field, value in (("plural", plural), ("singular", singular), ("kind", kind), ("listKind", listed)):
            text = value if field in ("plural", "singular") else value.lower()
            if not _LABEL.fullmatch(text):
                yield self.say(f"spec.names.{field}", f"{value!r} is not a valid name", "use letters and digits")
        if kind and listed == kind:
            yield self.say("spec.names.listKind", "it is the kind itself", f"set {kind}List")
        for field in ("shortNames", "categories"):
            for value in _elements(self.names.get(field)):
                if not _LABEL.fullmatch(str(value)):
                    yield self.say(f"spec.names.{field}", f"{value!r} is not a valid name", "use lower case letters")

    def check_versions(self) -> Iterator[Problem]:
        names = [one.get("name") or "" for one in self.versions]
        if not names:
            yield self.say("spec.versions", "there are none", "add at least one")
            return
        for number, version in enumerate(self.versions):
            field = f"spec.versions[{number}]"
            if not _LABEL.fullmatch(names[number]):
                yield self.say(f"{field}.name", f"{names[number]!r} is not a valid name", "use one such as v1alpha1")
            if names.index(names[number]) < number:
                yield self.say(f"{field}.name", f"{names[number]} is listed twice", "remove one of them")
            if version.get("deprecationWarning") and not version.get("deprecated"):
                yield self.say(f"{field}.deprecationWarning", "the version is not deprecated", "set deprecated: true")
            yield from self.check_columns(field, version)
        stored = sum(bool(one.get("storage")) for one in self.versions)
        if stored != 1:
            yield self.say("spec.versions", f"{stored} versions are stored", "set storage: true for exactly one")

    def check_columns(self, field: str, version: Mapping[str, Any]) -> Iterator[Problem]:
        for number, one in enumerate(_elements(version.get("additionalPrinterColumns"))):
            column, where = _mapping(one), f"{field}.additionalPrinterColumns[{number}]"
            if not column.get("name"):
                yield self.say(f"{where}.name", "it is missing", "set the header of the column")
            if column.get("type") not in _COLUMNS:
                yield self.say(f"{where}.type", f"it is {column.get('type')!r}", f"set one of {', '.join(_COLUMNS)}")
            if not str(column.get("jsonPath") or "").startswith("."):
                yield self.say(f"{where}.jsonPath", "it is not a path", "use one such as .spec.size")

    def check_conversion(self) -> Iterator[Problem]:
        conversion = _mapping(self.spec.get("conversion"))
        strategy = conversion.get("strategy") or ("None" if not conversion else "")
        webhook = _mapping(conversion.get("webhook"))
        if strategy not in ("None", "Webhook"):
            yield self.say("spec.conversion.strategy", f"it is {strategy!r}", "set None or Webhook")
        if strategy == "None" and webhook:
            yield self.say("spec.conversion.webhook", "nothing calls it", "set strategy: Webhook, or remove it")
        if strategy == "Webhook":
            if not _mapping(webhook.get("clientConfig")):
                field = "spec.conversion.webhook.clientConfig"
                yield self.say(field, "it is missing", "name the Service that converts")
            if "v1" not in _elements(webhook.get("conversionReviewVersions")):
                field = "spec.conversion.webhook.conversionReviewVersions"
                yield self.say(field, "v1 is not among them", "say [v1]")

    def check_approval(self) -> Iterator[Problem]:
        group = str(self.spec.get("group") or "")
        protected = group in ("k8s.io", "kubernetes.io") or group.endswith((".k8s.io", ".kubernetes.io"))
        said = _mapping(_mapping(self.definition.get("metadata")).get("annotations")).get(_APPROVAL)
        if protected and not (str(said or "").startswith(("unapproved", "https://"))):
            field = f"metadata.annotations[{_APPROVAL}]"
            yield self.say(
                field, f"the group {group} is reserved for Kubernetes", "use another group, or set 'unapproved, ...'"
            )


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _elements(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
