"""Projects to package: from the smallest to one with everything."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import kubewright as kw
from kubewright.api import Quantity, admissionregistration, apps, core, meta, networking
from kubewright.manifests import ConversionDeclaration, Project, WebhookDeclaration, rule_for

DIGEST = f"sha256:{'0123456789abcdef' * 4}"


class Spec(kw.Model):
    """What is asked for.

    Several lines, which "quote" and 'quote', and contain {{ .Values.something }} as text: `{{- if }}`.
    """

    size: int = 1
    """How large, such as {{ 3 }}; größer ist besser: # 1."""


class Status(kw.Model):
    ready: bool = False


@kw.resource("packages.example.com/v1", storage=True)
class Foo(kw.Resource[Spec, Status]):
    """A kind of one version."""


@kw.resource("packages.example.com/v1", storage=True, annotations={"example.com/note": "kept"})
class Bar(kw.Resource[Spec, Status]):
    """A kind of two versions, with an annotation."""


class OldSpec(kw.Model):
    extent: int = 1


@kw.resource("packages.example.com/v1alpha1", kind="Bar", deprecated=True, annotations={"example.com/note": "kept"})
class OldBar(kw.Resource[OldSpec, Status]):
    """The older one."""


@kw.resource("packages.example.com/v1", storage=True, scope="Cluster")
class Zone(kw.Resource[Spec, Status]):
    """A kind in no namespace, of two versions."""


@kw.resource("packages.example.com/v1beta1", kind="Zone", scope="Cluster")
class OldZone(kw.Resource[OldSpec, Status]):
    """The older one."""


def operator(name: str = "foo-operator", **options: Any) -> kw.Operator:
    made = kw.Operator(name, **options)

    @made.reconciles(Foo, owns=[apps.Deployment])
    async def sync(foo: Foo, ctx: kw.Context[Foo]) -> None: ...

    return made


def project(**settings: Any) -> Project:
    settings.setdefault("operator", operator())
    return Project(target="foo.py", **settings)


WEBHOOKS = [
    WebhookDeclaration(
        name="validate.foos.example.com", path="/validate/foos", rules=[rule_for(Foo, "CREATE", "UPDATE")]
    ),
    WebhookDeclaration(
        name="guard.zones.example.com",
        path="/guard/zones",
        rules=[rule_for(Zone, "DELETE"), rule_for(Zone, "UPDATE", subresource="status")],
        failure_policy="Ignore",
        side_effects="NoneOnDryRun",
        timeout_seconds=5,
        match_policy="Exact",
        match_conditions=[
            admissionregistration.MatchCondition(name="not-the-system", expression="request.userInfo.username != 'x'")
        ],
    ),
    WebhookDeclaration(
        name="default.foos.example.com",
        path="/default/foos",
        rules=[rule_for(Foo, "CREATE")],
        mutating=True,
        reinvocation_policy="IfNeeded",
        namespace_selector=meta.LabelSelector(match_labels={"team": "a"}),
        object_selector=meta.LabelSelector(match_labels={"managed": "yes"}),
    ),
]
CONVERSIONS = [ConversionDeclaration(kind=Bar), ConversionDeclaration(kind=Zone, path="/convert/zones")]
KINDS = (Foo, Bar, OldBar, Zone, OldZone)

FULL = project(
    kinds=KINDS,
    replicas=3,
    webhooks=WEBHOOKS,
    conversions=CONVERSIONS,
    service_monitor=True,
    network_policy=True,
    egress=[networking.NetworkPolicyEgressRule(ports=[networking.NetworkPolicyPort(port=5432, protocol="TCP")])],
)

CREDENTIALS = core.EnvVarSource(secret_key_ref=core.SecretKeySelector(name="database", key="password"))
POD: dict[str, Any] = {
    "env": {"TZ": "UTC", "GREETING": "{{ .Values.nothing }}: 'quoted'", "PASSWORD": CREDENTIALS},
    "env_from": [core.EnvFromSource(config_map_ref=core.ConfigMapEnvSource(name="flags", optional=True), prefix="F_")],
    "args": ["--log-level=debug", "--grace=20s"],
    "volumes": [
        core.Volume(name="settings", config_map=core.ConfigMapVolumeSource(name="settings")),
        core.Volume(name="shared", empty_dir=core.EmptyDirVolumeSource(medium="Memory", size_limit=Quantity("16Mi"))),
    ],
    "mounts": [
        core.VolumeMount(name="settings", mount_path="/etc/settings", read_only=True),
        core.VolumeMount(name="shared", mount_path="/shared"),
    ],
    "pull_secrets": ["registry", "mirror"],
    "node_selector": {"disk": "ssd"},
    "tolerations": [core.Toleration(key="dedicated", operator="Equal", value="operators", effect="NoSchedule")],
    "affinity": core.Affinity(
        node_affinity=core.NodeAffinity(
            preferred_during_scheduling_ignored_during_execution=[
                core.PreferredSchedulingTerm(
                    weight=1,
                    preference=core.NodeSelectorTerm(
                        match_expressions=[core.NodeSelectorRequirement(key="zone", operator="In", values=["a", "b"])]
                    ),
                )
            ]
        )
    ),
    "priority_class": "system-cluster-critical",
    "containers": [
        core.Container(
            name="proxy",
            image="example.com/proxy:1.0",
            args=["--upstream={{ host }}"],
            volume_mounts=[core.VolumeMount(name="shared", mount_path="/run/proxy")],
        )
    ],
    "init_containers": [
        core.Container(
            name="prepare",
            image="example.com/prepare:1.0",
            security_context=core.SecurityContext(
                allow_privilege_escalation=False, capabilities=core.Capabilities(drop=["ALL"]), run_as_user=1000
            ),
        )
    ],
}

PROJECTS = {
    "one replica": project(),
    "no metrics": project(metrics=False, network_policy=True),
    "plain metrics": project(metrics_secure=False, service_monitor=True),
    "metrics by cert-manager": replace(FULL, metrics_certificates="cert-manager"),
    "metrics by files": project(metrics_certificates="files", metrics_secret="mine", service_monitor=True),
    "three replicas, webhooks": project(kinds=KINDS, replicas=3, webhooks=WEBHOOKS, conversions=CONVERSIONS),
    "only a mutating webhook": project(webhooks=WEBHOOKS[2:]),
    "only conversion": project(kinds=(Zone, OldZone), conversions=CONVERSIONS[1:]),
    "cert-manager": replace(FULL, certificates="cert-manager"),
    "files": project(
        webhooks=WEBHOOKS, certificates="files", ca_bundle=b"-- PEM --", certificate_secret="my-certificate"
    ),
    "everything": FULL,
    "confined to namespaces": project(operator=operator(namespaces=["team-a", "team-b"])),
    "at home": project(operator=operator(namespaces=["foo-operator-system"]), network_policy=True),
    "no election": project(operator=operator(leader_elect=False, grace="2m")),
    "no kinds": project(kinds=()),
    "settings": project(
        namespace="elsewhere",
        version="2.0.0-rc.1",
        image=f"localhost:5000/team/foo:2.0@{DIGEST}",
        pull_policy="Always",
        resources=core.ResourceRequirements(limits={"memory": Quantity("1Gi")}),
        node_selector={"kubernetes.io/os": "linux"},
        tolerations=[core.Toleration(key="node-role.kubernetes.io/control-plane", operator="Exists")],
        bind_address="[::]",
    ),
    "pod settings": replace(FULL, **POD),
    "pod settings, cert-manager": replace(
        FULL, **POD, certificates="cert-manager", metrics_certificates="cert-manager"
    ),
}
