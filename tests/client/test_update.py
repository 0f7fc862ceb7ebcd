"""The two promises about writes, on both clusters."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from kubewright.api import ObjectMeta, Untyped, apps, core, decode, encode, meta
from kubewright.client import Client, Conflict, Invalid, JsonPatch, MergePatch

pytestmark = pytest.mark.clusters


@pytest.fixture
async def stored(client: Client, namespace: str, widget: Any) -> Any:
    """A widget that has fields which its model does not know."""
    kind = await client.kind("client.example.com/v1", "Widget")
    made = kind(metadata=ObjectMeta(name="w", namespace=namespace))
    made["spec"] = {
        "size": 1,
        "hidden": {"deep": [1, 2]},
        "ports": [{"name": "a", "note": "first"}, {"name": "b", "note": "second"}],
    }
    await client.create(made)
    return await client.get(widget, "w", namespace)


async def untyped(client: Client, namespace: str) -> Untyped:
    return await client.get(await client.kind("client.example.com/v1", "Widget"), "w", namespace)


@pytest.mark.promise(
    "Writing with the client",
    "An update keeps what the model does not know, also inside lists and after copies.",
)
async def test_an_update_keeps_fields_that_the_model_does_not_know(client: Client, namespace: str, stored: Any) -> None:
    stored.spec.size = 2
    updated = await client.update(stored)
    assert updated.spec.size == 2
    assert (await untyped(client, namespace))["spec"]["hidden"] == {"deep": [1, 2]}


@pytest.mark.promise(
    "Writing with the client",
    "An update keeps what the model does not know, also inside lists and after copies.",
)
async def test_also_inside_list_elements_that_move(client: Client, namespace: str, stored: Any) -> None:
    first, second = stored.spec.ports
    second.number = 443
    stored.spec.ports = [second, type(first)(name="new", number=1), first]
    await client.update(stored)
    assert (await untyped(client, namespace))["spec"]["ports"] == [
        {"name": "b", "number": 443, "note": "second"},
        {"name": "new", "number": 1},
        {"name": "a", "number": 80, "note": "first"},
    ]


@pytest.mark.promise(
    "Writing with the client",
    "An update keeps what the model does not know, also inside lists and after copies.",
)
async def test_also_after_the_object_was_copied(client: Client, namespace: str, stored: Any) -> None:
    changed = copy.deepcopy(stored)
    del changed.spec.ports[0]
    await client.update(changed)
    content = await untyped(client, namespace)
    assert content["spec"]["ports"] == [{"name": "b", "number": 80, "note": "second"}]
    assert content["spec"]["hidden"] == {"deep": [1, 2]}


@pytest.mark.promise("Writing with the client", "An explicit zero, empty text or empty list reaches the server.")
async def test_update_sends_explicit_zero_empty_string_and_empty_list(
    client: Client, namespace: str, stored: Any
) -> None:
    stored.spec.size, stored.spec.text, stored.spec.tags = 0, "", []
    await client.update(stored)
    spec = (await untyped(client, namespace))["spec"]
    assert (spec["size"], spec["text"], spec["tags"]) == (0, "", [])


@pytest.mark.promise("Writing with the client", "An explicit zero, empty text or empty list reaches the server.")
async def test_create_and_apply_send_explicit_zero_empty_string_and_empty_list(
    client: Client, namespace: str, widget: Any
) -> None:
    spec = widget.__struct_fields__ and type(decode(widget, b'{"metadata":{"name":"x"}}').spec)
    for verb in (client.create, client.apply):
        made = widget(
            metadata=ObjectMeta(name=verb.__name__, namespace=namespace), spec=spec(size=0, text="", tags=[], ports=[])
        )
        await verb(made)
        kind = await client.kind("client.example.com/v1", "Widget")
        stored = await client.get(kind, verb.__name__, namespace)
        assert stored["spec"] == {"size": 0, "text": "", "tags": [], "ports": []}


async def test_a_field_set_to_none_is_removed(client: Client, namespace: str, stored: Any) -> None:
    stored.spec.size = None
    await client.update(stored)
    assert "size" not in (await untyped(client, namespace))["spec"]


async def test_nothing_changed_sends_nothing(client: Client, stored: Any) -> None:
    assert await client.update(stored) is stored


@pytest.mark.promise("Writing with the client", "The revision that was read guards an update.")
async def test_a_stale_object_is_a_conflict(client: Client, namespace: str, stored: Any, widget: Any) -> None:
    await client.patch(widget, "w", MergePatch({"spec": {"size": 7}}), namespace)
    stored.spec.size = 2
    with pytest.raises(Conflict, match="the object has been modified"):
        await client.update(stored)
    assert (await client.get(widget, "w", namespace)).spec.size == 7


@pytest.mark.promise("Writing with the client", "The revision that was read guards an update.")
async def test_a_stale_list_that_became_shorter_is_a_conflict_too(
    client: Client, namespace: str, stored: Any, widget: Any
) -> None:
    await client.patch(widget, "w", MergePatch({"spec": {"ports": []}}), namespace)
    stored.spec.ports[1].number = 5
    with pytest.raises(
        Conflict,
        match=r"patch widgets\.client\.example\.com .*/w: the object has changed since it was read; read it again",
    ):
        await client.update(stored)


async def test_a_refused_value_stays_invalid(client: Client, stored: Any) -> None:
    stored.spec.size = 1000
    with pytest.raises(Invalid) as caught:
        await client.update(stored)
    assert [cause.field for cause in caught.value.causes] == ["spec.size"]


@pytest.mark.promise("Reading with the client", "Status, scale, eviction, tokens and logs.")
async def test_the_status_goes_through_its_own_endpoint(
    client: Client, namespace: str, stored: Any, widget: Any
) -> None:
    stored.spec.size, stored.status.ready = 9, 0
    updated = await client.update_status(stored)
    assert updated.status.ready == 0
    assert (await client.get(widget, "w", namespace)).spec.size == 1

    updated.spec.size, updated.status.ready = 3, 5
    again = await client.update(updated)
    assert (again.spec.size, again.status.ready) == (3, 0)


async def test_an_object_that_was_not_read_cannot_be_updated(client: Client) -> None:
    made = core.ConfigMap(metadata=ObjectMeta(name="x", namespace="default"))
    with pytest.raises(ValueError, match=r"ConfigMap default/x was not read from a server.*use apply, or replace"):
        await client.update(made)


async def test_an_object_with_the_metadata_of_another_kind_cannot_be_updated(client: Client, stored: Any) -> None:
    made = core.ConfigMap(metadata=stored.metadata, data={"a": "b"})
    with pytest.raises(ValueError, match="carries the metadata of a Widget"):
        await client.update(made)


async def test_objects_of_a_list_can_be_updated(client: Client, namespace: str, stored: Any, widget: Any) -> None:
    (listed,) = await client.list(widget, namespace)
    listed.metadata.labels["seen"] = "yes"
    assert (await client.update(listed)).metadata.labels == {"seen": "yes"}
    assert (await untyped(client, namespace))["spec"]["hidden"] == {"deep": [1, 2]}


async def test_untyped_objects_are_updated_the_same_way(client: Client, namespace: str, stored: Any) -> None:
    first = await untyped(client, namespace)
    first["spec"]["hidden"]["deep"].append(3)
    first.metadata.annotations["a/b"] = "c"
    updated = await client.update(first)
    assert updated["spec"]["hidden"] == {"deep": [1, 2, 3]}
    assert updated.metadata.annotations == {"a/b": "c"}


async def test_a_built_in_kind_with_defaulted_lists_updates_one_container(client: Client, namespace: str) -> None:
    pods = core.PodTemplateSpec(
        metadata=ObjectMeta(labels={"app": "x"}),
        spec=core.PodSpec(
            containers=[core.Container(name="a", image="a:1"), core.Container(name="b", image="b:1")],
        ),
    )
    made = await client.create(
        apps.Deployment(
            metadata=ObjectMeta(name="d", namespace=namespace),
            spec=apps.DeploymentSpec(selector=meta.LabelSelector(match_labels={"app": "x"}), template=pods),
        )
    )
    assert made.spec.template.spec is not None
    made.spec.template.spec.containers[1].image = "b:2"
    made.spec.template.spec.containers.insert(0, core.Container(name="c", image="c:1"))
    updated = await client.update(made)
    assert updated.spec.template.spec is not None
    assert [(c.name, c.image) for c in updated.spec.template.spec.containers] == [
        ("c", "c:1"),
        ("a", "a:1"),
        ("b", "b:2"),
    ]


@pytest.mark.promise("Writing with the client", "JSON, merge and strategic patches.")
async def test_a_raw_json_patch_is_sent_as_it_is(client: Client, namespace: str, stored: Any, widget: Any) -> None:
    patch = JsonPatch([{"op": "add", "path": "/spec/text", "value": "x"}])
    assert (await client.patch(widget, "w", patch, namespace)).spec.text == "x"
    assert b'"text":"x"' in encode((await client.get(widget, "w", namespace)).spec)


async def test_an_object_without_a_version_cannot_be_updated(client: Client) -> None:
    read = decode(core.ConfigMap, b'{"metadata":{"name":"x","namespace":"d"},"data":{}}')
    read.data = {"a": "b"}
    with pytest.raises(ValueError, match=r"ConfigMap d/x was read without a resourceVersion.*read it again"):
        await client.update(read)
