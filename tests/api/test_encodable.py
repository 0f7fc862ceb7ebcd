"""Values that JSON or Kubernetes cannot store are refused with the path of their field."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Annotated, Any

import msgspec
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kubewright as kw
from kubewright.api import (
    JSON,
    DecodeError,
    MicroTime,
    Model,
    ObjectMeta,
    Time,
    Untyped,
    ValidationError,
    apiextensions,
    coordination,
    core,
    decode,
    encode,
    from_dict,
    from_yaml,
    to_dict,
    validate,
)
from kubewright.client.wire import apply_body, request_body

Foo = Untyped.kind_of("example.com/v1", "Foo", plural="foos")
NAIVE = datetime(2030, 1, 31, 12)
NO_ZONE = "2030-01-31T12:00:00 has no time zone: Kubernetes stores moments, not local times. "
NOT_FINITE = "must be a finite number, not nan: JSON has no NaN and no infinity"


class Window(Model):
    start: Time | None = None
    share: float = 0.5
    weights: dict[str, list[float]] = msgspec.field(default_factory=dict)


class Spec(Model):
    windows: Annotated[list[Window], kw.ListType("atomic")] = msgspec.field(default_factory=list)
    anything: JSON = None


@kw.resource("example.com/v1")
class Plan(kw.Resource[Spec, Window]):
    pass


def plan(**spec: Any) -> Plan:
    return Plan(metadata=ObjectMeta(name="a", namespace="d"), spec=Spec(**spec))


CASES = [
    (plan(windows=[Window(), Window(start=NAIVE)]), "spec.windows[1].start", NO_ZONE),
    (plan(windows=[Window(share=math.nan)]), "spec.windows[0].share", NOT_FINITE),
    (plan(windows=[Window(weights={"a": [1.0, math.nan]})]), "spec.windows[0].weights.a[1]", NOT_FINITE),
    (plan(anything={"deep": [{"at": NAIVE}]}), "spec.anything.deep[0].at", NO_ZONE),
    (plan(anything=math.nan), "spec.anything", NOT_FINITE),
]


@pytest.mark.parametrize(("obj", "path", "reason"), CASES)
@pytest.mark.parametrize("send", [encode, to_dict, request_body, apply_body])
def test_rejects_values_that_json_cannot_hold(send: Callable[[Any], object], obj: Plan, path: str, reason: str) -> None:
    with pytest.raises(ValueError) as caught:
        send(obj)
    assert str(caught.value).startswith(f"Plan d/a: {path}: {reason}")


@pytest.mark.parametrize(("obj", "path", "reason"), CASES)
def test_validate_reports_values_that_json_cannot_hold(obj: Plan, path: str, reason: str) -> None:
    with pytest.raises(ValidationError) as caught:
        validate(obj)
    assert [found.path for found in caught.value.violations] == [path]
    assert caught.value.violations[0].message.startswith(reason)


@pytest.mark.parametrize(
    ("value", "path"),
    [
        (core.ConfigMap(metadata=ObjectMeta(name="a", creation_timestamp=NAIVE)), "metadata.creationTimestamp"),
        (Foo(metadata=ObjectMeta(name="a", deletion_timestamp=NAIVE)), "metadata.deletionTimestamp"),
        (Foo(metadata=ObjectMeta(name="a"), content={"spec": {"at": [NAIVE]}}), "spec.at[0]"),
        (coordination.LeaseSpec(renew_time=MicroTime(2030, 1, 31, 12)), "renewTime"),
        (apiextensions.JSONSchemaProps(items=apiextensions.JSONSchemaProps(default=math.inf)), "items.default"),
        ({"status": {"share": -math.inf}}, "status.share"),
        ([("op", {1.5, math.nan})], "[0][1]["),
    ],
)
def test_rejects_them_in_built_in_kinds_and_plain_values(value: object, path: str) -> None:
    with pytest.raises(ValueError, match=r"has no time zone|must be a finite number") as caught:
        encode(value)
    assert path in str(caught.value)


def test_rejects_them_inside_pydantic_models() -> None:
    class Inner(pydantic.BaseModel):
        at: datetime | None = None
        share: float = 0.5

    class Outer(pydantic.BaseModel):
        inner_part: Inner = pydantic.Field(default_factory=Inner, alias="innerPart")

    assert encode(Outer()) == b'{"innerPart":{"share":0.5}}'
    with pytest.raises(ValueError, match=r"^innerPart\.share: must be a finite number"):
        encode(Outer(innerPart=Inner(share=math.nan)))
    with pytest.raises(ValueError, match=r"^innerPart\.at: .* has no time zone"):
        encode(Outer(innerPart=Inner(at=NAIVE)))


def test_from_dict_and_from_yaml_reject_nan() -> None:
    with pytest.raises(DecodeError, match=r"^Plan: spec\.anything: must be a finite number, not nan"):
        from_dict(Plan, {"metadata": {"name": "a"}, "spec": {"anything": math.nan}})
    text = "apiVersion: example.com/v1\nkind: Plan\nmetadata: {name: a}\nspec: {windows: [{share: .inf}]}\n"
    with pytest.raises(DecodeError, match=r"^Plan: not one YAML document .*unsupported value: \+Inf"):
        from_yaml(Plan, text)


def test_aware_times_and_finite_numbers_pass() -> None:
    good = plan(windows=[Window(start=NAIVE.replace(tzinfo=UTC), share=1e300, weights={"a": [-0.0]})], anything=[1.5])
    validate(good)
    assert json.loads(encode(good)) == to_dict(good)


values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
    max_leaves=12,
)


@given(values)
def test_encodes_a_value_as_itself_or_raises(value: Any) -> None:
    try:
        encoded = encode(value)
    except ValueError:
        with pytest.raises(ValueError, match="Out of range"):
            json.dumps(value, allow_nan=False)
    else:
        assert json.loads(encoded) == value


class Foreign:
    pass


class Port(Model):
    number: complex


class PortSpec(Model):
    ports: dict[str, list[Port]]


def test_rejects_a_field_type_that_json_cannot_be_decoded_into() -> None:
    message = (
        r"Service\.spec\.ports\[\*\]\[\*\]\.number: a field of a Kubernetes object cannot be a complex; use str, int"
    )
    with pytest.raises(TypeError, match=message):

        @kw.resource("example.com/v1")
        class Service(kw.Resource[PortSpec, None]):
            pass

    with pytest.raises(TypeError, match=r"^PortSpec\.ports\[\*\]\[\*\]\.number: .* cannot be a complex"):
        decode(PortSpec, b'{"ports":{"a":[{"number":1}]}}')


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (plan(anything={"deep": [1, Foreign()]}), "Plan d/a: spec.anything.deep[1]: a Foreign cannot be part of"),
        (
            Foo(metadata=ObjectMeta(name="a"), content={"spec": {"at": Foreign()}}),
            "Foo a: spec.at: a Foreign cannot be",
        ),
        (Foreign(), "a Foreign cannot be part of a Kubernetes object"),
    ],
)
@pytest.mark.parametrize("send", [encode, to_dict])
def test_rejects_a_value_of_a_foreign_type_with_its_path(
    send: Callable[[Any], object], value: object, message: str
) -> None:
    with pytest.raises(TypeError) as caught:
        send(value)
    assert str(caught.value).startswith(message)


class Unresolved(msgspec.Struct):
    """Has the annotation of a class that only type checkers import."""

    number: Imported  # type: ignore[name-defined]  # noqa: F821


class Around(msgspec.Struct):
    inner: Unresolved
    name: str = ""


def test_looks_at_fields_whose_types_cannot_be_resolved() -> None:
    assert encode(Around(Unresolved(1.5))) == b'{"inner":{"number":1.5},"name":""}'
    with pytest.raises(ValueError, match=r"number: must be a finite number"):
        encode(Unresolved(math.nan))
    with pytest.raises(ValueError, match=r"inner\.number: must be a finite number"):
        encode(Around(Unresolved(math.inf)))
