"""Server-side apply and managed fields: requests with their recorded outcome on a real server."""

from __future__ import annotations

from tests.cluster.merge.bodies import NGINX, SIDECAR, deployment, pods, port, ports, service
from tests.cluster.merge.config_map_cases import CONFIG_MAPS
from tests.cluster.merge.subresource_cases import SUBRESOURCES, VERSIONS
from tests.cluster.merge.table import Case, apply, create, merge, put, strategic
from tests.cluster.merge.widget_cases import LISTS

BUILTINS = [
    deployment("created", create(pods(NGINX, replicas=1))),
    deployment(
        "created-rich",
        create(
            pods(
                {
                    **NGINX,
                    "ports": [{"containerPort": 80}],
                    "env": [{"name": "A", "value": "1"}],
                    "args": ["x"],
                    "resources": {"limits": {"cpu": "1000m", "memory": "64Mi"}},
                    "volumeMounts": [{"name": "v", "mountPath": "/v"}],
                    "livenessProbe": {"httpGet": {"path": "/", "port": 80}},
                },
                pod={
                    "volumes": [{"name": "v", "emptyDir": {}}],
                    "securityContext": {"runAsUser": 1},
                    "nodeSelector": {"a": "b"},
                },
                strategy={"type": "Recreate"},
            )
        ),
    ),
    deployment("applied", apply(pods(NGINX, replicas=1))),
    deployment("applied-twice", apply(pods(NGINX, replicas=1)), apply(pods(NGINX, replicas=1))),
    deployment(
        "image-by-another",
        apply(pods(NGINX, replicas=1)),
        strategic({"spec": {"template": {"spec": {"containers": [{"name": "nginx", "image": "nginx:2"}]}}}}, "two"),
        apply(pods(NGINX, replicas=1)),
    ),
    deployment("replicas-given-up", apply(pods(NGINX, replicas=3)), apply(pods(NGINX))),
    deployment(
        "replicas-shared-with-scaler",
        apply(pods(NGINX, replicas=3)),
        merge({"spec": {"replicas": 5}}, "two"),
        apply(pods(NGINX)),
    ),
    deployment(
        "sidecar-by-another",
        apply(pods(NGINX)),
        apply({"spec": {"template": {"spec": {"containers": [SIDECAR]}}}}, "two"),
        apply({"spec": {}}, "two"),
    ),
    deployment(
        "env-merged",
        apply(pods({**NGINX, "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]})),
        apply(
            {
                "spec": {
                    "template": {
                        "spec": {
                            "containers": [
                                {"name": "nginx", "env": [{"name": "C", "value": "3"}, {"name": "A", "value": "9"}]}
                            ]
                        }
                    }
                }
            },
            "two",
            force=True,
        ),
    ),
    deployment(
        "quantities",
        apply(pods({**NGINX, "resources": {"requests": {"cpu": "1000m"}}})),
        apply(pods({**NGINX, "resources": {"requests": {"cpu": "1"}}}), "two"),
        apply(pods({**NGINX, "resources": {"requests": {"cpu": "1000m"}}})),
    ),
    deployment(
        "selector-is-atomic",
        apply(pods(NGINX)),
        apply({"spec": {"selector": {"matchLabels": {"app": "a", "b": "c"}}}}, "two"),
    ),
    deployment(
        "volumes",
        apply(pods(NGINX, pod={"volumes": [{"name": "a", "emptyDir": {}}]})),
        apply({"spec": {"template": {"spec": {"volumes": [{"name": "b", "configMap": {"name": "x"}}]}}}}, "two"),
        apply(pods(NGINX)),
    ),
    deployment("zero-values", apply(pods({**NGINX, "stdin": False, "tty": False}, minReadySeconds=0, paused=False))),
    deployment(
        "strategy",
        apply(pods(NGINX, strategy={"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}})),
        apply(pods(NGINX)),
    ),
    service("created", create(ports(port(80)))),
    service("ports-by-two", apply(ports(port(80))), apply(ports(port(81)), "two")),
    service(
        "ports-of-two-protocols",
        apply(ports(port(53, "UDP"))),
        apply(ports(port(53, "TCP")), "two"),
        apply(ports(port(53, "UDP", targetPort="dns"))),
    ),
    service(
        "port-without-protocol",
        apply({"spec": {"ports": [{"port": 80, "name": "a"}]}}),
        apply({"spec": {"ports": [{"port": 80, "protocol": "TCP", "name": "a", "targetPort": 8080}]}}, "two"),
    ),
    service(
        "ports-twice",
        apply({"spec": {"ports": [{"port": 80, "name": "a"}, {"port": 80, "protocol": "TCP", "name": "b"}]}}),
    ),
    service("port-given-up", apply(ports(port(80), port(81))), apply(ports(port(81)))),
    service("selector-is-atomic", apply(ports(port(80))), apply({"spec": {"selector": {"b": "c"}}}, "two")),
    Case("node-created", "v1", "Node", [create({"spec": {"podCIDR": "10.0.0.0/24"}})], ("spec.taints", "status")),
    Case(
        "node-taints",
        "v1",
        "Node",
        [
            create({}),
            apply({"spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]}}, "two"),
            apply({"spec": {"taints": [{"key": "b", "effect": "NoSchedule"}]}}, "three"),
        ],
        ("spec.taints", "status"),
    ),
    Case(
        "node-status",
        "v1",
        "Node",
        [
            create({}),
            apply(
                {"status": {"capacity": {"cpu": "2"}, "conditions": [{"type": "Ready", "status": "True"}]}},
                "kubelet",
                subresource="status",
            ),
            merge({"status": {"capacity": {"example.com/x": "1"}}}, "plugin", "status"),
        ],
        ("spec.taints", "status"),
    ),
    Case(
        "secret-created",
        "v1",
        "Secret",
        [
            create({"data": {"a": "YQ=="}}),
            apply({"stringData": {"b": "x"}}, "two"),
            apply({"data": {"a": "Yg=="}}, "three"),
        ],
    ),
    Case(
        "account",
        "v1",
        "ServiceAccount",
        [
            apply({"imagePullSecrets": [{"name": "a"}]}),
            apply({"imagePullSecrets": [{"name": "b"}]}, "two"),
            apply({"automountServiceAccountToken": False}),
        ],
    ),
    Case(
        "role",
        "rbac.authorization.k8s.io/v1",
        "Role",
        [apply({"rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]}), apply({"rules": []}, "two")],
    ),
    Case(
        "lease",
        "coordination.k8s.io/v1",
        "Lease",
        [
            create({"spec": {"holderIdentity": "a", "leaseDurationSeconds": 15}}),
            put({"spec": {"holderIdentity": "b"}}, "two"),
            apply({"spec": {"leaseDurationSeconds": 20}}, "three"),
        ],
    ),
]

CASES = [*CONFIG_MAPS, *LISTS, *SUBRESOURCES, *VERSIONS, *BUILTINS]
