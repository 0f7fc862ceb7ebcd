"""Rules of roles: what they allow, and whether some rules cover others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import msgspec

from kubewright.cluster.access._questions import Question, quoted_list

__all__ = ["EVERYTHING", "Rule", "described", "uncovered"]

_Texts = tuple[str, ...] | None


class Rule(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, rename={
    "api_groups": "apiGroups",
    "resource_names": "resourceNames",
    "non_resource_urls": "nonResourceURLs",
}):  # fmt: skip
    """One rule of a role. None, where JSON says null, is as good as empty."""

    verbs: _Texts = ()
    api_groups: _Texts = ()
    resources: _Texts = ()
    resource_names: _Texts = ()
    non_resource_urls: _Texts = ()

    def allows(self, question: Question) -> bool:
        """Whether this rule, where it applies, says yes."""
        verbs = self.verbs or ()
        if question.verb not in verbs and "*" not in verbs:
            return False
        if question.path is not None:
            return any(_covers_path(url, question.path) for url in self.non_resource_urls or ())
        groups = self.api_groups or ()
        return (
            (question.group in groups or "*" in groups)
            and _has_resource(self.resources or (), question.combined, question.subresource)
            and (not self.resource_names or question.name in self.resource_names)
        )

    def parts(self) -> Iterator[Rule]:
        """The same in rules with one verb, one group, one resource and at most one name each."""
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
        """Whether everything that one of the `parts` of a rule allows is allowed by this one."""
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
        return "{" + ", ".join(f"{name}:{quoted_list(texts)}" for name, texts in fields if texts) + "}"


EVERYTHING: Final = (
    Rule(verbs=("*",), api_groups=("*",), resources=("*",)),
    Rule(verbs=("*",), non_resource_urls=("*",)),
)


def uncovered(owned: Sequence[Rule], wanted: Iterable[Rule]) -> list[Rule]:
    """Which parts of the wanted rules the owned ones do not cover."""
    return [part for rule in wanted for part in rule.parts() if not any(own.covers(part) for own in owned)]


def described(parts: Iterable[Rule]) -> list[str]:
    """Parts of rules in the server's words, in order: those that differ only in their verbs are one."""
    together: dict[tuple[object, ...], tuple[str, ...]] = {}
    texts = set()
    for part in parts:
        if part.non_resource_urls:
            texts.add(str(part))
        else:
            key = (part.api_groups, part.resources, part.resource_names)
            together[key] = (*together.get(key, ()), *(part.verbs or ()))
    for (groups, resources, names), verbs in together.items():
        texts.add(str(Rule(verbs=verbs, api_groups=groups, resources=resources, resource_names=names)))  # type: ignore[arg-type]
    return sorted(texts)


def _has_all(texts: tuple[str, ...], wanted: tuple[str, ...]) -> bool:
    return "*" in texts or all(text in texts for text in wanted)


def _within(texts: _Texts, all_of_them: tuple[str, ...]) -> bool:
    return bool(texts) and set(texts or ()) <= set(all_of_them)


def _has_resource(resources: tuple[str, ...], combined: str, subresource: str) -> bool:
    return "*" in resources or combined in resources or (bool(subresource) and f"*/{subresource}" in resources)


def _covers_path(own: str, path: str) -> bool:
    return own == path or (own.endswith("*") and path.startswith(own.rstrip("*")))
