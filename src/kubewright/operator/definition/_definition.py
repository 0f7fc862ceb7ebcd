"""`OperatorDefinition`: everything that an operator consists of before it runs."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from typing import Final, Literal, TypeAlias, Unpack, get_args

from msgspec.structs import replace

from kubewright.arguments import check_string
from kubewright.clock import Clock, check_clock
from kubewright.observe import Metrics
from kubewright.operator.definition._components import ComponentRegistration
from kubewright.operator.definition._controllers import ControllerRegistration
from kubewright.operator.definition._expectations import ExpectationRegistration
from kubewright.operator.definition._webhooks import WebhookRegistration
from kubewright.operator.settings import Options, Settings, check_options
from kubewright.rbac import Permission

__all__ = ["ExternalCalls", "OperatorDefinition"]

ExternalCalls: TypeAlias = Literal["none", "provided"]
"""The other systems that an operator calls besides the cluster: none, or only those that it `provides`."""

_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


class OperatorDefinition(ControllerRegistration, WebhookRegistration, ComponentRegistration, ExpectationRegistration):
    """The name of an operator, its settings, and all registrations."""

    def __init__(
        self,
        name: str,
        *,
        clock: Clock | None = None,
        rng: random.Random | None = None,
        external_calls: ExternalCalls | None = None,
        **options: Unpack[Options],
    ) -> None:
        if not _NAME.fullmatch(check_string("operator name", name, "foo-operator")):
            raise ValueError(
                f"operator name {name!r} must be lower case letters, digits and '-', at most 63 of them, such as"
                " foo-operator"
            )
        super().__init__(name, Settings(**check_options("Operator", options)))
        self.clock = check_clock(clock)
        self.rng = rng
        if external_calls is not None and external_calls not in get_args(ExternalCalls):
            raise ValueError(f'external_calls must be "none" or "provided", not {external_calls!r}')
        self.external_calls = external_calls
        self.metrics = Metrics()
        self.has_roles = True
        """Whether roles are generated for it. False for the controllers of a cluster, which have every permission."""

    @property
    def namespaces(self) -> tuple[str, ...]:
        """The namespaces that the operator is limited to; empty means all."""
        return self.settings.namespaces

    @namespaces.setter
    def namespaces(self, namespaces: Sequence[str]) -> None:
        self.settings = self.settings_with(namespaces=namespaces)

    def settings_with(self, **options: Unpack[Options]) -> Settings:
        """Returns the operator's settings with some replaced.

        `namespaces` in the options replaces the operator's `namespace_labels`, and the reverse.
        """
        checked = check_options("Operator", options)
        if checked.get("namespaces"):
            checked.setdefault("namespace_labels", None)
        elif checked.get("namespace_labels") is not None:
            checked.setdefault("namespaces", ())
        return replace(self.settings, **checked)

    def __repr__(self) -> str:
        names = ", ".join(one.name for one in (*self._registrations, *self._repeating))
        return f"<Operator {self.name!r}: {names or 'no controllers yet'}>"

    def permissions(self, settings: Settings | None = None) -> list[Permission]:
        """Returns every permission that the program needs, from its declarations and the settings of the run."""
        from kubewright.operator.access import (
            for_following,
            for_installing,
            for_leading,
            for_reviewing,
            permissions_of,
        )
        from kubewright.operator.definition._kinds import defined_kinds

        settings, needs = settings or self.settings, self.needed
        if settings.leader_elect is not False:  # enabled in a pod by default
            lease = settings.lease_name or self.name
            needs = [*needs, *for_leading(lease, settings.lease_namespace, events=settings.event_version)]
        if settings.namespace_labels is not None:
            needs = [*needs, *for_following()]
        if settings.has_secure_metrics:
            needs = [*needs, *for_reviewing()]
        if settings.install_crds:
            needs = [*needs, *for_installing(*defined_kinds([*self._registrations, *self._repeating]))]
        return permissions_of(self.registrations(settings), settings.namespaces, needs, events=settings.event_version)
