"""Handlers are looked at where they are written."""

from __future__ import annotations

from typing import Any

import pytest

import kubewright as kw
from kubewright.api import Untyped, apps, core, meta
from kubewright.webhook import AdmissionRequest, FieldError, rule_for
from tests.webhook.kinds import OldToy, OldToySpec, Toy, ToySpec


@pytest.fixture
def operator() -> kw.Operator:
    return kw.Operator("toys")


def test_a_handler_becomes_a_declaration(operator: kw.Operator) -> None:
    @operator.defaults(Toy, timeout=3, failure_policy="Ignore", reinvocation_policy="IfNeeded")
    def fill_in(toy: Toy) -> None: ...

    [declared] = operator.webhooks.declarations()
    assert declared.name == "fill-in.toys.webhooks.example.com"
    assert declared.path == "/mutate/fill-in.toys.webhooks.example.com"
    assert declared.mutating
    assert list(declared.rules) == [rule_for(Toy, "CREATE", "UPDATE")]
    assert (declared.timeout_seconds, declared.failure_policy) == (3, "Ignore")
    assert declared.reinvocation_policy == "IfNeeded"


def test_the_methods_of_a_class_are_its_operations(operator: kw.Operator) -> None:
    @operator.validates(Toy, match_conditions={"big": "object.spec.size > 3"}, object_selector={"check": "yes"})
    class ToyRules:
        def validate_create(self, toy: Toy) -> None: ...

        async def validate_delete(self, toy: Toy, request: AdmissionRequest[Toy]) -> None: ...

    [declared] = operator.webhooks.declarations()
    assert declared.name == "toy-rules.toys.webhooks.example.com"
    assert declared.path == "/validate/toy-rules.toys.webhooks.example.com"
    assert list(declared.rules) == [rule_for(Toy, "CREATE", "DELETE")]
    assert [(one.name, one.expression) for one in declared.match_conditions] == [("big", "object.spec.size > 3")]
    assert declared.object_selector == meta.LabelSelector(match_labels={"check": "yes"})


@pytest.mark.promise("Webhooks", "Built-in kinds, subresources and any kind can be handled.")
def test_built_in_kinds_subresources_and_any_kind_can_be_handled(operator: kw.Operator) -> None:
    @operator.validates(core.Pod, operations=["DELETE"])
    def guard(pod: core.Pod) -> None: ...

    @operator.validates(apps.Deployment, subresources=["status", ""])
    def look(deployment: apps.Deployment) -> None: ...

    every = [rule_for(Toy, "*")]

    @operator.validates(Untyped, rules=every)
    def note(obj: Untyped) -> None: ...

    declared = {one.name: one for one in operator.webhooks.declarations()}
    assert [list(one.rules) for one in declared.values()] == [
        [rule_for(core.Pod, "DELETE")],
        [
            rule_for(apps.Deployment, "CREATE", "UPDATE", subresource="status"),
            rule_for(apps.Deployment, "CREATE", "UPDATE"),
        ],
        every,
    ]
    assert list(declared) == ["guard.pods.core", "look.deployments.apps", "note.toys.webhook"]


@pytest.mark.promise("Webhooks", "What is wrong with a handler or its options fails at import, with the valid names.")
def test_a_typo_in_an_option_fails_with_the_valid_names(operator: kw.Operator) -> None:
    options: dict[str, Any] = {"failure_polcy": "Ignore"}
    with pytest.raises(TypeError, match=r"validates has no option 'failure_polcy'\. Did you mean 'failure_policy'"):
        operator.validates(Toy, **options)
    with pytest.raises(TypeError, match=r"The options are: .*namespace_selector, .*operations"):
        operator.defaults(Toy, **options)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"failure_policy": "ignore"}, "failure_policy of validates must be one of Fail, Ignore, not 'ignore'"),
        ({"side_effects": "Some"}, "side_effects of validates must be one of None, NoneOnDryRun, not 'Some'"),
        ({"timeout": "soon"}, "timeout of validates must be a duration, such as 30s, .* not 'soon'"),
        ({"match_conditions": ["true"]}, "match_conditions of validates are CEL expressions by name: .*, not .'true'."),
        ({"namespace_selector": "a=b"}, "namespace_selector of validates are labels, .*, not 'a=b'"),
        (
            {"operations": ["create"]},
            "operations of validates must be some of CREATE, UPDATE, DELETE, CONNECT, not 'create'",
        ),
        ({"match_conditions": {"a": 5}}, "match_conditions of validates are CEL expressions by name: .*, not {'a': 5}"),
        ({"match_conditions": meta.LabelSelector()}, "match_conditions of validates are CEL expressions by name"),
        ({"object_selector": {"tier": 1}}, "object_selector of validates are labels, .*, not {'tier': 1}"),
        ({"operations": None}, r"operations of validates must be a list, operations=\[...\], not None"),
        ({"rules": [5]}, r'rules of validates must be RuleWithOperations, as of rule_for\(Foo, "CREATE"\), not 5'),
        ({"operations": "CREATE"}, r"operations of validates must be a list: \['CREATE'\]"),
        (
            {"subresources": ["scale"]},
            r"requests to 'scale' have an object of another kind: use validates\(autoscaling\.v1\.Scale, \.\.\.\) with",
        ),
        ({"subresources": ["stats"]}, "'stats' is not a subresource of it; there are: "),
        ({"reinvocation_policy": "IfNeeded"}, "validates has no option 'reinvocation_policy'"),
        ({"name": 5}, "name of validates must be a string, such as validate.foos.example.com, not 5"),
        ({"rules": [], "operations": ["CREATE"]}, "replace operations and subresources: leave those out"),
    ],
)
def test_rejects_invalid_option(operator: kw.Operator, options: dict[str, Any], text: str) -> None:
    with pytest.raises((TypeError, ValueError), match=text):
        operator.validates(Toy, **options)


@pytest.mark.promise("Webhooks", "What is wrong with a handler or its options fails at import, with the valid names.")
def test_rejects_invalid_handler(operator: kw.Operator) -> None:
    anything: Any = operator.validates(Toy)
    with pytest.raises(TypeError, match=r"must take the object and, optionally, the request; found \(\)"):
        anything(lambda: None)
    with pytest.raises(TypeError, match=r"must take the object and.*found \(a, b, c\)"):
        anything(lambda a, b, c: None)

    def other(pod: core.Pod) -> None: ...

    with pytest.raises(TypeError, match="other takes a Pod, but is registered for Toy"):
        anything(other)

    def turned(request: AdmissionRequest[Toy], toy: Toy) -> None: ...

    with pytest.raises(TypeError, match="turned must take the object first, then the request"):
        anything(turned)

    def reconciling(toy: Toy, ctx: kw.Context[Toy]) -> None: ...

    with pytest.raises(TypeError, match=r"takes a Context, which only reconcilers get: .*ctx: AdmissionRequest"):
        anything(reconciling)

    def demanding(toy: Toy, *, database: str) -> None: ...

    with pytest.raises(
        TypeError, match="demanding requires the keyword argument database, which Kubewright does not pass"
    ):
        anything(demanding)

    class Misspelled:
        def validate_creation(self, toy: Toy) -> None: ...

    with pytest.raises(TypeError, match=r"Misspelled\.validate_creation is never called; the methods are: validate_c"):
        anything(Misspelled)

    class Empty: ...

    with pytest.raises(TypeError, match="Empty has none of the methods validate_create, validate_update"):
        anything(Empty)

    class Lacking:
        def validate_update(self, toy: Toy) -> None: ...

    with pytest.raises(TypeError, match="validate_update must take the old and the new object and, optionally"):
        anything(Lacking)

    class Demanding:
        def __init__(self, database: object) -> None: ...

        def validate_create(self, toy: Toy) -> None: ...

    with pytest.raises(TypeError, match=r"Demanding cannot be instantiated without arguments .*: pass an instance"):
        anything(Demanding)
    anything(Demanding("database"))
    assert operator.webhooks.declarations()[0].name == "demanding.toys.webhooks.example.com"
    fill: Any = operator.defaults(Toy)
    with pytest.raises(TypeError, match=r"Empty has no method default\(self, obj: Toy\)"):
        fill(Empty)


def test_methods_may_be_static(operator: kw.Operator) -> None:
    class Static:
        @staticmethod
        def validate_create(toy: Toy) -> None: ...

        @staticmethod
        def validate_update(old: Toy, new: Toy, request: AdmissionRequest[Toy]) -> None: ...

        @staticmethod
        def default(toy: Toy) -> None: ...

    both: list[Any] = [Static, Static()]
    for number, given in enumerate(both):
        operator.validates(Toy, name=f"validate.{number}.example.com")(given)
        operator.defaults(Toy, name=f"default.{number}.example.com")(given)
    for handler in operator.webhooks.handlers:
        form = handler.factory.make()("UPDATE")
        assert form is not None
        assert (form.objects, form.wants_request) == ((1, False) if handler.declaration.mutating else (2, True))


def test_rejects_attribute_instead_of_method(operator: kw.Operator) -> None:
    class Wrong:
        validate_create = default = 5

    anything: list[Any] = [operator.validates(Toy), operator.defaults(Toy)]
    for decorator, name in zip(anything, ("validate_create", "default"), strict=True):
        for given in (Wrong, Wrong()):
            with pytest.raises(TypeError, match=rf"Wrong.{name} must be a method, def {name}\(self, ...\), not 5"):
                decorator(given)


def test_defaults_cannot_be_about_deletions_and_untyped_needs_rules(operator: kw.Operator) -> None:
    with pytest.raises(ValueError, match="defaults cannot change an object that is deleted"):
        operator.defaults(Toy, operations=["DELETE"])
    with pytest.raises(TypeError, match=r"validates\(Untyped\) needs rules"):
        operator.validates(Untyped)
    with pytest.raises(TypeError, match="validates takes a kind, such as apps"):
        operator.validates(FieldError)  # type: ignore[type-var]


def test_two_webhooks_need_two_names(operator: kw.Operator) -> None:
    def check(toy: Toy) -> None: ...

    operator.validates(Toy)(check)
    with pytest.raises(ValueError, match=r"already has a webhook 'check.toys.webhooks.example.com': give the second"):
        operator.validates(Toy)(check)
    operator.validates(Toy, name="again.toys.webhooks.example.com")(check)
    assert len(operator.webhooks.declarations()) == 2


def test_a_conversion_is_between_two_versions_of_one_kind_and_goes_both_ways(operator: kw.Operator) -> None:
    for source, target, text in (
        (Toy, Toy, "are the same version"),
        (Toy, core.Pod, "converts takes classes with @resource"),
    ):
        anything: Any = operator.converts
        with pytest.raises((TypeError, ValueError), match=text):
            anything(source, target)

    @operator.converts(OldToy, Toy)
    def up(old: OldToy) -> Toy:
        return Toy(spec=ToySpec())

    with pytest.raises(ValueError, match=r"no conversion from Toy \(webhooks.example.com/v1\) to Toy \(.*v1alpha1\)"):
        operator.webhooks.conversion_declarations()
    with pytest.raises(ValueError, match=r"there is already a conversion from"):
        operator.converts(OldToy, Toy)(up)

    @operator.converts(Toy, OldToy)
    def down(new: Toy) -> OldToy:
        return OldToy(spec=OldToySpec())

    assert [one.kind for one in operator.webhooks.conversion_declarations()] == [Toy]
    assert operator.webhooks.kinds() == [Toy, OldToy]
