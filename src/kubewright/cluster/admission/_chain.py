"""`Chain`: the plugins of one server, in the order in which they are asked."""

from __future__ import annotations

from collections.abc import Awaitable
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
)
"""The plugins of the real server that have a place here, in its order.

The first and the last are none there, but are asked at just these moments: whether a PUT may create, before others
validate; and whether a role grants more than its writer has, when all others have changed it."""


class Plugin:
    """Something that has a say in writes. It overrides what it needs; both phases may be plain or `async def`."""

    name: str = ""
    """One of `NAMES`, which decides its place."""

    def handles(self, attributes: Attributes) -> bool:
        """Whether this write is any of its business. Asked at every write, in the phases it has: keep it cheap."""
        return True

    def mutate(self, attributes: Attributes) -> Awaitable[None] | None:
        """Change the object, or refuse the write by raising a `Failure`."""

    def validate(self, attributes: Attributes) -> Awaitable[None] | None:
        """Refuse the write by raising a `Failure`. Change nothing."""


class Chain:
    """The plugins of one server. It is empty until somebody adds one, and then costs nothing."""

    def __init__(self) -> None:
        self._plugins: list[Plugin] = []
        self._mutating: list[Plugin] = []
        self._validating: list[Plugin] = []
        self.conditions: Conditions | None = None
        """Whoever evaluates match conditions; None refuses them."""

    def add(self, plugin: Plugin) -> None:
        """Ask this plugin from now on, at its place. Raises ValueError for a name that is unknown, or there already."""
        if plugin.name not in NAMES:
            raise ValueError(f"{plugin.name!r} is no admission plugin of the real server; NAMES has those that are")
        if any(other.name == plugin.name for other in self._plugins):
            raise ValueError(f"the admission plugin {plugin.name} is there already")
        self._plugins = sorted([*self._plugins, plugin], key=lambda each: NAMES.index(each.name))
        self._mutating = [each for each in self._plugins if type(each).mutate is not Plugin.mutate]
        self._validating = [each for each in self._plugins if type(each).validate is not Plugin.validate]

    def find(self, name: str) -> Plugin | None:
        """The plugin of that name."""
        return next((plugin for plugin in self._plugins if plugin.name == name), None)

    async def admit(self, attributes: Attributes) -> None:
        """Both phases, for a write to which nothing happens between them."""
        await self.mutate(attributes)
        await self.validate(attributes)

    async def mutate(self, attributes: Attributes) -> None:
        """The first phase. Raises the refusal of the first plugin that refuses."""
        for plugin in self._mutating:
            if plugin.handles(attributes) and (pending := plugin.mutate(attributes)) is not None:
                await pending
        if attributes.reinvoke and attributes.round == 0:
            attributes.round = 1
            await self.mutate(attributes)

    async def validate(self, attributes: Attributes) -> None:
        """The second phase. Raises the refusal of the first plugin that refuses."""
        for plugin in self._validating:
            if plugin.handles(attributes) and (pending := plugin.validate(attributes)) is not None:
                await pending
