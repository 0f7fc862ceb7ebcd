"""The custom resources: `Postgresql` (one cluster) and `OperatorConfiguration` (the defaults of all clusters).

Names on the wire are those of the Zalando operator, so its manifests work unchanged. Fields that this operator does not
support are declared, too: `problems_of` refuses those that would change which data a cluster has, and `unsupported_in`
names the others for a warning. Fields that no release knows are rejected by the API server.
"""

from postgres_operator.kinds.configuration import CONFIGURATION_NAME, Configuration, OperatorConfiguration
from postgres_operator.kinds.postgresql import (
    GROUP,
    Clone,
    Patroni,
    Postgresql,
    PostgresqlParameters,
    PostgresqlSpec,
    PostgresqlStatus,
    PreparedDatabase,
    PreparedSchema,
    ResourceAmounts,
    Resources,
    Sidecar,
    State,
    Volume,
)
from postgres_operator.kinds.problems import problems_of
from postgres_operator.kinds.unsupported import unsupported_in, unsupported_settings, without_effect

__all__ = [
    "CONFIGURATION_NAME",
    "GROUP",
    "Clone",
    "Configuration",
    "OperatorConfiguration",
    "Patroni",
    "Postgresql",
    "PostgresqlParameters",
    "PostgresqlSpec",
    "PostgresqlStatus",
    "PreparedDatabase",
    "PreparedSchema",
    "ResourceAmounts",
    "Resources",
    "Sidecar",
    "State",
    "Volume",
    "problems_of",
    "unsupported_in",
    "unsupported_settings",
    "without_effect",
]
