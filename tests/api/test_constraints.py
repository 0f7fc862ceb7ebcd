"""Constraints: what their constructors reject, and where `@resource` rejects them."""

from collections.abc import Callable
from datetime import timedelta
from enum import Enum
from typing import Annotated, Any, Literal

import msgspec
import pytest

import kubewright as kw
from kubewright.api import JSON, IntOrString, Quantity, Time, core, decode, encode


def kind_with(hint: Any, default: Any = ...) -> type[kw.Object]:
    """A kind whose spec has one field, `value`, of that type."""
    namespace: dict[str, Any] = {"__annotations__": {"value": hint}, "__module__": __name__}
    if default is not ...:
        namespace["value"] = default
    metaclass: Any = type(kw.Model)
    spec = metaclass("Spec", (kw.Model,), namespace)

    @kw.resource("rules.example.com/v1")
    class Thing(kw.Resource[spec, None]): ...  # type: ignore[valid-type]

    return Thing


class Port(kw.Model):
    name: str
    number: int = 80
    protocol: str | None = None
    labels: dict[str, str] = msgspec.field(default_factory=dict)


@kw.constrain(kw.Rule("self.size == oldSelf.size"))
class Frozen(kw.Model):
    size: int = 0


@pytest.mark.promise(
    "Definitions from types",
    "A rule that is misspelled or stands at the wrong place fails at import.",
)
@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: kw.Range(), "needs a minimum, a maximum or both"),
        (lambda: kw.Range(3, 1), "minimum 3 is above the maximum 1"),
        (lambda: kw.Range("1"), "must be a number, not '1'"),  # type: ignore[arg-type]
        (lambda: kw.Range(float("nan")), "must be a number"),
        (lambda: kw.Range(1, exclusive_maximum=True), "an exclusive bound needs that bound"),
        (lambda: kw.Range(1, 1, exclusive_minimum=True), "Range is empty"),
        (lambda: kw.MultipleOf(0), "an integer above 0"),
        (lambda: kw.MultipleOf(0.5), "an integer above 0"),  # type: ignore[arg-type]
        (lambda: kw.Length(-1), "an integer of at least 0"),
        (lambda: kw.Length(2, 1), "above the maximum"),
        (lambda: kw.Length(), "needs a minimum"),
        (lambda: kw.Items(True), "an integer of at least 0"),
        (lambda: kw.Properties(3, 2), "above the maximum"),
        (lambda: kw.Pattern("("), "is not valid for the API server: error parsing regexp: missing closing"),
        (lambda: kw.Pattern("(?=a)"), "unsupported Perl syntax"),
        (lambda: kw.Pattern(r"(a)\1"), "invalid escape sequence"),
        (lambda: kw.Pattern("a++"), "invalid nested repetition operator"),
        (lambda: kw.Pattern("a{1001}"), "invalid repeat count"),
        (lambda: kw.Pattern(r"a\Z"), "invalid escape sequence"),
        (lambda: kw.Pattern("(?>a)"), "unsupported Perl syntax"),
        (lambda: kw.Pattern("[[:letter:]]"), "invalid character class range"),
        (lambda: kw.Format("ip"), "does not know the format 'ip'; known formats:"),
        (lambda: kw.Choices(), "at least one"),
        (lambda: kw.Choices("a", "a"), "twice"),
        (lambda: kw.Choices(["a", "b"]), "the values one by one"),  # type: ignore[arg-type]
        (lambda: kw.Immutable(True), "one line of text, not True"),  # type: ignore[arg-type]
        (lambda: kw.Range(min=1), "Range has no field 'min'. Did you mean 'minimum'?"),  # type: ignore[call-arg]
        (lambda: kw.Rule("true", msg="no"), "Rule has no field 'msg'. Did you mean 'message'?"),  # type: ignore[call-arg]
        (lambda: kw.ListType("bag"), "not 'bag'"),  # type: ignore[arg-type]
        (lambda: kw.ListType("map"), "needs keys"),
        (lambda: kw.ListType("set", keys=["a"]), "the other types have none"),
        (lambda: kw.ListType("map", keys="name"), "a list of names"),
        (lambda: kw.ListType("map", keys=["a", "a"]), "twice"),
        (lambda: kw.MapType("loose"), "not 'loose'"),  # type: ignore[arg-type]
        (lambda: kw.Rule(" "), "needs a CEL expression"),
        (lambda: kw.Rule("a\n&& b"), "needs a message"),
        (lambda: kw.Rule("true", message="a\nb"), "one line"),
        (lambda: kw.Rule("true", message_expression=""), "must not be empty"),
        (lambda: kw.Rule("true", reason="Wrong"), "is one of"),  # type: ignore[arg-type]
        (lambda: kw.Rule("true", field_path="name"), "starts with a dot"),
        (lambda: kw.Rule("true", optional_old_self=True), "only for a Rule that uses oldSelf"),
        (lambda: kw.ExactlyOneOf("a"), "two or more"),
        (lambda: kw.AtMostOneOf("a", "a"), "two or more"),
        (lambda: kw.Column("spec"), "is not a path such as"),
        (lambda: kw.Column(".spec", type="text"), "is one of"),  # type: ignore[arg-type]
        (lambda: kw.Column(".spec", format="x"), "the format of column"),
        (lambda: kw.Column(".spec", priority=-1), "0 or more"),
        (lambda: kw.Scale(spec=".status.x"), "below .spec"),
        (lambda: kw.Scale(selector=".metadata.x"), "below .spec or .status"),
    ],
)
def test_rejects_invalid_constraint_in_constructor(make: Callable[[], object], message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        make()


class Color(Enum):
    RED = "red"


@pytest.mark.promise(
    "Definitions from types",
    "A rule that is misspelled or stands at the wrong place fails at import.",
)
@pytest.mark.parametrize(
    ("hint", "message"),
    [
        (Annotated[str, kw.Range(1)], "Thing.spec.value: Range is for int-or-string, integer, number; this is string"),
        (Annotated[bool, kw.Range(1)], "this is boolean"),
        (Annotated[list[int], kw.Range(1)], "this is array"),
        (Annotated[Quantity, kw.Range(1)], "this is quantity"),
        (Annotated[int, kw.Pattern("a")], "this is integer"),
        (Annotated[Time, kw.Pattern("a")], "a string with its own format"),
        (Annotated[Literal["a"], kw.Length(1)], "this is enum"),
        (Annotated[Color, kw.Pattern("a")], "this is enum"),
        (Annotated[bytes, kw.Length(1)], "a string with its own format"),
        (Annotated[str, kw.MultipleOf(2)], "MultipleOf is for"),
        (Annotated[int, kw.Length(1)], "Length is for"),
        (Annotated[str, kw.Items(1)], "Items is for array"),
        (Annotated[list[str], kw.Properties(1)], "Properties is for object"),
        (Annotated[dict[str, str], kw.ListType("set")], "ListType is for array"),
        (Annotated[list[str], kw.MapType("atomic")], "MapType is for object"),
        (Annotated[int, kw.Format("ipv4")], "the format ipv4 is not for integer"),
        (Annotated[str, kw.Format("int32")], "the format int32 is not for string"),
        (Annotated[float, kw.Format("int64")], "the format int64 is not for number"),
        (Annotated[int, kw.Choices("a")], "not of type integer"),
        (Annotated[int, kw.Choices(True)], "not of type integer"),
        (Annotated[str, kw.EmbeddedResource()], "EmbeddedResource is for"),
        (Annotated[Port, kw.EmbeddedResource()], "Port is not a kind"),
        (Annotated[int, kw.PreserveUnknown()], "PreserveUnknown is for"),
        (Annotated[JSON, kw.Rule("self == 1")], "this is any JSON"),
        (Annotated[list[Port], kw.ListType("map", keys=["nane"])], "'nane' is not a field of Port; it has name"),
        (Annotated[list[Port], kw.ListType("map", keys=["labels"])], "must be a string, a number or a boolean"),
        (Annotated[list[Port], kw.ListType("map", keys=["protocol"])], "must be required or have a default"),
        (Annotated[list[str], kw.ListType("map", keys=["name"])], "are models"),
        (Annotated[list[Port | None], kw.ListType("map", keys=["name"])], "never None"),
        (Annotated[list[Port], kw.ListType("set")], 'elements of a list of type "set"'),
        (Annotated[list[str | None], kw.ListType("set")], "never None"),
        (list[Annotated[str, kw.Range(1)]], r"Thing.spec.value\[\*\]: Range is for"),
        (dict[str, Annotated[int, kw.Length(1)]], r"Thing.spec.value\[\*\]: Length is for"),
        (list[Annotated[int, kw.Immutable()]], "cannot identify the previous element"),
        (list[Annotated[int, kw.Rule("self == oldSelf")]], "cannot identify the previous element"),
        (Annotated[dict[str, Annotated[int, kw.Immutable()]], kw.MapType("atomic")], "cannot identify the previous"),
        (Annotated[Color | None, kw.Nullable()], "the API server rejects null for every enum"),
        (Annotated[int | None, kw.Nullable(), kw.Choices(1)], "the API server rejects null for every enum"),
        (list[Frozen], "Frozen: a rule about changes"),
        (Annotated[Port, kw.Rule("true", field_path=".nane")], "does not exist; did you mean name?"),
        (Annotated[int, kw.Range(1), kw.Range(2)], "Range is given twice"),
        (Annotated[int, kw.Immutable], r"write Immutable\(...\)"),
        (Annotated[int, msgspec.Meta(ge=1)], "msgspec.Meta with constraints would make stored objects unreadable"),
    ],
)
def test_resource_rejects_constraint_that_does_not_apply(hint: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        kind_with(hint)


@pytest.mark.parametrize(
    "hint",
    [
        Annotated[int, kw.Range(1)] | None,
        Annotated[int | None, kw.Range(1)],
        Annotated[IntOrString, kw.Range(1), kw.Pattern("^[0-9]+%$"), kw.Length(1, 4)],
        Annotated[list[Annotated[str, kw.Length(1)]], kw.Items(1), kw.ListType("set")],
        Annotated[dict[str, int], kw.Properties(1), kw.MapType("atomic")],
        Annotated[JSON, kw.EmbeddedResource()],
        Annotated[core.ConfigMap, kw.EmbeddedResource()],
        Annotated[list[Annotated[list[str], kw.ListType("atomic")]], kw.ListType("set")],
        Annotated[int, "a note for readers"],
    ],
)
def test_resource_accepts_constraint_that_applies(hint: Any) -> None:
    assert kind_with(hint).__resource__.kind == "Thing"


def test_type_without_schema_can_be_a_kind() -> None:
    assert kind_with(timedelta).__resource__.kind == "Thing"


def test_rejects_default_that_violates_its_constraints() -> None:
    message = r"the default of Thing.spec.value violates its own constraints: .* at least 1, not 0"
    with pytest.raises(TypeError, match=message):
        kind_with(Annotated[int, kw.Range(1)], 0)


@pytest.mark.promise("What the cache keeps", "A value that a rule forbids still decodes.")
def test_decodes_object_that_violates_a_constraint() -> None:
    kind = kind_with(Annotated[int, kw.Range(1, 10)])
    read: Any = decode(kind, b'{"metadata":{"name":"a"},"spec":{"value":99}}')
    assert read.spec.value == 99
    assert b'"value":99' in encode(read)


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (kw.ExactlyOneOf("name", "nunber"), "names 'nunber', which is not one of its fields: name, number"),
        (kw.Range(1), "a constraint for a field, not for a whole model"),
        ("self.a", "takes constraints such as"),
    ],
)
def test_constrain_rejects_constraints_for_fields(rule: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):

        @kw.constrain(rule)
        class Source(kw.Model):
            name: str
            number: int = 0


def test_constrain_must_be_below_resource() -> None:
    with pytest.raises(TypeError, match="put @constrain below @resource"):
        kw.constrain(kw.Rule("true"))(kind_with(int))


def test_subclasses_inherit_constraints() -> None:
    @kw.constrain(kw.AtMostOneOf("a", "b"))
    class Base(kw.Model):
        a: str | None = None
        b: str | None = None

    @kw.constrain(kw.Rule("true"))
    class Derived(Base):
        c: str | None = None

    assert [type(rule).__name__ for rule in Derived.__constraints__] == ["AtMostOneOf", "Rule"]  # type: ignore[attr-defined]
    assert len(Base.__constraints__) == 1  # type: ignore[attr-defined]


class CountSpec(kw.Model):
    color: str = "red"
    replicas: int = 1
    tags: list[str] = msgspec.field(default_factory=list)


class CountStatus(kw.Model):
    replicas: int = 0
    since: Time | None = None


@pytest.mark.promise(
    "Definitions from types",
    "A rule that is misspelled or stands at the wrong place fails at import.",
)
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"columns": {"Ready": ".status.replica"}}, "'Ready' of Count .*does not exist; did you mean replicas?"),
        ({"columns": {"Ready": ".status.replicas.x"}}, "which has no members"),
        ({"columns": {"Ready": ".spec.replicas[0]"}}, "selects elements of a list"),
        ({"columns": {"Ready": "status.replicas"}}, "is not a path"),
        ({"columns": {"Ready": "{.status.replicas}"}}, "is not a path"),
        ({"selectable_fields": [".spec.colr"]}, "did you mean color?"),
        ({"selectable_fields": [".spec.tags"]}, "must be a string, an integer or a boolean"),
        ({"selectable_fields": [".metadata.name"]}, "must not be in the metadata"),
        ({"selectable_fields": ".spec.color"}, "must be a list of strings"),
        ({"selectable_fields": [f".spec.f{n}" for n in range(9)]}, "the server allows 8"),
        ({"scale_subresource": kw.Scale(spec=".spec.size")}, "does not exist"),
        ({"scale_subresource": kw.Scale(spec=".spec.color")}, "must be of type integer, not string"),
        ({"scale_subresource": kw.Scale(selector=".status.replicas")}, "must be of type string"),
        ({"short_names": "co"}, "must be a list of strings"),
        ({"short_names": ["Co"]}, "lower case letters"),
        ({"short_names": ["co", "co"]}, "has duplicates"),
        ({"categories": ["all!"]}, "lower case letters"),
        ({"deprecated": "two\nlines"}, "one line"),
        ({"shortnames": ["co"]}, "resource has no option 'shortnames'"),
    ],
)
def test_resource_rejects_invalid_arguments(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):

        @kw.resource("rules.example.com/v1", **arguments)
        class Count(kw.Resource[CountSpec, CountStatus]): ...
