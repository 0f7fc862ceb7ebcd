"""Definitions from classes, without a server."""

import dataclasses
import importlib
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict

import msgspec
import pytest
import yaml

import kubewright as kw
from kubewright.api import apiextensions, core, meta, to_dict
from kubewright.crd import crd_of, crds_of, schema_of, to_yaml
from tests.crd.conftest import kind_of, resource_of


class FooSpec(kw.Model):
    """What is asked for."""

    deployment_name: str
    """The name of the Deployment.

    It must be free.
    """
    replicas: Annotated[int, kw.Range(1, 10)] | None = None


class FooStatus(kw.Model):
    available_replicas: int = 0


@kw.resource(
    "example.com/v1alpha1",
    short_names=["fo"],
    categories=["all"],
    columns={
        "Ready": ".status.availableReplicas",
        "Name": kw.Column(".spec.deploymentName", priority=1, description="of the Deployment"),
        "Age": ".metadata.creationTimestamp",
        "App": r".metadata.labels.app\.kubernetes\.io/name",
    },
    selectable_fields=[".spec.deploymentName"],
    labels={"team": "a"},
    annotations={"note": "b"},
)
class Foo(kw.Resource[FooSpec, FooStatus]):
    """Runs an nginx Deployment of the size it asks for."""


EXPECTED = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  annotations:
    note: b
  labels:
    team: a
  name: foos.example.com
spec:
  group: example.com
  names:
    categories:
    - all
    kind: Foo
    listKind: FooList
    plural: foos
    shortNames:
    - fo
    singular: foo
  scope: Namespaced
  versions:
  - additionalPrinterColumns:
    - jsonPath: .status.availableReplicas
      name: Ready
      type: integer
    - description: of the Deployment
      jsonPath: .spec.deploymentName
      name: Name
      priority: 1
      type: string
    - jsonPath: .metadata.creationTimestamp
      name: Age
      type: date
    - jsonPath: .metadata.labels.app\\.kubernetes\\.io/name
      name: App
      type: string
    name: v1alpha1
    schema:
      openAPIV3Schema:
        description: Runs an nginx Deployment of the size it asks for.
        properties:
          apiVersion:
            type: string
          kind:
            type: string
          metadata:
            type: object
          spec:
            description: What is asked for.
            properties:
              deploymentName:
                description: |-
                  The name of the Deployment.

                  It must be free.
                type: string
              replicas:
                format: int64
                maximum: 10
                minimum: 1
                type: integer
            required:
            - deploymentName
            type: object
          status:
            properties:
              availableReplicas:
                format: int64
                type: integer
            type: object
        required:
        - spec
        type: object
    selectableFields:
    - jsonPath: .spec.deploymentName
    served: true
    storage: true
    subresources:
      status: {}
"""


def test_definition_yaml_is_deterministic() -> None:
    assert to_yaml(crd_of(Foo)) == EXPECTED
    assert to_yaml(crd_of(Foo)) == EXPECTED


def test_writes_several_documents() -> None:
    text = to_yaml(*crds_of(Foo, kind_of(int)))
    assert [document["kind"] for document in yaml.safe_load_all(text)] == ["CustomResourceDefinition"] * 2


def test_omits_descriptions_on_request() -> None:
    assert "description" not in to_yaml(crd_of(Foo, descriptions=False)).replace("description: of the Deployment", "")


def test_finds_the_description_of_an_inherited_attribute() -> None:
    class Base(kw.Model):
        size: int | None = None
        """How large."""

    class Derived(Base):
        pass

    schema = to_dict(crd_of(resource_of(Derived, None)))["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    assert schema["properties"]["spec"]["properties"]["size"]["description"] == "How large."


def test_schema_has_defaults_of_the_spec_but_not_of_the_status() -> None:
    class Part(kw.Model):
        number: int = 3

    class Spec(kw.Model):
        part: Part | None = None
        size: int = 1

    class Status(kw.Model):
        part: Part | None = None
        size: int = 0

    properties = schema_of(resource_of(Spec, Status))["properties"]
    assert properties["spec"]["default"] == {"size": 1}
    assert properties["spec"]["properties"]["size"]["default"] == 1
    assert properties["spec"]["properties"]["part"]["properties"]["number"]["default"] == 3
    assert "default" not in properties["status"]
    assert "default" not in properties["status"]["properties"]["size"]
    assert "default" not in properties["status"]["properties"]["part"]["properties"]["number"]


def test_a_key_of_a_list_map_has_its_default_in_a_status_too() -> None:
    class Port(kw.Model):
        number: int
        protocol: str = "TCP"
        note: str = "none"

    class Status(kw.Model):
        ports: Annotated[list[Port] | None, kw.ListType("map", keys=["number", "protocol"])] = None

    ports = schema_of(resource_of(FooSpec, Status))["properties"]["status"]["properties"]["ports"]
    assert ports["items"]["properties"]["protocol"]["default"] == "TCP"
    assert "default" not in ports["items"]["properties"]["note"]


def test_schema_omits_nondeterministic_default() -> None:
    made = iter(range(100))
    kind = kind_of(int, msgspec.field(default_factory=lambda: next(made)))
    assert "default" not in schema_of(kind)["properties"]["spec"]["properties"]["value"]


@pytest.mark.promise(
    "Definitions from types",
    "A type that contains itself, or has no schema, is refused with its place.",
)
def test_rejects_recursive_type_and_names_cycle() -> None:
    class Leaf(kw.Model):
        trees: list["Tree"] | None = None

    class Tree(kw.Model):
        leaf: Leaf | None = None

    globals()["Tree"] = Tree
    with pytest.raises(TypeError, match=r"contains itself \(Tree → Leaf → Tree\).*use JSON"):
        schema_of(kind_of(Tree))


@dataclasses.dataclass
class Box:
    size: int = 1


class BoxKeys(TypedDict):
    size: int


def test_rejects_builtin_that_is_a_schema() -> None:
    with pytest.raises(TypeError, match=r"Case.spec.value.additionalItems: a CRD cannot express the union"):
        schema_of(kind_of(apiextensions.JSONSchemaProps))


@pytest.mark.promise(
    "Definitions from types",
    "A type that contains itself, or has no schema, is refused with its place.",
)
@pytest.mark.parametrize(
    ("hint", "message"),
    [
        (set[str], r'no schema for set\[str\]; use a list: Annotated\[list\[...\], ListType\("set"\)\]'),
        (tuple[int, ...], "use a list"),
        (Literal["a"] | None, "Case.spec.value: the API server rejects null for every enum"),
        (list[Literal["a"] | None], r"Case.spec.value\[\*\]: the API server rejects null for every enum"),
        (complex, "Case.spec.value: a field of a Kubernetes object cannot be a complex"),
        (str | bool, r"cannot express the union str \| bool"),
        (FooSpec | FooStatus, "needs a tag that identifies the model"),
        (dict[int, str], r"the keys of a map are strings: dict\[str, ...\]"),
        (kw.Untyped, "EmbeddedResource"),
        (Box, r"Case.spec.value: a CRD has no schema for Box; make it a model: class Box\(kw\.Model\)"),
        (BoxKeys, r"no schema for BoxKeys; make it a model: class BoxKeys\(kw\.Model\)"),
    ],
)
def test_rejects_type_without_schema_and_names_field(hint: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        schema_of(kind_of(hint))


def test_checks_nested_classes_with_the_definition() -> None:
    Late = type(kw.Model)("Late", (kw.Model,), {"__annotations__": {"x": "LaterStill"}, "__module__": __name__})  # type: ignore[misc]
    kind = kind_of(Late)  # does not raise yet
    with pytest.raises(NameError, match="LaterStill"):
        crd_of(kind)
    globals()["LaterStill"] = Annotated[str, kw.Range(1)]
    with pytest.raises(TypeError, match="Range is for"):
        crd_of(kind)


def version(name: str, **arguments: Any) -> type[kw.Object]:
    @kw.resource(f"versions.example.com/{name}", kind="Thing", **arguments)
    class Thing(kw.Resource[FooSpec, None]): ...

    return Thing


@pytest.mark.promise(
    "Definitions from types",
    "Several versions, and a webhook that converts between them, also one that another client completed.",
)
def test_versions_are_ordered_as_kubernetes_orders_them() -> None:
    names = ["v1alpha1", "v2", "other", "v1", "v1beta2", "v10", "v1beta10"]
    made = crd_of(*(version(name, storage=name == "v1") for name in names))
    assert [v.name for v in made.spec.versions] == ["v10", "v2", "v1", "v1beta10", "v1beta2", "v1alpha1", "other"]
    assert [v.name for v in made.spec.versions if v.storage] == ["v1"]
    assert made.spec.conversion is not None
    assert made.spec.conversion.strategy == "None"


def test_served_and_deprecated_versions() -> None:
    made = crd_of(
        version("v1", storage=True), version("v1beta1", deprecated="use v1"), version("v1alpha1", served=False)
    )
    new, old, oldest = made.spec.versions
    assert (new.served, new.deprecated) == (True, None)
    assert (old.deprecated, old.deprecation_warning) == (True, "use v1")
    assert oldest.served is False


@pytest.mark.parametrize(
    ("versions", "message"),
    [
        (lambda: [version("v1"), version("v2")], r"0 of the versions .* have storage=True"),
        (lambda: [version("v1", storage=True), version("v2", storage=True)], "2 of the versions"),
        (lambda: [version("v1", storage=True), version("v2", scope="Cluster")], "must have the same scope"),
        (
            lambda: [version("v1", storage=True, short_names=["f"]), version("v2", short_names=["t"])],
            r"must have the same short_names, or none: found \['f'\] in .*/v1\), \['t'\] in .*/v2\)",
        ),
        (lambda: [version("v1", storage=True), version("v1")], "two classes are"),
        (lambda: [version("v1", storage=False)], "add the version with storage=True"),
        (lambda: [version("v1", storage=True, labels={"a": "b"}), version("v2", labels={"a": "c"})], "disagree"),
    ],
)
def test_rejects_inconsistent_versions(versions: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        crd_of(*versions())


def test_one_version_can_declare_short_names_for_all() -> None:
    """They belong to the kind, and the stored version is not always the first one in the program."""
    made = crd_of(version("v1", storage=True), version("v2", short_names=["t"]), version("v3", categories=["all"]))
    assert made.spec.names.short_names == ["t"]
    assert made.spec.names.categories == ["all"]


def test_builtin_kinds_have_no_definition() -> None:
    with pytest.raises(TypeError, match="not a kind of your own"):
        crd_of(core.Pod)


@pytest.mark.promise("Definitions from types", "Protected groups need their approval.")
def test_a_protected_group_requires_an_approval() -> None:
    def protected(**arguments: Any) -> type[kw.Object]:
        @kw.resource("tests.k8s.io/v1", **arguments)
        class Guarded(kw.Resource[FooSpec, None]): ...

        return Guarded

    with pytest.raises(ValueError, match=r"tests.k8s.io is protected by Kubernetes: @resource needs api_approved="):
        crd_of(protected())
    made = crd_of(protected(api_approved="unapproved, a test"))
    assert made.metadata.annotations == {"api-approved.kubernetes.io": "unapproved, a test"}


def test_scale_requires_fields_at_its_default_paths() -> None:
    with pytest.raises(TypeError, match=r"\.status\.replicas does not exist"):
        crd_of(resource_of(FooSpec, FooStatus, scale_subresource=True))


def test_validate_names_object_and_fields() -> None:
    foo = Foo(metadata=meta.ObjectMeta(name="a", namespace="b"), spec=FooSpec(deployment_name="x", replicas=11))
    with pytest.raises(kw.ValidationError, match=r"Foo b/a: spec.replicas: must be at most 10, not 11") as caught:
        kw.validate(foo)
    assert [found.path for found in caught.value.violations] == ["spec.replicas"]
    foo.spec.replicas = 10
    kw.validate(foo)
    kw.validate(foo)


def test_an_untyped_object_has_no_rules() -> None:
    kind = kw.Untyped.kind_of("example.com/v1", "Foo", plural="foos")
    with pytest.raises(TypeError, match="is untyped"):
        kw.validate(kind())


def test_kind_without_spec_and_with_string_status() -> None:
    @kw.resource("example.com/v1")
    class Table(kw.Object):
        data: Annotated[dict[str, str], kw.Properties(1)]
        note: str = "none"

    schema = schema_of(Table)
    assert set(schema["properties"]) == {"apiVersion", "kind", "metadata", "data", "note"}
    assert schema["required"] == ["data"]
    assert schema["properties"]["note"] == {"type": "string", "default": "none"}
    kind = resource_of(FooSpec, str | None)
    assert schema_of(kind)["properties"]["status"] == {"type": "string"}
    assert crd_of(kind).spec.versions[0].subresources is None


def test_string_annotations_are_checked_at_import(tmp_path: Path, monkeypatch: Any) -> None:
    source = """
from __future__ import annotations
from typing import Annotated
import kubewright as kw

class Spec(kw.Model):
    size: Annotated[int, RULE] = 1
    \"""How large.\"""

@kw.resource("example.com/v1")
class Texts(kw.Resource[Spec, None]): ...
""".replace('\\"', '"')
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "good_texts.py").write_text(source.replace("RULE", "kw.Range(1)"))
    (tmp_path / "bad_texts.py").write_text(source.replace("RULE", "kw.Length(1)"))
    (tmp_path / "misspelled_texts.py").write_text(source.replace("RULE", "kw.Rnage(1)"))
    good = importlib.import_module("good_texts")
    assert "description: How large." in to_yaml(crd_of(good.Texts))
    with pytest.raises(TypeError, match=r"Texts.spec.size: Length is for"):
        importlib.import_module("bad_texts")
    with pytest.raises(AttributeError, match="Rnage"):
        importlib.import_module("misspelled_texts")
