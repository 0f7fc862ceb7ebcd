import importlib
import json
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest

from kubewright.api import Model, Object, apps, autoscaling, core, decode, encode, info_of, meta
from kubewright.api.apiextensions.v1 import CustomResourceDefinition, JSONSchemaProps
from kubewright.api.resource.v1 import DeviceAttribute
from kubewright.testing import KUBERNETES_VERSION
from kubewright.testing.binaries import download_module
from tools.generate_api import __main__ as generator
from tools.generate_api._document import Document, Module
from tools.generate_api._names import attribute_name
from tools.generate_api._render import render


@cache
def folder() -> Path:
    return download_module("k8s.io/kubernetes", f"v{KUBERNETES_VERSION}") / "api"


@cache
def document() -> Document:
    return generator.load_document()


@cache
def schemas() -> dict[str, dict[str, Any]]:
    """Returns the definitions of the structs of each group version, without lists of kinds."""
    found = {}
    for name, schema in document().content["definitions"].items():
        struct = schema.get("type") == "object" and not name.endswith((".FieldsV1", ".Patch", ".RawExtension", ".Info"))
        if struct and not (is_kind(schema) and "items" in schema["properties"]):
            found[name] = schema
    return found


def is_kind(schema: dict[str, Any]) -> bool:
    return "x-kubernetes-group-version-kind" in schema


def class_of(definition: str) -> type[Model]:
    package, version, name = definition.split(".")[-3:]
    found: type[Model] = getattr(importlib.import_module(f"kubewright.api.{package}.{version}"), name)
    return found


# The command


@pytest.mark.promise("Typed objects", "Every kind of Kubernetes is there, generated, and the output is up to date.")
def test_committed_modules_match_the_document(capsys: pytest.CaptureFixture[str]) -> None:
    assert generator.main(["--check"]) == 0, capsys.readouterr().err


def test_check_names_differences_and_fix(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    api = tmp_path / "api"
    api.mkdir()
    monkeypatch.setattr(generator, "ROOT", tmp_path)
    monkeypatch.setattr(generator, "API", api)
    monkeypatch.setattr(generator, "formatted", lambda files: files)  # the formatter has its own test
    assert generator.main([]) == 0
    assert generator.main(["--check"]) == 0

    (api / "apps" / "v1.py").write_text("changed")
    (api / "core" / "v1.py").unlink()
    (api / "core" / "v1alpha1.py").write_text((api / "node" / "v1.py").read_text())
    (api / "core" / "manual.py").write_text("")
    capsys.readouterr()
    assert generator.main(["--check"]) == 1
    assert capsys.readouterr().err == (
        f"these files differ from those generated from Kubernetes {KUBERNETES_VERSION}:\n"
        "  api/apps/v1.py\n  api/core/v1.py\n  api/core/v1alpha1.py\n"
        "to rewrite them, run: python -m tools.generate_api\n"
    )

    assert generator.main([]) == 0
    assert generator.main(["--check"]) == 0
    assert not (api / "core" / "v1alpha1.py").exists()
    assert (api / "core" / "manual.py").exists()


def test_formats_the_output_like_the_project() -> None:
    assert generator.formatted({"a/b.py": f"x = [ '{'y' * 50}','{'z' * 50}' ]"}) == {
        "a/b.py": f'x = ["{"y" * 50}", "{"z" * 50}"]\n'
    }


@pytest.mark.promise("Typed objects", "Every kind of Kubernetes is there, generated, and the output is up to date.")
def test_no_description_is_copied() -> None:
    text = "".join(render(document()).values())

    def descriptions(schema: Any) -> Iterator[str]:
        if isinstance(schema, dict):
            if isinstance(schema.get("description"), str):
                yield schema["description"]
            for value in schema.values():
                yield from descriptions(value)

    # Not the first word: that is often the name of the type.
    parts = [each.split()[1:6] for each in descriptions(document().content["definitions"])]
    found = {" ".join(words) for words in parts if len(words) == 5}
    assert len(found) > 1000
    assert [each for each in found if each in text] == []


# Names


@pytest.mark.parametrize(
    ("wire", "attribute"),
    [
        ("replicas", "replicas"),
        ("matchLabels", "match_labels"),
        ("podIP", "pod_ip"),
        ("clusterIPs", "cluster_ips"),
        ("nonResourceURLs", "non_resource_urls"),
        ("hostIPC", "host_ipc"),
        ("externalID", "external_id"),
        ("targetWWNs", "target_wwns"),
        ("insecureSkipTLSVerify", "insecure_skip_tls_verify"),
        ("targetCPUUtilizationPercentage", "target_cpu_utilization_percentage"),
        ("setHostnameAsFQDN", "set_hostname_as_fqdn"),
        ("openAPIV3Schema", "open_api_v3_schema"),
        ("stubPKCS10Request", "stub_pkcs10_request"),
        ("fieldsV1", "fields_v1"),
        ("Port", "port"),
        ("$ref", "ref"),
        ("x-kubernetes-preserve-unknown-fields", "x_kubernetes_preserve_unknown_fields"),
        ("from", "from_"),
        ("continue", "continue_"),
        ("bool", "bool_"),
        ("int", "int_"),
        ("type", "type"),
    ],
)
def test_attributes_are_snake_case_and_avoid_keywords_and_types(wire: str, attribute: str) -> None:
    assert attribute_name(wire) == attribute


@pytest.mark.promise("Typed objects", "Attributes are snake case, and the wire has the API's own names.")
def test_encodes_every_property_with_its_exact_name() -> None:
    checked = 0
    for name, schema in schemas().items():
        properties = schema.get("properties", {}).keys()
        assert set(class_of(name).__struct_encode_fields__) == properties, name
        checked += len(properties)
    assert checked == 2772


def test_no_attribute_hides_an_attribute_of_all_models() -> None:
    for name in schemas():
        kind = class_of(name)
        base = Object if issubclass(kind, Object) else Model
        own = set(kind.__struct_fields__) - set(base.__struct_fields__)
        assert not own & set(dir(base)), name


# Types


def test_required_fields_have_no_default_unless_empty_is_valid() -> None:
    def required(kind: type[Model]) -> set[str]:
        return {field.name for field in msgspec.structs.fields(kind) if field.required}

    assert required(core.Container) == {"name"}
    assert required(core.PodSpec) == {"containers"}
    assert required(apps.DeploymentSpec) == {"selector", "template"}
    # By value in Go, so never None here: empty if that is valid, otherwise required.
    assert required(core.PodTemplateSpec) == {"spec"}
    assert required(apps.Deployment) == {"spec"}
    assert required(core.Namespace) == set()
    assert core.Namespace().status == core.NamespaceStatus()
    # A new object has no status yet.
    assert required(apps.StatefulSet) == {"spec"}
    assert (
        decode(apps.StatefulSet, b'{"spec": {"selector": {}, "template": {"spec": {"containers": []}}}}').status is None
    )
    # Go encodes an unset time as null, even in a required field.
    assert required(meta.Condition) == {"type", "status", "reason", "message"}


def test_binary_data_is_bytes() -> None:
    secret = decode(core.Secret, b'{"data": {"password": "aHVudGVyMg=="}}')
    assert secret.data == {"password": b"hunter2"}
    assert json.loads(encode(secret))["data"] == {"password": "aHVudGVyMg=="}


def test_fields_named_like_types_work() -> None:
    raw = b'{"bool":true,"int":3}'
    attribute = decode(DeviceAttribute, raw)
    assert (attribute.bool_, attribute.int_) == (True, 3)
    assert encode(attribute) == raw


def test_definition_with_every_schema_round_trips() -> None:
    schema = {
        "$ref": "#/a",
        "$schema": "http://json-schema.org/schema#",
        "type": "object",
        "additionalProperties": False,
        "additionalItems": {"type": "string"},
        "default": {"a": [1, None, "b"]},
        "dependencies": {"a": ["b"], "c": {"required": ["d"]}},
        "enum": ["a", 1, None],
        "example": 1.5,
        "items": [{"type": "string"}, {"type": "integer"}],
        "maximum": 10,
        "minimum": -1.5,
        "multipleOf": 9007199254740993,
        "not": {"type": "null"},
        "oneOf": [{"items": {"type": "string"}}],
        "properties": {"a": {"additionalProperties": {"x-kubernetes-int-or-string": True}}},
        "x-kubernetes-embedded-resource": True,
        "x-kubernetes-list-map-keys": ["a"],
        "x-kubernetes-list-type": "map",
        "x-kubernetes-map-type": "atomic",
        "x-kubernetes-preserve-unknown-fields": True,
        "x-kubernetes-validations": [{"rule": "self.a > 1", "messageExpression": "'no'", "optionalOldSelf": True}],
    }
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    version["subresources"] = {"status": {}, "scale": {"specReplicasPath": ".a", "statusReplicasPath": ".b"}}
    content = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "foos.example.com"},
        "spec": {
            "group": "example.com",
            "names": {"kind": "Foo", "plural": "foos"},
            "scope": "Namespaced",
            "versions": [version],
        },
        "status": {"storedVersions": ["v1"]},
    }
    definition = decode(CustomResourceDefinition, json.dumps(content).encode())
    assert json.loads(encode(definition)) == content
    read = definition.spec.versions[0].schema
    assert read is not None
    assert read.open_api_v3_schema is not None
    assert read.open_api_v3_schema.not_ == JSONSchemaProps(type="null")
    assert isinstance(read.open_api_v3_schema.maximum, int)


# Kinds


@pytest.mark.promise("Typed objects", "Every kind of Kubernetes is there, generated, and the output is up to date.")
def test_served_kinds_match_discovery() -> None:
    """Compares the generator's result with another document of the same server."""
    expected: dict[tuple[str, str, str], tuple[str, str, bool, set[str]]] = {}
    for each in json.loads((folder() / "discovery/api__v1.json").read_bytes())["resources"]:
        plural, _, subresource = each["name"].partition("/")
        if not subresource:
            expected["", "v1", each["kind"]] = plural, each["singularName"], each["namespaced"], set()
        else:
            next(value for value in expected.values() if value[0] == plural)[3].add(subresource)
    for group in json.loads((folder() / "discovery/aggregated_v2.json").read_bytes())["items"]:
        for version in group["versions"]:
            for each in version["resources"]:
                expected[group["metadata"]["name"], version["version"], each["responseKind"]["kind"]] = (
                    each["resource"],
                    each["singularResource"],
                    each["scope"] == "Namespaced",
                    {subresource["subresource"] for subresource in each.get("subresources", ())},
                )
    found = {}
    for name in schemas():
        kind = class_of(name)
        if issubclass(kind, Object):
            info = info_of(kind)
            found[info.group, info.version, info.kind] = (
                info.plural,
                info.singular,
                info.namespaced,
                set(info.subresources),
            )
    only_subresources = {kind for kind, where in found.items() if where[0] == ""}
    assert only_subresources == {
        ("authentication.k8s.io", "v1", "TokenRequest"),
        ("autoscaling", "v1", "Scale"),
        ("policy", "v1", "Eviction"),
    }
    assert {kind: where for kind, where in found.items() if kind not in only_subresources} == expected
    assert len(expected) == 95


def test_lists_have_keys_of_their_elements() -> None:
    for name, schema in schemas().items():
        keys = getattr(class_of(name), "__list_keys__", {})
        for wire, each in schema.get("properties", {}).items():
            match each.get("x-kubernetes-list-type"), each.get("x-kubernetes-patch-merge-key"):
                case "map", _:
                    assert keys[wire] == tuple(each["x-kubernetes-list-map-keys"]), (name, wire)
                case _, str(merge_key):
                    assert keys[wire] == (merge_key,), (name, wire)
                case "set", None:
                    assert keys[wire] == (), (name, wire)
                case _:
                    assert wire not in keys, (name, wire)


def test_keys_of_well_known_lists() -> None:
    assert core.PodSpec.__list_keys__["containers"] == ("name",)
    assert core.Container.__list_keys__["ports"] == ("containerPort", "protocol")
    assert core.Container.__list_keys__["volumeMounts"] == ("mountPath",)
    assert core.ServiceSpec.__list_keys__["ports"] == ("port", "protocol")
    assert meta.ObjectMeta.__list_keys__ == {"finalizers": (), "ownerReferences": ("uid",)}
    assert "args" not in core.Container.__list_keys__


# Packages


def test_a_package_exports_its_most_stable_version() -> None:
    assert apps.Deployment is importlib.import_module("kubewright.api.apps.v1").Deployment
    assert autoscaling.HorizontalPodAutoscaler.__module__ == "kubewright.api.autoscaling.v2"
    versions = [Module("a", version) for version in ("v1beta1", "v1alpha3", "v2", "v1", "v1beta2", "v1alpha10")]
    assert [each.version for each in sorted(versions, key=lambda each: each.maturity)] == [
        "v1alpha3",
        "v1alpha10",
        "v1beta1",
        "v1beta2",
        "v1",
        "v2",
    ]


def test_groups_are_imported_only_when_used() -> None:
    program = (
        "import sys, kubewright.api; before = set(sys.modules); from kubewright.api import coordination, core, storage;"
        "from kubewright.api.storage import v1beta1; coordination.Lease;"
        "print([m for m in before if m.count('.') == 3 and m.startswith('kubewright.api.')]);"
        "print(sorted(m for m in set(sys.modules) - before if m.endswith(('v1', 'v1beta1', 'v1alpha2'))))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n['kubewright.api.coordination.v1', 'kubewright.api.storage.v1beta1']\n"


def test_the_package_of_a_group_has_the_types_of_its_best_version() -> None:
    from kubewright.api import autoscaling
    from kubewright.api.autoscaling import HorizontalPodAutoscaler, v1, v2

    assert HorizontalPodAutoscaler is v2.HorizontalPodAutoscaler is autoscaling.HorizontalPodAutoscaler
    assert not hasattr(autoscaling, "Scale")
    assert info_of(v1.Scale).kind == "Scale"
    assert dir(autoscaling) == sorted(v2.__all__)
    with pytest.raises(AttributeError, match=r"module 'kubewright\.api\.autoscaling' has no attribute 'Scala'"):
        getattr(autoscaling, "Sca" + "la")
