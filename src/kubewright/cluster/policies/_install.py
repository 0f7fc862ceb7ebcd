"""`add_policies`: enables policies on a server.

Policies and the CEL compiler are imported for the first policy or match condition. Together they are fifty modules, and
most clusters have neither.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Final

from kubewright.api.cel import is_available, load
from kubewright.cluster._state import State
from kubewright.cluster.admission import Attributes, Plugin
from kubewright.cluster.machinery._calls import Call
from kubewright.cluster.machinery._resources import ResourceType, Strategy
from kubewright.cluster.machinery._responses import ApiResponse

if TYPE_CHECKING:
    from kubewright.cluster.dispatch._dispatcher import Dispatcher
    from kubewright.cluster.policies._conditions import PolicyConditions

__all__ = ["add_policies"]

_GROUP: Final = "admissionregistration.k8s.io"
_STRATEGIES: Final = {
    "mutatingadmissionpolicies": "MutatingPolicy",
    "mutatingadmissionpolicybindings": "MutatingBinding",
    "validatingadmissionpolicies": "ValidatingPolicy",
    "validatingadmissionpolicybindings": "ValidatingBinding",
}


_WITH_CEL: Final = (_GROUP, "resource.k8s.io")
_WEBHOOKS: Final = (f"mutatingwebhookconfigurations.{_GROUP}", f"validatingwebhookconfigurations.{_GROUP}")
_WRITES: Final = ("create", "update", "patch")


def add_policies(dispatcher: Dispatcher) -> None:
    """Makes the server accept policies, evaluate them on each write, and evaluate match conditions of webhooks."""
    if not is_available():
        return
    state = dispatcher.state
    for plural, strategy in _STRATEGIES.items():
        found = state.types.find(_GROUP, "v1", plural)
        assert found is not None
        found.make_strategy = partial(_strategy, strategy, found)
        dispatcher.supported.add(found.qualified)
    dispatcher.overrides.append(_load)
    state.admission.make_conditions = _conditions
    state.admission.add(_Mutating(state, "mutatingadmissionpolicies", _mutating))
    state.admission.add(_Validating(state, "validatingadmissionpolicies", _validating))


async def _load(state: State, call: Call) -> ApiResponse | None:
    """Imports CEL in steps before a write that may use it."""
    if call.type.group not in _WITH_CEL or call.verb not in _WRITES:
        return None
    if call.type.qualified not in _WEBHOOKS or b"matchConditions" in (call.request.body or b""):
        await load()
    return None


def _strategy(name: str, type_: ResourceType) -> Strategy:
    from kubewright.cluster.policies import _strategies

    strategy: Callable[[str, str, str], Strategy] = getattr(_strategies, name)
    return strategy(type_.api_version, type_.kind, type_.qualified)


def _conditions() -> PolicyConditions:
    from kubewright.cluster.policies._conditions import PolicyConditions

    return PolicyConditions()


def _mutating(state: State) -> Plugin:
    from kubewright.cluster.policies._mutating import MutatingPolicies

    return MutatingPolicies(state)


def _validating(state: State) -> Plugin:
    from kubewright.cluster.policies._validating import ValidatingPolicies

    return ValidatingPolicies(state)


class _Deferred(Plugin):
    """A plugin that is made for the first write after a policy of its kind was stored."""

    def __init__(self, state: State, plural: str, make: Callable[[State], Plugin]) -> None:
        self._state = state
        self._storage = f"{_GROUP}/{plural}"
        self._make = make
        self._made: Plugin | None = None

    @property
    def plugin(self) -> Plugin:
        """The plugin itself."""
        if self._made is None:
            self._made = self._make(self._state)
        return self._made

    def handles(self, attributes: Attributes) -> bool:
        """Returns whether any policy could apply."""
        if self._made is None and next(self._state.storage.entries(self._storage), None) is None:
            return False
        return self.plugin.handles(attributes)


class _Mutating(_Deferred):
    name = "MutatingAdmissionPolicy"

    def mutate(self, attributes: Attributes) -> Awaitable[None] | None:
        return self.plugin.mutate(attributes)


class _Validating(_Deferred):
    name = "ValidatingAdmissionPolicy"

    def validate(self, attributes: Attributes) -> Awaitable[None] | None:
        return self.plugin.validate(attributes)
