"""Matching and evaluation that admission webhooks and admission policies share.

- `matched_type`, `matches_namespace`, `matches_object`, `is_exempt`: whether a write matches the rules and selectors of
  a webhook or policy, and in which version of the resource; `label_selector`: such a selector;
- `rule_errors`: validation of such rules;
- `VersionedObject`: the object of a write, converted to the version that a webhook or policy asks for;
- `Reinvocations`: the webhooks or policies that run a second time because a later one changed the object;
- `admission_request`, `expression_request`: the AdmissionRequest;
- `read_patch`, `apply_patch`: JSON Patches, with the error messages of the real server.
"""

from __future__ import annotations

from kubewright.cluster.admission.matching._matching import (
    is_exempt,
    label_selector,
    matched_type,
    matches_namespace,
    matches_object,
)
from kubewright.cluster.admission.matching._patching import PatchError, TestFailed, apply_patch, read_patch
from kubewright.cluster.admission.matching._requests import admission_request, expression_request
from kubewright.cluster.admission.matching._rules import rule_errors
from kubewright.cluster.admission.matching._versioned import Reinvocations, VersionedObject

__all__ = [
    "PatchError",
    "Reinvocations",
    "TestFailed",
    "VersionedObject",
    "admission_request",
    "apply_patch",
    "expression_request",
    "is_exempt",
    "label_selector",
    "matched_type",
    "matches_namespace",
    "matches_object",
    "read_patch",
    "rule_errors",
]
