"""Declarations of the webhooks that a program serves.

The configurations of the API server are built from them. The declarations of an operator's handlers are derived;
webhooks that a program serves by other means can be declared explicitly.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, Literal, TypeAlias

import msgspec

from kubewright.api import Object, admissionregistration, info_of, meta

__all__ = ["ConversionDeclaration", "RuleOperation", "WebhookDeclaration", "rule_for"]

RuleOperation: TypeAlias = Literal["CREATE", "UPDATE", "DELETE", "CONNECT", "*"]

_PATH: Final = re.compile(r"(/[A-Za-z0-9._~-]+)+")
_LABEL: Final = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_QUALIFIED: Final = re.compile(rf"{_LABEL}(\.{_LABEL}){{2,}}")
_LONGEST_TIMEOUT: Final = 30


class WebhookDeclaration(msgspec.Struct, frozen=True, kw_only=True):
    """An admission webhook. Raises ValueError for values that the API server would reject.

    Args:
        name: a qualified name, at least three parts: `validate.foos.example.com`.
        path: the path of the webhook: `/validate/foos`.
        rules: the requests that it handles; `rule_for(Foo, "CREATE", "UPDATE")` makes a rule.
        mutating: whether it may change the object.
        failure_policy: whether a request is rejected or admitted if the program does not respond.
        side_effects: whether it has side effects; side effects on a dry run are not allowed.
        timeout_seconds: how long the API server waits, 1 to 30.
        match_policy: whether it also handles requests for other versions of the kind, converted.
        match_conditions: CEL expressions; it is called only if all of them are true.
        namespace_selector: only objects in namespaces with these labels.
        object_selector: only objects with these labels.
        reinvocation_policy: whether a mutating webhook is called again if a later one changed the object.
    """

    name: str
    path: str
    rules: Sequence[admissionregistration.RuleWithOperations]
    mutating: bool = False
    failure_policy: Literal["Fail", "Ignore"] = "Fail"
    side_effects: Literal["None", "NoneOnDryRun"] = "None"
    timeout_seconds: int = 10
    match_policy: Literal["Equivalent", "Exact"] = "Equivalent"
    match_conditions: Sequence[admissionregistration.MatchCondition] = ()
    namespace_selector: meta.LabelSelector | None = None
    object_selector: meta.LabelSelector | None = None
    reinvocation_policy: Literal["Never", "IfNeeded"] | None = None

    def __post_init__(self) -> None:
        what = f"webhook {self.name!r}"
        if not _QUALIFIED.fullmatch(self.name):
            raise ValueError(f"{what}: the name needs at least three parts, such as validate.foos.example.com")
        _check_path(what, self.path)
        if not self.rules:
            raise ValueError(f"{what}: without rules it is never called; rule_for(Foo, 'CREATE') makes one")
        if not 1 <= self.timeout_seconds <= _LONGEST_TIMEOUT:
            raise ValueError(
                f"{what}: timeout_seconds must be from 1 to {_LONGEST_TIMEOUT}, not {self.timeout_seconds}"
            )
        if self.reinvocation_policy is not None and not self.mutating:
            raise ValueError(f"{what}: reinvocation_policy is only for mutating webhooks")
        conditions = [condition.name for condition in self.match_conditions]
        if len(set(conditions)) < len(conditions):
            raise ValueError(f"{what}: match conditions must have different names")


class ConversionDeclaration(msgspec.Struct, frozen=True, kw_only=True):
    """The program converts the objects of a kind between its versions.

    Args:
        kind: the class of any of its versions.
        path: the path of the webhook.
    """

    kind: type[Object]
    path: str = "/convert"

    def __post_init__(self) -> None:
        _check_path(f"conversion of {self.kind.__name__}", self.path)


def rule_for(
    kind: type[Object], *operations: RuleOperation, subresource: str | None = None
) -> admissionregistration.RuleWithOperations:
    """Returns a rule for requests of a kind, or of a subresource: `rule_for(Foo, "UPDATE", subresource="status")`."""
    if not operations:
        raise ValueError(f"rule_for({kind.__name__}) needs operations, such as 'CREATE' and 'UPDATE'")
    from kubewright.api import admissionregistration  # not needed to import an operator

    info = info_of(kind)
    return admissionregistration.RuleWithOperations(
        api_groups=[info.group],
        api_versions=[info.version],
        resources=[f"{info.plural}/{subresource}" if subresource else info.plural],
        operations=list(operations),
        scope="Namespaced" if info.namespaced else "Cluster",
    )


def _check_path(what: str, path: str) -> None:
    if not _PATH.fullmatch(path):
        raise ValueError(
            f"{what}: the path {path!r} must start with '/' and have no empty segment, such as /validate/foos"
        )
