from __future__ import annotations

import enum
from typing import Annotated, Any, ClassVar, Generic, TypeVar

import msgspec
import pytest

from kubewright.api import Model, apps, decode, encode
from kubewright.api.wire import wire_name

T = TypeVar("T")


class Color(enum.Enum):
    RED = "red"


class Inner(Model):
    size: int = 1


class Everything(Model):
    KEYS: ClassVar[dict[str, str]] = {"a": "b"}

    required: str
    pod_ip: str | None = msgspec.field(name="podIP", default=None)
    from_: str | None = None
    zero: int = 0
    empty: str = ""
    flag: bool = False
    items: list[str] = []  # noqa: RUF012  # a default that Model copies
    table: dict[str, int] = msgspec.field(default_factory=dict)
    color: Color = Color.RED
    inner: Inner = Inner(size=2)
    absent: Annotated[int, "anything"] | None = None


@pytest.mark.promise("Typed objects", "Attributes are snake case, and the wire has the API's own names.")
@pytest.mark.parametrize(
    ("attribute", "wire"),
    [("name", "name"), ("deployment_name", "deploymentName"), ("from_", "from"), ("x_kubernetes_y", "xKubernetesY")],
)
def test_attributes_are_snake_case_and_json_is_camel_case(attribute: str, wire: str) -> None:
    assert wire_name(attribute) == wire


def test_sends_every_value_except_none() -> None:
    sent = msgspec.json.decode(encode(Everything(required="")))
    assert sent == {
        "required": "",
        "zero": 0,
        "empty": "",
        "flag": False,
        "items": [],
        "table": {},
        "color": "red",
        "inner": {"size": 2},
    }


@pytest.mark.promise("Writing with the client", "An explicit zero, empty text or empty list reaches the server.")
def test_sends_a_default_that_is_set_explicitly() -> None:
    big, text = int("100000"), "".join(["long", " text"])

    class Sized(Model):
        number: int = 100000
        text: str = "long text"

    assert encode(Sized(number=big, text=text)) == encode(Sized())
    assert encode(Sized()) == b'{"number":100000,"text":"long text"}'


def test_mutable_defaults_are_not_shared() -> None:
    first, second = Everything(required="a"), Everything(required="b")
    first.items.append("x")
    first.inner.size = 9
    assert second.items == []
    assert second.inner.size == 2
    assert Everything(required="c").inner.size == 2


def test_does_not_change_class_variables() -> None:
    assert Everything.KEYS == {"a": "b"}
    assert "KEYS" not in Everything.__struct_fields__


def test_constructors_accept_only_keywords() -> None:
    class Derived(Inner):
        more: int

    with pytest.raises(TypeError, match="Derived takes its fields by name: size, more"):
        Derived(1)  # type: ignore[call-arg]
    assert Derived(more=1).size == 1


def test_rejects_misspelled_attribute() -> None:
    with pytest.raises(TypeError, match="szie"):
        Inner(szie=1)  # type: ignore[call-arg]


def test_representation_omits_absent_fields() -> None:
    assert repr(Inner(size=3)) == "Inner(size=3)"
    assert "absent" not in repr(Everything(required="x"))


def test_schema_generators_can_read_defaults() -> None:
    factory = next(f for f in msgspec.structs.fields(Everything) if f.name == "zero").default_factory
    assert getattr(factory, "value", None) == 0


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"replica": 3}, "DeploymentSpec has no field 'replica'. Did you mean 'replicas'? The fields are: selector, "),
        ({"minReadySeconds": 3}, "DeploymentSpec has no field 'minReadySeconds'. Did you mean 'min_ready_seconds'?"),
        ({"xyzzy": 3}, "DeploymentSpec has no field 'xyzzy'. The fields are: selector, "),
        ({}, "DeploymentSpec needs the field 'selector'"),
    ],
)
def test_unknown_field_error_names_model_and_suggestion(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError) as caught:
        apps.DeploymentSpec(**fields)
    assert str(caught.value).startswith(message)


def test_errors_of_user_models_propagate() -> None:
    class Odd(Model):
        number: int = 0

        def __post_init__(self) -> None:
            raise TypeError("my own")

    with pytest.raises(TypeError, match=r"^my own$"):
        Odd(number=1)


def test_keeps_python_names_of_class_with_rename() -> None:
    class Settings(Model, rename=str):
        pod_role_label: str = "role"

    class More(Settings):
        min_instances: int | None = None

    assert encode(More(min_instances=2)) == b'{"pod_role_label":"role","min_instances":2}'
    assert decode(More, b'{"min_instances":3}').min_instances == 3


def test_names_fields_with_the_same_json_name() -> None:
    with pytest.raises(ValueError, match=r"^Twice: the fields 'pod_ip' and 'podIp' have the same JSON name 'podIp': "):

        class Twice(Model):
            other: int
            pod_ip: str
            podIp: str = ""

    with pytest.raises(ValueError, match=r"^Plain: the fields 'b' and 'c' have .* JSON name 'b': rename one, or give"):

        class Plain(Model, rename=str):
            b: int = 1
            c: int = msgspec.field(name="b", default=2)

    with pytest.raises(ValueError, match=r"^More: the field 'size' has the same JSON name as an inherited field"):

        class More(Everything):
            size: int = msgspec.field(name="podIP", default=2)

    with pytest.raises(ValueError, match=r"^Pair: the fields 'first_item' and 'firstItem' have the same JSON name"):

        class Pair(Model, Generic[T]):
            aB: ClassVar[int] = 1
            a_b: int
            first_item: T
            firstItem: T


def test_raises_the_error_of_msgspec_if_a_base_class_fails() -> None:
    class Labeled(Model):
        label: ClassVar[str]

        def __init_subclass__(cls) -> None:
            cls.label.upper()

    with pytest.raises(ValueError, match=r"^Multiple fields rename to the same name"):

        class Twice(Labeled):
            label: ClassVar[str] = "twice"
            a_b: int
            aB: int
