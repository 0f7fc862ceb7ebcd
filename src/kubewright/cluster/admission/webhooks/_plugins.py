"""The plugins `MutatingAdmissionWebhook` and `ValidatingAdmissionWebhook`.

Mutating webhooks run one after another, ordered by configuration name and position. Those with the reinvocation policy
IfNeeded run once more if a later one changes the object. Validating webhooks run concurrently.
"""

from __future__ import annotations

import asyncio
from copy import deepcopy
from typing import Final

from kubewright.cluster._state import State
from kubewright.cluster.admission._attributes import Attributes
from kubewright.cluster.admission._chain import Plugin
from kubewright.cluster.admission._conditions import ConditionError
from kubewright.cluster.admission.matching import (
    PatchError,
    Reinvocations,
    VersionedObject,
    admission_request,
    apply_patch,
    expression_request,
    is_exempt,
    matched_type,
    matches_namespace,
    matches_object,
    read_patch,
)
from kubewright.cluster.admission.webhooks._hooks import Hook, Hooks
from kubewright.cluster.admission.webhooks._review import Response, ReviewError, read_response, refusal_of, review_of
from kubewright.cluster.machinery._failures import Failure, bad_request, internal
from kubewright.cluster.machinery._resources import ResourceType, UnreadableObject
from kubewright.cluster.webhooks._client import UnusableConfig, WebhookCallError, WebhookClient

__all__ = ["MutatingWebhooks", "ValidatingWebhooks"]

_WITHOUT_EFFECTS: Final = ("None", "NoneOnDryRun")


class _Webhooks(Plugin):
    """The common part of both plugins: which webhooks are called, and how."""

    plural = ""
    mutating = False

    def __init__(self, state: State, webhook_client: WebhookClient) -> None:
        self._state = state
        self._webhook_client = webhook_client
        self._hooks = Hooks(state.storage, self.plural)

    def handles(self, attributes: Attributes) -> bool:
        """Returns whether any webhook could apply."""
        return bool(self._hooks.all()) and not is_exempt(attributes)

    async def _wanted(self, hook: Hook, attributes: Attributes, versioned: VersionedObject) -> ResourceType | None:
        """Returns the version of the resource in which a webhook receives the write; None if it does not apply."""
        if not matches_object(hook.objects, versioned.object, attributes.old):
            return None
        refused: Failure | None = None
        try:
            if not matches_namespace(self._state, hook.namespaces, attributes):
                return None
        except Failure as failure:  # raised only if the rules match
            refused = failure
        spec = hook.spec
        type_ = matched_type(self._state, spec.get("rules") or (), spec.get("matchPolicy") or "", attributes)
        if type_ is None:
            return None
        if refused is not None:
            raise refused
        if spec.get("matchConditions"):
            await versioned.convert_to(type_)
            if not self._conditions_hold(hook, attributes, versioned):
                return None
        return type_

    def _conditions_hold(self, hook: Hook, attributes: Attributes, versioned: VersionedObject) -> bool:
        conditions = self._state.admission.conditions
        assert conditions is not None  # validation rejects match conditions then
        request = expression_request(attributes, versioned.type)
        try:
            return conditions.matches(
                hook.spec["matchConditions"], attributes, request, versioned.object, versioned.old
            )
        except ConditionError as error:
            if hook.fails:
                raise attributes.forbidden(str(error)) from None
            return False

    async def _call(self, hook: Hook, attributes: Attributes, versioned: VersionedObject, key: str) -> Response | None:
        """Returns the response of a webhook, or None if a failed call is ignored. Raises if the write is rejected."""
        if attributes.dry_run and hook.spec.get("sideEffects") not in _WITHOUT_EFFECTS:
            raise bad_request(f'admission webhook "{hook.name}" does not support dry run')
        try:
            request = admission_request(attributes, versioned.type, self._state.uid(), versioned.object, versioned.old)
            review = review_of(hook.spec.get("admissionReviewVersions") or [], request)
            content = await self._webhook_client.post(hook.spec["clientConfig"], review, hook.seconds)
            response = read_response(content, review, mutating=self.mutating)
        except (WebhookCallError, ReviewError) as error:
            self._fail(hook, attributes, _reason(error), key)
            return None
        for name, value in (response.audit_annotations or {}).items():
            attributes.annotations[f"{hook.name}/{name}"] = value
        attributes.warnings += response.warnings or []
        if not response.allowed:
            raise refusal_of(hook.name, response.status)
        return response

    def _fail(self, hook: Hook, attributes: Attributes, reason: str, key: str) -> None:
        """Handles a failed call: rejects the write unless the webhook's failure policy is Ignore."""
        if hook.fails:
            raise internal(f'failed calling webhook "{hook.name}": {reason}')
        attributes.annotations[f"failed-open.{key}"] = hook.name


def _reason(error: Exception) -> str:
    if isinstance(error, UnusableConfig):
        return f"could not get REST client: {error}"
    return f"failed to call webhook: {error}" if isinstance(error, WebhookCallError) else str(error)


class MutatingWebhooks(_Webhooks):
    """Calls the webhooks of MutatingWebhookConfigurations, in the mutating phase."""

    name = "MutatingAdmissionWebhook"
    plural = "mutatingwebhookconfigurations"
    mutating = True

    async def mutate(self, attributes: Attributes) -> None:
        """Calls each webhook and applies its patch."""
        reinvocations: Reinvocations = attributes.notes.setdefault(self.name, Reinvocations())
        if attributes.round and attributes.object != reinvocations.last_object:
            reinvocations.schedule()
        versioned = VersionedObject(attributes)
        for index, hook in enumerate(self._hooks.all()):
            type_ = await self._wanted(hook, attributes, versioned)
            if type_ is None or (attributes.round and hook.key not in reinvocations.due):
                continue
            await versioned.convert_to(type_)
            if await self._changed(hook, attributes, versioned, index):
                reinvocations.schedule()
                attributes.reinvoke = True
            if hook.spec.get("reinvocationPolicy") == "IfNeeded":
                reinvocations.called.add(hook.key)
        if versioned.changed and versioned.object is not None:
            await versioned.convert_to(attributes.type)
            attributes.replace(versioned.object)
        reinvocations.last_object = deepcopy(attributes.object)

    async def _changed(self, hook: Hook, attributes: Attributes, versioned: VersionedObject, index: int) -> bool:
        key = f"mutation.webhook.admission.k8s.io/round_{attributes.round}_index_{index}"
        response = await self._call(hook, attributes, versioned, key)
        if response is None or not response.patch:
            return False
        if response.patch_type != "JSONPatch":
            self._fail(hook, attributes, f'unsupported patch type "{response.patch_type}"', key)
            return False
        try:
            operations = read_patch(response.patch)
            if not operations:
                return False
            if versioned.object is None:
                text = "attempted to modify the object, which is not supported for this operation"
                raise internal(f'admission webhook "{hook.name}" {text}')
            return versioned.replace(apply_patch(versioned.object, operations))
        except PatchError as error:
            if not error.undecodable:
                raise internal(str(error)) from None
            self._fail(hook, attributes, f"received undecodable patch in webhook response: {error}", key)
            return False
        except UnreadableObject as error:
            raise internal(str(error)) from None


class ValidatingWebhooks(_Webhooks):
    """Calls the webhooks of ValidatingWebhookConfigurations, in the validating phase."""

    name = "ValidatingAdmissionWebhook"
    plural = "validatingwebhookconfigurations"

    async def validate(self, attributes: Attributes) -> None:
        """Calls all webhooks concurrently. Raises the first failure, in the order of the webhooks."""
        views: dict[ResourceType, VersionedObject] = {}
        matching: list[tuple[Hook, VersionedObject]] = []
        for hook in self._hooks.all():
            versioned = VersionedObject(attributes)
            type_ = await self._wanted(hook, attributes, versioned)
            if type_ is None:
                continue
            if type_ not in views:
                await versioned.convert_to(type_)
                views[type_] = versioned
            matching.append((hook, views[type_]))
        prefix = "validating.webhook.admission.k8s.io/round_0_index_"
        calls = [self._call(hook, attributes, seen, f"{prefix}{index}") for index, (hook, seen) in enumerate(matching)]
        for outcome in await asyncio.gather(*calls, return_exceptions=True):
            if isinstance(outcome, BaseException):
                raise outcome
