"""Webhooks that API servers call: the real one and the embedded one."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from typing import Annotated

import pytest

import kubewright as kw
from kubewright.api import ObjectMeta, Untyped, admissionregistration, apps, core, meta
from kubewright.api.autoscaling.v1 import Scale
from kubewright.client import ApiError, Client, Forbidden, Invalid, MergePatch, NotFound
from kubewright.webhook import AdmissionRequest, AdmissionWarning, FieldError, Refused, rule_for
from tests.patience import until

pytestmark = pytest.mark.clusters


class PuppetSpec(kw.Model):
    size: int | None = None
    strings: Annotated[list[str], kw.ListType("set")] | None = None
    owner: str | None = None


class PuppetStatus(kw.Model):
    mood: str | None = None
    seen_by: str | None = None


@kw.resource("admitted.example.com/v1")
class Puppet(kw.Resource[PuppetSpec, PuppetStatus]):
    """What is admitted."""


LONGEST = 30
"""Seconds: the longest timeout of a webhook. The default of 10 s can pass on a busy machine."""


def puppet(namespace: str, name: str = "kasper", **spec: object) -> Puppet:
    return Puppet(metadata=ObjectMeta(name=name, namespace=namespace), spec=PuppetSpec(**spec))  # type: ignore[arg-type]


@pytest.fixture
def operator(namespace: str) -> kw.Operator:
    made = kw.Operator("puppets", namespaces=[namespace])

    @made.defaults(Puppet, timeout=LONGEST)
    def fill_in(puppet: Puppet, request: AdmissionRequest[Puppet]) -> None:
        if puppet.spec.size is None:
            puppet.spec.size = 3
        if request.operation == "CREATE":
            puppet.spec.owner = request.user.username

    @made.defaults(Puppet, subresources=["status"], operations=["UPDATE"], timeout=LONGEST)
    async def note(puppet: Puppet, request: AdmissionRequest[Puppet]) -> None:
        puppet.status.seen_by = request.subresource

    @made.validates(Puppet, timeout=LONGEST)
    class Rules:
        def validate_create(self, puppet: Puppet) -> Iterator[FieldError | AdmissionWarning]:
            if (puppet.spec.size or 0) > 10:
                yield FieldError.invalid("spec.size", puppet.spec.size, "must be 10 or less")
            for index, string in enumerate(puppet.spec.strings or ()):
                if not string:
                    yield FieldError.required(f"spec.strings[{index}]")
            if puppet.spec.size == 9:
                yield AdmissionWarning("9 is nearly too large")

        async def validate_update(self, old: Puppet, new: Puppet) -> FieldError | None:
            if (new.spec.size or 0) < (old.spec.size or 0):
                return FieldError.forbidden("spec.size", "puppets do not shrink")
            return None

        def validate_delete(self, puppet: Puppet) -> None:
            if puppet.metadata.labels.get("keep"):
                raise Refused("it is to be kept")

    @made.validates(Puppet, subresources=["status"], operations=["UPDATE"], timeout=LONGEST)
    def mood(puppet: Puppet) -> FieldError | None:
        allowed = ["glad", "sad"]
        if puppet.status.mood in allowed:
            return None
        return FieldError.unsupported("status.mood", puppet.status.mood, allowed)

    return made


@pytest.mark.promise("Webhooks", "Creates, updates, deletes and status updates go through handlers, on both clusters.")
async def test_creates_updates_deletes_and_status_updates_go_through_handlers(
    operator: kw.Operator, client: Client, namespace: str
) -> None:
    async with operator.running(client):
        made = await client.create(puppet(namespace))
        assert made.spec.size == 3
        assert made.spec.owner, "the user who asked"

        made.spec.size = 2
        with pytest.raises(Invalid, match=r"spec\.size: Forbidden: puppets do not shrink") as refused:
            await client.update(made)
        assert [cause.field for cause in refused.value.causes] == ["spec.size"]
        made.spec.size = 4
        made.metadata.labels["keep"] = "yes"
        made = await client.update(made)

        made.status.mood = "angry"
        with pytest.raises(Invalid, match=r'status.mood: Unsupported value: "angry": supported values: "glad", "sad"'):
            await client.update(made, subresource="status")
        made.status.mood = "glad"
        made = await client.update(made, subresource="status")
        assert (made.status.mood, made.status.seen_by) == ("glad", "status")

        with pytest.raises(Forbidden, match=r'"rules.puppets.admitted.example.com" denied the request: it is to be ke'):
            await client.delete(Puppet, "kasper", namespace)
        del made.metadata.labels["keep"]
        await client.update(made)
        await client.delete(Puppet, "kasper", namespace)
        with pytest.raises(NotFound):
            await client.get(Puppet, "kasper", namespace)


@pytest.mark.promise(
    "Webhooks",
    "All errors of an object are reported together, each with its field, in the wording of Kubernetes.",
)
async def test_several_errors_arrive_as_causes_and_warnings_as_warnings(
    operator: kw.Operator, client: Client, namespace: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with operator.running(client):
        with pytest.raises(Invalid) as refused:
            await client.create(puppet(namespace, size=11, strings=["left", ""]))
        assert [(cause.field, cause.message) for cause in refused.value.causes] == [
            ("spec.size", "Invalid value: 11: must be 10 or less"),
            ("spec.strings[1]", "Required value"),
        ]
        with caplog.at_level(logging.WARNING):
            await client.create(puppet(namespace, size=9))
        assert "9 is nearly too large" in caplog.text


@pytest.mark.promise("Webhooks", "A handler sees user, operation, old object, options, subresource and dry run.")
async def test_a_dry_run_is_seen_as_one(client: Client, namespace: str) -> None:
    operator, seen = kw.Operator("puppets", namespaces=[namespace]), list[bool]()

    @operator.validates(Puppet)
    def look(puppet: Puppet, request: AdmissionRequest[Puppet]) -> None:
        seen.append(request.dry_run)

    async with operator.running(client):
        await client.create(puppet(namespace), dry_run=True)
        await client.create(puppet(namespace))
    assert seen == [True, False]


async def test_built_in_kinds_are_admitted_too_and_only_in_the_namespaces_of_the_operator(
    client: Client, namespace: str
) -> None:
    operator = kw.Operator("puppets", namespaces=[namespace])

    @operator.defaults(core.ConfigMap, operations=["CREATE"])
    def sign(given: core.ConfigMap, request: AdmissionRequest[core.ConfigMap]) -> None:
        given.metadata.annotations["signed"] = request.operation

    def settings(where: str) -> core.ConfigMap:
        return core.ConfigMap(metadata=ObjectMeta(generate_name="settings-", namespace=where), data={"a": "b"})

    async with operator.running(client):
        signed = await client.create(settings(namespace))
        unsigned = await client.create(settings("default"))
        assert signed.metadata.annotations == {"signed": "CREATE"}
        assert unsigned.metadata.annotations == {}
        await client.delete(core.ConfigMap, unsigned.metadata.name, "default")


@pytest.mark.promise("Webhooks", "Built-in kinds, subresources and any kind can be handled.")
async def test_any_kind_and_scales_are_admitted_with_rules(client: Client, namespace: str) -> None:
    operator, seen = kw.Operator("puppets", namespaces=[namespace]), list[str]()
    rule = admissionregistration.RuleWithOperations(
        api_groups=["", "apps"], api_versions=["*"], resources=["configmaps", "deployments"], operations=["CREATE"]
    )

    @operator.validates(Untyped, rules=[rule])
    async def look(obj: Untyped, request: AdmissionRequest[Untyped]) -> None:
        seen.append(f"{request.kind} {obj.metadata.name}")

    @operator.validates(Scale, rules=[rule_for(apps.Deployment, "UPDATE", subresource="scale")])
    def limit(scale: Scale) -> FieldError | None:
        wanted = scale.spec.replicas or 0
        return FieldError.invalid("spec.replicas", wanted, "must be 3 or less") if wanted > 3 else None

    labels = {"app": "puppets"}
    container = core.Container(name="a", image="a")
    template = core.PodTemplateSpec(metadata=ObjectMeta(labels=labels), spec=core.PodSpec(containers=[container]))
    spec = apps.DeploymentSpec(replicas=1, selector=meta.LabelSelector(match_labels=labels), template=template)
    async with operator.running(client):
        await client.create(core.ConfigMap(metadata=ObjectMeta(name="settings", namespace=namespace)))
        await client.create(apps.Deployment(metadata=ObjectMeta(name="stage", namespace=namespace), spec=spec))
        with pytest.raises(Invalid, match=r"spec\.replicas: Invalid value: 4: must be 3 or less"):
            await client.set_scale(apps.Deployment, "stage", 4, namespace)
        await client.set_scale(apps.Deployment, "stage", 3, namespace)
    assert seen == ["ConfigMap (v1) settings", "Deployment (apps/v1) stage"]


@pytest.mark.promise("Webhooks", "A test needs no set-up for webhooks, and leaves none behind.")
async def test_configurations_are_deleted_with_the_run(operator: kw.Operator, client: Client, namespace: str) -> None:
    kinds = (admissionregistration.MutatingWebhookConfiguration, admissionregistration.ValidatingWebhookConfiguration)
    async with operator.running(client):
        for kind in kinds:
            assert (await client.get(kind, "puppets")).metadata.name == "puppets"
    for kind in kinds:
        with pytest.raises(NotFound):
            await client.get(kind, "puppets")


@pytest.mark.promise("Webhooks", "When the process is gone, or the handler fails, the failure policy decides.")
@pytest.mark.parametrize("policy", ["Fail", "Ignore"])
async def test_failure_policy_applies_without_the_process(client: Client, namespace: str, policy: str) -> None:
    operator = kw.Operator("puppets", namespaces=[namespace])

    @operator.validates(Puppet, failure_policy=policy)  # type: ignore[arg-type]
    def refuse(puppet: Puppet) -> None:
        raise Refused("never")

    async with operator.running(client) as running:
        with pytest.raises(Forbidden, match="never"):
            await client.create(puppet(namespace))
        assert running.webhooks.server is not None
        await running.webhooks.server.__aexit__(None, None, None)
        if policy == "Ignore":
            assert (await client.create(puppet(namespace))).metadata.uid
        else:
            with pytest.raises(ApiError, match=r'failed calling webhook "refuse.puppets.admitted.example.com"') as gone:
                await client.create(puppet(namespace))
            assert gone.value.code == 500


async def test_webhooks_are_limited_to_namespaces_with_the_labels(client: Client, namespace: str) -> None:
    operator = kw.Operator("puppets", namespace_labels=f"stage={namespace},!closed")

    @operator.validates(Puppet)
    def refuse(puppet: Puppet) -> None:
        raise Refused("never")

    async with operator.running(client):
        assert (await client.create(puppet(namespace, "outside"))).metadata.uid
        await client.patch(core.Namespace, namespace, MergePatch({"metadata": {"labels": {"stage": namespace}}}))

        async def refused() -> bool:
            try:
                await client.create(puppet(namespace, "inside"), dry_run=True)
            except Forbidden as error:
                return "never" in str(error)
            return False

        await until(refused)  # the API server notices the labels of a namespace a moment later


@pytest.mark.promise("Webhooks", "Fifty writers at once are all answered.")
async def test_fifty_concurrent_writers_get_responses(operator: kw.Operator, client: Client, namespace: str) -> None:
    async def write(number: int) -> int:
        made = await client.create(puppet(namespace, f"puppet-{number}", size=number % 5))
        made.spec.size = (made.spec.size or 0) + 1
        return (await client.update(made)).spec.size or 0

    async with operator.running(client) as running:
        sizes = await asyncio.gather(*map(write, range(50)))
        assert sizes == [number % 5 + 1 for number in range(50)]
        assert running.webhooks.server is not None
        reviews = running.webhooks.server.stats.reviews
        for path in ("/mutate/fill-in.puppets.admitted.example.com", "/validate/rules.puppets.admitted.example.com"):
            assert reviews[path, "allowed"] >= 100  # the API server calls again after a concurrent write
