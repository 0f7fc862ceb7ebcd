"""Records the OpenAPI documents of the real server, without its descriptions of fields and parameters."""

from __future__ import annotations

import hashlib
import json
import time
from typing import Any, Final

from kubewright.cluster.openapi import pack
from kubewright.cluster.openapi.protobuf import definitions_v2, head_v2, paths_v2
from kubewright.testing import ControlPlane, ControlPlaneError

__all__ = ["facts", "packed_documents", "recorded_documents"]

_GROUP: Final = "recorded.example.com"
_DEFINITIONS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def packed_documents(plane: ControlPlane) -> bytes:
    """Returns the content of `openapi.bin`."""
    v2, v3, custom = recorded_documents(plane)
    encoded = {path: _encoded(document) for path, document in sorted(v3.items())}
    etags = {path: hashlib.sha512(content).hexdigest().upper() for path, content in encoded.items()}
    head = {name: value for name, value in v2.items() if name not in ("paths", "definitions")}
    parts = {
        "v2/head": _encoded(head),
        "v2/paths": _encoded(v2["paths"]),
        "v2/definitions": _encoded(v2["definitions"]),
        "v2/head.pb": head_v2(head),
        "v2/paths.pb": paths_v2(v2["paths"]),
        "v2/definitions.pb": definitions_v2(v2["definitions"]),
        "custom": _encoded(custom),
    }
    return pack(etags, parts | {f"v3/{path}": content for path, content in encoded.items()})


def recorded_documents(plane: ControlPlane) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Returns the OpenAPI v2 document, those of v3, and the built-in schemas in documents of custom resources.

    Definitions of other tests on a shared server are omitted.
    """
    plane.request("POST", _DEFINITIONS, _definition())
    try:
        custom = _custom_schemas(plane)
    finally:
        plane.request("DELETE", f"{_DEFINITIONS}/things.{_GROUP}")
    groups = {each["spec"]["group"] for each in plane.request("GET", _DEFINITIONS)["items"]} | {_GROUP}
    v2 = _get(plane, "/openapi/v2")
    v2["paths"] = {path: item for path, item in v2["paths"].items() if _group_of(path) not in groups}
    reversed_groups = tuple(".".join(reversed(group.split("."))) + "." for group in groups)
    v2["definitions"] = {name: each for name, each in v2["definitions"].items() if not name.startswith(reversed_groups)}
    paths = [path for path in _get(plane, "/openapi/v3")["paths"] if _group_of(f"/{path}") not in groups]
    return facts(v2), {path: facts(_get(plane, f"/openapi/v3/{path}")) for path in paths}, facts(custom)


def facts(value: Any, *, names: bool = False) -> Any:
    """Returns a document without the descriptions of schemas and parameters. `names` marks a map of names.

    Labels stay: those of operations (`read the specified Pod`), of responses (`OK`), and of the parameters of paths.
    """
    if isinstance(value, list):
        return [facts(each) for each in value]
    if not isinstance(value, dict):
        return value
    labeled = names or "responses" in value or value.get("in") == "path"
    made = {name: facts(each, names=name == "properties" and not names) for name, each in value.items()}
    if isinstance(responses := value.get("responses"), dict) and not names:
        made["responses"] = {
            code: {**facts(each), "description": each["description"]} for code, each in responses.items()
        }
    return {name: each for name, each in made.items() if labeled or name != "description"}


def _custom_schemas(plane: ControlPlane) -> dict[str, Any]:
    """Waits for the document of the custom resource."""
    while True:
        try:
            schemas = _get(plane, f"/openapi/v3/apis/{_GROUP}/v1")["components"]["schemas"]
            return {name: each for name, each in schemas.items() if name.startswith("io.k8s.")}
        except ControlPlaneError:
            time.sleep(0.1)


def _definition() -> dict[str, Any]:
    scale = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
    version = {"name": "v1", "served": True, "storage": True, "subresources": {"status": {}, "scale": scale}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"things.{_GROUP}"},
        "spec": {
            "group": _GROUP,
            "scope": "Namespaced",
            "names": {"plural": "things", "singular": "thing", "kind": "Thing"},
            "versions": [version | {"schema": {"openAPIV3Schema": {"type": "object"}}}],
        },
    }


def _get(plane: ControlPlane, path: str) -> Any:
    found = plane.request("GET", path)
    return json.loads(found) if isinstance(found, str) else found  # the index has the type text/plain


def _group_of(path: str) -> str:
    parts = path.split("/")
    return parts[2] if parts[1] == "apis" and len(parts) > 2 else ""


def _encoded(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()
