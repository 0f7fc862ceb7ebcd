"""`Webhooks`: the registered handlers of an operator, and the checks of their options."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, TypedDict, TypeVar

import msgspec

from kubewright.api import Object, Untyped, info_of
from kubewright.arguments import check_string, is_string_mapping, unknown_name
from kubewright.controller.registration import check_kind
from kubewright.durations import Duration, check_duration, parse_duration
from kubewright.webhook._conversion import Conversions, check_versions
from kubewright.webhook._declarations import ConversionDeclaration, WebhookDeclaration, rule_for
from kubewright.webhook._decorators import ConvertDecorator, DefaultDecorator, ValidateDecorator
from kubewright.webhook._handlers import HandlerFactory, defaulting, validating
from kubewright.webhook._request import Operation

if TYPE_CHECKING:
    from kubewright.api import admissionregistration, meta

__all__ = ["AdmissionHandler", "AdmissionOptions", "Webhooks"]

R = TypeVar("R", bound=Object)
S = TypeVar("S", bound=Object)

_WRITES: Final[tuple[Operation, ...]] = ("CREATE", "UPDATE")
_OPERATIONS: Final = ("CREATE", "UPDATE", "DELETE", "CONNECT")
# Requests to these subresources have an object of another kind.
_OTHER_KINDS: Final = {
    "scale": "autoscaling.v1.Scale",
    "eviction": "policy.Eviction",
    "binding": "core.Binding",
    "token": "authentication.TokenRequest",
    **dict.fromkeys(("exec", "attach", "portforward", "proxy"), "Untyped"),
}


class AdmissionOptions(TypedDict, total=False):
    """The options of a handler.

    - `operations`: the operations that it handles; "DELETE" and "CONNECT" only if it validates. Default: "CREATE" and
      "UPDATE".
    - `subresources`: the subresources that it handles instead of the object: `["status"]`; "" is the object itself.
    - `rules`: the requests that it handles, instead of the two options above: for kinds without a class, and for
      subresources whose objects have another kind.
    - `name`: the qualified name of the webhook. Default: `<function>.<plural>.<group>`.
    - `failure_policy`: "Fail" or "Ignore": whether a request is rejected or admitted if the handler fails or the
      program does not respond. Default: "Fail".
    - `side_effects`: "None", or "NoneOnDryRun" if it has side effects, but not on dry runs. Default: "None".
    - `timeout`: how long the API server waits, in whole seconds from 1 to 30: `5`, `"5s"`. Default: 10.
    - `match_policy`: "Equivalent" to also handle requests for other versions of the kind, converted; or "Exact".
      Default: "Equivalent".
    - `match_conditions`: CEL expressions by name. It is called only if all of them are true.
    - `namespace_selector`, `object_selector`: only objects in namespaces, or with labels, that match.
    - `reinvocation_policy`: for `defaults`: "IfNeeded" to be called again if a later webhook changed the object.
      Default: "Never".
    """

    operations: Sequence[Operation]
    subresources: Sequence[str]
    rules: Sequence[admissionregistration.RuleWithOperations]
    name: str
    failure_policy: Literal["Fail", "Ignore"]
    side_effects: Literal["None", "NoneOnDryRun"]
    timeout: Duration
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
    """A registered handler: its declaration, the kind, and the functions to call."""

    declaration: WebhookDeclaration
    kind: type[Object]
    factory: HandlerFactory


class Webhooks(msgspec.Struct):
    """The webhooks of one operator."""

    operator: str
    handlers: list[AdmissionHandler] = msgspec.field(default_factory=list)
    conversions: Conversions = msgspec.field(default_factory=Conversions)

    def __bool__(self) -> bool:
        return bool(self.handlers or self.conversions.steps)

    def declarations(self) -> list[WebhookDeclaration]:
        """Returns the declarations of the admission webhooks, in the order of their registration."""
        return [handler.declaration for handler in self.handlers]

    def conversion_declarations(self) -> list[ConversionDeclaration]:
        """Returns the declarations of converted kinds."""
        return [ConversionDeclaration(kind=family[0]) for family in self.conversions.families()]

    def kinds(self) -> list[type[Object]]:
        """Returns the program's own kinds that it handles or converts."""
        handled = [handler.kind for handler in self.handlers if hasattr(handler.kind, "__definition__")]
        converted = [kind for family in self.conversions.families() for kind in family]
        return list(dict.fromkeys([*handled, *converted]))

    def add(self, kind: type[Object], factory: HandlerFactory, *, mutating: bool, options: AdmissionOptions) -> None:
        """Adds an admission webhook. Raises ValueError for values that the API server would reject."""
        declaration = _declaration(self.operator, kind, factory, mutating=mutating, options=options)
        if any(other.declaration.name == declaration.name for other in self.handlers):
            raise ValueError(
                f"this operator already has a webhook {declaration.name!r}: give the second one another name, "
                f'{_verb(mutating)}({kind.__name__}, name="...")'
            )
        self.handlers.append(AdmissionHandler(declaration, kind, factory))

    # The decorators of the operator

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
            raise TypeError("validates has no option 'reinvocation_policy': only defaults changes objects")

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
            raise ValueError(f"{name} of {what} must be one of {', '.join(valid)}, not {given!r}")
    for name in ("operations", "subresources", "rules"):
        if isinstance(given := options.get(name, ()), str):
            raise TypeError(f"{name} of {what} must be a list: [{given!r}]")
        if not isinstance(given, Collection):
            raise TypeError(f"{name} of {what} must be a list, {name}=[...], not {given!r}")
    _check_rules(what, options.get("rules", ()))
    if (name_given := options.get("name")) is not None:
        check_string(f"name of {what}", name_given, "validate.foos.example.com")
    if not check_duration(f"timeout of {what}", options.get("timeout", 10)).is_integer():
        raise ValueError(f"timeout of {what} must be whole seconds from 1 to 30, not {options['timeout']!r}")
    for name, shape in _SHAPES.items():
        given = options.get(name, {})
        is_selector = isinstance(given, msgspec.Struct) and name != "match_conditions"
        if not is_selector and not is_string_mapping(given):
            raise TypeError(f"{name} of {what} {shape}, not {given!r}")
    for operation in options.get("operations", ()):
        if operation not in _OPERATIONS:
            raise ValueError(f"operations of {what} must be some of {', '.join(_OPERATIONS)}, not {operation!r}")
    if what == "defaults" and "DELETE" in options.get("operations", ()):
        raise ValueError("defaults cannot change an object that is deleted: use validates")
    if "rules" in options and (options.keys() & {"operations", "subresources"}):
        raise TypeError(f"rules of {what} replace operations and subresources: leave those out")
    if kind is Untyped:
        if "rules" not in options:
            raise TypeError(f"{what}(Untyped) needs rules, because it has no kind to derive them from")
        return
    info = check_kind(kind, what)
    for part in options.get("subresources", ()):
        if part not in ("", "*", *info.subresources, *_OTHER_KINDS):
            known = ", ".join(sorted(info.subresources)) or "none"
            raise ValueError(f"{what}({kind.__name__}): {part!r} is not a subresource of it; there are: {known}")
        if part in _OTHER_KINDS:
            raise ValueError(
                f"{what}({kind.__name__}): requests to {part!r} have an object of another kind: use"
                f" {what}({_OTHER_KINDS[part]}, ...) with rules=[rule_for({kind.__name__}, ..., subresource={part!r})]"
            )


def _check_rules(what: str, rules: Collection[object]) -> None:
    if not rules:
        return
    from kubewright.api import admissionregistration  # not needed to import an operator

    for rule in rules:
        if not isinstance(rule, admissionregistration.RuleWithOperations):
            raise TypeError(f'rules of {what} must be RuleWithOperations, as of rule_for(Foo, "CREATE"), not {rule!r}')


def _declaration(
    operator: str, kind: type[Object], factory: HandlerFactory, *, mutating: bool, options: AdmissionOptions
) -> WebhookDeclaration:
    from kubewright.api import admissionregistration

    rules = list(options.get("rules", ()))
    if not rules:
        operations = factory.operations or tuple(options.get("operations", _WRITES))
        if factory.operations and "operations" in options:
            raise TypeError(f"the methods of {factory.name} determine its operations: leave out operations")
        parts = options.get("subresources", ("",))
        rules = [rule_for(kind, *operations, subresource=part or None) for part in parts]
    name = options.get("name") or _name(operator, kind, factory.name)
    conditions = options.get("match_conditions", {})
    return WebhookDeclaration(
        name=name,
        path=f"/{'mutate' if mutating else 'validate'}/{name}",
        rules=rules,
        mutating=mutating,
        failure_policy=options.get("failure_policy", "Fail"),
        side_effects=options.get("side_effects", "None"),
        timeout_seconds=int(parse_duration(options.get("timeout", 10))),
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
