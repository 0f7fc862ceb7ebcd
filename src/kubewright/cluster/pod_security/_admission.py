"""The admission plugin PodSecurity."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Final

from kubewright.cluster._state import State
from kubewright.cluster.admission import Attributes, Plugin
from kubewright.cluster.machinery._failures import forbidden, invalid
from kubewright.cluster.machinery._field_errors import FieldError
from kubewright.cluster.machinery._resources import JSONObject
from kubewright.cluster.machinery._work_budget import PROCESSED, WorkBudget
from kubewright.cluster.pod_security._standards import PREFIX, Level, Policy, detail, policy_of, violations

__all__ = ["PodSecurity"]

_TEMPLATES: Final = {
    "podtemplates": ("template",),
    "replicationcontrollers": ("spec", "template"),
    "replicasets.apps": ("spec", "template"),
    "deployments.apps": ("spec", "template"),
    "statefulsets.apps": ("spec", "template"),
    "daemonsets.apps": ("spec", "template"),
    "jobs.batch": ("spec", "template"),
    "cronjobs.batch": ("spec", "jobTemplate", "spec", "template"),
}
_HANDLED: Final = frozenset({"pods", "namespaces", *_TEMPLATES})
_PODS_TO_CHECK: Final = 3000
_IGNORED: Final = frozenset({"exec", "attach", "binding", "eviction", "log", "portforward", "proxy", "status"})


class PodSecurity(Plugin):
    """Rejects pods that violate the Pod Security level of their namespace, and warns about them."""

    name = "PodSecurity"

    def __init__(self, state: State) -> None:
        self._storage = state.storage

    def handles(self, attributes: Attributes) -> bool:
        """Returns whether a pod, a workload or a namespace is written."""
        if attributes.type.qualified not in _HANDLED or attributes.operation not in ("CREATE", "UPDATE"):
            return False
        if not attributes.subresource:
            return True
        return attributes.type.qualified == "pods" and attributes.subresource not in _IGNORED

    def validate(self, attributes: Attributes) -> Awaitable[None] | None:
        """Checks the pod, the template or the labels."""
        if attributes.type.qualified == "namespaces":
            return self._namespace(attributes)
        self._pod(attributes)
        return None

    def _pod(self, attributes: Attributes) -> None:
        obj, qualified = attributes.object, attributes.type.qualified
        assert obj is not None
        policy, errors = self._policy(attributes.namespace)
        if qualified == "pods":
            if policy == Policy() and not errors:
                attributes.annotations[f"{PREFIX}enforce-policy"] = str(policy.enforce)
            elif attributes.old is None or _significant(obj, attributes.old):
                _evaluate(attributes, policy, obj["metadata"], obj["spec"], enforce=True)
        elif (template := _template(obj, _TEMPLATES[qualified])) is not None:
            _evaluate(attributes, policy, template.get("metadata") or {}, template.get("spec") or {}, enforce=False)
        if errors and f"{PREFIX}error" not in attributes.annotations:
            problems = [str(error) for error in errors]
            shown = problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]"
            attributes.annotations[f"{PREFIX}error"] = f"Failed to parse policy: {shown}"

    def _policy(self, namespace: str) -> tuple[Policy, list[FieldError]]:
        found = self._storage.get("/namespaces", "", namespace)
        return policy_of({} if found is None else found.labels or {})

    async def _namespace(self, attributes: Attributes) -> None:
        namespace = attributes.object
        assert namespace is not None
        policy, errors = policy_of(namespace["metadata"].get("labels") or {})
        name = namespace["metadata"]["name"]
        if attributes.old is None:
            if errors:
                raise invalid(attributes.type, name, errors)
            return
        before, old_errors = policy_of(attributes.old["metadata"].get("labels") or {})
        if errors and errors != old_errors:
            raise invalid(attributes.type, name, errors)
        level, old = policy.enforce, before.enforce
        stricter = level.version != old.version or level.strictness > old.strictness
        if level != old and level.strictness and stricter:
            attributes.warnings.extend(await self._warnings(name, level))

    async def _warnings(self, namespace: str, level: Level) -> list[str]:
        """Returns the warnings about existing pods of a namespace that gets a stricter level."""
        budget, entries = WorkBudget(), list(self._storage.entries("/pods", namespace))
        pods = []
        for entry in entries:
            pods.append(entry.decode())
            await budget.spend(PROCESSED)
        pods = _prioritized(pods)
        found: dict[str, list[str]] = {}
        for pod in pods[:_PODS_TO_CHECK]:
            await budget.spend(PROCESSED)
            if violated := violations(level, pod["metadata"], pod["spec"]):
                reasons = ", ".join(each.reason for each in violated)
                found.setdefault(reasons, []).append(pod["metadata"]["name"])
        warnings = []
        if len(pods) > _PODS_TO_CHECK:
            checked = f"the first {_PODS_TO_CHECK} of {len(pods)} existing pods"
            warnings.append(f"new PodSecurity enforce level only checked against {checked}")
        if found:
            text = f'existing pods in namespace "{namespace}" violate the new PodSecurity enforce level "{level}"'
            warnings.append(text)
        return warnings + sorted(f"{_named(names)}: {reasons}" for reasons, names in found.items())


def _evaluate(attributes: Attributes, policy: Policy, metadata: JSONObject, spec: JSONObject, *, enforce: bool) -> None:
    """Checks a pod or a template. Only pods are rejected."""
    enforced = []
    if enforce:
        attributes.annotations[f"{PREFIX}enforce-policy"] = str(policy.enforce)
        enforced = violations(policy.enforce, metadata, spec)
    if audited := violations(policy.audit, metadata, spec):
        text = f'would violate PodSecurity "{policy.audit}": {detail(audited)}'
        attributes.annotations[f"{PREFIX}audit-violations"] = text
    if enforced:
        name = attributes.name or metadata.get("name", "")
        raise forbidden(attributes.type, name, f'violates PodSecurity "{policy.enforce}": {detail(enforced)}')
    if warned := violations(policy.warn, metadata, spec):
        attributes.warnings.append(f'would violate PodSecurity "{policy.warn}": {detail(warned)}')


def _template(obj: JSONObject, path: tuple[str, ...]) -> JSONObject | None:
    found: JSONObject | None = obj
    for field in path:
        found = (found or {}).get(field)
    return found


def _significant(pod: JSONObject, old: JSONObject) -> bool:
    """Returns whether an update changes containers or images: no other update is checked."""
    one, other = pod["spec"], old["spec"]
    for field in ("containers", "initContainers"):
        images, before = ([each.get("image") for each in spec.get(field) or ()] for spec in (one, other))
        if images != before:
            return True
    known = {each["name"]: each.get("image") for each in other.get("ephemeralContainers") or ()}
    return any(
        each["name"] not in known or each.get("image") != known[each["name"]]
        for each in one.get("ephemeralContainers") or ()
    )


def _prioritized(pods: list[JSONObject]) -> list[JSONObject]:
    """Returns the pods in the order of their checks: one pod of each controller before its other replicas."""
    first: list[JSONObject] = []
    more: list[JSONObject] = []
    seen: set[str] = set()
    for pod in pods:
        owners = pod["metadata"].get("ownerReferences") or ()
        controller = next((owner["uid"] for owner in owners if owner.get("controller")), None)
        (more if controller in seen else first).append(pod)
        if controller is not None:
            seen.add(controller)
    return first + more


def _named(names: list[str]) -> str:
    others = len(names) - 1
    if not others:
        return names[0]
    return f"{min(names)} (and {others} other {'pod' if others == 1 else 'pods'})"
