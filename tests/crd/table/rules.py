"""CEL rules, which the server checks."""

from typing import Annotated, Literal

import kubewright as kw
from kubewright.api import IntOrString, Quantity, Time
from tests.crd.conftest import ABSENT
from tests.crd.table.case import Bad, case
from tests.crd.table.models import (
    AtLeastOne,
    AtMostOne,
    AtMostOneOfThree,
    Blamed,
    ExactlyOne,
    ExactlyOneOrDefault,
    File,
    OneKeyword,
    Ordered,
    Pair,
    TwoOnesOf,
    Web,
)

# CEL, which only the server checks
case("rule", Annotated[int, kw.Rule("self % 2 == 0")], good=[2], bad=[3])
case("rule with a message", Annotated[int, kw.Rule("self > 0", message="too small")], good=[2], bad=[0])
case(
    "rule with a message expression",
    Annotated[int, kw.Rule("self > 0", message_expression="self < -9 ? 'far too small' : 'too small'")],
    good=[2],
    bad=[0],
)
case("rule with a reason", Annotated[int, kw.Rule("self > 0", reason="FieldValueForbidden")], good=[2], bad=[0])
case("two rules", Annotated[int, kw.Rule("self > 0"), kw.Rule("self < 9")], good=[2], bad=[0, 9])
case("rule of several lines", Annotated[int, kw.Rule("self > 0\n&& self < 9", message="1 to 8")], good=[2], bad=[9])
case("rule of a text", Annotated[str, kw.Length(maximum=9), kw.Rule("self.startsWith('a')")], good=["ab"], bad=["b"])
case("rule of IntOrString", Annotated[IntOrString, kw.Rule("type(self) == string || self > 0")], good=[1, "a"], bad=[0])
case(
    "rule of Quantity",
    Annotated[Quantity, kw.Rule("quantity(string(self)).isGreaterThan(quantity('1'))")],
    good=["2"],
    bad=["1"],
)
case("rule of a list", Annotated[list[int], kw.Items(maximum=5), kw.Rule("self.all(x, x > 0)")], good=[[1]], bad=[[0]])
case(
    "rule of a map",
    Annotated[dict[str, int], kw.Properties(maximum=5), kw.Rule("'a' in self")],
    good=[{"a": 1}],
    bad=[{}],
)
case("rule of a model's place", Annotated[Pair, kw.Rule("has(self.one)")], good=[{"one": 1}], bad=[{}])
case("rule of a model", Ordered, good=[{"one": 1, "two": 2}, {"one": 9}], bad=[{"one": 2, "two": 1}])
case("rule that blames a field", Blamed, good=[{"one": 1}], bad=[Bad({}, ["spec.value.one"])])
case(
    "rule of an element",
    Annotated[list[Annotated[int, kw.Rule("self != 3")]], kw.Items(maximum=5)],
    good=[[1]],
    bad=[Bad([1, 3], ["spec.value[1]"])],
)
case(
    "rule for creation too",
    Annotated[int, kw.Rule("oldSelf.hasValue() || self == 1", optional_old_self=True)],
    good=[1],
    bad=[2],
)
case("exactly one of", ExactlyOne, good=[{"one": 1}, {"two": 0}], bad=[{}, {"one": 1, "two": 2}])
case("at most one of", AtMostOne, good=[{}, {"one": 1}], bad=[{"one": 1, "two": 2}])
case("at least one of", AtLeastOne, good=[{"one": 1, "two": 2}], bad=[{}])
case("one of names that CEL keeps", OneKeyword, good=[{"from": 1}], bad=[{"from": 1, "namespace": 2}])


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
)
case(
    "rule of a union",
    Annotated[File | Web, kw.Rule("!has(self.note)")],
    good=[{"type": "file", "path": "/"}],
    bad=[{"type": "file", "path": "/", "note": "n"}],
)

case(
    "exactly one of, with a default",
    ExactlyOneOrDefault,
    good=[{}, {"one": 5}],
    bad=[{"two": 1}],
)
case(
    "at most one of three",
    AtMostOneOfThree,
    good=[{}, {"three": 3}],
    bad=[{"one": 1, "three": 3}, {"one": 1, "two": 2, "three": 3}],
)
case(
    "one of in a list",
    list[AtLeastOne],
    good=[[{"one": 1}]],
    bad=[Bad([{"one": 1}, {}], ["spec.value[1]"])],
)
case(
    "exactly one of in a map",
    dict[str, ExactlyOne],
    good=[{"a": {"one": 1}}],
    bad=[Bad({"a": {}}, ["spec.value[a]"])],
)
case(
    "at most one of three in a list",
    list[AtMostOneOfThree],
    good=[[{}]],
    bad=[Bad([{"one": 1, "two": 2}], ["spec.value[0]"])],
)
case(
    "two ones of",
    TwoOnesOf,
    good=[{"one": 1, "three": 3}],
    bad=[{"one": 1}, {"one": 1, "two": 2, "three": 3}],
)
case(
    "rule with the reason required", Annotated[int, kw.Rule("self > 0", reason="FieldValueRequired")], good=[2], bad=[0]
)
case(
    "rule with the reason duplicate",
    Annotated[int, kw.Rule("self > 0", reason="FieldValueDuplicate")],
    good=[2],
    bad=[0],
)
case(
    "rule that blames a member of a map",
    Annotated[dict[str, int], kw.Properties(maximum=5), kw.Rule("!('a' in self)", field_path="['a']")],
    good=[{"b": 1}],
    bad=[Bad({"a": 1}, ["spec.value.[a]"])],
)
case("rule of an enum", Annotated[Literal["a", "b"], kw.Rule("self != 'b'")], good=["a"], bad=["b"])
case(
    "rule of a time",
    Annotated[Time, kw.Rule("self.getFullYear() > 2029")],
    good=["2030-01-31T12:00:00Z"],
    bad=["2020-01-31T12:00:00Z"],
)
case("rule of a boolean", Annotated[bool, kw.Rule("self")], good=[True], bad=[False])
case("rule where None is allowed", Annotated[int, kw.Rule("self > 0")] | None, default=None, good=[1, ABSENT], bad=[0])
case(
    "rule about changes",
    Annotated[int, kw.Rule("self >= oldSelf", message="cannot shrink")],
    good=[1],
    bad=["a"],
)
