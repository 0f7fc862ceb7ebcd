from __future__ import annotations

import re
import traceback
from typing import Annotated, Any, Literal

import msgspec
import pytest

from kubewright import Quantity
from kubewright.api import (
    DecodeError,
    MicroTime,
    Model,
    Untyped,
    authentication,
    core,
    decode,
    encode,
    from_dict,
    from_yaml,
    meta,
    rbac,
    to_dict,
)

Foo = Untyped.kind_of("example.com/v1", "Foo", plural="foos")
RAW = (
    b'{"apiVersion":"example.com/v1","kind":"Foo","metadata":{"name":"a","namespace":"d","x":1},'
    b'"spec":{"n":1},"data":[]}'
)


class Part(Model):
    size: int
    names: list[str]
    table: dict[str, Quantity]


@pytest.mark.promise("Typed objects", "What does not fit names the object and the field.")
@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (
            b'{"metadata":{"name":"p","namespace":"d"},"spec":{"containers":[{"name":3}]}}',
            r"^Pod d/p: spec.containers\[0\].name: expected `str`, got `int`$",
        ),
        (
            b'{"metadata":{"name":"p"},"spec":{"containers":{}}}',
            r"^Pod p: spec.containers: expected `array`, got `object`$",
        ),
        (b"[]", r"^Pod: expected `object`, got `array`$"),
        (b"{", r"^Pod: not JSON, or truncated$"),
        (b"<html>", r"^Pod: not JSON, or truncated$"),
        (b'{"metadata":{"name":"\xff"}}', r"^Pod: not UTF-8 \(invalid start byte\)$"),
        (b'{"deep":%b%b}' % (b"[" * 50_000, b"]" * 50_000), r"^Pod: nested too deeply$"),
        (b'{"spec":%b%b}' % (b"[" * 50_000, b"]" * 50_000), r"^Pod: nested too deeply$"),
    ],
)
def test_decode_error_names_object_field_and_reason(raw: bytes, message: str) -> None:
    with pytest.raises(DecodeError, match=message):
        decode(core.Pod, raw)


def test_a_bad_value_of_a_custom_type_names_its_path() -> None:
    with pytest.raises(DecodeError) as caught:
        from_dict(Part, {"size": 1, "names": [], "table": {"cpu": "fast"}})
    assert caught.value.path.startswith("table")
    assert "a quantity" in caught.value.reason


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"table": {"cpu": "hunter2"}}, r"table\[\.\.\.\]: the value is not a quantity: expected a number"),
        ({"table": {"cpu": "it's hunter2"}}, "the value is not a quantity: expected a number"),
        ({"table": {"cpu": "hunter2" * 1000}}, "the value is not a quantity: expected a number"),
        ({"choice": "hunter2"}, "choice: not one of the values that the model allows$"),
        ({"changed": "hunter2"}, "changed: the value is not an RFC 3339 time"),
        ({"table": {"cpu": ["hunter2"]}}, "expected `str | int | float`, got `array`$"),
        ({"choice": "hunter2 - at `hunter2`"}, "choice: not one of the values that the model allows$"),
        ({"choice": 2}, "choice: expected `str`, got `int`$"),
    ],
)
def test_decode_error_does_not_contain_the_value(content: dict[str, Any], message: str) -> None:
    class Secretive(Model):
        table: dict[str, Quantity] = msgspec.field(default_factory=dict)
        choice: Literal["a", "b"] = "a"
        changed: MicroTime | None = None

    with pytest.raises(DecodeError) as caught:
        from_dict(Secretive, content)
    assert re.search(message, str(caught.value))
    assert str(caught.value).endswith(caught.value.reason)
    assert "hunter2" not in "".join(traceback.format_exception(caught.value))


def test_messages_do_not_depend_on_msgspec() -> None:
    """A release of msgspec that quotes values in other places of its messages must not disclose them."""

    class Secretive(Model):
        count: Annotated[int, msgspec.Meta(le=10)] = 0
        word: Annotated[str, msgspec.Meta(max_length=3)] = ""
        blob: bytes = b""
        inner: Part | None = None

    for content, message in (
        ({"count": 4242}, "count: the value is not in the range of int"),
        ({"count": "4242"}, "count: expected `int`, got `str`"),
        ({"word": "4242"}, "word: the value is not in the range of str"),
        ({"blob": "!4242!"}, "blob: the value is not base64"),
        ({"inner": {"size": 1, "names": ["4242", 4242], "table": {}}}, "inner.names[1]: expected `str`, got `int`"),
        ({"inner": "4242"}, "inner: expected `object | null`, got `str`"),
    ):
        with pytest.raises(DecodeError) as caught:
            from_dict(Secretive, content)
        assert str(caught.value) == f"Secretive: {message}"


def test_built_in_kinds_read_null_and_missing_required_fields_as_go_does() -> None:
    role = decode(rbac.ClusterRole, b'{"metadata":{"name":"empty","labels":null},"rules":null}')
    assert role.rules in (None, [])
    pod = decode(core.Pod, b'{"metadata":{"name":"p"},"spec":{"containers":null}}')
    assert pod.spec.containers == []
    ready = b'{"conditions":[{"type":"Ready","status":"True","reason":"","message":"","lastTransitionTime":null}]}'

    class Status(Model):
        conditions: list[meta.Condition]

    assert decode(Status, ready).conditions[0].last_transition_time is None


def test_user_models_are_not_repaired() -> None:
    with pytest.raises(DecodeError, match="missing required field `size`"):
        decode(Part, b'{"names":[],"table":{}}')
    with pytest.raises(DecodeError, match="names: expected `array`, got `null`"):
        decode(Part, b'{"size":1,"names":null,"table":{}}')


@pytest.mark.promise("Typed objects", "Untyped objects keep everything.")
def test_an_untyped_object_keeps_everything_but_types_its_metadata() -> None:
    foo = decode(Foo, RAW)
    assert foo.metadata.name == "a"
    assert foo["spec"]["n"] == 1
    assert foo.get("nothing", "default") == "default"
    assert "data" in foo
    foo["spec"]["n"] = 2
    del foo["data"]
    assert to_dict(foo) == {
        "apiVersion": "example.com/v1",
        "kind": "Foo",
        "metadata": {"name": "a", "namespace": "d"},
        "spec": {"n": 2},
    }
    assert msgspec.json.decode(encode(foo)) == to_dict(foo)
    assert foo.metadata.origin is not None
    assert foo.metadata.origin.raw == RAW


@pytest.mark.parametrize("raw", [b"[]", b"{", b'{"metadata":{"name":1}}'])
def test_rejects_untyped_object_that_is_not_an_object(raw: bytes) -> None:
    with pytest.raises(DecodeError, match="Foo"):
        decode(Foo, raw)


def test_untyped_metadata_of_null_is_empty() -> None:
    assert decode(Foo, b'{"metadata":null}').metadata.name == ""
    assert decode(Foo, b'{"metadata":{"name":"a","labels":null}}').metadata.labels == {}


def test_secret_content_is_never_shown() -> None:
    secret = core.Secret(metadata=meta.ObjectMeta(name="key"), data={"password": b"s3cret"})
    assert repr(secret) == "<Secret key, content hidden>"
    assert "s3cret" not in str(secret.__rich_repr__())
    asked = authentication.TokenReview(spec=authentication.TokenReviewSpec(token="s3cret"))
    given = decode(
        authentication.TokenRequest, b'{"status":{"token":"s3cret","expirationTimestamp":"2030-01-01T00:00:00Z"}}'
    )
    for token in (asked, given):
        assert "s3cret" not in f"{token!r} {token.__rich_repr__()}"
    shown = core.ConfigMap(metadata=meta.ObjectMeta(name="map"), data={"color": "blue"})
    assert "blue" in repr(shown)
    assert ("data", {"color": "blue"}) in shown.__rich_repr__()


def test_an_object_from_yaml_does_not_count_as_read() -> None:
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {since: '2030-01-01'}\n"
    for given in (text, text.encode()):
        found = from_yaml(core.ConfigMap, given)
        assert found.metadata.name == "a"
        assert found.data == {"since": "2030-01-01"}
        assert found.metadata.origin is None
    assert from_yaml(Foo, "{apiVersion: example.com/v1, kind: Foo, spec: {m: 1}}").content == {"spec": {"m": 1}}
    assert from_yaml(Part, "{size: 1, names: [], table: {cpu: 1}}").table == {"cpu": Quantity("1")}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{a", "^ConfigMap: not one YAML document"),
        ("kind: ConfigMap\n---\nkind: ConfigMap\n", "^ConfigMap: not one YAML document .*a second document"),
        ("{apiVersion: v1, kind: Secret}", "^ConfigMap: this is a Secret of v1, not a ConfigMap"),
        ("{apiVersion: v2, kind: ConfigMap}", "^ConfigMap: this is a ConfigMap of v2, not a ConfigMap"),
        ("{metadata: {name: a}, data: {since: 2030-01-01, on: 1}}", "^ConfigMap a: data"),
        ("# nothing", "^ConfigMap: the document is empty"),
        ("[]", "^ConfigMap: expected `object`, got `array`"),
    ],
)
def test_from_yaml_rejects_other_documents(text: str, message: str) -> None:
    with pytest.raises(DecodeError, match=f"(?s){message}"):
        from_yaml(core.ConfigMap, text)
