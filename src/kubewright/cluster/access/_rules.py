"""Rules of roles: which requests they allow, and whether they cover other rules."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import msgspec

from kubewright.cluster.access._requests import AccessRequest, quoted_list

__all__ = ["EVERYTHING", "Rule", "describe", "uncovered"]

_Strings = tuple[str, ...] | None


class Rule(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, rename={
    "api_groups": "apiGroups",
    "resource_names": "resourceNames",
    "non_resource_urls": "nonResourceURLs",
}):  # fmt: skip
    """One rule of a role. None (null in JSON) means empty."""

    verbs: _Strings = ()
    api_groups: _Strings = ()
    resources: _Strings = ()
    resource_names: _Strings = ()
    non_resource_urls: _Strings = ()

    def allows(self, request: AccessRequest) -> bool:
        """Returns whether this rule allows the request."""
        verbs = self.verbs or ()
        if request.verb not in verbs and "*" not in verbs:
            return False
        if request.path is not None:
            return any(_covers_path(url, request.path) for url in self.non_resource_urls or ())
        groups = self.api_groups or ()
        return (
            (request.group in groups or "*" in groups)
            and _has_resource(self.resources or (), request.combined, request.subresource)
            and (not self.resource_names or request.name in self.resource_names)
        )

    def parts(self) -> Iterator[Rule]:
        """Splits the rule into rules with one verb, one group, one resource and at most one name each."""
        for group in self.api_groups or ():
            for resource in self.resources or ():
                for verb in self.verbs or ():
                    for name in self.resource_names or (None,):
                        names = () if name is None else (name,)
                        yield Rule(verbs=(verb,), api_groups=(group,), resources=(resource,), resource_names=names)
        for url in self.non_resource_urls or ():
            for verb in self.verbs or ():
                yield Rule(verbs=(verb,), non_resource_urls=(url,))

    def covers(self, part: Rule) -> bool:
        """Returns whether this rule allows everything that `part`, one of the `parts` of a rule, allows."""
        return (
            _has_all(self.verbs or (), part.verbs or ())
            and _has_all(self.api_groups or (), part.api_groups or ())
            and all(
                _has_resource(self.resources or (), resource, resource.partition("/")[2])
                for resource in part.resources or ()
            )
            and all(
                any(_covers_path(own, url) for own in self.non_resource_urls or ())
                for url in part.non_resource_urls or ()
            )
            and (not self.resource_names or _within(part.resource_names, self.resource_names))
        )

    def __str__(self) -> str:
        fields = (
            ("APIGroups", self.api_groups),
            ("Resources", self.resources),
            ("NonResourceURLs", self.non_resource_urls),
            ("ResourceNames", self.resource_names),
            ("Verbs", self.verbs),
        )
        return "{" + ", ".join(f"{name}:{quoted_list(strings)}" for name, strings in fields if strings) + "}"


EVERYTHING: Final = (
    Rule(verbs=("*",), api_groups=("*",), resources=("*",)),
    Rule(verbs=("*",), non_resource_urls=("*",)),
)


def uncovered(owned: Sequence[Rule], wanted: Iterable[Rule]) -> list[Rule]:
    """Returns the parts of the wanted rules that the owned rules do not cover."""
    return [part for rule in wanted for part in rule.parts() if not any(own.covers(part) for own in owned)]


def describe(parts: Iterable[Rule]) -> list[str]:
    """Returns the parts as the server prints them, sorted. Parts that differ only in their verbs are merged."""
    together: dict[tuple[object, ...], tuple[str, ...]] = {}
    strings = set()
    for part in parts:
        if part.non_resource_urls:
            strings.add(str(part))
        else:
            key = (part.api_groups, part.resources, part.resource_names)
            together[key] = (*together.get(key, ()), *(part.verbs or ()))
    for (groups, resources, names), verbs in together.items():
        strings.add(str(Rule(verbs=verbs, api_groups=groups, resources=resources, resource_names=names)))  # type: ignore[arg-type]
    return sorted(strings)


def _has_all(strings: tuple[str, ...], wanted: tuple[str, ...]) -> bool:
    return "*" in strings or all(each in strings for each in wanted)


def _within(strings: _Strings, all_of_them: tuple[str, ...]) -> bool:
    return bool(strings) and set(strings or ()) <= set(all_of_them)


def _has_resource(resources: tuple[str, ...], combined: str, subresource: str) -> bool:
    return "*" in resources or combined in resources or (bool(subresource) and f"*/{subresource}" in resources)


def _covers_path(own: str, path: str) -> bool:
    return own == path or (own.endswith("*") and path.startswith(own.rstrip("*")))
