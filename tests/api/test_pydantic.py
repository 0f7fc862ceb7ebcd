"""pydantic models as spec and status."""

from __future__ import annotations

import types
from datetime import datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal

import msgspec
import pydantic
import pytest
from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

import kubewright as kw
from kubewright.api import DecodeError, decode, encode, meta
from kubewright.client import Client
from kubewright.client.wire import changes
from kubewright.crd import crd_of, install, schema_of


class Camel(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)


class Port(Camel):
    """Where it listens."""

    port_name: str
    number: int = Field(default=80, ge=1, le=65535)
    note: str | None = None


class Level(Enum):
    LOW = "low"
    HIGH = "high"


class Spec(Camel):
    """What is asked for."""

    image_name: str = Field(min_length=1, pattern="^[a-z]+$", description="What runs.")
    ports: Annotated[list[Port], kw.ListType("map", keys=["portName"])] = []
    level: Level = Level.LOW
    ratio: float | None = Field(default=None, gt=0, lt=1)
    since: datetime | None = None
    must: str | None
    labels: dict[str, str | None] = {}
    extra: Any = None


class Status(Camel):
    ready_replicas: int = 0
    conditions: list[Port] | None = None


@kw.resource("pydantic.example.com/v1", columns={"Ready": ".status.readyReplicas", "Image": ".spec.imageName"})
class Thing(kw.Resource[Spec, Status]):
    """A thing."""


class BulbStatus(Camel):
    ready_replicas: int = 0
    conditions: list[Any] | None = None


@kw.resource("pydantic.example.com/v1")
class Bulb(kw.Resource[Port, BulbStatus]):
    """A bulb."""


RAW = (
    b'{"metadata":{"name":"a","namespace":"default","resourceVersion":"1"},"spec":{"imageName":"nginx","must":null,'
    b'"unknown":{"a":1},"ports":[{"portName":"web","more":1},{"portName":"api","number":2,"more":2}]}}'
)


@pytest.mark.promise(
    "Types from definitions",
    "A pydantic model can be spec or status, and unknown fields survive an update.",
)
def test_an_object_decodes_and_encodes_by_its_aliases() -> None:
    thing = decode(Thing, RAW)
    assert isinstance(thing.spec, Spec)
    assert (thing.spec.image_name, thing.spec.ports[1].number, thing.status.ready_replicas) == ("nginx", 2, 0)
    thing.spec.since = datetime.fromisoformat("2030-01-31T12:00:00+00:00")
    assert msgspec.json.decode(encode(thing))["spec"] == {
        "imageName": "nginx",
        "ports": [{"portName": "web", "number": 80}, {"portName": "api", "number": 2}],
        "level": "low",
        "since": "2030-01-31T12:00:00Z",
        "must": None,  # required, so it is there
        "labels": {},
    }


def test_decode_error_names_object_and_field() -> None:
    raw = RAW.replace(b'"number":2', b'"number":"two"')
    with pytest.raises(DecodeError, match=r"Thing default/a: spec: ports\[1\].number: Input should be a valid integer"):
        decode(Thing, raw)


@pytest.mark.promise(
    "Types from definitions",
    "A pydantic model can be spec or status, and unknown fields survive an update.",
)
def test_update_sends_changes_and_keeps_unknown_fields() -> None:
    thing = decode(Thing, RAW)
    assert changes(thing) == []
    thing.spec.ports.pop(0)
    thing.spec.ports[0].number = 3
    thing.spec.image_name = "other"
    operations = [operation for operation in changes(thing) if "resourceVersion" not in operation["path"]]
    assert {"op": "remove", "path": "/spec/ports/0"} in operations
    assert {"op": "replace", "path": "/spec/ports/0/number", "value": 3} in operations
    assert not any("unknown" in operation["path"] or "more" in operation["path"] for operation in operations)


def test_a_definition_has_the_schema_of_the_models() -> None:
    schema = schema_of(Thing)
    assert schema["required"] == ["spec"]
    assert schema["properties"]["spec"] == {
        "type": "object",
        "required": ["imageName", "must"],
        "properties": {
            "imageName": {"type": "string", "minLength": 1, "pattern": "^[a-z]+$"},
            "ports": {
                "type": "array",
                "default": [],
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["portName"],
                "items": {
                    "type": "object",
                    "required": ["portName"],
                    "properties": {
                        "portName": {"type": "string"},
                        "number": {"type": "integer", "format": "int64", "minimum": 1, "maximum": 65535, "default": 80},
                        "note": {"type": "string"},
                    },
                },
            },
            "level": {"type": "string", "enum": ["low", "high"], "default": "low"},
            "ratio": {
                "type": "number",
                "format": "double",
                "minimum": 0,
                "exclusiveMinimum": True,
                "maximum": 1,
                "exclusiveMaximum": True,
            },
            "since": {"type": "string", "format": "date-time"},
            "must": {"type": "string", "nullable": True},
            "labels": {"type": "object", "default": {}, "additionalProperties": {"type": "string", "nullable": True}},
            "extra": {"nullable": True, "x-kubernetes-preserve-unknown-fields": True},
        },
    }
    status = schema["properties"]["status"]["properties"]
    assert status["readyReplicas"] == {"type": "integer", "format": "int64"}  # no defaults in a status
    assert "default" not in status["conditions"]["items"]["properties"]["number"]


def test_a_definition_has_descriptions_columns_and_a_status_of_its_own() -> None:
    content = msgspec.json.decode(encode(crd_of(Thing)))["spec"]["versions"][0]
    spec = content["schema"]["openAPIV3Schema"]["properties"]["spec"]
    assert spec["description"] == "What is asked for."
    assert spec["properties"]["imageName"]["description"] == "What runs."
    assert content["subresources"] == {"status": {}}
    assert [column["type"] for column in content["additionalPrinterColumns"]] == ["integer", "string"]


def test_a_rule_is_checked_before_a_request() -> None:
    thing = decode(Thing, RAW)
    kw.validate(thing)
    thing.spec.ports[0].number = 0
    with pytest.raises(kw.ValidationError, match=r"spec.ports\[0\].number: must be at least 1, not 0"):
        kw.validate(thing)


def test_a_model_may_stand_inside_ours_and_an_absent_one_is_empty() -> None:
    class Outer(kw.Model):
        inner: Status
        many: list[Port] | None = None

    @kw.resource("example.com/v1")
    class Holder(kw.Resource[Outer, Status | None]):
        pass

    @kw.resource("example.com/v1")
    class Empty(kw.Resource[Status, Status]):
        pass

    holder = decode(Holder, b'{"spec":{"inner":{"readyReplicas":2},"many":[{"portName":"a"}]}}')
    assert (holder.spec.inner.ready_replicas, holder.spec.many, holder.status) == (2, [Port(port_name="a")], None)
    assert schema_of(Holder)["properties"]["spec"]["properties"]["inner"]["properties"]["readyReplicas"]["default"] == 0
    assert Empty(metadata=meta.ObjectMeta(name="a"), spec=Status()).status == Status()
    assert decode(Empty, b"{}").spec == Status()
    assert "required" not in schema_of(Empty)


class Twofaced(BaseModel):
    value: int = Field(validation_alias="a", serialization_alias="b")


class Tree(BaseModel):
    children: list[Tree] = []


class Cat(BaseModel):
    kind: Literal["cat"]


class Dog(BaseModel):
    kind: Literal["dog"]


@pytest.mark.promise(
    "Types from definitions",
    "What a definition cannot say of a pydantic model is refused with the field.",
)
@pytest.mark.parametrize(
    ("hint", "message"),
    [
        (Cat | Dog, r"Refused.spec.value: a CRD cannot express this union; use one field for each of its types"),
        (Annotated[Cat | Dog, Field(discriminator="kind")], "cannot express this union"),
        (Decimal, "cannot express this union"),
        (tuple[int, str], "cannot express this type; use a list"),
        (list[Literal["a", 1]], r"Refused.spec.value\[\*\]: the values of an enum are all strings or all numbers"),
        (list[Literal["a"] | None], "the API server rejects null for every enum"),
        (Tree, r"Refused.spec.value.children\[\*\]: Tree contains itself"),
        (set[Port], "the elements of a set are strings, numbers or booleans"),
        (Annotated[str, kw.Range(1)], "Refused.spec.value: Range is for"),
    ],
)
def test_rejects_inexpressible_types_with_field(hint: Any, message: str) -> None:
    made = pydantic.create_model("Made", value=(hint, ...))
    kind: Any = types.new_class("Refused", (kw.Resource[made, None],))  # type: ignore[valid-type]
    with pytest.raises(TypeError, match=message):
        schema_of(kw.resource("example.com/v1")(kind))


@pytest.mark.parametrize(
    ("hint", "schema"),
    [
        (int | str, {"x-kubernetes-int-or-string": True}),
        (int | float, {"type": "number", "format": "double"}),
        (set[str], {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"}),
        (timedelta, {"type": "string"}),
        (pydantic.AnyUrl, {"type": "string", "format": "uri", "minLength": 1}),
        (Literal["a"], {"type": "string", "enum": ["a"]}),
        (
            Annotated[int, kw.Rule("self > 1")],
            {"type": "integer", "format": "int64", "x-kubernetes-validations": [{"rule": "self > 1"}]},
        ),
        (Annotated[str, kw.Schema({"format": "x"})], {"type": "string", "format": "x"}),
        (
            dict[str, Any],
            {
                "type": "object",
                "additionalProperties": {"nullable": True, "x-kubernetes-preserve-unknown-fields": True},
            },
        ),
    ],
)
def test_types_of_pydantic_have_schemas(hint: Any, schema: dict[str, Any]) -> None:
    made = pydantic.create_model("Made", value=(hint, ...))
    kind: Any = types.new_class("Taken", (kw.Resource[made, None],))  # type: ignore[valid-type]
    assert schema_of(kw.resource("example.com/v1")(kind))["properties"]["spec"]["properties"]["value"] == schema


def test_rejects_model_that_cannot_be_read_back() -> None:
    class Inner(BaseModel):
        model_config = ConfigDict(extra="forbid")

    class Strict(BaseModel):
        inner: list[Inner] = []

    class Holder(kw.Model):
        twofaced: list[Twofaced]

    with pytest.raises(TypeError, match=r'Wrong.spec: Inner has extra="forbid"'):

        @kw.resource("example.com/v1")
        class Wrong(kw.Resource[Strict, None]):
            pass

    with pytest.raises(TypeError, match=r"Worse.spec.twofaced\[\*\]: Twofaced.value is read and written by different"):

        @kw.resource("example.com/v1")
        class Worse(kw.Resource[Holder, None]):
            pass


async def test_a_reconciler_writes_a_status_of_pydantic(client: Client, namespace: str) -> None:
    operator = kw.Operator("bulbs")

    @operator.reconciles(Bulb)
    async def sync(bulb: Bulb, ctx: kw.Context[Bulb]) -> None:
        await ctx.set_status(BulbStatus(ready_replicas=bulb.spec.number))

    async with operator.running(client, namespaces=[namespace]):
        metadata = meta.ObjectMeta(name="bulb", namespace=namespace)
        await client.create(Bulb(metadata=metadata, spec=Port(port_name="a", number=7)))
        await client.wait_for(Bulb, "bulb", lambda bulb: bulb.status.ready_replicas == 7, namespace)


@pytest.mark.promise(
    "Types from definitions",
    "A pydantic model can be spec or status, and unknown fields survive an update.",
)
async def test_server_accepts_definition_and_keeps_unknown_fields(client: Client, namespace: str) -> None:
    class OpenPort(Port):
        model_config = ConfigDict(extra="allow")

    class OpenSpec(Camel):
        ports: Annotated[list[OpenPort], kw.ListType("map", keys=["portName"])] = []
        size: int = 1

    @kw.resource("pydantic.example.com/v1", kind="Box")
    class OpenBox(kw.Resource[OpenSpec, Status]):
        pass

    class ClosedSpec(Camel):
        ports: Annotated[list[Port], kw.ListType("map", keys=["portName"])] = []

    @kw.resource("pydantic.example.com/v1", kind="Box")
    class Box(kw.Resource[ClosedSpec, Status]):
        pass

    await install(client, OpenBox)
    spec = {"ports": [{"portName": "a", "more": 1}, {"portName": "b", "more": 2}], "size": 5}
    metadata = meta.ObjectMeta(name="box", namespace=namespace)
    await client.create(OpenBox(metadata=metadata, spec=OpenSpec.model_validate(spec)))
    box = await client.get(Box, "box", namespace)
    box.spec.ports.pop(0)
    box.spec.ports[0].number = 9
    box = await client.update(box)
    box.status.ready_replicas = 3
    await client.update_status(box)
    stored = await client.get(OpenBox, "box", namespace)
    assert (stored.spec.size, stored.status.ready_replicas) == (5, 3)
    assert [port.model_dump(by_alias=True, exclude_none=True) for port in stored.spec.ports] == [
        {"portName": "b", "number": 9, "more": 2}
    ]
