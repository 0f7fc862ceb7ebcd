"""Lists, maps and models, and the same rules inside them."""

from typing import Annotated

import kubewright as kw
from kubewright.api import JSON, IntOrString, Quantity, Time
from tests.crd.conftest import ABSENT
from tests.crd.table.case import Bad, case
from tests.crd.table.models import (
    Color,
    Deep,
    Derived,
    File,
    Keywords,
    Name,
    OneMember,
    Open,
    Pair,
    Port,
    Ports,
    Renamed,
    Web,
)

# Lists
case("list", list[str], good=[[], ["a", "a"]], bad=["a", {}, None, Bad([1], ["spec.value[0]"])])
case("list without elements' type", list, good=[[1, "a"]], bad=["a"])
case("list of lists", list[list[int]], good=[[[1], []]], bad=[Bad([[1], ["a"]], ["spec.value[1][0]"])])
case("list of models", list[Port], good=[[{"name": "a"}]], bad=[Bad([{}], ["spec.value[0].name"])])
case("list of JSON", list[JSON], good=[[1, "a", {"b": 1}, None]], bad=[1])
case("list of Quantity", list[Quantity], good=[["1", 2]], bad=[Bad(["x y"], ["spec.value[0]"])])
case("list of enum", list[Color], good=[["red"]], bad=[Bad(["red", "no"], ["spec.value[1]"])])
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

# Annotations without an effect on validation
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
case("enum in a map", dict[str, Color], good=[{"a": "red"}], bad=[Bad({"a": "no"}, ["spec.value.a"])])
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
    Annotated[list[Color], kw.ListType("set")],
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
case("explicit names", Renamed, good=[{"podIP": "10.0.0.1"}], bad=[Bad({"podIP": 1}, ["spec.value.podIP"])])
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

case("title", Annotated[int, kw.Schema({"title": "Size"})], good=[1], bad=["a"])
case(
    "union where None is allowed",
    File | Web | None,
    default=None,
    good=[ABSENT, {"type": "file", "path": "/a"}],
    bad=[Bad({"type": "file"}, ["spec.value", "spec.value.path"])],
)
case(
    "map of unions",
    dict[str, File | Web],
    good=[{"a": {"type": "file", "path": "/a"}}],
    bad=[Bad({"a": {"type": "file"}}, ["spec.value.a", "spec.value.a.path"])],
)
case(
    "atomic list of models",
    Annotated[list[Port], kw.ListType("atomic")],
    good=[[{"name": "a"}, {"name": "a"}]],
    bad=[1],
)
case(
    "items and set",
    Annotated[list[str], kw.ListType("set"), kw.Items(1, 2)],
    good=[["a"]],
    bad=[[], Bad(["a", "b", "c"], ["spec.value"])],
)
case(
    "map list with items",
    Annotated[list[Port], kw.ListType("map", keys=["name"]), kw.Items(maximum=1)],
    good=[[{"name": "a"}]],
    bad=[Bad([{"name": "a"}, {"name": "b"}], ["spec.value"])],
)
case(
    "members of an atomic map",
    Annotated[dict[str, Annotated[int, kw.Range(1)]], kw.MapType("atomic"), kw.Properties(1, 2)],
    good=[{"a": 1}],
    bad=[{}, Bad({"a": 0}, ["spec.value.a"])],
)
case("number without a format", Annotated[int, kw.Format(None)], good=[1], bad=["a"], schema={"type": "integer"})
