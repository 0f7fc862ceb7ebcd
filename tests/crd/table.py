"""The table: for each feature the smallest type that shows it, values that the server takes, and values it refuses."""

from dataclasses import dataclass, field
from datetime import date, datetime
from enum import Enum, IntEnum
from typing import Annotated, Any, Literal
from uuid import UUID

import msgspec

import kubewright as kw
from kubewright.api import JSON, IntOrString, MicroTime, Quantity, Time, core, meta
from tests.crd.conftest import ABSENT, kind_of


@dataclass
class Bad:
    """A value that is refused, and the fields that the server blames."""

    value: Any
    paths: list[str]
    here: list[str] | None = None  # what `validate` blames, where the server's guess is a bad one


@dataclass
class Case:
    name: str
    hint: Any
    good: list[Any]
    bad: list[Bad]
    default: Any = ABSENT
    schema: dict[str, Any] | None = None
    server_only: bool = False  # CEL rules, which `validate` does not check
    kind: type[kw.Object] = field(init=False)

    def __post_init__(self) -> None:
        self.kind = kind_of(self.hint, self.default)


TABLE: list[Case] = []


def case(
    name: str,
    hint: Any,
    *,
    good: list[Any],
    bad: list[Any],
    default: Any = ABSENT,
    schema: dict[str, Any] | None = None,
    server_only: bool = False,
) -> None:
    """Add a row. A bad value that is no `Bad` is blamed on `spec.value`."""
    refused = [found if isinstance(found, Bad) else Bad(found, ["spec.value"]) for found in bad]
    TABLE.append(Case(name, hint, good, refused, default, schema, server_only))


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Level(IntEnum):
    LOW = 1
    HIGH = 2


class Port(kw.Model):
    name: str
    number: Annotated[int, kw.Range(1, 65535)] = 80


class Pair(kw.Model):
    one: int | None = None
    two: int | None = None


class Deep(kw.Model):
    ports: list[Port]
    by_name: dict[str, Port] = msgspec.field(default_factory=dict)


class Ports(kw.Model):
    ports: Annotated[list[Port], kw.ListType("map", keys=["name"])]


class Derived(Pair):
    three: int | None = None


class Renamed(kw.Model):
    pod_ip: str | None = msgspec.field(name="podIP", default=None)


@kw.constrain(kw.ExactlyOneOf("one", "two"))
class ExactlyOne(Pair):
    pass


@kw.constrain(kw.AtMostOneOf("one", "two"))
class AtMostOne(Pair):
    pass


@kw.constrain(kw.AtLeastOneOf("one", "two"))
class AtLeastOne(Pair):
    pass


@kw.constrain(kw.Rule("!has(self.one) || !has(self.two) || self.one <= self.two", message="one is above two"))
class Ordered(Pair):
    pass


@kw.constrain(kw.Rule("has(self.one)", field_path=".one", reason="FieldValueRequired", message="one is needed"))
class Blamed(Pair):
    pass


@kw.constrain(kw.Properties(1, 1))
class OneMember(Pair):
    pass


@kw.constrain(kw.PreserveUnknown())
class Open(Pair):
    pass


class Keywords(kw.Model):
    from_: int | None = None
    namespace: int | None = None


@kw.constrain(kw.ExactlyOneOf("from", "namespace"))
class OneKeyword(Keywords):
    pass


class File(kw.Model, tag="file", tag_field="type"):
    path: str
    note: str | None = None


class Web(kw.Model, tag="web", tag_field="type"):
    url: Annotated[str, kw.Format("uri")]
    note: str | None = None


Name = Annotated[str, kw.Pattern("^[a-z]+$"), kw.Length(1, 5)]

# Scalars
case("str", str, good=["", "a", "ü"], bad=[1, True, ["a"], {}, None, 1.5], schema={"type": "string"})
case("int", int, good=[0, -1, 2**62], bad=["1", True, 1.5, [1], None], schema={"type": "integer", "format": "int64"})
case("float", float, good=[0, 1.5, -2], bad=["1", True, None], schema={"type": "number", "format": "double"})
case("bool", bool, good=[True, False], bad=[0, "true", None], schema={"type": "boolean"})
case("bytes", bytes, good=["aGk="], bad=["!", 1], schema={"type": "string", "format": "byte"})
case("Time", Time, good=["2030-01-31T12:00:00Z", "2030-01-31T12:00:00.5+02:00"], bad=["2030-01-31", "noon", 1])
case("datetime", datetime, good=["2030-01-31T12:00:00Z"], bad=["12:00"])
case("MicroTime", MicroTime, good=["2030-01-31T12:00:00.000000Z"], bad=["soon"])
case("date", date, good=["2030-01-31"], bad=["2030-02-31", "2030-1-1", 20300131])
case("UUID", UUID, good=["6f1e8a2e-7d3c-4d49-9a53-1d2f9b7d9a10"], bad=["6f1e", 1])
case("Quantity", Quantity, good=["500m", "1.5Gi", 2, "1e3", ".5", "-1k"], bad=["", "m", "1 Gi", 1.5, True])
case("IntOrString", IntOrString, good=[1, "25%"], bad=[1.5, True, [1]], schema={"x-kubernetes-int-or-string": True})
case("int | str", int | str, good=[1, "a"], bad=[True, {}])
case("int | float", int | float, good=[1, 1.5], bad=["1"])
case("JSON", JSON, good=[1, "a", [1, {"a": None}], {"a": {"b": 1}}, True], bad=[])
case("Any", Any, good=[1, {"a": 1}], bad=[])
case("Enum", Colour, good=["red", "blue"], bad=["green", "RED", 1], schema={"type": "string", "enum": ["red", "blue"]})
case("IntEnum", Level, good=[1, 2], bad=[3, "1"], schema={"type": "integer", "enum": [1, 2]})
case("Literal of texts", Literal["a", "b"], good=["a"], bad=["c", ""])
case("Literal of numbers", Literal[1, 2], good=[1], bad=[3, "1"])
case("Literal with None", Literal["a", None], default=None, good=["a", ABSENT, None], bad=["b"])

# Absent, null, default
case("required", int, good=[1], bad=[ABSENT])
case("optional", int | None, default=None, good=[1, ABSENT, None], bad=["1"])
case("required and nullable", int | None, good=[1, None], bad=[ABSENT, "1"])
case("nullable text", str | None, good=["a", None], bad=[ABSENT])
case("nullable list", list[int] | None, good=[[1], None], bad=[ABSENT])
case("nullable model", Port | None, good=[{"name": "a"}, None], bad=[ABSENT])
case("nullable map", dict[str, int] | None, good=[{}, None], bad=[ABSENT])
case("Nullable and optional", Annotated[int | None, kw.Nullable()], default=None, good=[1, None, ABSENT], bad=["1"])
case("nullable Quantity", Quantity | None, good=["1", None], bad=[True, ABSENT])
case("nullable IntOrString", IntOrString | None, good=["1", 1, None], bad=[True, ABSENT])
case("nullable JSON", JSON, good=[1, None, {"a": None}], bad=[])
case("list of nullable", list[int | None], good=[[1, None]], bad=[Bad([1, "a"], ["spec.value[1]"])])
case("list of not nullable", list[int], good=[[1]], bad=[Bad([1, None], ["spec.value[1]"])])
case("map of nullable", dict[str, int | None], good=[{"a": None}], bad=[Bad({"a": "b"}, ["spec.value.a"])])
case("default number", int, default=3, good=[ABSENT, 4, 0], bad=["a"])
case("default zero", int, default=0, good=[ABSENT], bad=["a"])
case("default text", str, default="x", good=[ABSENT, ""], bad=[1])
case("default empty text", str, default="", good=[ABSENT], bad=[1])
case("default false", bool, default=False, good=[ABSENT, True], bad=[0])
case("default float", float, default=0.5, good=[ABSENT], bad=["x"])
case("default list", list[str], default=msgspec.field(default_factory=lambda: ["a"]), good=[ABSENT, []], bad=["a"])
case("default empty list", list[str], default=msgspec.field(default_factory=list), good=[ABSENT], bad=[{}])
case("default map", dict[str, int], default=msgspec.field(default_factory=lambda: {"a": 1}), good=[ABSENT], bad=[[]])
case("default model", Port, default=msgspec.field(default_factory=lambda: Port(name="p")), good=[ABSENT], bad=[1])
case("default of a part", Port, good=[{"name": "a"}], bad=[Bad({}, ["spec.value.name"])])
case("default enum", Colour, default=Colour.RED, good=[ABSENT], bad=["green"])
case("default Quantity", Quantity, default=Quantity("1Gi"), good=[ABSENT], bad=["x y"])
case("default IntOrString", IntOrString, default="25%", good=[ABSENT, 1], bad=[True])
case("default where None is allowed", int | None, default=7, good=[ABSENT, 1], bad=["a"])
case("default JSON", JSON, default=msgspec.field(default_factory=lambda: {"a": [1]}), good=[ABSENT, 1], bad=[])

# Numbers
case("minimum", Annotated[int, kw.Range(1)], good=[1, 99], bad=[0, -1])
case("maximum", Annotated[int, kw.Range(maximum=9)], good=[9, -5], bad=[10])
case("both bounds", Annotated[int, kw.Range(1, 10)], good=[1, 10], bad=[0, 11])
case("exclusive minimum", Annotated[int, kw.Range(1, exclusive_minimum=True)], good=[2], bad=[1, 0])
case("exclusive maximum", Annotated[int, kw.Range(maximum=9, exclusive_maximum=True)], good=[8], bad=[9, 10])
case("bounds of zero", Annotated[int, kw.Range(0, 0)], good=[0], bad=[1, -1])
case("negative bounds", Annotated[int, kw.Range(-5, -1)], good=[-5, -1], bad=[0, -6])
case("fractional bounds", Annotated[float, kw.Range(0.5, 1.5)], good=[0.5, 1, 1.5], bad=[0.4, 1.6])
case("exclusive fraction", Annotated[float, kw.Range(0, 1, exclusive_minimum=True)], good=[0.1, 1], bad=[0])
case("multiple", Annotated[int, kw.MultipleOf(5)], good=[0, 5, -10], bad=[1, 7])
case("multiple of a float", Annotated[float, kw.MultipleOf(2)], good=[4, 2.0], bad=[3, 2.5])
case("range and multiple", Annotated[int, kw.Range(1, 10), kw.MultipleOf(2)], good=[2], bad=[12, 3, 0])
case("int32", Annotated[int, kw.Format("int32")], good=[2**31 - 1, -(2**31)], bad=["a"])
case("float32", Annotated[float, kw.Format("float")], good=[1.5], bad=["a"])
case("range where None is allowed", Annotated[int, kw.Range(1)] | None, default=None, good=[1, ABSENT], bad=[0])
case("range outside of None", Annotated[int | None, kw.Range(1)], default=None, good=[1, ABSENT], bad=[0])
case("range of IntOrString", Annotated[IntOrString, kw.Range(1)], good=[1, "x"], bad=[0])
case("choices of numbers", Annotated[int, kw.Choices(1, 5)], good=[1, 5], bad=[2])
case("choices of fractions", Annotated[float, kw.Choices(0.5, 1)], good=[0.5, 1], bad=[2])
case("choice of booleans", Annotated[bool, kw.Choices(True)], good=[True], bad=[False])

# Texts
case("least length", Annotated[str, kw.Length(2)], good=["ab"], bad=["a", ""])
case("greatest length", Annotated[str, kw.Length(maximum=3)], good=["", "abc", "üüü"], bad=["abcd", "üüüü"])
case("exact length", Annotated[str, kw.Length(2, 2)], good=["ab"], bad=["a", "abc"])
case("pattern", Annotated[str, kw.Pattern("^[a-z]+$")], good=["abc"], bad=["", "A", "a1", "a\n"])
case("pattern without anchors", Annotated[str, kw.Pattern("b+")], good=["abba"], bad=["aa"])
case("pattern with a POSIX class", Annotated[str, kw.Pattern("^[[:alpha:]_]+$")], good=["aB_"], bad=["a1"])
case("pattern with a flag", Annotated[str, kw.Pattern("(?i)^abc$")], good=["ABC"], bad=["abd"])
case("pattern with ASCII digits", Annotated[str, kw.Pattern(r"^\d+$")], good=["12"], bad=["١٢"])
case("pattern with ASCII words", Annotated[str, kw.Pattern(r"^\w+$")], good=["a_1"], bad=["ü"])
case("pattern to the end of text", Annotated[str, kw.Pattern(r"a\z")], good=["ba"], bad=["ab"])
case("pattern of alternatives", Annotated[str, kw.Pattern("^(?:a|bc){2}$")], good=["abc"], bad=["ab"])
case("pattern of IntOrString", Annotated[IntOrString, kw.Pattern("^[0-9]+%$")], good=[3, "25%"], bad=["25"])
case("length of IntOrString", Annotated[IntOrString, kw.Length(maximum=3)], good=[12345, "25%"], bad=["1000%"])
case("alias", Name, good=["abc"], bad=["ABC", "abcdef"])
case("choices of texts", Annotated[str, kw.Choices("a", "b")], good=["a"], bad=["c"])
FORMATS: list[tuple[str, list[Any], list[Any]]] = [
    ("bsonobjectid", ["507f1f77bcf86cd799439011"], ["507f", "z07f1f77bcf86cd799439011"]),
    ("uri", ["https://example.com/a?b=c", "/path"], ["no uri", "example"]),
    ("email", ["me@example.com", "Me <me@example.com>"], ["me", "me@", "@example.com"]),
    ("hostname", ["example.com", "a", "a-b.example.com"], ["-a.com", "a..b", "a_b"]),
    ("ipv4", ["10.0.0.1"], ["10.0.0", "256.0.0.1", "::1"]),
    ("ipv6", ["::1", "2001:db8::1"], ["10.0.0.1", "::g"]),
    ("cidr", ["10.0.0.0/8", "2001:db8::/32", "10.0.0.1/8"], ["10.0.0.0", "10.0.0.0/33"]),
    ("mac", ["01:23:45:67:89:ab", "01-23-45-67-89-ab"], ["01:23:45:67:89", "zz:23:45:67:89:ab"]),
    ("uuid", ["6F1E8A2E-7d3c-4d49-9a53-1d2f9b7d9a10"], ["6f1e8a2e"]),
    ("uuid3", ["6f1e8a2e-7d3c-3d49-9a53-1d2f9b7d9a10"], ["6f1e8a2e-7d3c-4d49-9a53-1d2f9b7d9a10"]),
    ("uuid4", ["6f1e8a2e-7d3c-4d49-9a53-1d2f9b7d9a10"], ["6f1e8a2e-7d3c-5d49-9a53-1d2f9b7d9a10"]),
    ("uuid5", ["6f1e8a2e-7d3c-5d49-9a53-1d2f9b7d9a10"], ["6f1e8a2e-7d3c-4d49-9a53-1d2f9b7d9a10"]),
    ("isbn", ["0321751043", "978-0321751041"], ["0321751044"]),
    ("isbn10", ["0321751043"], ["978-0321751041"]),
    ("isbn13", ["978-0321751041"], ["0321751043"]),
    ("creditcard", ["4111111111111111"], ["4111111111111112", "1"]),
    ("ssn", ["111-22-3333"], ["111-22-333"]),
    ("hexcolor", ["#FFFFFF", "#fff"], ["#ffff", "red"]),
    ("rgbcolor", ["rgb(255,0,10)"], ["rgb(256,0,0)", "rgb(1,2)"]),
    ("byte", ["aGk="], ["a", "!!!!"]),
    ("password", ["anything"], [1]),
    ("date", ["2030-01-31"], ["2030-02-31"]),
    ("date-time", ["2030-01-31T12:00:00Z"], ["2030-01-31"]),
    ("duration", ["1h30m", "10 days", "0"], ["soon", ""]),
    ("k8s-short-name", ["a-b"], ["A", "-a", "a.b"]),
    ("k8s-long-name", ["a.b-c"], ["a..b", "A"]),
]
for name, good, bad in FORMATS:
    case(f"format {name}", Annotated[str, kw.Format(name)], good=good, bad=bad)

# Lists
case("list", list[str], good=[[], ["a", "a"]], bad=["a", {}, None, Bad([1], ["spec.value[0]"])])
case("list without elements' type", list, good=[[1, "a"]], bad=["a"])
case("list of lists", list[list[int]], good=[[[1], []]], bad=[Bad([[1], ["a"]], ["spec.value[1][0]"])])
case("list of models", list[Port], good=[[{"name": "a"}]], bad=[Bad([{}], ["spec.value[0].name"])])
case("list of JSON", list[JSON], good=[[1, "a", {"b": 1}, None]], bad=[1])
case("list of Quantity", list[Quantity], good=[["1", 2]], bad=[Bad(["x y"], ["spec.value[0]"])])
case("list of enum", list[Colour], good=[["red"]], bad=[Bad(["red", "no"], ["spec.value[1]"])])
case("least items", Annotated[list[int], kw.Items(1)], good=[[1]], bad=[[]])
case("greatest items", Annotated[list[int], kw.Items(maximum=1)], good=[[1], []], bad=[[1, 2]])
case("items of elements", list[Annotated[int, kw.Range(1)]], good=[[1]], bad=[Bad([1, 0], ["spec.value[1]"])])
case("texts of elements", list[Name], good=[["a"]], bad=[Bad(["A", "abcdef"], ["spec.value[0]", "spec.value[1]"])])
case("set", Annotated[list[str], kw.ListType("set")], good=[["a", "b"]], bad=[Bad(["a", "b", "a"], ["spec.value[2]"])])
case("set of numbers", Annotated[list[int], kw.ListType("set")], good=[[1, 2]], bad=[Bad([1, 1], ["spec.value[1]"])])
case(
    "set of atomic lists",
    Annotated[list[Annotated[list[int], kw.ListType("atomic")]], kw.ListType("set")],
    good=[[[1], [2]]],
    bad=[Bad([[1], [1]], ["spec.value[1]"])],
)
case(
    "set of atomic models",
    Annotated[list[Annotated[Pair, kw.MapType("atomic")]], kw.ListType("set")],
    good=[[{"one": 1}, {"one": 2}]],
    bad=[Bad([{"one": 1}, {"one": 1}], ["spec.value[1]"])],
)
case("atomic", Annotated[list[str], kw.ListType("atomic")], good=[["a", "a"]], bad=["a"])
case(
    "map list",
    Annotated[list[Port], kw.ListType("map", keys=["name"])],
    good=[[{"name": "a"}, {"name": "b"}]],
    bad=[Bad([{"name": "a"}, {"name": "a", "number": 1}], ["spec.value[1]"]), Bad([{}], ["spec.value[0].name"])],
)
case(
    "map list of two keys, one with a default",
    Annotated[list[Port], kw.ListType("map", keys=["name", "number"])],
    good=[[{"name": "a"}, {"name": "a", "number": 81}]],
    bad=[Bad([{"name": "a"}, {"name": "a", "number": 80}], ["spec.value[1]"])],
)

# Maps
case("map", dict[str, int], good=[{}, {"a": 1}], bad=[[], 1, Bad({"a": "b"}, ["spec.value.a"])])
case("map of not nullable", dict[str, str], good=[{"a": ""}, {"a": None}], bad=[Bad({"a": 1}, ["spec.value.a"])])
case("map without types", dict, good=[{"a": {"b": 1}}], bad=[[]])
case("map of models", dict[str, Port], good=[{"x": {"name": "a"}}], bad=[Bad({"x": {}}, ["spec.value.x.name"])])
case("map of maps", dict[str, dict[str, int]], good=[{"a": {"b": 1}}], bad=[Bad({"a": {"b": "c"}}, ["spec.value.a.b"])])
case("map of lists", dict[str, list[int]], good=[{"a": [1]}], bad=[Bad({"a": ["b"]}, ["spec.value.a[0]"])])
case("map of JSON", dict[str, JSON], good=[{"a": 1, "b": {"c": []}, "d": None}], bad=["a"])
case("map of Quantity", dict[str, Quantity], good=[{"cpu": "1"}], bad=[Bad({"cpu": "x y"}, ["spec.value.cpu"])])
case("map of rules", dict[str, Annotated[str, kw.Length(1)]], good=[{"a": "b"}], bad=[Bad({"a": ""}, ["spec.value.a"])])
case("least members", Annotated[dict[str, int], kw.Properties(1)], good=[{"a": 1}], bad=[{}])
case("greatest members", Annotated[dict[str, int], kw.Properties(maximum=1)], good=[{}], bad=[{"a": 1, "b": 2}])
case("atomic map", Annotated[dict[str, int], kw.MapType("atomic")], good=[{"a": 1}], bad=[1])
case("granular map", Annotated[dict[str, int], kw.MapType("granular")], good=[{"a": 1}], bad=[1])

# Models
case("model", Port, good=[{"name": "a", "number": 1}], bad=[1, Bad({"name": 1}, ["spec.value.name"])])
case("model without required fields", Pair, good=[{}, {"one": 1}], bad=[Bad({"one": "a"}, ["spec.value.one"])])
case("rules in a model", Port, good=[{"name": "a"}], bad=[Bad({"name": "a", "number": 0}, ["spec.value.number"])])
case(
    "deep",
    Deep,
    good=[{"ports": [{"name": "a"}], "byName": {"x": {"name": "b"}}}],
    bad=[
        Bad({"ports": [{"name": "a"}, {"number": 0}]}, ["spec.value.ports[1].name", "spec.value.ports[1].number"]),
        Bad({"ports": [], "byName": {"x": {"name": 1}}}, ["spec.value.byName.x.name"]),
        Bad({}, ["spec.value.ports"]),
    ],
)
case("atomic model", Annotated[Pair, kw.MapType("atomic")], good=[{"one": 1}], bad=[[]])
case("members of a model", OneMember, good=[{"one": 1}], bad=[{}, {"one": 1, "two": 2}])
case("open model", Open, good=[{"one": 1, "more": {"a": 1}}], bad=[Bad({"one": "a"}, ["spec.value.one"])])
case("open field", Annotated[Pair, kw.PreserveUnknown()], good=[{"more": 1}], bad=[1])
case(
    "names that CEL keeps", Keywords, good=[{"from": 1, "namespace": 2}], bad=[Bad({"from": "a"}, ["spec.value.from"])]
)
case(
    "tagged union",
    File | Web,
    good=[{"type": "file", "path": "/a"}, {"type": "web", "url": "https://a.example", "note": "n"}],
    bad=[
        Bad({"type": "file", "path": "/a", "url": "https://a.example"}, ["spec.value"]),
        Bad({"type": "file"}, ["spec.value", "spec.value.path"]),
        Bad({"type": "ftp", "path": "/a"}, ["spec.value", "spec.value.type"]),
    ],
)
case(
    "tagged model",
    File,
    good=[{"type": "file", "path": "/a"}],
    bad=[Bad({"type": "web", "path": "/a"}, ["spec.value.type"])],
)

# Whole objects and Kubernetes' own types
case(
    "embedded JSON",
    Annotated[dict[str, JSON], kw.EmbeddedResource()],
    good=[{"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "b"}}],
    bad=[Bad({"kind": "ConfigMap"}, ["spec.value.apiVersion"]), Bad({"apiVersion": "v1"}, ["spec.value.kind"])],
)
case(
    "embedded kind",
    Annotated[core.ConfigMap, kw.EmbeddedResource()],
    good=[
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "labels": {"a": "b"}}, "data": {"a": "b"}}
    ],
    bad=[Bad({}, ["spec.value.apiVersion", "spec.value.kind"])],
)
case(
    "kind inside",
    core.ConfigMap,
    good=[{"metadata": {"name": "a"}, "data": {"a": "b"}}],
    bad=[Bad({"data": 1}, ["spec.value.data"])],
)
case(
    "ObjectMeta inside",
    meta.ObjectMeta,
    good=[{"labels": {"a": "b"}}],
    bad=[Bad({"labels": {"a": 1}}, ["spec.value.labels.a"])],
)
case(
    "LabelSelector",
    meta.LabelSelector,
    good=[{"matchLabels": {"a": "b"}}],
    bad=[Bad({"matchLabels": []}, ["spec.value.matchLabels"])],
)
case(
    "Condition",
    meta.Condition,
    good=[],
    bad=[
        Bad(
            {"type": 1},
            [
                "spec.value.message",
                "spec.value.reason",
                "spec.value.status",
                "spec.value.type",
            ],
        )
    ],
)
case(
    "ResourceRequirements",
    core.ResourceRequirements,
    good=[{"limits": {"cpu": "1"}, "requests": {"memory": 1}}],
    bad=[Bad({"limits": {"cpu": "x y"}}, ["spec.value.limits.cpu"])],
)
case(
    "SecretKeySelector",
    core.SecretKeySelector,
    good=[{"name": "a", "key": "b"}],
    bad=[Bad({"name": "a"}, ["spec.value.key"])],
)
case("Container", core.Container, good=[{"name": "a", "image": "b"}], bad=[Bad({"image": "b"}, ["spec.value.name"])])
case("EnvVar list", list[core.EnvVar], good=[[{"name": "a", "value": "b"}]], bad=[Bad([{}], ["spec.value[0].name"])])
case("Volume", core.Volume, good=[{"name": "a", "emptyDir": {"sizeLimit": "1Gi"}}], bad=[Bad({}, ["spec.value.name"])])
case(
    "Affinity", core.Affinity, good=[{"nodeAffinity": {}}], bad=[Bad({"nodeAffinity": 1}, ["spec.value.nodeAffinity"])]
)
case("Toleration list", list[core.Toleration], good=[[{"key": "a"}]], bad=[Bad([{"key": 1}], ["spec.value[0].key"])])
case(
    "PodTemplateSpec",
    core.PodTemplateSpec,
    good=[
        {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "a", "ports": [{"containerPort": 80}]}]}}
    ],
    bad=[
        Bad({"spec": {"containers": [{"image": "b"}]}}, ["spec.value.spec.containers[0].name"]),
        Bad({"spec": {"containers": [{"name": "a"}, {"name": "a"}]}}, ["spec.value.spec.containers[1]"]),
    ],
)
case(
    "PersistentVolumeClaim list",
    list[core.PersistentVolumeClaim],
    good=[[{"metadata": {"name": "a"}, "spec": {}}]],
    bad=[1],
)

# CEL, which only the server checks
case("rule", Annotated[int, kw.Rule("self % 2 == 0")], good=[2], bad=[3], server_only=True)
case(
    "rule with a message", Annotated[int, kw.Rule("self > 0", message="too small")], good=[2], bad=[0], server_only=True
)
case(
    "rule with a message expression",
    Annotated[int, kw.Rule("self > 0", message_expression="self < -9 ? 'far too small' : 'too small'")],
    good=[2],
    bad=[0],
    server_only=True,
)
case(
    "rule with a reason",
    Annotated[int, kw.Rule("self > 0", reason="FieldValueForbidden")],
    good=[2],
    bad=[0],
    server_only=True,
)
case("two rules", Annotated[int, kw.Rule("self > 0"), kw.Rule("self < 9")], good=[2], bad=[0, 9], server_only=True)
case(
    "rule of several lines",
    Annotated[int, kw.Rule("self > 0\n&& self < 9", message="1 to 8")],
    good=[2],
    bad=[9],
    server_only=True,
)
case(
    "rule of a text",
    Annotated[str, kw.Length(maximum=9), kw.Rule("self.startsWith('a')")],
    good=["ab"],
    bad=["b"],
    server_only=True,
)
case(
    "rule of IntOrString",
    Annotated[IntOrString, kw.Rule("type(self) == string || self > 0")],
    good=[1, "a"],
    bad=[0],
    server_only=True,
)
case(
    "rule of Quantity",
    Annotated[Quantity, kw.Rule("quantity(string(self)).isGreaterThan(quantity('1'))")],
    good=["2"],
    bad=["1"],
    server_only=True,
)
case(
    "rule of a list",
    Annotated[list[int], kw.Items(maximum=5), kw.Rule("self.all(x, x > 0)")],
    good=[[1]],
    bad=[[0]],
    server_only=True,
)
case(
    "rule of a map",
    Annotated[dict[str, int], kw.Properties(maximum=5), kw.Rule("'a' in self")],
    good=[{"a": 1}],
    bad=[{}],
    server_only=True,
)
case(
    "rule of a model's place", Annotated[Pair, kw.Rule("has(self.one)")], good=[{"one": 1}], bad=[{}], server_only=True
)
case("rule of a model", Ordered, good=[{"one": 1, "two": 2}, {"one": 9}], bad=[{"one": 2, "two": 1}], server_only=True)
case("rule that blames a field", Blamed, good=[{"one": 1}], bad=[Bad({}, ["spec.value.one"])], server_only=True)
case(
    "rule of an element",
    Annotated[list[Annotated[int, kw.Rule("self != 3")]], kw.Items(maximum=5)],
    good=[[1]],
    bad=[Bad([1, 3], ["spec.value[1]"])],
    server_only=True,
)
case(
    "rule for creation too",
    Annotated[int, kw.Rule("oldSelf.hasValue() || self == 1", optional_old_self=True)],
    good=[1],
    bad=[2],
    server_only=True,
)
case("exactly one of", ExactlyOne, good=[{"one": 1}, {"two": 0}], bad=[{}, {"one": 1, "two": 2}], server_only=True)
case("at most one of", AtMostOne, good=[{}, {"one": 1}], bad=[{"one": 1, "two": 2}], server_only=True)
case("at least one of", AtLeastOne, good=[{"one": 1, "two": 2}], bad=[{}], server_only=True)
case("one of names that CEL keeps", OneKeyword, good=[{"from": 1}], bad=[{"from": 1, "namespace": 2}], server_only=True)

# Said, without an effect on what is accepted
case(
    "example",
    Annotated[int, kw.Example(3)],
    good=[1],
    bad=["a"],
    schema={"type": "integer", "format": "int64", "example": 3},
)

# More places for the same rules
case("range in a map", dict[str, Annotated[int, kw.Range(1)]], good=[{"a": 1}], bad=[Bad({"a": 0}, ["spec.value.a"])])
case(
    "range in lists of lists",
    list[list[Annotated[int, kw.Range(1)]]],
    good=[[[1]]],
    bad=[Bad([[0]], ["spec.value[0][0]"])],
)
case(
    "items in a map",
    dict[str, Annotated[list[int], kw.Items(1)]],
    good=[{"a": [1]}],
    bad=[Bad({"a": []}, ["spec.value.a"])],
)
case(
    "members in a list",
    list[Annotated[dict[str, int], kw.Properties(1)]],
    good=[[{"a": 1}]],
    bad=[Bad([{}], ["spec.value[0]"])],
)
case("enum in a map", dict[str, Colour], good=[{"a": "red"}], bad=[Bad({"a": "no"}, ["spec.value.a"])])
case(
    "format in a list",
    list[Annotated[str, kw.Format("ipv4")]],
    good=[["10.0.0.1"]],
    bad=[Bad(["x"], ["spec.value[0]"])],
)
case("time in a list", list[Time], good=[["2030-01-31T12:00:00Z"]], bad=[Bad(["x"], ["spec.value[0]"])])
case("bytes in a map", dict[str, bytes], good=[{"a": "aGk="}], bad=[Bad({"a": "!"}, ["spec.value.a"])])
case("IntOrString in a list", list[IntOrString], good=[[1, "a"]], bad=[Bad([True], ["spec.value[0]"])])
case(
    "union in a list",
    list[File | Web],
    good=[[{"type": "file", "path": "/"}]],
    bad=[
        Bad(
            [{"type": "web"}],
            ["spec.value[0]", "spec.value[0].path", "spec.value[0].type"],
            ["spec.value[0]", "spec.value[0].url"],
        )
    ],
)
case(
    "set in a map",
    dict[str, Annotated[list[str], kw.ListType("set")]],
    good=[{"a": ["b"]}],
    bad=[Bad({"a": ["b", "b"]}, ["spec.value[a][1]"])],
)
case(
    "map list in a model",
    Ports,
    good=[{"ports": [{"name": "a"}]}],
    bad=[Bad({"ports": [{"name": "a"}, {"name": "a"}]}, ["spec.value.ports[1]"])],
)
case(
    "set of enum",
    Annotated[list[Colour], kw.ListType("set")],
    good=[["red"]],
    bad=[Bad(["red", "red"], ["spec.value[1]"])],
)
case("immutable", Annotated[int, kw.Immutable()], good=[1], bad=["a"])
case("optional immutable", Annotated[int, kw.Immutable()] | None, default=None, good=[1, ABSENT], bad=["a"])
case(
    "inherited fields",
    Derived,
    good=[{"one": 1, "three": 3}],
    bad=[Bad({"one": "a", "three": "b"}, ["spec.value.one", "spec.value.three"])],
)
case("names given by hand", Renamed, good=[{"podIP": "10.0.0.1"}], bad=[Bad({"podIP": 1}, ["spec.value.podIP"])])
case(
    "embedded in a list",
    list[Annotated[JSON, kw.EmbeddedResource()]],
    good=[[{"apiVersion": "v1", "kind": "A"}]],
    bad=[Bad([{"kind": "A"}], ["spec.value[0].apiVersion"])],
)
case(
    "open in a list",
    list[Annotated[Pair, kw.PreserveUnknown()]],
    good=[[{"more": 1}]],
    bad=[Bad([1], ["spec.value[0]"])],
)
case("example of a list", Annotated[list[int], kw.Example([1])] | None, default=None, good=[[1], ABSENT], bad=[1])


@kw.constrain(kw.AtMostOneOf("user", "token"))
class Login(kw.Model, tag="login", tag_field="type"):
    user: str | None = None
    token: str | None = None


@kw.constrain(kw.Rule("!has(self.level) || self.level > 0", message="level is too low"))
class Guest(kw.Model, tag="guest", tag_field="type"):
    level: int | None = None


case(
    "rules of the variants of a union",
    Login | Guest,
    good=[{"type": "login", "user": "a"}, {"type": "guest", "level": 1}],
    bad=[{"type": "login", "user": "a", "token": "b"}, {"type": "guest", "level": 0}],
    server_only=True,
)
case(
    "rule of a union",
    Annotated[File | Web, kw.Rule("!has(self.note)")],
    good=[{"type": "file", "path": "/"}],
    bad=[{"type": "file", "path": "/", "note": "n"}],
    server_only=True,
)
