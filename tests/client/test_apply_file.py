"""Objects in files are applied, on both clusters."""

from __future__ import annotations

import asyncio
import io
from pathlib import Path

import pytest

import kubewright as kw
from kubewright.api import Untyped, apps, core, to_dict, to_yaml
from kubewright.client import AppliedObject, ApplyFileError, BlockingClient, Client
from kubewright.client.files import MAX_FILES, read_documents
from kubewright.cluster import Cluster
from kubewright.yaml import MAX_DEPTH, compose_yaml_documents


class GadgetSpec(kw.Model):
    size: int | None = None


@kw.resource("files.example.com/v1")
class Gadget(kw.Resource[GadgetSpec, None]):
    """A kind whose definition is in a file."""


CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata:\n  color: green\n"
DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: web
        image: example.com/web:1
"""


def definition(group: str) -> str:
    return f"""\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {{name: gadgets.{group}}}
spec:
  group: {group}
  scope: Namespaced
  names: {{kind: Gadget, plural: gadgets}}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {{type: object, properties: {{size: {{type: integer, maximum: 9}}}}}}
"""


def gadget(group: str, size: int = 1) -> str:
    return f"apiVersion: {group}/v1\nkind: Gadget\nmetadata: {{name: one}}\nspec:\n  size: {size}\n"


def lines(results: list[AppliedObject] | tuple[AppliedObject, ...]) -> list[str]:
    return [str(one) for one in results]


def write(folder: Path, **files: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / f"{name}.yaml").write_text(text)
    return folder


@pytest.mark.promise(
    "Writing with the client", "`apply_file` applies every document of files, and reports as kubectl does."
)
@pytest.mark.clusters
async def test_reports_created_configured_and_unchanged(client: Client, namespace: str, tmp_path: Path) -> None:
    file = write(tmp_path, all=f"{CONFIG_MAP}---\n---\n{DEPLOYMENT}") / "all.yaml"
    first = await client.apply_file(file, namespace=namespace, field_manager="files")
    assert lines(first) == ["configmap/settings created", "deployment.apps/web created"]
    assert [(one.location.document, one.location.line) for one in first] == [(1, 1), (3, 8)]
    assert isinstance(first[1].object, apps.Deployment)
    again = await client.apply_file(file, namespace=namespace, field_manager="files")
    assert lines(again) == ["configmap/settings unchanged", "deployment.apps/web unchanged"]
    file.write_text(f"{CONFIG_MAP.replace('green', 'blue')}---\n{DEPLOYMENT}")
    changed = await client.apply_file(file, namespace=namespace, field_manager="files")
    assert lines(changed) == ["configmap/settings configured", "deployment.apps/web unchanged"]
    found = await client.get(core.ConfigMap, "settings", namespace)
    assert found.data == {"color": "blue"}
    assert [entry.manager for entry in found.metadata.managed_fields] == ["files"]


@pytest.mark.promise(
    "Writing with the client", "`apply_file` applies namespaces and definitions first, and waits for them."
)
@pytest.mark.clusters
async def test_applies_namespaces_and_definitions_first(client: Client, namespace: str, tmp_path: Path) -> None:
    group, there = f"{namespace}.example.com", f"{namespace}-files"
    folder = write(
        tmp_path,
        a=gadget(group).replace("name: one", f"name: one, namespace: {there}"),
        b=definition(group),
        c=f"apiVersion: v1\nkind: Namespace\nmetadata: {{name: {there}}}\n",
    )
    seen: list[AppliedObject] = []
    done = await client.apply_file(folder, report=seen.append)
    assert seen == done
    assert lines(done) == [
        f"namespace/{there} created",
        f"customresourcedefinition.apiextensions.k8s.io/gadgets.{group} created",
        f"gadget.{group}/one created",
    ]
    assert isinstance(done[2].object, Untyped)
    await client.delete(core.Namespace, there)
    await client.delete(await client.kind("apiextensions.k8s.io/v1", "CustomResourceDefinition"), f"gadgets.{group}")


@pytest.mark.clusters
async def test_custom_resources_are_typed_by_given_classes(client: Client, namespace: str) -> None:
    group = "files.example.com"
    stream = io.BytesIO(f"{definition(group)}---\n{gadget(group, 3)}".encode())
    done = await client.apply_file(stream, kinds=[Gadget], namespace=namespace)
    made = done[1].object
    assert isinstance(made, Gadget)
    assert made.spec.size == 3
    assert done[1].location.file == "-"
    made.spec.size = 4
    assert (await client.update(made)).spec.size == 4  # it was read from the server


@pytest.mark.promise("Writing with the client", "`apply_file` names file, document and line of everything that failed.")
@pytest.mark.clusters
async def test_one_report_names_file_document_and_line(client: Client, namespace: str, tmp_path: Path) -> None:
    broken = DEPLOYMENT.replace("image:", "imagee:")
    negative = DEPLOYMENT.replace("spec:\n  selector", "spec:\n  replicas: -1\n  selector").replace("web", "api")
    folder = write(tmp_path, a=f"{CONFIG_MAP}---\n{broken}", b=negative)
    with pytest.raises(ApplyFileError) as caught:
        await client.apply_file(folder, namespace=namespace)
    error = caught.value
    assert lines(error.applied) == ["configmap/settings created"]
    assert [(one.location.file, one.location.document, one.location.line) for one in error.failures] == [
        (str(folder / "a.yaml"), 2, 18),
        (str(folder / "b.yaml"), 1, 6),
    ]
    assert str(error).startswith("2 of 3 objects were not applied:\n")
    assert f"  {folder / 'a.yaml'}, document 2, line 18: " in str(error)
    assert "imagee" in error.failures[0].message


@pytest.mark.clusters
async def test_conflict_names_the_other_manager(client: Client, namespace: str, tmp_path: Path) -> None:
    file = write(tmp_path, one=CONFIG_MAP) / "one.yaml"
    await client.apply_file(file, namespace=namespace, field_manager="first")
    file.write_text(CONFIG_MAP.replace("green", "blue"))
    with pytest.raises(ApplyFileError, match='conflict with "first"') as caught:
        await client.apply_file(file, namespace=namespace, field_manager="second")
    assert caught.value.failures[0].location.line == 5  # of the field
    done = await client.apply_file(file, namespace=namespace, field_manager="second", force=True)
    assert lines(done) == ["configmap/settings configured"]


@pytest.mark.promise(
    "Writing with the client", "A dry run of `apply_file` changes nothing, and skips what the same files would create."
)
@pytest.mark.clusters
async def test_dry_run_changes_nothing(client: Client, namespace: str, tmp_path: Path) -> None:
    group = f"{namespace}.example.com"
    await client.apply_file(io.BytesIO(CONFIG_MAP.encode()), namespace=namespace)
    folder = write(tmp_path, a=definition(group), b=gadget(group), c=CONFIG_MAP, d=DEPLOYMENT)
    done = await client.apply_file(folder, namespace=namespace, dry_run=True)
    assert lines(done) == [
        f"customresourcedefinition.apiextensions.k8s.io/gadgets.{group} created (server dry run)",
        f"gadget.{group}/one skipped (server dry run)",
        "configmap/settings unchanged (server dry run)",
        "deployment.apps/web created (server dry run)",
    ]
    assert await client.find(apps.Deployment, "web", namespace) is None
    (folder / "c.yaml").write_text(CONFIG_MAP.replace("green", "blue"))
    done = await client.apply_file(folder / "c.yaml", namespace=namespace, dry_run=True)
    assert lines(done) == ["configmap/settings configured (server dry run)"]
    assert (await client.get(core.ConfigMap, "settings", namespace)).data == {"color": "green"}


@pytest.mark.clusters
async def test_dry_run_skips_objects_of_a_new_namespace(client: Client, namespace: str, tmp_path: Path) -> None:
    there = f"{namespace}-dry"
    text = f"apiVersion: v1\nkind: Namespace\nmetadata: {{name: {there}}}\n---\n{CONFIG_MAP}"
    file = write(tmp_path, one=text.replace("name: settings", f"name: settings, namespace: {there}")) / "one.yaml"
    done = await client.apply_file(file, dry_run=True)
    assert lines(done) == [f"namespace/{there} created (server dry run)", "configmap/settings skipped (server dry run)"]


@pytest.mark.clusters
async def test_exported_object_can_be_applied_again(client: Client, namespace: str, tmp_path: Path) -> None:
    """`kubectl get -o yaml` prints fields that only the server writes."""
    await client.apply_file(io.BytesIO(CONFIG_MAP.encode()), namespace=namespace)
    found = await client.get(core.ConfigMap, "settings", namespace)
    listed = to_yaml({"apiVersion": "v1", "kind": "List", "items": [to_dict(found)]})
    file = write(tmp_path, export=listed) / "export.yaml"
    assert lines(await client.apply_file(file)) == ["configmap/settings unchanged"]


async def test_unknown_kind_is_rejected_before_anything_is_sent(tmp_path: Path) -> None:
    folder = write(
        tmp_path,
        a=CONFIG_MAP,
        b=DEPLOYMENT.replace("Deployment", "Deploymnet"),
        c=DEPLOYMENT.replace("apps/v1", "apps/v1beta1"),
        d=gadget("nowhere.example.com"),
    )
    async with Cluster() as cluster, cluster.client() as client:
        with pytest.raises(ApplyFileError) as caught:
            await client.apply_file(folder)
        assert [one.message for one in caught.value.failures] == [
            "the server does not serve Deploymnet of apps/v1; did you mean Deployment?",
            "the server does not serve Deployment of apps/v1beta1; it serves Deployment of apps/v1",
            "the server does not serve Gadget of nowhere.example.com/v1; install its CustomResourceDefinition first",
        ]
        assert caught.value.failures[0].location.line == 2
        assert await client.find(core.ConfigMap, "settings", "default") is None


async def test_namespace_of_object_must_match_given_one(tmp_path: Path) -> None:
    other = CONFIG_MAP.replace("name: settings", "name: settings, namespace: other")
    async with Cluster() as cluster, cluster.client() as client:
        with pytest.raises(ApplyFileError, match="in the namespace 'other', but 'default' was given"):
            await client.apply_file(write(tmp_path, a=other), namespace="default")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a: [", "document 1, line 2: did not find expected node content"),
        (f"{CONFIG_MAP}---\nkind: Pod\n", "document 2, line 7: apiVersion is missing"),
        (f"{CONFIG_MAP}---\nkind: Pod\nkind: Job\n", "document 2, line 8: the key kind is set twice"),
        ("- 1\n", "document 1, line 1: a document must be an object with apiVersion, kind and metadata"),
        ("apiVersion: v1\nkind: Pod\n", "document 1, line 1: metadata is missing"),
        ("apiVersion: v1\nkind: Pod\nmetadata: {}\n", "document 1, line 1: metadata.name is missing"),
        ("apiVersion: v1\nkind: Pod\nmetadata: {generateName: a-}\n", "metadata.generateName cannot be applied"),
        ("apiVersion: v1\nkind: List\nitems:\n- kind: Pod\n", "document 1, line 4: items[0]: apiVersion is missing"),
        ("# nothing\n", "there are no objects"),
        ("[" * (MAX_DEPTH + 1), f"line 1: nested more than {MAX_DEPTH} levels deep"),
    ],
)
def test_invalid_document_is_rejected_with_its_place(text: str, problem: str, tmp_path: Path) -> None:
    file = write(tmp_path, one=text) / "one.yaml"
    with pytest.raises(ApplyFileError) as caught:
        read_documents(file)
    assert str(caught.value).startswith(f"nothing was applied: {file}")
    assert problem in str(caught.value)


def test_all_unreadable_files_are_in_one_report(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "latin.yaml").write_bytes(b"name: \xe4\n")
    with pytest.raises(ApplyFileError) as caught:
        read_documents(tmp_path / "missing.yaml", tmp_path / "empty", tmp_path / "latin.yaml")
    assert [one.message for one in caught.value.failures] == [
        "No such file or directory",
        "the folder has no .yaml, .yml, .json files; for folders inside it, use recursive",
        "not UTF-8 at byte 6",
    ]


def test_folder_is_read_in_order_without_kustomizations(tmp_path: Path) -> None:
    named = {name: CONFIG_MAP.replace("settings", name) for name in ("b", "a", "inner")}
    write(tmp_path, b=named["b"], a=named["a"], kustomization="kind: Kustomization\n")
    write(tmp_path / "more", inner=named["inner"])
    assert [one.name for one in read_documents(tmp_path)] == ["a", "b"]
    assert [one.name for one in read_documents(tmp_path, recursive=True)] == ["a", "b", "inner"]


def test_long_list_is_read_in_linear_time(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    composed: list[int] = []
    compose = compose_yaml_documents

    def counting(text: str | bytes) -> list[object]:
        composed.append(len(text))
        return compose(text)

    # private: counts how often the text is parsed
    monkeypatch.setattr("kubewright.client.files._documents.compose_yaml_documents", counting)
    item = "- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n"
    file = write(tmp_path, many=f"apiVersion: v1\nkind: List\nitems:\n{item * 200}") / "many.yaml"
    locations = [one.location.line for one in read_documents(file)]
    assert locations == list(range(4, 204))
    assert len(composed) == 1


def test_number_of_files_is_bounded(tmp_path: Path) -> None:
    write(tmp_path, **{f"f{number}": CONFIG_MAP for number in range(MAX_FILES + 1)})
    with pytest.raises(ApplyFileError, match=f"more than {MAX_FILES} files"):
        read_documents(tmp_path)


async def test_blocking_client_applies_files(tmp_path: Path) -> None:
    file = write(tmp_path, one=CONFIG_MAP) / "one.yaml"
    async with Cluster() as cluster:
        await cluster.serve()

        def work() -> list[str]:
            with BlockingClient.connect(kubeconfig=cluster.kubeconfig()) as client:
                return lines(client.apply_file(file))

        assert await asyncio.to_thread(work) == ["configmap/settings created"]


@pytest.mark.clusters
async def test_field_outside_of_the_schema_is_not_retried(client: Client, namespace: str) -> None:
    """The server answers it with 500, but another attempt has the same result."""
    attempts: list[str] = []
    counting = client.with_hooks(lambda request: attempts.append(request.verb))
    broken = CONFIG_MAP.replace("\ndata:", "\ndatta:")
    with pytest.raises(ApplyFileError, match="datta"):
        await counting.apply_file(io.BytesIO(broken.encode()), namespace=namespace)
    assert attempts.count("patch") == 1
