"""Several versions of a kind, and the conversion between them."""

from __future__ import annotations

from base64 import b64encode
from typing import Annotated, Any

import pytest

import kubewright as kw
from kubewright.api import ObjectMeta, info_of, to_dict
from kubewright.client import Client, Invalid, MergePatch
from kubewright.crd import crd_of, install
from kubewright.testing import ControlPlane
from tests.crd.conftest import Cases, kind_of

pytestmark = pytest.mark.clusters

WEBHOOK = kw.Conversion(service="foo-system/foo-webhook")


class Spec(kw.Model):
    size: int = 1


def version(name: str, **arguments: Any) -> type[kw.Resource[Spec, None]]:
    @kw.resource(f"versions.example.com/{name}", kind="Converted", **arguments)
    class Converted(kw.Resource[Spec, None]): ...

    return Converted


@pytest.mark.promise(
    "Definitions from types",
    "Several versions, and a webhook that converts between them, also one that another client completed.",
)
def test_a_conversion_webhook_is_in_the_definition() -> None:
    said = kw.Conversion(
        service="system/hook", path="/c", port=8443, ca_bundle=b"pem", review_versions=("v1", "v1beta1")
    )
    crd = crd_of(version("v1", storage=True, conversion=said), version("v1beta1"))
    assert to_dict(crd)["spec"]["conversion"] == {
        "strategy": "Webhook",
        "webhook": {
            "clientConfig": {
                "caBundle": "cGVt",
                "service": {"namespace": "system", "name": "hook", "path": "/c", "port": 8443},
            },
            "conversionReviewVersions": ["v1", "v1beta1"],
        },
    }


def test_a_conversion_webhook_can_have_a_url() -> None:
    crd = crd_of(version("v1", conversion=kw.Conversion(url="https://hooks.example.com/convert")))
    assert to_dict(crd)["spec"]["conversion"]["webhook"]["clientConfig"] == {"url": "https://hooks.example.com/convert"}


def test_rejects_different_conversions() -> None:
    other = kw.Conversion(url="https://hooks.example.com/convert")
    with pytest.raises(ValueError, match="have different conversions"):
        crd_of(version("v1", storage=True, conversion=WEBHOOK), version("v2", conversion=other))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "needs either the service or the url"),
        ({"service": "a/b", "url": "https://c"}, "needs either the service or the url"),
        ({"service": "hook"}, "is namespace/name, not 'hook'"),
        ({"url": "http://hooks.example.com"}, "starts with https://"),
        ({"service": "a/b", "path": "convert"}, "the path of a Conversion starts with /"),
        ({"service": "a/b", "port": 0}, "from 1 to 65535"),
        ({"service": "a/b", "review_versions": "v1"}, "a tuple of versions"),
    ],
)
def test_rejects_invalid_conversion(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        kw.Conversion(**arguments)


def test_rejects_conversion_of_wrong_type() -> None:
    with pytest.raises(TypeError, match="conversion of Converted must be a Conversion"):
        version("v1", conversion="Webhook")


@pytest.mark.promise(
    "Definitions from types",
    "Several versions, and a webhook that converts between them, also one that another client completed.",
)
async def test_reads_objects_in_each_version_and_keeps_a_webhook_completed_by_another_client(
    client: Client, control_plane: ControlPlane, namespace: str
) -> None:
    new, old = version("v1", storage=True), version("v1beta1")
    await install(client, new, old)
    made = await client.create(old(metadata=ObjectMeta(name="one", namespace=namespace), spec=Spec(size=3)))
    read = await client.get(new, "one", namespace)
    assert (made.api_version, read.api_version) == ("versions.example.com/v1beta1", "versions.example.com/v1")
    assert (read.spec.size, read.metadata.uid) == (3, made.metadata.uid)
    await client.delete(made)

    # Other clients set the webhook and its certificate. A second install keeps both.
    hooked = version("v1", storage=True, conversion=WEBHOOK)
    [crd] = await install(client, hooked, old)
    assert crd.spec.conversion is not None
    assert crd.spec.conversion.strategy == "Webhook"
    bundle = b64encode(control_plane.ca).decode()
    filled = {"spec": {"conversion": {"webhook": {"clientConfig": {"caBundle": bundle}}}}}
    await client.patch(type(crd), crd.metadata.name, MergePatch(filled))
    for kinds in ((hooked, old), (new, old)):
        [crd] = await install(client, *kinds)
        content = to_dict(crd)["spec"]["conversion"]["webhook"]["clientConfig"]
        assert content["service"]["name"] == "foo-webhook"
        assert content["caBundle"] == bundle
    await client.delete(crd)


@pytest.mark.promise("Definitions from types", "Rules about changes hold for updates.")
async def test_rules_about_changes_hold_for_updates(cases: Cases, client: Client) -> None:
    grows = Annotated[int, kw.Rule("self >= oldSelf", message="cannot shrink")]
    first = Annotated[int, kw.Rule("!oldSelf.hasValue() ? self == 1 : self >= oldSelf.value()", optional_old_self=True)]
    for hint, message in ((grows, "cannot shrink"), (first, "failed rule")):
        kind = kind_of(hint)
        async with cases.installed(kind):
            await cases.create(kind, {"spec": {"value": 1}}, dry_run=False)
            path = f"{info_of(kind).path}/namespaces/{cases.namespace}/{info_of(kind).plural}/one"
            for value, taken in ((2, True), (1, False)):
                change = client.request(
                    "PATCH", path, body={"spec": {"value": value}}, content_type="application/merge-patch+json"
                )
                if taken:
                    await change
                else:
                    with pytest.raises(Invalid, match=message) as caught:
                        await change
                    assert [cause.field for cause in caught.value.causes] == ["spec.value"]
            if hint is first:
                assert await cases.refused_paths(kind, {"metadata": {"name": "two"}, "spec": {"value": 2}}) == [
                    "spec.value"
                ]
