"""Values of one field: scalars, absent and null, defaults, numbers, strings."""

from datetime import date, datetime
from typing import Annotated, Any, Literal
from uuid import UUID

import msgspec

import kubewright as kw
from kubewright.api import JSON, IntOrString, MicroTime, Quantity, Time
from tests.crd.conftest import ABSENT
from tests.crd.table.case import Bad, case
from tests.crd.table.models import Color, Level, Name, Port

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
case("Enum", Color, good=["red", "blue"], bad=["green", "RED", 1], schema={"type": "string", "enum": ["red", "blue"]})
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
case("default enum", Color, default=Color.RED, good=[ABSENT], bad=["green"])
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

# Strings
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
    case(
        f"format {name}",
        Annotated[str, kw.Format(name)],
        good=good,
        bad=bad,
        since=35 if name.startswith("k8s-") else 0,
    )
