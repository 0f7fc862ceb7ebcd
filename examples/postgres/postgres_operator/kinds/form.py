"""The form with which users of the console create a cluster. Fields that are not named here follow, collapsed."""

import kubewright as kw

FORM = kw.Form(
    sections=[
        kw.FormSection(
            "Cluster",
            [".spec.teamId", ".spec.postgresql.version", ".spec.numberOfInstances", ".spec.volume.size"],
            "The name of the cluster starts with its team and a dash.",
        ),
        kw.FormSection("Users and databases", [".spec.users", ".spec.databases", ".spec.preparedDatabases"]),
        kw.FormSection("Resources", [".spec.resources"]),
        kw.FormSection(
            "Load balancers",
            [".spec.enableMasterLoadBalancer", ".spec.enableReplicaLoadBalancer", ".spec.allowedSourceRanges"],
            collapsed=True,
        ),
        kw.FormSection("PostgreSQL", [".spec.postgresql.parameters", ".spec.patroni"], collapsed=True),
    ],
    initial={
        ".spec.numberOfInstances": 2,
        ".spec.volume.size": "10Gi",
        ".spec.resources.requests": {"cpu": "100m", "memory": "100Mi"},
        ".spec.resources.limits": {"cpu": "500m", "memory": "500Mi"},
    },
    newest=[".spec.postgresql.version"],
    labels={
        ".spec.teamId": "Team",
        ".spec.numberOfInstances": "Number of instances",
        ".spec.postgresql.version": "PostgreSQL version",
        ".spec.volume.size": "Volume size",
        ".spec.enableMasterLoadBalancer": "Load balancer of the primary",
        ".spec.enableReplicaLoadBalancer": "Load balancer of the replicas",
    },
    confirm_deletion="namespace/name",
)
