"""Validation of roles and bindings, with the messages of the real server."""

from __future__ import annotations

from typing import Final

from kubewright.cluster.machinery._field_errors import FieldError, invalid, not_supported, required
from kubewright.cluster.machinery._resources import JSONObject
from kubewright.cluster.registry.strategies._builtin import BuiltinStrategy
from kubewright.cluster.registry.validation._common import label_selector_errors
from kubewright.names import path_segment_problems, subdomain_problems

__all__ = ["BindingStrategy", "RoleStrategy"]

_GROUP: Final = "rbac.authorization.k8s.io"


class RoleStrategy(BuiltinStrategy):
    """Strategy of Roles and ClusterRoles."""

    def validate_create(self, obj: JSONObject) -> list[FieldError]:
        """Requires verbs, and either resources or non-resource URLs, in each rule."""
        errors = []
        for index, rule in enumerate(obj.get("rules") or ()):
            errors += _rule_errors(rule, f"rules[{index}]", namespaced=obj["kind"] == "Role")
        aggregation = obj.get("aggregationRule")
        if aggregation is not None and not aggregation.get("clusterRoleSelectors"):
            text = "at least one clusterRoleSelector required if aggregationRule is non-nil"
            errors.append(required("aggregationRule.clusterRoleSelectors", text))
        for index, selector in enumerate((aggregation or {}).get("clusterRoleSelectors") or ()):
            path = f"aggregationRule.clusterRoleSelectors[{index}]"
            if found := label_selector_errors(selector, path):
                errors += [*found, invalid(path, None, "invalid label selector.")]
        return errors

    def validate_update(self, obj: JSONObject, old: JSONObject, subresource: str) -> list[FieldError]:
        """Validates the object as a new one."""
        return [*super().validate_update(obj, old, subresource), *self.validate_create(obj)]


def _rule_errors(rule: JSONObject, path: str, *, namespaced: bool) -> list[FieldError]:
    errors = []
    if not rule.get("verbs"):
        errors.append(required(f"{path}.verbs", "verbs must contain at least one value"))
    if urls := rule.get("nonResourceURLs"):
        field = f"{path}.nonResourceURLs"
        if namespaced:
            errors.append(invalid(field, urls, "namespaced rules cannot apply to non-resource URLs"))
        if rule.get("apiGroups") or rule.get("resources") or rule.get("resourceNames"):
            text = "rules cannot apply to both regular resources and non-resource URLs"
            errors.append(invalid(field, urls, text))
        return errors
    if not rule.get("apiGroups"):
        errors.append(required(f"{path}.apiGroups", "resource rules must supply at least one api group"))
    if not rule.get("resources"):
        errors.append(required(f"{path}.resources", "resource rules must supply at least one resource"))
    return errors


class BindingStrategy(BuiltinStrategy):
    """Strategy of RoleBindings and ClusterRoleBindings."""

    def validate_create(self, obj: JSONObject) -> list[FieldError]:
        """Validates the role reference and the subjects."""
        ref, namespaced = obj.get("roleRef") or {}, obj["kind"] == "RoleBinding"
        kinds = ["Role", "ClusterRole"] if namespaced else ["ClusterRole"]
        errors = []
        if ref.get("apiGroup", "") != _GROUP:
            errors.append(not_supported("roleRef.apiGroup", ref.get("apiGroup", ""), [_GROUP]))
        if ref.get("kind", "") not in kinds:
            errors.append(not_supported("roleRef.kind", ref.get("kind", ""), kinds))
        name = ref.get("name", "")
        if not name:
            errors.append(required("roleRef.name"))
        errors += [invalid("roleRef.name", name, problem) for problem in path_segment_problems(name)]
        for index, subject in enumerate(obj.get("subjects") or ()):
            errors += _subject_errors(subject, f"subjects[{index}]", namespaced=namespaced)
        return errors

    def validate_update(self, obj: JSONObject, old: JSONObject, subresource: str) -> list[FieldError]:
        """Keeps the role reference immutable, so that changing subjects never grants other permissions."""
        errors = [*super().validate_update(obj, old, subresource), *self.validate_create(obj)]
        if obj.get("roleRef") != old.get("roleRef"):
            ref = obj.get("roleRef") or {}
            shown = {"APIGroup": ref.get("apiGroup", ""), "Kind": ref.get("kind", ""), "Name": ref.get("name", "")}
            errors.append(invalid("roleRef", shown, "cannot change roleRef"))
        return errors


def _subject_errors(subject: JSONObject, path: str, *, namespaced: bool) -> list[FieldError]:
    kind, name, group = subject.get("kind", ""), subject.get("name", ""), subject.get("apiGroup", "")
    errors = [] if name else [required(f"{path}.name")]
    if kind == "ServiceAccount":
        if name:
            errors += [invalid(f"{path}.name", name, problem) for problem in subdomain_problems(name)]
        if group:
            errors.append(not_supported(f"{path}.apiGroup", group, [""]))
        if not namespaced and not subject.get("namespace"):
            errors.append(required(f"{path}.namespace"))
    elif kind in ("User", "Group"):
        if group != _GROUP:
            errors.append(not_supported(f"{path}.apiGroup", group, [_GROUP]))
    else:
        errors.append(not_supported(f"{path}.kind", kind, ["ServiceAccount", "User", "Group"]))
    return errors
