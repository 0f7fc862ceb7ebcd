"""OLM's kinds, with the fields that are used here. Other fields are preserved."""

from __future__ import annotations

import msgspec

from kubewright.api import Model, Resource
from kubewright.api.kinds import resource

__all__ = ["CatalogSource", "ClusterServiceVersion", "InstallPlan", "OperatorGroup", "Subscription"]

_API = "operators.coreos.com/v1alpha1"


class ConnectionState(Model):
    """Whether OLM can reach the server of a catalog."""

    address: str | None = None
    last_observed_state: str | None = None


class CatalogSourceSpec(Model):
    """The server of a catalog: an image that OLM starts, or an address."""

    source_type: str
    image: str | None = None
    address: str | None = None
    display_name: str | None = None
    publisher: str | None = None


class CatalogSourceStatus(Model):
    """The observed state."""

    connection_state: ConnectionState | None = None
    message: str | None = None
    reason: str | None = None


@resource(_API)
class CatalogSource(Resource[CatalogSourceSpec, CatalogSourceStatus]):
    """A catalog that OLM reads."""


class OperatorGroupSpec(Model):
    """The namespaces that the operators of a namespace watch; empty for all."""

    target_namespaces: list[str] | None = None


@resource("operators.coreos.com/v1")
class OperatorGroup(Resource[OperatorGroupSpec | None, None]):
    """The namespaces of the operators in its own. A namespace may have one OperatorGroup."""


class SubscriptionSpec(Model):
    """The requested channel of a package in a catalog."""

    name: str
    source: str
    source_namespace: str
    channel: str | None = None
    starting_csv: str | None = msgspec.field(default=None, name="startingCSV")
    install_plan_approval: str | None = None


class Reference(Model):
    """A reference to another object."""

    name: str | None = None
    namespace: str | None = None


class Condition(Model):
    """A condition of an object."""

    type: str
    status: str
    reason: str | None = None
    message: str | None = None


class SubscriptionStatus(Model):
    """The progress."""

    install_plan_ref: Reference | None = None
    current_csv: str | None = msgspec.field(default=None, name="currentCSV")
    installed_csv: str | None = msgspec.field(default=None, name="installedCSV")
    conditions: list[Condition] | None = None


@resource(_API)
class Subscription(Resource[SubscriptionSpec, SubscriptionStatus]):
    """A request to install an operator and keep it up to date."""


class InstallPlanSpec(Model):
    """The versions to install."""

    approval: str | None = None
    approved: bool | None = None
    cluster_service_version_names: list[str] | None = None


class InstallPlanStatus(Model):
    """The progress."""

    phase: str | None = None
    conditions: list[Condition] | None = None


@resource(_API)
class InstallPlan(Resource[InstallPlanSpec, InstallPlanStatus]):
    """The steps of OLM for a Subscription."""


class ClusterServiceVersionSpec(Model):
    """The installed version; the fields that are used here."""

    display_name: str | None = None


class Requirement(Model):
    """A requirement of the operator."""

    kind: str | None = None
    name: str | None = None
    status: str | None = None
    message: str | None = None


class ClusterServiceVersionStatus(Model):
    """The progress."""

    phase: str | None = None
    reason: str | None = None
    message: str | None = None
    requirement_status: list[Requirement] | None = None


@resource(_API)
class ClusterServiceVersion(Resource[ClusterServiceVersionSpec, ClusterServiceVersionStatus]):
    """One version of an operator in a namespace."""
