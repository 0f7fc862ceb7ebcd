from __future__ import annotations

import copy
import pickle
import re
from typing import Any, NamedTuple

import msgspec
import pytest

from kubewright import resource
from kubewright.api import (
    DecodeError,
    Model,
    Object,
    ObjectMeta,
    Resource,
    core,
    decode,
    encode,
    from_dict,
    info_of,
    to_dict,
)


class FooSpec(Model):
    deployment_name: str
    replicas: int | None = None


class FooStatus(Model):
    available_replicas: int = 0


@resource("example.com/v1alpha1")
class Foo(Resource[FooSpec, FooStatus]):
    """A kind with spec and status."""


class OpenSpec(Model):
    size: int | None = None


@resource("example.com/v1", plural="tests", scope="Cluster")
class Lenient(Resource[OpenSpec, str | None]):
    """A cluster-scoped kind whose spec may be absent and whose status is a plain string."""


@resource("example.com/v1")
class NoStatus(Resource[OpenSpec, None]):
    """A kind without a status."""


RAW = (
    b'{"metadata":{"name":"a","namespace":"d","uid":"u","resourceVersion":"7",'
    b'"managedFields":[{"manager":"m","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{}}}]},'
    b'"spec":{"deploymentName":"x","unknown":1}}'
)


def test_decorator_sets_names_of_kind() -> None:
    info = info_of(Foo)
    assert (info.group, info.version, info.kind, info.plural) == ("example.com", "v1alpha1", "Foo", "foos")
    assert info.path == "/apis/example.com/v1alpha1"
    assert info.namespaced
    assert info.subresources == {"status"}
    assert not info_of(Lenient).namespaced
    assert info_of(Lenient).subresources == frozenset()
    assert info_of(NoStatus).subresources == frozenset()


@pytest.mark.parametrize(
    ("kind", "plural"),
    [("Policy", "policies"), ("Ingress", "ingresses"), ("Gateway", "gateways"), ("Box", "boxes"), ("Foo", "foos")],
)
def test_plurals_are_english(kind: str, plural: str) -> None:
    @resource("example.com/v1", kind=kind)
    class Any_(Resource[OpenSpec, None]):
        pass

    assert info_of(Any_).plural == plural


def test_api_version_and_kind_are_filled_in_also_when_the_wire_has_none() -> None:
    assert Foo(spec=FooSpec(deployment_name="x")).kind == "Foo"
    assert decode(Foo, RAW).api_version == "example.com/v1alpha1"
    assert to_dict(decode(Foo, RAW))["kind"] == "Foo"


@pytest.mark.promise(
    "Typed objects",
    "A kind may have no status, or one that is a text; an absent one is empty rather than None.",
)
def test_an_absent_status_decodes_to_an_empty_model() -> None:
    assert decode(Foo, RAW).status == FooStatus()
    assert decode(Lenient, b'{"metadata":{"name":"a"}}').spec == OpenSpec()
    assert decode(Lenient, b'{"metadata":{"name":"a"}}').status is None
    assert decode(Lenient, b'{"metadata":{"name":"a"},"status":"HANDLED"}').status == "HANDLED"
    assert decode(NoStatus, b'{"metadata":{"name":"a"}}').status is None


def test_rejects_missing_spec_with_required_fields() -> None:
    with pytest.raises(DecodeError, match=r"^Foo d/a: missing required field `spec`$"):
        decode(Foo, b'{"metadata":{"name":"a","namespace":"d"}}')
    with pytest.raises(TypeError, match="missing required field `spec`"):
        Foo(metadata=ObjectMeta(name="a"))  # type: ignore[call-arg]


def test_rejects_status_with_required_fields_at_import() -> None:
    class Strict(Model):
        phase: str

    with pytest.raises(TypeError, match=r"Strict requires phase: give them defaults, or declare .* Strict \| None"):

        @resource("example.com/v1")
        class Bad(Resource[OpenSpec, Strict]):
            pass

    with pytest.raises(TypeError, match=r"the status of Worse is absent .* declare it with \| None"):

        @resource("example.com/v1")
        class Worse(Resource[OpenSpec, str]):
            pass


class Plain(NamedTuple):
    """Fields of a class that is not a model."""

    phase: str = ""


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (
            OpenSpec,
            "Resource[OpenSpec] must have two parameters, a spec and a status: Resource[FooSpec, FooStatus], or",
        ),
        ((OpenSpec, None, int), "Resource[OpenSpec, None, int] must have two parameters"),
        (
            (OpenSpec(size=1), None),
            "Resource[OpenSpec(...), None]: the spec must be a class, such as FooSpec(",
        ),
        (("OpenSpec", None), "the spec must be a class, such as FooSpec(kw.Model), not 'OpenSpec'"),
        ((OpenSpec, FooStatus()), "the status must be a class, such as FooStatus(kw.Model), not FooStatus(...)"),
        ((OpenSpec, [FooStatus]), "the status must be a class, such as FooStatus(kw.Model), not list(...)"),
        ((OpenSpec, ...), "the status must be a class"),
        ((msgspec, None), "Resource[msgspec, None]: the spec must be a class"),
        ((re.match, None), "Resource[match, None]: the spec must be a class"),
    ],
)
def test_rejects_parameters_that_are_not_a_spec_and_a_status(parameters: Any, message: str) -> None:
    generic: Any = Resource
    with pytest.raises(TypeError, match=re.escape(message)):
        generic[parameters]


def test_rejects_status_that_is_not_a_model_with_the_fix() -> None:
    with pytest.raises(TypeError, match=r"^the status of Bad must be a model: class Plain\(kw\.Model\)$"):

        @resource("example.com/v1")
        class Bad(Resource[OpenSpec, Plain]):
            pass


@pytest.mark.parametrize(("metadata", "given"), [({"name": "a"}, "a dict"), ("a", "a string")])
@pytest.mark.parametrize("kind", [NoStatus, core.ConfigMap])
def test_rejects_metadata_that_is_not_an_object_meta(kind: type[Object], metadata: Any, given: str) -> None:
    message = f'{kind.__name__}: metadata must be an ObjectMeta, not {given}: metadata=ObjectMeta(name="...", '
    with pytest.raises(TypeError, match=re.escape(message)):
        kind(metadata=metadata)


@pytest.mark.parametrize(
    ("api_version", "options", "message"),
    [
        ("v1", {}, "must be .group/version."),
        ("example/v1", {}, "DNS name"),
        ("Example.com/v1", {}, "DNS name"),
        ("example.com/V1", {}, "lower case"),
        ("example.com/v1", {"kind": "foo"}, "CamelCase"),
        ("example.com/v1", {"plural": "Foos"}, "plural 'Foos'"),
        ("example.com/v1", {"scope": "namespaced"}, "scope of X must be"),
        ("example.com/v1", {"shortname": "x"}, "resource has no option 'shortname'. Did you mean 'short_names'?"),
        ("example.com/v1", {"columns": [".spec.size"]}, "columns of X are paths by their titles"),
    ],
)
def test_a_mistake_in_the_decorator_fails_at_import(api_version: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):

        @resource(api_version, **options)
        class X(Resource[OpenSpec, None]):
            pass


def test_class_without_decorator_error_names_fix() -> None:
    class Plain(Resource[OpenSpec, None]):
        pass

    with pytest.raises(TypeError, match=r'put @kubewright.resource\("group/version"\) above the class'):
        Plain(spec=OpenSpec())


@pytest.mark.promise(
    "Typed objects",
    "A kind may have no status, or one that is a text; an absent one is empty rather than None.",
)
def test_a_kind_may_have_neither_spec_nor_status() -> None:
    @resource("example.com/v1")
    class Table(Object):
        rows: list[str] | None = None

    assert decode(Table, b'{"metadata":{"name":"a"},"rows":["x"]}').rows == ["x"]


def test_the_bytes_an_object_was_read_from_travel_through_every_copy() -> None:
    foo = decode(Foo, RAW)
    copies = [
        copy.copy(foo),
        copy.deepcopy(foo),
        pickle.loads(pickle.dumps(foo)),
        msgspec.structs.replace(foo, spec=FooSpec(deployment_name="y")),
        Foo(metadata=copy.copy(foo.metadata), spec=foo.spec),
    ]
    for each in copies:
        assert each.metadata.origin is not None
        assert each.metadata.origin.raw == RAW
    copies[1].metadata.labels["a"] = "b"
    assert foo.metadata.labels == {}


def test_an_object_made_here_remembers_nothing() -> None:
    assert Foo(spec=FooSpec(deployment_name="x")).metadata.origin is None
    assert from_dict(Foo, to_dict(decode(Foo, RAW))).metadata.origin is None


def test_empty_metadata_is_absent_on_the_wire() -> None:
    assert to_dict(ObjectMeta(name="a", labels={}, finalizers=[])) == {"name": "a"}


def test_managed_fields_are_kept_and_decoded_on_demand() -> None:
    foo = decode(Foo, RAW)
    assert foo.metadata.managed_fields[0].fields() == {"f:spec": {}}
    assert msgspec.json.decode(encode(foo))["metadata"]["managedFields"][0]["fieldsV1"] == {"f:spec": {}}


def test_an_object_prints_as_people_call_it() -> None:
    assert str(decode(Foo, RAW)) == "Foo d/a"
    assert str(Lenient(metadata=ObjectMeta(generate_name="x-"), spec=OpenSpec())) == "Lenient x-"


def test_rejects_the_decorator_without_group_and_version() -> None:
    bare: Any = resource
    with pytest.raises(
        TypeError, match=r'^@kw\.resource needs the group and version of Foo: write @kw\.resource\("exa'
    ):

        @bare
        class Foo(Resource[Model, None]):
            pass

    with pytest.raises(TypeError, match=r"the api version must be a string, such as .example\.com/v1., not 3"):
        bare(3)
