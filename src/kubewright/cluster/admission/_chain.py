"""`Chain`: the admission plugins of one server, in order."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import cached_property
from typing import TYPE_CHECKING, Final

from kubewright.cluster.admission._attributes import Attributes

if TYPE_CHECKING:
    from kubewright.cluster.admission._conditions import Conditions

__all__ = ["NAMES", "Chain", "Plugin"]

NAMES: Final = (
    "Authorization",
    "NamespaceLifecycle",
    "LimitRanger",
    "ServiceAccount",
    "NodeRestriction",
    "TaintNodesByCondition",
    "PodSecurity",
    "Priority",
    "DefaultTolerationSeconds",
    "DefaultStorageClass",
    "StorageObjectInUseProtection",
    "OwnerReferencesPermissionEnforcement",
    "PersistentVolumeClaimResize",
    "RuntimeClass",
    "CertificateApproval",
    "CertificateSigning",
    "CertificateSubjectRestriction",
    "DefaultIngressClass",
    "MutatingAdmissionPolicy",
    "MutatingAdmissionWebhook",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionWebhook",
    "ResourceQuota",
    "RBAC",
    "Requestor",
)
"""The supported plugins of the real server, in its order.

The first and the last two are not plugins on the real server, but run at these points: whether a PUT may create, before
validation; whether a role grants more than its writer has, and who requests a certificate, after all mutations.
"""


class Plugin:
    """An admission plugin. Override the phases you need; both may be plain or `async def`."""

    name: str = ""
    """One of `NAMES`, which determines the order."""

    def handles(self, attributes: Attributes) -> bool:
        """Returns whether the plugin handles this write. Called on every write: keep it cheap."""
        return True

    def mutate(self, attributes: Attributes) -> Awaitable[None] | None:
        """Changes the object, or rejects the write by raising a `Failure`."""

    def validate(self, attributes: Attributes) -> Awaitable[None] | None:
        """Rejects the write by raising a `Failure`. Must not change the object."""


class Chain:
    """The plugins of one server."""

    def __init__(self) -> None:
        self._plugins: list[Plugin] = []
        self._mutating: list[Plugin] = []
        self._validating: list[Plugin] = []
        self.make_conditions: Callable[[], Conditions | None] = lambda: None
        """Makes `conditions` on first use: they need the CEL compiler, which is large."""

    @cached_property
    def conditions(self) -> Conditions | None:
        """Evaluates match conditions. If None, configurations with match conditions are rejected."""
        return self.make_conditions()

    def add(self, plugin: Plugin) -> None:
        """Adds a plugin at its position. Raises ValueError for an unknown name or a duplicate."""
        if plugin.name not in NAMES:
            raise ValueError(f"{plugin.name!r} is not a known admission plugin; set name to one of {', '.join(NAMES)}")
        if any(other.name == plugin.name for other in self._plugins):
            raise ValueError(f"the admission plugin {plugin.name} was added already")
        self._plugins = sorted([*self._plugins, plugin], key=lambda each: NAMES.index(each.name))
        self._mutating = [each for each in self._plugins if type(each).mutate is not Plugin.mutate]
        self._validating = [each for each in self._plugins if type(each).validate is not Plugin.validate]

    def find(self, name: str) -> Plugin | None:
        """Returns the plugin with that name."""
        return next((plugin for plugin in self._plugins if plugin.name == name), None)

    async def admit(self, attributes: Attributes) -> None:
        """Runs both phases."""
        await self.mutate(attributes)
        await self.validate(attributes)

    async def mutate(self, attributes: Attributes) -> None:
        """Runs the mutating phase. Raises the failure of the first plugin that rejects the write."""
        for plugin in self._mutating:
            if plugin.handles(attributes) and (pending := plugin.mutate(attributes)) is not None:
                await pending
        if attributes.reinvoke and attributes.round == 0:
            attributes.round = 1
            await self.mutate(attributes)

    async def validate(self, attributes: Attributes) -> None:
        """Runs the validating phase. Raises the failure of the first plugin that rejects the write."""
        for plugin in self._validating:
            if plugin.handles(attributes) and (pending := plugin.validate(attributes)) is not None:
                await pending
