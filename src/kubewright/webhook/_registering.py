"""Registering handlers: `@operator.defaults(Foo)`, `@operator.validates(Foo)`, `@operator.converts(Old, New)`."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, TypedDict, TypeVar

import msgspec

from kubewright.api import Object, Untyped, info_of
from kubewright.arguments import are_texts_by_name, check_text, unknown_name
from kubewright.controller.registration import check_kind
from kubewright.webhook._conversion import Conversions, check_versions
from kubewright.webhook._declarations import ConversionDeclaration, WebhookDeclaration, rule_for
from kubewright.webhook._decorators import ConvertDecorator, DefaultDecorator, ValidateDecorator
from kubewright.webhook._handlers import Calls, defaulting, validating
from kubewright.webhook._request import Operation

if TYPE_CHECKING:
    from kubewright.api import admissionregistration, meta

__all__ = ["AdmissionHandler", "AdmissionOptions", "Webhooks"]

R = TypeVar("R", bound=Object)
S = TypeVar("S", bound=Object)

_WRITES: Final[tuple[Operation, ...]] = ("CREATE", "UPDATE")
_OPERATIONS: Final = ("CREATE", "UPDATE", "DELETE", "CONNECT")
# What is sent to these is not the object itself, but something of another kind.
_OTHER_KINDS: Final = {
    "scale": "autoscaling.v1.Scale",
    "eviction": "policy.Eviction",
    "binding": "core.Binding",
    "token": "authentication.TokenRequest",
    **dict.fromkeys(("exec", "attach", "portforward", "proxy"), "Untyped"),
}


class AdmissionOptions(TypedDict, total=False):
    """What else is said about a handler.

    - `operations`: what it is asked about: "CREATE" and "UPDATE" unless given; "DELETE" and "CONNECT", if it validates.
    - `subresources`: the parts of the object that it is asked about instead of the whole: `["status"]`; "" is the
      whole object.
    - `rules`: the requests that it is asked about, instead of all of that: for kinds of which there is no class, and
      for subresources whose objects are of another kind.
    - `name`: the webhook's qualified name; `<function>.<plural>.<group>` unless given.
    - `failure_policy`: what becomes of a request when the handler fails, or the program does not answer: "Fail" unless
      given, or "Ignore".
    - `side_effects`: "None" unless given; "NoneOnDryRun" when it changes something elsewhere, but not on dry runs.
    - `timeout`: the seconds that the API server waits, 1 to 30; 10 unless given.
    - `match_policy`: "Equivalent" unless given: requests in other versions of the kind count too, converted; "Exact".
    - `match_conditions`: CEL expressions by name: it is asked only when all of them are true.
    - `namespace_selector`, `object_selector`: only objects in namespaces, or with labels, like that.
    - `reinvocation_policy`: of `defaults`: "IfNeeded" to be asked again when others changed the object after it.
    """

    operations: Sequence[Operation]
    subresources: Sequence[str]
    rules: Sequence[admissionregistration.RuleWithOperations]
    name: str
    failure_policy: Literal["Fail", "Ignore"]
    side_effects: Literal["None", "NoneOnDryRun"]
    timeout: int
    match_policy: Literal["Equivalent", "Exact"]
    match_conditions: Mapping[str, str]
    namespace_selector: meta.LabelSelector | Mapping[str, str]
    object_selector: meta.LabelSelector | Mapping[str, str]
    reinvocation_policy: Literal["Never", "IfNeeded"]


_CHOICES: Final[Mapping[str, tuple[str, ...]]] = {
    "failure_policy": ("Fail", "Ignore"),
    "side_effects": ("None", "NoneOnDryRun"),
    "match_policy": ("Equivalent", "Exact"),
    "reinvocation_policy": ("Never", "IfNeeded"),
}


class AdmissionHandler(msgspec.Struct, frozen=True):
    """One registered handler: what is told to the API server, and what is called."""

    declaration: WebhookDeclaration
    kind: type[Object]
    calls: Calls


class Webhooks(msgspec.Struct):
    """The webhooks of one operator."""

    operator: str
    handlers: list[AdmissionHandler] = msgspec.field(default_factory=list)
    conversions: Conversions = msgspec.field(default_factory=Conversions)

    def __bool__(self) -> bool:
        return bool(self.handlers or self.conversions.steps)

    def declarations(self) -> list[WebhookDeclaration]:
        """What the API server is told about the admission webhooks, in the order of their registration."""
        return [handler.declaration for handler in self.handlers]

    def conversion_declarations(self) -> list[ConversionDeclaration]:
        """The kinds that are converted."""
        return [ConversionDeclaration(kind=family[0]) for family in self.conversions.families()]

    def kinds(self) -> list[type[Object]]:
        """The kinds of one's own that it handles or converts."""
        handled = [handler.kind for handler in self.handlers if hasattr(handler.kind, "__definition__")]
        converted = [kind for family in self.conversions.families() for kind in family]
        return list(dict.fromkeys([*handled, *converted]))

    def add(self, kind: type[Object], calls: Calls, *, mutating: bool, options: AdmissionOptions) -> None:
        """One more admission webhook. Raises for what the API server would refuse."""
        declaration = _declaration(self.operator, kind, calls, mutating=mutating, options=options)
        if any(other.declaration.name == declaration.name for other in self.handlers):
            raise ValueError(
                f"this operator has a webhook {declaration.name!r} already: give the second one a name, "
                f'{_verb(mutating)}({kind.__name__}, name="...")'
            )
        self.handlers.append(AdmissionHandler(declaration, kind, calls))

    # What the operator's decorators do

    def defaults(self, kind: type[R], options: AdmissionOptions) -> DefaultDecorator[R]:
        """`@operator.defaults(kind, ...)`."""
        _check("defaults", kind, options)

        def register(given: Any) -> None:
            self.add(kind, defaulting(given, kind), mutating=True, options=options)

        return DefaultDecorator(register)

    def validates(self, kind: type[R], options: AdmissionOptions) -> ValidateDecorator[R]:
        """`@operator.validates(kind, ...)`."""
        _check("validates", kind, options)
        if "reinvocation_policy" in options:
            raise TypeError("validates has no option 'reinvocation_policy': it changes nothing")

        def register(given: Any) -> None:
            self.add(kind, validating(given, kind), mutating=False, options=options)

        return ValidateDecorator(register)

    def converts(self, source: type[R], target: type[S]) -> ConvertDecorator[R, S]:
        """`@operator.converts(source, target)`."""
        check_versions(source, target)

        def register(given: Any) -> None:
            self.conversions.add(source, target, given)

        return ConvertDecorator(register)


_SHAPES: Final = {
    "match_conditions": 'are CEL expressions by name: {"not-a-test": "object.metadata.namespace != \'test\'"}',
    "namespace_selector": 'are labels, {"team": "a"}, or a meta.LabelSelector',
    "object_selector": 'are labels, {"team": "a"}, or a meta.LabelSelector',
}


def _verb(mutating: bool) -> str:
    return "defaults" if mutating else "validates"


def _check(what: str, kind: type[Object], options: AdmissionOptions) -> None:
    for name in options:
        if name not in AdmissionOptions.__annotations__:
            raise TypeError(unknown_name(what, name, AdmissionOptions.__annotations__))
    for name, valid in _CHOICES.items():
        if (given := options.get(name, valid[0])) not in valid:
            raise ValueError(f"{name} of {what} is one of {', '.join(valid)}, not {given!r}")
    for name in ("operations", "subresources", "rules"):
        if isinstance(given := options.get(name, ()), str):
            raise TypeError(f"{name} of {what} is a list: [{given!r}]")
        if not isinstance(given, Collection):
            raise TypeError(f"{name} of {what} is a list, {name}=[...], not {given!r}")
    _check_rules(what, options.get("rules", ()))
    if (name_given := options.get("name")) is not None:
        check_text(f"name of {what}", name_given, "validate.foos.example.com")
    timeout: object = options.get("timeout", 10)
    if not isinstance(timeout, int) or isinstance(timeout, bool):
        raise TypeError(f"timeout of {what} is a number of seconds, from 1 to 30, not {timeout!r}")
    for name, shape in _SHAPES.items():
        given = options.get(name, {})
        is_selector = isinstance(given, msgspec.Struct) and name != "match_conditions"
        if not is_selector and not are_texts_by_name(given):
            raise TypeError(f"{name} of {what} {shape}, not {given!r}")
    for operation in options.get("operations", ()):
        if operation not in _OPERATIONS:
            raise ValueError(f"operations of {what} are {', '.join(_OPERATIONS)}, not {operation!r}")
    if what == "defaults" and "DELETE" in options.get("operations", ()):
        raise ValueError("defaults cannot change an object that is deleted: use validates")
    if "rules" in options and (options.keys() & {"operations", "subresources"}):
        raise TypeError(f"rules of {what} say all of that: leave out operations and subresources")
    if kind is Untyped:
        if "rules" not in options:
            raise TypeError(f"{what}(Untyped) needs rules, which say what it is asked about")
        return
    info = check_kind(kind, what)
    for part in options.get("subresources", ()):
        if part not in ("", "*", *info.subresources, *_OTHER_KINDS):
            known = ", ".join(sorted(info.subresources)) or "none"
            raise ValueError(f"{what}({kind.__name__}): {part!r} is no subresource of it; there is: {known}")
        if part in _OTHER_KINDS:
            raise ValueError(
                f"{what}({kind.__name__}): what is sent to {part!r} is of another kind: use"
                f" {what}({_OTHER_KINDS[part]}, ...) with rules=[rule_for({kind.__name__}, ..., subresource={part!r})]"
            )


def _check_rules(what: str, rules: Collection[object]) -> None:
    if not rules:
        return
    from kubewright.api import admissionregistration  # not needed to import an operator

    for rule in rules:
        if not isinstance(rule, admissionregistration.RuleWithOperations):
            raise TypeError(f'rules of {what} are RuleWithOperations, such as rule_for(Foo, "CREATE"), not {rule!r}')


def _declaration(
    operator: str, kind: type[Object], calls: Calls, *, mutating: bool, options: AdmissionOptions
) -> WebhookDeclaration:
    from kubewright.api import admissionregistration

    rules = list(options.get("rules", ()))
    if not rules:
        operations = calls.operations or tuple(options.get("operations", _WRITES))
        if calls.operations and "operations" in options:
            raise TypeError(f"the methods of {calls.name} say for which operations it is: leave out operations")
        parts = options.get("subresources", ("",))
        rules = [rule_for(kind, *operations, subresource=part or None) for part in parts]
    name = options.get("name") or _name(operator, kind, calls.name)
    conditions = options.get("match_conditions", {})
    return WebhookDeclaration(
        name=name,
        path=f"/{'mutate' if mutating else 'validate'}/{name}",
        rules=rules,
        mutating=mutating,
        failure_policy=options.get("failure_policy", "Fail"),
        side_effects=options.get("side_effects", "None"),
        timeout_seconds=options.get("timeout", 10),
        match_policy=options.get("match_policy", "Equivalent"),
        match_conditions=[
            admissionregistration.MatchCondition(name=condition, expression=expression)
            for condition, expression in conditions.items()
        ],
        namespace_selector=_selector(options.get("namespace_selector")),
        object_selector=_selector(options.get("object_selector")),
        reinvocation_policy=options.get("reinvocation_policy"),
    )


def _name(operator: str, kind: type[Object], function: str) -> str:
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", function).lower()
    first = re.sub(r"[^a-z0-9]+", "-", words).strip("-") or "webhook"
    if kind is Untyped:
        return f"{first}.{operator}.webhook"
    info = info_of(kind)
    return f"{first}.{info.plural or info.kind.lower()}.{info.group or 'core'}"


def _selector(given: meta.LabelSelector | Mapping[str, str] | None) -> meta.LabelSelector | None:
    if isinstance(given, Mapping):
        from kubewright.api import meta

        return meta.LabelSelector(match_labels=dict(given))
    return given
