"""`MutatingAdmissionWebhook` and `ValidatingAdmissionWebhook`: the plugins that ask programs outside.

Mutating webhooks are asked one after the other, by the names of their configurations and then in their order; those
with the policy IfNeeded once more when a later one has changed the object. Validating ones are asked all at once.
"""

from __future__ import annotations

import asyncio
from copy import deepcopy
from typing import Final

from kubewright.cluster._calling import Callees, CallError, UnusableConfig
from kubewright.cluster._converting import convert
from kubewright.cluster._failures import Failure, bad_request, internal
from kubewright.cluster._kinds import JSONObject, ResourceType, UnreadableObject
from kubewright.cluster._state import State
from kubewright.cluster.admission._attributes import Attributes
from kubewright.cluster.admission._chain import Plugin
from kubewright.cluster.admission._conditions import ConditionError
from kubewright.cluster.admission._hooks import Hook, Hooks
from kubewright.cluster.admission._matching import is_exempt, matched_type, matches_namespace, matches_object
from kubewright.cluster.admission._patching import PatchError, patched, read_patch
from kubewright.cluster.admission._review import (
    Response,
    ReviewError,
    read_response,
    refusal_of,
    request_of,
    review_of,
)

__all__ = ["MutatingWebhooks", "ValidatingWebhooks"]

_WITHOUT_EFFECTS: Final = ("None", "NoneOnDryRun")


class _Shown:
    """The object of a write, and what it was, in the version that webhooks are shown."""

    def __init__(self, attributes: Attributes) -> None:
        self._attributes = attributes
        self.type = attributes.type
        self.object = attributes.object
        self.old = attributes.old
        self.changed = False

    async def turn(self, type_: ResourceType) -> None:
        """Show another version from now on. The Scale of an object is the same in all of them."""
        if type_ is self.type:
            return
        source, self.type = self.type, type_
        if not self.is_whole:
            return
        if self._attributes.old is not None:
            self.old = await convert(self._attributes.old, self._attributes.type, type_)
        if self.object is not None:
            self.object = await convert(self.object, source, type_)

    @property
    def is_whole(self) -> bool:
        """Whether the object is one of the resource itself."""
        attributes = self._attributes
        return attributes.kind.kind == attributes.type.kind

    def put(self, obj: JSONObject) -> bool:
        """Take a patched object in place of the one before. Whether it differs."""
        before = self.object
        if self.is_whole:
            strategy = self.type.strategy
            obj = strategy.read(obj, problems=None)
            obj["apiVersion"], obj["kind"] = self.type.api_version, self.type.kind
            differs = obj != before
            strategy.default(obj)
        else:
            differs = obj != before
        self.object, self.changed = obj, True
        return differs


class _Webhooks(Plugin):
    """What both plugins share: which webhooks are asked, and how."""

    plural = ""
    mutating = False

    def __init__(self, state: State, callees: Callees) -> None:
        self._state = state
        self._callees = callees
        self._hooks = Hooks(state.storage, self.plural)

    def handles(self, attributes: Attributes) -> bool:
        """Whether there are any webhooks that could be asked."""
        return bool(self._hooks.all()) and not is_exempt(attributes)

    async def _wanted(self, hook: Hook, attributes: Attributes, shown: _Shown) -> ResourceType | None:
        """The version of the resource in which a webhook is to be asked about a write; None when it is not."""
        if not matches_object(hook.objects, shown.object, attributes.old):
            return None
        refused: Failure | None = None
        try:
            if not matches_namespace(self._state, hook.namespaces, attributes):
                return None
        except Failure as failure:  # only told to those whom the rules concern
            refused = failure
        spec = hook.spec
        type_ = matched_type(self._state, spec.get("rules") or (), spec.get("matchPolicy") or "", attributes)
        if type_ is None:
            return None
        if refused is not None:
            raise refused
        if spec.get("matchConditions"):
            await shown.turn(type_)
            if not self._conditions_hold(hook, attributes, shown):
                return None
        return type_

    def _conditions_hold(self, hook: Hook, attributes: Attributes, shown: _Shown) -> bool:
        conditions = self._state.admission.conditions
        assert conditions is not None  # a configuration with conditions would have been refused
        request = request_of(attributes, shown.type, "", None, None)
        for name in ("uid", "object", "oldObject"):
            del request[name]
        try:
            return conditions.matches(hook.spec["matchConditions"], attributes, request, shown.object, shown.old)
        except ConditionError as error:
            if hook.fails:
                raise attributes.forbidden(str(error)) from None
            return False

    async def _ask(self, hook: Hook, attributes: Attributes, shown: _Shown, key: str) -> Response | None:
        """What a webhook says; None when it could not be asked, and that does not matter. Raises the refusal."""
        if attributes.dry_run and hook.spec.get("sideEffects") not in _WITHOUT_EFFECTS:
            raise bad_request(f'admission webhook "{hook.name}" does not support dry run')
        try:
            request = request_of(attributes, shown.type, self._state.uid(), shown.object, shown.old)
            review = review_of(hook.spec.get("admissionReviewVersions") or [], request)
            content = await self._callees.post(hook.spec["clientConfig"], review, hook.seconds)
            response = read_response(content, review, mutating=self.mutating)
        except (CallError, ReviewError) as error:
            self._fail(hook, attributes, _reason(error), key)
            return None
        for name, value in (response.audit_annotations or {}).items():
            attributes.annotations[f"{hook.name}/{name}"] = value
        attributes.warnings += response.warnings or []
        if not response.allowed:
            raise refusal_of(hook.name, response.status)
        return response

    def _fail(self, hook: Hook, attributes: Attributes, reason: str, key: str) -> None:
        """A call has failed: so does the write, unless the webhook's policy is to ignore it."""
        if hook.fails:
            raise internal(f'failed calling webhook "{hook.name}": {reason}')
        attributes.annotations[f"failed-open.{key}"] = hook.name


def _reason(error: Exception) -> str:
    if isinstance(error, UnusableConfig):
        return f"could not get REST client: {error}"
    return f"failed to call webhook: {error}" if isinstance(error, CallError) else str(error)


class _Memory:
    """Which webhooks are to be asked a second time."""

    def __init__(self) -> None:
        self.last: JSONObject | None = None
        self.asked: set[str] = set()
        self.again: set[str] = set()

    def repeat(self) -> None:
        """The object has changed: those that were asked before want to see it once more."""
        self.again |= self.asked
        self.asked = set()


class MutatingWebhooks(_Webhooks):
    """Asks the webhooks of MutatingWebhookConfigurations, in the first phase."""

    name = "MutatingAdmissionWebhook"
    plural = "mutatingwebhookconfigurations"
    mutating = True

    async def mutate(self, attributes: Attributes) -> None:
        """Ask each, and apply its patch."""
        memory: _Memory = attributes.notes.setdefault(self.name, _Memory())
        if attributes.round and attributes.object != memory.last:
            memory.repeat()
        shown = _Shown(attributes)
        for index, hook in enumerate(self._hooks.all()):
            type_ = await self._wanted(hook, attributes, shown)
            if type_ is None or (attributes.round and hook.key not in memory.again):
                continue
            await shown.turn(type_)
            if await self._changed(hook, attributes, shown, index):
                memory.repeat()
                attributes.reinvoke = True
            if hook.spec.get("reinvocationPolicy") == "IfNeeded":
                memory.asked.add(hook.key)
        if shown.changed and shown.object is not None:
            await shown.turn(attributes.type)
            attributes.replace(shown.object)
        memory.last = deepcopy(attributes.object)

    async def _changed(self, hook: Hook, attributes: Attributes, shown: _Shown, index: int) -> bool:
        key = f"mutation.webhook.admission.k8s.io/round_{attributes.round}_index_{index}"
        response = await self._ask(hook, attributes, shown, key)
        if response is None or not response.patch:
            return False
        if response.patch_type != "JSONPatch":
            self._fail(hook, attributes, f'unsupported patch type "{response.patch_type}"', key)
            return False
        try:
            operations = read_patch(response.patch)
            if not operations:
                return False
            if shown.object is None:
                text = "attempted to modify the object, which is not supported for this operation"
                raise internal(f'admission webhook "{hook.name}" {text}')
            return shown.put(patched(shown.object, operations))
        except PatchError as error:
            if not error.undecodable:
                raise internal(str(error)) from None
            self._fail(hook, attributes, f"received undecodable patch in webhook response: {error}", key)
            return False
        except UnreadableObject as error:
            raise internal(str(error)) from None


class ValidatingWebhooks(_Webhooks):
    """Asks the webhooks of ValidatingWebhookConfigurations, in the second phase."""

    name = "ValidatingAdmissionWebhook"
    plural = "validatingwebhookconfigurations"

    async def validate(self, attributes: Attributes) -> None:
        """Ask all of them at once. Of several refusals the first one counts, in the order of the webhooks."""
        views: dict[ResourceType, _Shown] = {}
        asked: list[tuple[Hook, _Shown]] = []
        for hook in self._hooks.all():
            shown = _Shown(attributes)
            type_ = await self._wanted(hook, attributes, shown)
            if type_ is None:
                continue
            if type_ not in views:
                await shown.turn(type_)
                views[type_] = shown
            asked.append((hook, views[type_]))
        prefix = "validating.webhook.admission.k8s.io/round_0_index_"
        calls = [self._ask(hook, attributes, shown, f"{prefix}{index}") for index, (hook, shown) in enumerate(asked)]
        for outcome in await asyncio.gather(*calls, return_exceptions=True):
            if isinstance(outcome, BaseException):
                raise outcome
