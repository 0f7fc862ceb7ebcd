"""The models of the table's rows."""

from enum import Enum, IntEnum
from typing import Annotated

import msgspec

import kubewright as kw

Name = Annotated[str, kw.Pattern("^[a-z]+$"), kw.Length(1, 5)]


class Color(Enum):
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


@kw.constrain(kw.ExactlyOneOf("one", "two"))
class ExactlyOneOrDefault(kw.Model):
    one: int = 1
    two: int | None = None


@kw.constrain(kw.AtMostOneOf("one", "two", "three"))
class AtMostOneOfThree(Derived):
    pass


@kw.constrain(kw.ExactlyOneOf("one", "two"), kw.AtLeastOneOf("two", "three"))
class TwoOnesOf(Derived):
    pass
