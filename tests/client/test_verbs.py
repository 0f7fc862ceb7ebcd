"""Each verb, on both clusters."""

from __future__ import annotations

import asyncio
import json
import logging
from typing import Any

import pytest

from kubewright.api import ObjectMeta, Selector, apps, authentication, core, meta, rbac
from kubewright.client import (
    AlreadyExists,
    ApiError,
    BadRequest,
    Client,
    Conflict,
    Forbidden,
    Invalid,
    MergePatch,
    NotFound,
    RequestTooLarge,
    StrategicPatch,
)
from kubewright.client.wire import error_from
from kubewright.cluster import Cluster
from kubewright.testing import ControlPlane, RealCluster
from tests.patience import PATIENCE

pytestmark = pytest.mark.clusters


def config_map(namespace: str, name: str = "c", **data: str) -> core.ConfigMap:
    return core.ConfigMap(metadata=ObjectMeta(name=name, namespace=namespace), data=data)


async def test_create_get_and_delete(client: Client, namespace: str) -> None:
    made = await client.create(config_map(namespace, a="1"))
    assert made.metadata.uid
    assert (await client.get(core.ConfigMap, "c", namespace)).data == {"a": "1"}
    await client.delete(core.ConfigMap, "c", namespace)
    with pytest.raises(NotFound, match=rf'^get configmaps {namespace}/c: configmaps "c" not found$') as caught:
        await client.get(core.ConfigMap, "c", namespace)
    assert caught.value.code == 404
    assert caught.value.status.details is not None
    assert caught.value.status.details.name == "c"


async def test_default_namespace_is_that_of_the_client(cluster: Cluster | RealCluster, namespace: str) -> None:
    async with cluster.client(namespace=namespace) as client:
        made = await client.create(core.ConfigMap(metadata=ObjectMeta(name="here")))
        assert made.metadata.namespace == namespace
        assert (await client.get(core.ConfigMap, "here")).metadata.uid == made.metadata.uid


async def test_generate_name(client: Client, namespace: str) -> None:
    made = await client.create(
        core.ConfigMap(metadata=ObjectMeta(generate_name="made-", namespace=namespace)),
    )
    assert made.metadata.name.startswith("made-")


async def test_create_raises_already_exists(client: Client, namespace: str) -> None:
    await client.create(config_map(namespace))
    with pytest.raises(AlreadyExists, match='configmaps "c" already exists'):
        await client.create(config_map(namespace))


@pytest.mark.promise("Writing with the client", "A dry run changes nothing.")
async def test_dry_run_changes_nothing(client: Client, namespace: str) -> None:
    made = await client.create(config_map(namespace), dry_run=True)
    assert made.metadata.uid
    with pytest.raises(NotFound):
        await client.get(core.ConfigMap, "c", namespace)
    await client.create(config_map(namespace))
    await client.apply(config_map(namespace, a="1"), force=True, dry_run=True)
    await client.patch(core.ConfigMap, "c", MergePatch({"data": {"a": "1"}}), namespace, dry_run=True)
    await client.delete(core.ConfigMap, "c", namespace, dry_run=True)
    assert not (await client.get(core.ConfigMap, "c", namespace)).data


async def test_replace_writes_the_whole_object(client: Client, namespace: str) -> None:
    made = await client.create(config_map(namespace, a="1", b="2"))
    made.data = {"c": "3"}
    assert (await client.replace(made)).data == {"c": "3"}
    made.data = {"d": "4"}
    with pytest.raises(Conflict):
        await client.replace(made)


@pytest.mark.promise("Writing with the client", "JSON, merge and strategic patches.")
async def test_merge_patch_and_strategic_patch(client: Client, namespace: str) -> None:
    pod = core.Pod(
        metadata=ObjectMeta(name="p", namespace=namespace),
        spec=core.PodSpec(containers=[core.Container(name="a", image="a:1"), core.Container(name="b", image="b:1")]),
    )
    await client.create(pod)
    patched = await client.patch(core.Pod, "p", MergePatch({"metadata": {"labels": {"x": "y"}}}), namespace)
    assert patched.metadata.labels == {"x": "y"}
    strategic = StrategicPatch({"spec": {"containers": [{"name": "b", "image": "b:2"}]}})
    patched = await client.patch(core.Pod, "p", strategic, namespace)
    assert [container.image for container in patched.spec.containers] == ["a:1", "b:2"]


@pytest.mark.promise("Writing with the client", "Apply names who owns a field; force takes it.")
async def test_apply_creates_changes_and_removes_what_is_no_longer_applied(client: Client, namespace: str) -> None:
    await client.apply(config_map(namespace, a="1", b="2"))
    applied = await client.apply(config_map(namespace, a="9"))
    assert applied.data == {"a": "9"}


@pytest.mark.promise("Writing with the client", "Apply names who owns a field; force takes it.")
async def test_apply_conflict_names_the_owner_and_force_takes_the_field(client: Client, namespace: str) -> None:
    await client.apply(config_map(namespace, a="1"), field_manager="first")
    with pytest.raises(Conflict) as caught:
        await client.apply(config_map(namespace, a="2"), field_manager="second")
    assert 'conflict with "first"' in str(caught.value)
    assert [cause.field for cause in caught.value.causes] == [".data.a"]
    assert (await client.apply(config_map(namespace, a="2"), field_manager="second", force=True)).data == {"a": "2"}


async def test_an_object_that_was_read_can_be_applied(client: Client, namespace: str) -> None:
    read = await client.create(config_map(namespace, a="1"))
    read.data = {"a": "2"}
    assert (await client.apply(read, force=True)).data == {"a": "2"}


async def test_apply_to_the_status(client: Client, namespace: str, widget: Any) -> None:
    spec, status = widget.__orig_bases__[0].__args__
    await client.create(widget(metadata=ObjectMeta(name="w", namespace=namespace), spec=spec(size=1)))
    wanted = widget(metadata=ObjectMeta(name="w", namespace=namespace), spec=spec(size=5), status=status(ready=0))
    applied = await client.apply(wanted, subresource="status")
    assert (applied.spec.size, applied.status.ready) == (1, 0)


@pytest.mark.promise("Writing with the client", "Deletion has preconditions, propagation and grace; collections too.")
async def test_deletion_with_preconditions_spares_another_object(client: Client, namespace: str) -> None:
    made = await client.create(config_map(namespace))
    with pytest.raises(Conflict, match="the UID in the precondition"):
        await client.delete(core.ConfigMap, "c", namespace, uid="0000")
    with pytest.raises(Conflict, match="ResourceVersion"):
        await client.delete(core.ConfigMap, "c", namespace, resource_version="1")
    await client.delete(core.ConfigMap, "c", namespace, uid=made.metadata.uid)


@pytest.mark.promise("Writing with the client", "Deletion has preconditions, propagation and grace; collections too.")
async def test_deletion_propagation_and_grace_reach_the_server(client: Client, namespace: str) -> None:
    made = await client.create(config_map(namespace))
    await client.delete(core.ConfigMap, "c", namespace, propagation="Foreground", grace_period_seconds=0)
    left = await client.get(core.ConfigMap, "c", namespace)
    assert left.metadata.uid == made.metadata.uid
    assert left.metadata.finalizers == ["foregroundDeletion"]
    assert left.metadata.deletion_timestamp is not None


async def test_an_object_that_was_read_deletes_only_itself(client: Client, namespace: str) -> None:
    first = await client.create(config_map(namespace))
    await client.delete(first)
    await client.create(config_map(namespace))
    with pytest.raises(Conflict, match="the UID in the precondition"):
        await client.delete(first)
    with pytest.raises(ValueError, match="a ConfigMap needs a name"):
        await client.delete(core.ConfigMap)


async def test_find_returns_none_for_a_missing_object(client: Client, namespace: str) -> None:
    assert await client.find(core.ConfigMap, "c", namespace) is None
    await client.create(config_map(namespace))
    assert await client.find(core.ConfigMap, "c", namespace) is not None


@pytest.mark.promise(
    "Reading with the client",
    "One object can be waited for: until it meets a condition, or is gone with its finalizers.",
)
async def test_waiting_for_an_object_to_be_there_and_to_meet_a_condition(client: Client, namespace: str) -> None:
    async def change() -> None:
        await client.create(config_map(namespace))
        await client.patch(core.ConfigMap, "c", MergePatch({"data": {"a": "1"}}), namespace)

    waiting = asyncio.create_task(client.wait_for(core.ConfigMap, "c", lambda c: bool(c.data), namespace))
    await change()
    assert (await waiting).data == {"a": "1"}
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):  # real: it expires
            await client.wait_for(core.ConfigMap, "never", lambda _: True, namespace)


async def test_rejects_invalid_conditions_names_and_kinds(client: Client, namespace: str) -> None:
    unchecked: Any = client
    with pytest.raises(TypeError, match="condition must be a function of the object, not a str"):
        await unchecked.wait_for(core.ConfigMap, "c", namespace)
    with pytest.raises(TypeError, match="the name of a Pod must be a string, not a Pod"):
        await unchecked.evict(core.Pod(spec=core.PodSpec(containers=[])))
    with pytest.raises(TypeError, match="the name of a Pod must be a string, not the class Pod"):
        await unchecked.evict(core.Pod, "p")
    with pytest.raises(TypeError, match=r"a kind must be a class, such as core\.ConfigMap, not 'ConfigMap'"):
        await unchecked.get("ConfigMap", "c")


async def test_rejects_invalid_objects_and_patches_without_their_content(client: Client, namespace: str) -> None:
    unchecked: Any = client
    secret = {"kind": "Secret", "stringData": {"password": "hush"}}
    for verb in ("create", "update", "update_status", "replace", "apply"):
        write = getattr(client, verb)
        with pytest.raises(TypeError, match=r"^expected an object, such as .*, not the class ConfigMap$"):
            await write(core.ConfigMap)
        with pytest.raises(TypeError, match=r"^expected an object, such as core\.ConfigMap\(.*\), not a dict$"):
            await write(secret)
    with pytest.raises(TypeError, match=r"^expected an object, such as core\.ConfigMap\(.*\), not a dict$"):
        await unchecked.delete(secret)
    for patch, given in ((secret, "a dict"), ([secret], "a list"), (MergePatch, "the class MergePatch")):
        expected = (
            rf"^a patch must be a MergePatch, a JsonPatch or a StrategicPatch, such as MergePatch\(.*\), not {given}$"
        )
        with pytest.raises(TypeError, match=expected):
            await unchecked.patch(core.Secret, "s", patch, namespace)


async def test_a_condition_that_is_async_is_refused_and_not_taken_for_true(client: Client, namespace: str) -> None:
    async def never(found: core.ConfigMap) -> bool:
        return False

    unchecked: Any = client
    async with asyncio.timeout(PATIENCE):
        with pytest.raises(TypeError, match=r"^condition is async, .*: make it a plain def$"):
            await unchecked.wait_for(core.ConfigMap, "absent", never, namespace)
        await client.create(config_map(namespace))
        with pytest.raises(TypeError, match=r"^condition is async, .*: make it a plain def$"):
            await unchecked.wait_for(core.ConfigMap, "c", lambda found: never(found), namespace)


@pytest.mark.promise(
    "Reading with the client",
    "One object can be waited for: until it meets a condition, or is gone with its finalizers.",
)
async def test_waiting_until_an_object_is_gone_with_its_finalizers(client: Client, namespace: str) -> None:
    await client.wait_until_gone(core.ConfigMap, "c", namespace)  # it never was there
    kept = config_map(namespace)
    kept.metadata.finalizers = ["example.com/keep"]
    await client.create(kept)
    waiting = asyncio.create_task(client.wait_until_gone(core.ConfigMap, "c", namespace))
    await client.delete(core.ConfigMap, "c", namespace)
    going = await client.get(core.ConfigMap, "c", namespace)
    assert going.metadata.deletion_timestamp is not None
    assert not waiting.done()
    await client.patch(core.ConfigMap, "c", MergePatch({"metadata": {"finalizers": None}}), namespace)
    async with asyncio.timeout(PATIENCE):
        await waiting


async def test_rejects_creating_an_object_that_was_read(client: Client, namespace: str) -> None:
    made = await client.create(config_map(namespace))
    made.metadata.name = "other"
    with pytest.raises(ValueError, match=r"/other was read from a server: to create a copy, give it new metadata"):
        await client.create(made)


async def test_malformed_request_raises_bad_request(client: Client, namespace: str) -> None:
    with pytest.raises(BadRequest):
        await client.request("POST", f"/api/v1/namespaces/{namespace}/configmaps", body=b"{")


@pytest.mark.promise("When a request fails", "No secret shows in an error.")
async def test_no_secret_reaches_an_error_or_a_representation(client: Client, namespace: str) -> None:
    metadata = ObjectMeta(name="s", namespace=namespace)
    secret = await client.create(core.Secret(metadata=metadata, data={"password": b"hunter2"}))
    assert "hunter2" not in repr(secret)
    odd = MergePatch({"metadata": {"resourceVersion": secret.metadata.resource_version}, "dta": {}})
    with pytest.raises(Invalid, match='unknown field "dta"') as caught:
        await client.patch(core.Secret, "s", odd, namespace)
    shown = f"{caught.value} {caught.value.status} {caught.value.causes}"
    assert "aHVudGVyMg" not in shown  # in base64
    assert "Invalid value: (hidden)" in shown


async def test_a_long_quotation_of_the_server_is_cut(client: Client, namespace: str) -> None:
    await client.create(config_map(namespace, a="x" * 5_000))
    with pytest.raises(Invalid, match='unknown field "dta"') as caught:
        await client.patch(core.ConfigMap, "c", MergePatch({"dta": {}}), namespace)
    assert len(str(caught.value)) < 500


@pytest.mark.promise("Writing with the client", "Deletion has preconditions, propagation and grace; collections too.")
async def test_delete_collection_deletes_matching_objects(client: Client, namespace: str) -> None:
    for name in "abc":
        obj = config_map(namespace, name)
        obj.metadata.labels = {"keep": str(name == "b").lower()}
        await client.create(obj)
    await client.delete_collection(core.ConfigMap, namespace, labels="keep!=true")
    assert [obj.metadata.name for obj in await client.list(core.ConfigMap, namespace)] == ["b"]


@pytest.mark.promise("When a request fails", "Invalid names each field; forbidden names verb and resource.")
async def test_an_invalid_object_names_each_field(client: Client, namespace: str) -> None:
    bad = core.Service(
        metadata=ObjectMeta(name="Bad_Name", namespace=namespace),
        spec=core.ServiceSpec(ports=[core.ServicePort(port=70000)]),
    )
    with pytest.raises(Invalid) as caught:
        await client.create(bad)
    assert {"metadata.name", "spec.ports[0].port"} <= {cause.field for cause in caught.value.causes}


@pytest.mark.promise(
    "Writing with the client",
    "Every write has its field manager, and unknown fields are rejected by default.",
)
async def test_a_field_that_the_server_does_not_know_is_refused(client: Client, namespace: str) -> None:
    kind = await client.kind("v1", "ConfigMap")
    odd = kind(metadata=ObjectMeta(name="odd", namespace=namespace))
    odd["dta"] = {}
    with pytest.raises(ApiError, match='strict decoding error: unknown field "dta"'):
        await client.create(odd)


@pytest.mark.promise("When a request fails", "Invalid names each field; forbidden names verb and resource.")
async def test_forbidden_names_verb_and_resource(control_plane: ControlPlane, namespace: str) -> None:
    kubeconfig = control_plane.add_user("user-without-rights")
    async with Client.connect(kubeconfig=kubeconfig) as client:
        with pytest.raises(Forbidden) as caught:
            await client.list(apps.Deployment, namespace)
    assert (caught.value.verb, caught.value.resource) == ("list", "deployments.apps")
    assert 'User "user-without-rights" cannot list resource "deployments"' in str(caught.value)


@pytest.mark.promise(
    "When a request fails",
    "A body that is too large, and an object without a name, get a clear word.",
)
async def test_a_body_larger_than_the_server_takes(client: Client, namespace: str) -> None:
    with pytest.raises((RequestTooLarge, Invalid), match=r"too large|Too long"):
        await client.create(config_map(namespace, a="x" * 4_000_000))


@pytest.mark.promise(
    "When a request fails",
    "A body that is too large, and an object without a name, get a clear word.",
)
async def test_an_object_without_a_name_is_refused(client: Client, namespace: str) -> None:
    nameless = core.ConfigMap(metadata=ObjectMeta(namespace=namespace))
    with pytest.raises(Invalid, match=r"metadata\.name: Required value: name or generateName is required"):
        await client.create(nameless)
    for verb in (client.apply, client.replace):
        with pytest.raises(ValueError, match=r"this ConfigMap has no metadata\.name"):
            await verb(nameless)
    with pytest.raises(ValueError, match="a ConfigMap needs a name, got ''"):
        await client.get(core.ConfigMap, "", namespace)


@pytest.mark.parametrize("name", ["..", ".", "a/b", "a%2Fb"])
async def test_a_name_cannot_lead_to_another_path(client: Client, name: str) -> None:
    with pytest.raises(ValueError, match="is not a name of a ConfigMap"):
        await client.get(core.ConfigMap, name, "default")
    with pytest.raises(ValueError, match="is not a namespace of a ConfigMap"):
        await client.get(core.ConfigMap, "x", name)


@pytest.mark.clusters("real")
async def test_names_with_colons_reach_the_server(client: Client) -> None:
    assert (await client.get(rbac.ClusterRole, "system:node")).metadata.name == "system:node"


@pytest.mark.promise("When a request fails", "Warnings of the server are logged once each.")
async def test_server_warnings_are_logged_once_each(
    client: Client, namespace: str, widget: Any, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "kubewright.client"):
        for _ in range(3):
            await client.list(widget, namespace)
    warnings = [record.getMessage() for record in caplog.records]
    assert len(warnings) == 1
    assert "the server warns: client.example.com/v1 Widget is only for tests" in warnings[0]


async def test_each_request_is_logged_at_debug_level(
    client: Client, namespace: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG, "kubewright.client"), pytest.raises(NotFound):
        await client.get(core.ConfigMap, "absent", namespace)
    assert f"get configmaps {namespace}/absent: 404," in caplog.text


async def test_reviews_have_no_name(client: Client) -> None:
    review = await client.create(authentication.SelfSubjectReview())
    assert review.status.user_info is not None
    assert review.status.user_info.username == "kubewright-admin"


@pytest.mark.promise("Reading with the client", "Untyped objects and raw requests.")
async def test_raw_requests_and_streams(client: Client, namespace: str) -> None:
    assert await client.request("GET", "/readyz") == b"ok"
    body = {"metadata": {"name": "raw"}, "data": {"a": "b"}}
    await client.request("POST", f"/api/v1/namespaces/{namespace}/configmaps", body=body)
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    raw = b"".join([chunk async for chunk in client.stream(path, query={"labelSelector": "a in (b,c)"})])
    assert b'"items":[]' in raw
    with pytest.raises(NotFound):
        await client.request("GET", "/nothing")
    with pytest.raises(ValueError, match="a path must begin with /"):
        await client.request("GET", "api")


async def test_selectors_may_be_strings_mappings_or_objects(client: Client, namespace: str) -> None:
    obj = config_map(namespace)
    obj.metadata.labels = {"app": "x"}
    await client.create(obj)
    assert len(await client.list(core.ConfigMap, namespace, labels={"app": "x"})) == 1
    assert len(await client.list(core.ConfigMap, namespace, labels="app notin (x)")) == 0
    assert len(await client.list(core.ConfigMap, namespace, fields={"metadata.name": "c"})) == 1
    for selector in (Selector.parse("app=x"), meta.LabelSelector(match_labels={"app": "x"})):
        assert len(await client.list(core.ConfigMap, namespace, labels=selector)) == 1
    with pytest.raises(TypeError, match="is not a selector: pass a string"):
        await client.list(core.ConfigMap, namespace, labels=["app=x"])  # type: ignore[arg-type]


LONG = "x" * 300


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ('"short"', '"short"'),
        ('{"a":1}', '{"a":1}'),
        (f'{{"a":[{{"b":"}}{LONG}"}}]}}', "{…}"),
        (f'["{LONG}"]', "[…]"),
        (f'core.PodTemplateSpec{{Name:"{LONG}", Labels:map[string]string(nil)}}', "{…}"),
        (f'{{"cut":"off{LONG}', "{…}"),
        ("7", "7"),
    ],
)
def test_messages_have_no_whole_objects(value: str, shown: str) -> None:
    def body(text: str) -> bytes:
        message = f"spec.template: Invalid value: {text}: field is immutable, spec.b: Invalid value: 3: no"
        return json.dumps(
            {"message": message, "reason": "Invalid", "details": {"causes": [{"message": message}]}}
        ).encode()

    error = error_from(422, {}, body(value), request="")
    cut = "off" in value
    expected = f"spec.template: Invalid value: {shown}" + (
        "" if cut else ": field is immutable, spec.b: Invalid value: 3: no"
    )
    assert str(error).startswith(expected)
    assert error.causes[0].message == str(error)
    assert "(hidden)" in str(error_from(422, {}, body(value), request="", resource="secrets")) or value == "7"
