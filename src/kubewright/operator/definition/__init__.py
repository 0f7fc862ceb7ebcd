"""The definition of an operator: controllers, webhooks, components, checks and settings, collected before it runs.

`OperatorDefinition` holds all of it and runs nothing. A run, its endpoints and its permissions are derived from it;
`kubewright.operator.Operator` adds the methods that start a run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kubewright.lazy import lazy_exports

if TYPE_CHECKING:
    from kubewright.operator.definition._checks import BUILT_IN_CHECKS, Check, check_health_check, check_page_path
    from kubewright.operator.definition._definition import OperatorDefinition
    from kubewright.operator.definition._expectations import Exemption, Invariant, World, broken_invariants
    from kubewright.operator.definition._kinds import define_kinds, defined_kinds
    from kubewright.operator.definition._stages import STAGES, Stage, check_component, check_stage

__all__ = [
    "BUILT_IN_CHECKS",
    "STAGES",
    "Check",
    "Exemption",
    "Invariant",
    "OperatorDefinition",
    "Stage",
    "World",
    "broken_invariants",
    "check_component",
    "check_health_check",
    "check_page_path",
    "check_stage",
    "define_kinds",
    "defined_kinds",
]

# Imported on first use: importing an operator's file needs only its definition.
_MODULES = {
    "BUILT_IN_CHECKS": "_checks",
    "Check": "_checks",
    "Exemption": "_expectations",
    "Invariant": "_expectations",
    "OperatorDefinition": "_definition",
    "STAGES": "_stages",
    "Stage": "_stages",
    "World": "_expectations",
    "broken_invariants": "_expectations",
    "check_component": "_stages",
    "check_health_check": "_checks",
    "check_page_path": "_checks",
    "check_stage": "_stages",
    "define_kinds": "_kinds",
    "defined_kinds": "_kinds",
}

if not TYPE_CHECKING:  # type checkers report unknown names
    __getattr__ = lazy_exports(__name__, _MODULES)


def __dir__() -> list[str]:
    return sorted(__all__)
