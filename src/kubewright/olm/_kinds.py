"""OLM's own kinds, with the fields that are used here. Fields that are not named here stay as they are."""

from __future__ import annotations

import msgspec

from kubewright.api import Model, Resource
from kubewright.api.kinds import resource

__all__ = ["CatalogSource", "ClusterServiceVersion", "InstallPlan", "OperatorGroup", "Subscription"]

_API = "operators.coreos.com/v1alpha1"


class ConnectionState(Model):
    """Whether OLM reaches the server of a catalog."""

    address: str | None = None
    last_observed_state: str | None = None


class CatalogSourceSpec(Model):
    """Where a catalog is served: by an image that OLM starts, or at an address."""

    source_type: str
    image: str | None = None
    address: str | None = None
    display_name: str | None = None
    publisher: str | None = None


class CatalogSourceStatus(Model):
    """What became of it."""

    connection_state: ConnectionState | None = None
    message: str | None = None
    reason: str | None = None


@resource(_API)
class CatalogSource(Resource[CatalogSourceSpec, CatalogSourceStatus]):
    """A catalog that OLM looks into."""


class OperatorGroupSpec(Model):
    """The namespaces that the operators of a namespace look at; all when none is named."""

    target_namespaces: list[str] | None = None


@resource("operators.coreos.com/v1")
class OperatorGroup(Resource[OperatorGroupSpec | None, None]):
    """Which namespaces the operators in its own are for. There may be one in a namespace."""


class SubscriptionSpec(Model):
    """What is wanted: a channel of a package in a catalog."""

    name: str
    source: str
    source_namespace: str
    channel: str | None = None
    starting_csv: str | None = msgspec.field(default=None, name="startingCSV")
    install_plan_approval: str | None = None


class Reference(Model):
    """Another object."""

    name: str | None = None
    namespace: str | None = None


class Condition(Model):
    """What OLM says about an object."""

    type: str
    status: str
    reason: str | None = None
    message: str | None = None


class SubscriptionStatus(Model):
    """How far it has come."""

    install_plan_ref: Reference | None = None
    current_csv: str | None = msgspec.field(default=None, name="currentCSV")
    installed_csv: str | None = msgspec.field(default=None, name="installedCSV")
    conditions: list[Condition] | None = None


@resource(_API)
class Subscription(Resource[SubscriptionSpec, SubscriptionStatus]):
    """That an operator is to be installed, and to be kept up to date."""


class InstallPlanSpec(Model):
    """What is going to be installed."""

    approval: str | None = None
    approved: bool | None = None
    cluster_service_version_names: list[str] | None = None


class InstallPlanStatus(Model):
    """How far it has come."""

    phase: str | None = None
    conditions: list[Condition] | None = None


@resource(_API)
class InstallPlan(Resource[InstallPlanSpec, InstallPlanStatus]):
    """What OLM does for a Subscription, step by step."""


class ClusterServiceVersionSpec(Model):
    """What is installed; the fields that are needed here."""

    display_name: str | None = None


class Requirement(Model):
    """Something that must be there before the operator is installed."""

    kind: str | None = None
    name: str | None = None
    status: str | None = None
    message: str | None = None


class ClusterServiceVersionStatus(Model):
    """How far it has come."""

    phase: str | None = None
    reason: str | None = None
    message: str | None = None
    requirement_status: list[Requirement] | None = None


@resource(_API)
class ClusterServiceVersion(Resource[ClusterServiceVersionSpec, ClusterServiceVersionStatus]):
    """One version of an operator in a namespace."""
