"""Strategies of pods and of the kinds that create them."""

from __future__ import annotations

from typing import Final

from kubewright.cluster.defaults import TEMPLATE_GENERATION, complete_changed_pod, complete_job, complete_pod, label_job
from kubewright.cluster.machinery._field_errors import FieldError, forbidden, invalid
from kubewright.cluster.machinery._resources import JSONObject
from kubewright.cluster.registry.strategies._builtin import BuiltinStrategy
from kubewright.cluster.registry.strategies._disabled_fields import drop_disabled_pod_fields
from kubewright.cluster.registry.strategies._pod_warnings import name_warnings, pod_warnings
from kubewright.cluster.registry.strategies._specs import SpecStrategy
from kubewright.cluster.registry.validation._job_statuses import job_status_errors
from kubewright.cluster.registry.validation._jobs import job_update_errors
from kubewright.cluster.registry.validation._pod_annotations import app_armor_warnings, copy_app_armor
from kubewright.cluster.registry.validation._pods import ephemeral_update_errors, new_pod_errors, pod_update_errors
from kubewright.cluster.registry.validation._statuses import workload_status_errors
from kubewright.cluster.registry.validation._workloads import (
    cron_job_errors,
    daemon_set_errors,
    deployment_errors,
    job_errors,
    job_selector_errors,
    pod_template_errors,
    replica_set_errors,
    replication_controller_errors,
    stateful_set_errors,
)

__all__ = [
    "CronJobStrategy",
    "DaemonSetStrategy",
    "DeploymentStrategy",
    "JobStrategy",
    "PodStrategy",
    "PodTemplateStrategy",
    "ReplicaSetStrategy",
    "ReplicatedStrategy",
    "ReplicationControllerStrategy",
    "SelectingStrategy",
    "StatefulSetStrategy",
    "TemplateStrategy",
]

_SELECTED: Final = "field is immutable"

_MUTABLE: Final = frozenset(
    [
        "replicas",
        "ordinals",
        "template",
        "updateStrategy",
        "revisionHistoryLimit",
        "persistentVolumeClaimRetentionPolicy",
        "minReadySeconds",
    ]
)

_METADATA: Final = ("labels", "annotations", "finalizers", "ownerReferences")

_STATEFUL_SET: Final = (
    "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', "
    "'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"
)


class PodStrategy(BuiltinStrategy):
    """Pods have a phase, get fields from admission, and a grace period when deleted."""

    default_grace_seconds = 30
    spec_subresources = frozenset({"ephemeralcontainers"})

    def default(self, obj: JSONObject) -> None:
        """Makes `podIP` and `podIPs` agree; `podIP` wins, as in the conversion of the real server."""
        super().default(obj)
        status = obj.get("status") or {}
        first, all_ = status.get("podIP"), status.get("podIPs") or []
        if first and (not all_ or all_[0].get("ip") != first):
            status["podIPs"] = [{"ip": first}]
        elif all_ and not first:
            status["podIP"] = all_[0].get("ip", "")

    def early_warnings(self, obj: JSONObject) -> list[str]:
        """Returns warnings for annotations that stand for fields."""
        return app_armor_warnings(obj)

    def prepare_create(self, obj: JSONObject) -> None:
        """Sets the phase, and the fields that admission plugins or annotations stand for."""
        drop_disabled_pod_fields(obj["spec"])
        complete_pod(obj)
        copy_app_armor(obj)
        if obj["spec"].get("terminationGracePeriodSeconds", 0) < 0:
            obj["spec"]["terminationGracePeriodSeconds"] = 1
        if obj["spec"].get("schedulingGates"):
            obj["status"]["conditions"] = [
                {
                    "type": "PodScheduled",
                    "status": "False",
                    "lastProbeTime": None,
                    "lastTransitionTime": obj["metadata"]["creationTimestamp"],
                    "reason": "SchedulingGated",
                    "message": "Scheduling is blocked due to non-empty scheduling gates",
                }
            ]

    def prepare_update(self, obj: JSONObject, old: JSONObject, subresource: str) -> None:
        """Sets the fields that admission plugins add."""
        super().prepare_update(obj, old, subresource)
        if not subresource:
            obj["spec"] = {**obj["spec"]}
            drop_disabled_pod_fields(obj["spec"])
            complete_changed_pod(obj, old)
        elif subresource == "ephemeralcontainers":
            _keep_all_but_ephemeral_containers(obj, old)
            drop_disabled_pod_fields(obj["spec"])
        elif subresource == "status" and not (obj.get("status") or {}).get("qosClass"):
            obj["status"] = {**(obj.get("status") or {}), "qosClass": (old.get("status") or {}).get("qosClass", "")}

    def validate_create(self, obj: JSONObject) -> list[FieldError]:
        """Validates the spec."""
        return new_pod_errors(obj)

    def warnings(self, obj: JSONObject, old: JSONObject | None) -> list[str]:
        """Returns warnings for a new pod."""
        return [] if old is not None else [*name_warnings(obj, "the Pod's hostname"), *pod_warnings(obj)]

    def validate_update(self, obj: JSONObject, old: JSONObject, subresource: str) -> list[FieldError]:
        """Rejects changes of immutable fields."""
        if subresource == "ephemeralcontainers":
            return ephemeral_update_errors(obj["spec"], old["spec"])
        return [] if subresource else pod_update_errors(obj, old)


def _keep_all_but_ephemeral_containers(obj: JSONObject, old: JSONObject) -> None:
    added = obj["spec"].get("ephemeralContainers")
    obj["spec"] = {name: value for name, value in old["spec"].items() if name != "ephemeralContainers"}
    if added:
        obj["spec"]["ephemeralContainers"] = added
    for name in _METADATA:
        if name in old["metadata"]:
            obj["metadata"][name] = old["metadata"][name]
        else:
            obj["metadata"].pop(name, None)


class TemplateStrategy(SpecStrategy):
    """A kind with a pod template."""

    template: tuple[str, ...] = ("spec", "template")
    names_pods = True
    """Whether the names of pods contain the name of the object, which may be no DNS label."""

    def prepare_create(self, obj: JSONObject) -> None:
        """Drops fields of the template that the real server does not store."""
        drop_disabled_pod_fields(self._template_of(obj).get("spec") or {})

    def prepare_update(self, obj: JSONObject, old: JSONObject, subresource: str) -> None:
        """Drops fields of the template that the real server does not store."""
        super().prepare_update(obj, old, subresource)
        if not subresource:
            drop_disabled_pod_fields(self._template_of(obj).get("spec") or {})

    def _template_of(self, obj: JSONObject) -> JSONObject:
        for part in self.template:
            obj = obj.get(part) or {}
        return obj

    def warnings(self, obj: JSONObject, old: JSONObject | None) -> list[str]:
        """Returns warnings for the template of a new or changed object."""
        if old is not None and obj["metadata"].get("generation") == old["metadata"].get("generation"):
            return []
        found = self._template_of(obj)
        named = name_warnings(obj, "Pod names and hostnames") if old is None and self.names_pods else []
        return [*named, *pod_warnings(found, ".".join(self.template))]


class ReplicatedStrategy(TemplateStrategy):
    """A workload whose status counts its pods."""

    def validate_update(self, obj: JSONObject, old: JSONObject, subresource: str) -> list[FieldError]:
        """Validates the status, too."""
        errors = super().validate_update(obj, old, subresource)
        return [*errors, *workload_status_errors(obj, old)] if subresource == "status" else errors


class SelectingStrategy(ReplicatedStrategy):
    """A workload whose selector is immutable."""

    def validate_update(self, obj: JSONObject, old: JSONObject, subresource: str) -> list[FieldError]:
        """Rejects a change of the selector."""
        errors = super().validate_update(obj, old, subresource)
        if not subresource and obj["spec"].get("selector") != old["spec"].get("selector"):
            errors.append(invalid("spec.selector", obj["spec"].get("selector"), _SELECTED))
        return errors


class ReplicaSetStrategy(SelectingStrategy):
    """ReplicaSets."""

    @staticmethod
    def rules(obj: JSONObject) -> list[FieldError]:
        """Returns the errors of the spec."""
        return replica_set_errors(obj["spec"])


class ReplicationControllerStrategy(ReplicatedStrategy):
    """ReplicationControllers, whose selector may change."""

    @staticmethod
    def rules(obj: JSONObject) -> list[FieldError]:
        """Returns the errors of the spec."""
        return replication_controller_errors(obj["spec"])


class StatefulSetStrategy(ReplicatedStrategy):
    """StatefulSets, which are mostly immutable."""

    @staticmethod
    def rules(obj: JSONObject) -> list[FieldError]:
        """Returns the errors of the spec."""
        return stateful_set_errors(obj["spec"])

    def validate_update(self, obj: JSONObject, old: JSONObject, subresource: str) -> list[FieldError]:
        """Rejects changes of fields that the controller cannot change in place."""
        errors = super().validate_update(obj, old, subresource)
        fixed = [{name: value for name, value in each["spec"].items() if name not in _MUTABLE} for each in (obj, old)]
        if not subresource and fixed[0] != fixed[1]:
            errors.append(forbidden("spec", _STATEFUL_SET))
        return errors


class DeploymentStrategy(SelectingStrategy):
    """Deployments. Annotations increment the generation, because the controller copies them to ReplicaSets."""

    @staticmethod
    def rules(obj: JSONObject) -> list[FieldError]:
        """Returns the errors of the spec."""
        return deployment_errors(obj["spec"])

    def increments_generation(self, obj: JSONObject, old: JSONObject) -> bool:
        """Returns whether the spec or annotations changed."""
        changed = (obj["metadata"].get("annotations") or {}) != (old["metadata"].get("annotations") or {})
        return changed or super().increments_generation(obj, old)


class DaemonSetStrategy(SelectingStrategy):
    """DaemonSets, which count the versions of their template."""

    names_pods = False
    annotations_of_fields = frozenset({TEMPLATE_GENERATION})

    @staticmethod
    def rules(obj: JSONObject) -> list[FieldError]:
        """Returns the errors of the spec."""
        return daemon_set_errors(obj["spec"])

    def prepare_create(self, obj: JSONObject) -> None:
        """Sets the first template generation."""
        super().prepare_create(obj)
        obj["metadata"]["annotations"][TEMPLATE_GENERATION] = "1"

    def prepare_update(self, obj: JSONObject, old: JSONObject, subresource: str) -> None:
        """Increments the template generation if the template changed."""
        super().prepare_update(obj, old, subresource)
        count = int((old["metadata"].get("annotations") or {}).get(TEMPLATE_GENERATION, "0") or 0)
        changed = obj["spec"].get("template") != old["spec"].get("template")
        annotations = {**(obj["metadata"].get("annotations") or {})}
        annotations[TEMPLATE_GENERATION] = str(count + changed)
        obj["metadata"]["annotations"] = annotations


class JobStrategy(TemplateStrategy):
    """Jobs, which select their pods by their own uid."""

    @staticmethod
    def rules(obj: JSONObject) -> list[FieldError]:
        """Returns the errors of the spec."""
        return [*job_errors(obj["spec"]), *job_selector_errors(obj["spec"])]

    def prepare_create(self, obj: JSONObject) -> None:
        """Sets selector and labels."""
        super().prepare_create(obj)
        complete_job(obj)

    def canonicalize(self, obj: JSONObject) -> None:
        """Sets the labels of the Job itself."""
        label_job(obj)

    def validate_update(self, obj: JSONObject, old: JSONObject, subresource: str) -> list[FieldError]:
        """Rejects changes of immutable fields, and of a status that is final."""
        errors = super().validate_update(obj, old, subresource)
        if subresource == "status":
            return [*errors, *job_status_errors(obj, old)]
        return errors if subresource else [*errors, *job_update_errors(obj, old)]


class CronJobStrategy(TemplateStrategy):
    """CronJobs."""

    template = ("spec", "jobTemplate", "spec", "template")

    @staticmethod
    def rules(obj: JSONObject) -> list[FieldError]:
        """Returns the errors of name and spec."""
        return cron_job_errors(obj)


class PodTemplateStrategy(TemplateStrategy):
    """PodTemplates."""

    template = ("template",)
    names_pods = False

    @staticmethod
    def rules(obj: JSONObject) -> list[FieldError]:
        """Returns the errors of the template."""
        return pod_template_errors(obj)
