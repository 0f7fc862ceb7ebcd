"""`python -m tools.generate_cluster`: records the facts again."""

from __future__ import annotations

import http.client
import json
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kubewright.testing import ControlPlane
from tools.generate_cluster.openapi import packed_documents

ROOT = Path(__file__).parents[2]
DATA = ROOT / "src/kubewright/cluster/data"
COLUMNS = ROOT / "src/kubewright/columns/builtin.json"
GO_MODULE = ROOT / "src/kubewright/testing/binaries/_gomodule"


def main() -> None:
    DATA.mkdir(exist_ok=True)
    write(DATA / "types.json", go_types())
    with ControlPlane() as plane:
        write(DATA / "resources.json", resources(plane))
        write(COLUMNS, printer_columns(plane))
        write(DATA / "roles.json", roles(plane))
        write(DATA / "api_services.json", api_services(plane))
        (DATA / "openapi.bin").write_bytes(packed_documents(plane))


def write(path: Path, facts: dict[str, Any]) -> None:
    """Writes JSON with one fact per line, for readable diffs."""
    lines = (f"{json.dumps(name)}:{json.dumps(fact, separators=(',', ':'))}" for name, fact in sorted(facts.items()))
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def go_types() -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        for name in ("go.mod", "go.sum"):
            shutil.copyfile(GO_MODULE / name, Path(folder, name))
        shutil.copyfile(Path(__file__).with_name("types.go"), Path(folder, "main.go"))
        made = subprocess.run(["go", "run", "-mod=mod", "."], cwd=folder, capture_output=True, check=True)
    facts: dict[str, Any] = json.loads(made.stdout)
    return facts


def resources(plane: ControlPlane) -> dict[str, Any]:
    facts: dict[str, Any] = {"version": plane.request("GET", "/version")}
    order = []
    for group_version, path in group_versions(plane):
        found = plane.request("GET", path)["resources"]
        order.append(group_version)
        for resource in found:
            if "/" not in resource["name"]:
                facts[f"{group_version}/{resource['name']}"] = fact(resource, found)
    facts["order"] = order
    return facts


def roles(plane: ControlPlane) -> dict[str, Any]:
    """Returns the roles and bindings that the server created, without values that differ between starts."""
    facts = {}
    for plural in ("clusterrolebindings", "clusterroles", "rolebindings", "roles"):
        for obj in plane.request("GET", f"/apis/rbac.authorization.k8s.io/v1/{plural}")["items"]:
            metadata = obj["metadata"]
            for field in ("uid", "resourceVersion", "creationTimestamp"):
                del metadata[field]
            for entry in metadata.get("managedFields", ()):  # a client may remove them
                del entry["time"]
            facts[f"{plural}/{metadata.get('namespace', '')}/{metadata['name']}"] = obj
    return facts


def api_services(plane: ControlPlane) -> dict[str, list[int]]:
    """Returns the priorities of built-in group versions: of the group, and of the version."""
    found = plane.request("GET", "/apis/apiregistration.k8s.io/v1/apiservices")["items"]
    return {
        each["metadata"]["name"]: [each["spec"]["groupPriorityMinimum"], each["spec"]["versionPriority"]]
        for each in found
        if each["metadata"]["labels"] == {"kube-aggregator.kubernetes.io/automanaged": "onstart"}
    }


def group_versions(plane: ControlPlane) -> Iterator[tuple[str, str]]:
    yield "v1", "/api/v1"
    definitions = plane.request("GET", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions")["items"]
    custom = {definition["spec"]["group"] for definition in definitions}  # of other tests on a shared server
    for group in plane.request("GET", "/apis")["groups"]:
        if group["name"] in custom:
            continue
        for version in group["versions"]:
            yield version["groupVersion"], f"/apis/{version['groupVersion']}"


def fact(resource: dict[str, Any], all_of_it: list[dict[str, Any]]) -> dict[str, Any]:
    known = {
        "kind": resource["kind"],
        "singular": resource["singularName"],
        "namespaced": resource["namespaced"],
        "verbs": resource["verbs"],
        "shortNames": resource.get("shortNames", []),
        "categories": resource.get("categories", []),
        "hash": resource.get("storageVersionHash", ""),
        "subresources": {
            sub["name"].split("/")[1]: [sub["verbs"], sub.get("group", ""), sub.get("version", ""), sub["kind"]]
            for sub in all_of_it
            if sub["name"].startswith(f"{resource['name']}/")
        },
    }
    return {name: value for name, value in known.items() if value not in ("", [], {})}


def printer_columns(plane: ControlPlane) -> dict[str, Any]:
    """Returns the columns of every built-in resource that can be listed, by `apps/v1/deployments`."""
    return {
        f"{group_version}/{resource['name']}": columns(plane, f"{path}/{resource['name']}")
        for group_version, path in group_versions(plane)
        for resource in plane.request("GET", path)["resources"]
        if "/" not in resource["name"] and "list" in resource["verbs"]
    }


def columns(plane: ControlPlane, path: str) -> list[list[Any]]:
    context = plane._apiserver._context
    connection = http.client.HTTPSConnection("127.0.0.1", int(plane.url.rpartition(":")[2]), context=context)
    connection.request("GET", path, headers={"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"})
    table = json.loads(connection.getresponse().read())
    connection.close()
    return [
        [column["name"], column["type"], column["format"], column["priority"]] for column in table["columnDefinitions"]
    ]


if __name__ == "__main__":
    main()
