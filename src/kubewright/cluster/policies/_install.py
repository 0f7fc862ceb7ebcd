"""`add_policies`: enables policies on a server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kubewright.cluster.policies._conditions import PolicyConditions
from kubewright.cluster.policies._mutating import MutatingPolicies
from kubewright.cluster.policies._strategies import (
    MutatingBinding,
    MutatingPolicy,
    ValidatingBinding,
    ValidatingPolicy,
)
from kubewright.cluster.policies._validating import ValidatingPolicies

if TYPE_CHECKING:
    from kubewright.cluster.dispatch._dispatcher import Dispatcher

__all__ = ["add_policies"]

_GROUP: Final = "admissionregistration.k8s.io"
_STRATEGIES: Final = {
    "mutatingadmissionpolicies": MutatingPolicy,
    "mutatingadmissionpolicybindings": MutatingBinding,
    "validatingadmissionpolicies": ValidatingPolicy,
    "validatingadmissionpolicybindings": ValidatingBinding,
}


def add_policies(dispatcher: Dispatcher) -> None:
    """Makes the server accept policies, evaluate them on each write, and evaluate match conditions of webhooks."""
    from kubewright.api.cel import is_available

    if not is_available():
        return
    state = dispatcher.state
    for plural, strategy in _STRATEGIES.items():
        found = state.types.find(_GROUP, "v1", plural)
        assert found is not None
        found.strategy = strategy(found.api_version, found.kind, found.qualified)
        dispatcher.supported.add(found.qualified)
    state.admission.conditions = PolicyConditions()
    state.admission.add(MutatingPolicies(state))
    state.admission.add(ValidatingPolicies(state))
