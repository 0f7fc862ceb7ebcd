"""What a program says about the webhooks that it serves, before anything is deployed.

The configurations of the API server are made from these declarations. Those of handlers that belong to an operator are
derived; what the program serves by other means can be declared by hand.
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
    """One admission webhook. What the API server would refuse raises ValueError.

    Args:
        name: a qualified name, at least three parts: `validate.foos.example.com`.
        path: where the program serves it: `/validate/foos`.
        rules: which requests it is asked about; `rule_for(Foo, "CREATE", "UPDATE")` makes one.
        mutating: whether it may change the object.
        failure_policy: what becomes of a request when the program does not answer.
        side_effects: whether it does anything besides answering; what does so on a dry run is not allowed.
        timeout_seconds: how long the API server waits, 1 to 30.
        match_policy: whether requests for other versions of the kind count too, converted.
        match_conditions: CEL expressions; it is asked only when all of them are true.
        namespace_selector: only objects in namespaces with these labels.
        object_selector: only objects with these labels.
        reinvocation_policy: of a mutating one, whether it is asked again when others changed the object after it.
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
            raise ValueError(f"{what}: without rules it is never asked; rule_for(Foo, 'CREATE') makes one")
        if not 1 <= self.timeout_seconds <= _LONGEST_TIMEOUT:
            raise ValueError(f"{what}: timeout_seconds is between 1 and {_LONGEST_TIMEOUT}, not {self.timeout_seconds}")
        if self.reinvocation_policy is not None and not self.mutating:
            raise ValueError(f"{what}: reinvocation_policy is for mutating webhooks; this one changes nothing")
        conditions = [condition.name for condition in self.match_conditions]
        if len(set(conditions)) < len(conditions):
            raise ValueError(f"{what}: its match conditions need different names")


class ConversionDeclaration(msgspec.Struct, frozen=True, kw_only=True):
    """The program converts the objects of a kind between its versions.

    Args:
        kind: the class of any of its versions.
        path: where the program serves it.
    """

    kind: type[Object]
    path: str = "/convert"

    def __post_init__(self) -> None:
        _check_path(f"conversion of {self.kind.__name__}", self.path)


def rule_for(
    kind: type[Object], *operations: RuleOperation, subresource: str | None = None
) -> admissionregistration.RuleWithOperations:
    """The rule for requests of that kind, or of a part of it: `rule_for(Foo, "UPDATE", subresource="status")`."""
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
            f"{what}: the path {path!r} must begin with '/' and have no empty part, such as /validate/foos"
        )
