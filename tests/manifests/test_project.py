"""The model of a deployment, and the objects that follow from it."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path
from typing import Any, TypeVar

import click
import pytest

from kubewright.api import Object, apiextensions, apps, core, networking, policy, rbac, to_dict
from kubewright.cli import cli
from kubewright.manifests import Image, Project, objects
from kubewright.manifests.manager import ServiceMonitor, metrics_cert_manager_objects
from kubewright.operator import Page, PageRequest, Running
from tests.manifests.projects import DIGEST, FULL, PROJECTS, Bar, Foo, operator, project

O = TypeVar("O", bound=Object)  # noqa: E741


def only(kind: type[O], of: Project) -> O:
    (found,) = (one for one in objects(of) if isinstance(one, kind))
    return found


def manager(of: Project) -> core.Container:
    return only(apps.Deployment, of).spec.template.spec.containers[0]


def test_what_is_not_said_follows_from_the_operator() -> None:
    made = project()
    assert made.namespace == "foo-operator-system"
    assert made.image == "foo-operator:0.1.0"
    assert made.kinds == (Foo,)
    assert made.warnings() == []
    assert manager(made).command == ["kubewright", "run", "foo.py"]


@pytest.mark.promise("Packaging", "A deployment that cannot be is refused with the reason.")
@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"namespace": "No"}, "namespace 'No' must be lower case letters"),
        ({"operator": operator("x" * 56)}, "more than 55 characters"),
        ({"version": "1"}, "must be a semantic version, such as 1.0.0"),
        ({"replicas": 0}, "replicas must be at least 1, not 0"),
        ({"operator": operator(leader_elect=False), "replicas": 2}, "2 replicas require leader election"),
        ({"image": "Foo Bar"}, "'Foo Bar' is not the name of an image"),
        ({"pull_policy": "Sometimes"}, "pull_policy must be one of IfNotPresent, Always, Never, not 'Sometimes'"),
        ({"certificates": "magic"}, "certificates must be one of self-managed, cert-manager, files, not 'magic'"),
        ({"metrics": False, "service_monitor": True}, "service_monitor requires metrics"),
        (
            {"metrics_certificates": "magic"},
            "metrics_certificates must be one of self-signed, cert-manager, files, not 'magic'",
        ),
        (
            {"metrics_certificates": "files", "metrics_secure": False},
            "metrics_certificates='files' requires metrics and metrics_secure: plain HTTP has no certificate",
        ),
        ({"ca_bundle": b"PEM"}, "ca_bundle requires certificates='files'"),
        ({"webhooks": [FULL.webhooks[0], FULL.webhooks[0]]}, "two webhooks are named 'validate.foos.example.com'"),
        ({"env": {"KUBEWRIGHT_NAMESPACES": "x"}}, "env['KUBEWRIGHT_NAMESPACES'] is set by the Deployment itself"),
        ({"env": {"PORT": 80}}, "env['PORT'] must be a string or a core.EnvVarSource, not 80"),
        ({"args": "--log-level=debug"}, "args must be a list of strings, not '--log-level=debug'"),
        ({"args": ["--namespace=a"]}, "'--namespace=a', which the Deployment sets; use namespaces of the Operator"),
        ({"pull_secrets": "registry"}, "pull_secrets must be a list of strings"),
        ({"volumes": [core.Volume(name="tmp")]}, "volumes: 'tmp' is used by the Deployment itself"),
        ({"volumes": [core.Volume(name="a"), core.Volume(name="a")]}, "volumes: 'a' is listed twice"),
        (
            {"mounts": [core.VolumeMount(name="data", mount_path="/data")]},
            "mounts: /data mounts the volume 'data', which is not in volumes: tmp",
        ),
        ({"containers": [core.Container(name="manager")]}, "containers: 'manager' is used by the Deployment itself"),
        (
            {"containers": [core.Container(name="a")], "init_containers": [core.Container(name="a")]},
            "containers: 'a' is listed twice",
        ),
        ({"conversions": [FULL.conversions[0]]}, "Bar is converted, but its definition is not part of the project"),
    ],
)
def test_an_invalid_setting_is_rejected(settings: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError) as caught:
        project(**settings)
    assert complaint in str(caught.value)


@pytest.mark.promise("Packaging", "A misspelled setting is rejected with the one that was meant.")
def test_misspelled_setting_is_rejected_with_suggestion() -> None:
    with pytest.raises(TypeError, match=r"no option 'pull_secret'\. Did you mean 'pull_secrets'"):
        project(pull_secret=["registry"])
    with pytest.raises(TypeError, match="Did you mean 'volumes'"):
        replace(FULL, volume=[])  # type: ignore[call-arg]


def test_host_path_gets_a_warning() -> None:
    made = project(volumes=[core.Volume(name="disk", host_path=core.HostPathVolumeSource(path="/dev/disk"))])
    assert "the volume 'disk' is a hostPath" in made.warnings()[0]


@pytest.mark.parametrize("target", ["", "--kubeconfig"])
def test_a_target_is_a_file_or_a_module(target: str) -> None:
    with pytest.raises(ValueError, match="target must be the file or module"):
        Project(operator=operator(), target=target)


@pytest.mark.promise("Packaging", "An image without a tag of its own gets a warning.")
def test_an_image_without_a_tag_of_its_own_gets_a_warning() -> None:
    for image in ("foo", "registry.example.com:5000/foo", "foo:latest"):
        made = project(image=image)
        assert made.image.endswith(":latest")
        assert "use a tag for each build" in made.warnings()[0]
    assert project(image=f"foo@{DIGEST}").warnings() == []
    # Whatever the tag is: an image that was loaded into a node is found there.
    assert manager(project(image="foo")).image_pull_policy == "IfNotPresent"


def test_certificates_from_files_without_a_bundle_get_a_warning() -> None:
    made = project(certificates="files", webhooks=FULL.webhooks)
    assert "until the bundle is added" in made.warnings()[0]
    assert replace(made, ca_bundle=b"PEM").warnings() == []


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("foo", ("foo", "", "")),
        ("foo:1", ("foo", "1", "")),
        ("localhost:5000/foo", ("localhost:5000/foo", "", "")),
        ("localhost:5000/foo/bar:1.0_x-y", ("localhost:5000/foo/bar", "1.0_x-y", "")),
        (f"foo@{DIGEST}", ("foo", "", DIGEST)),
        (f"a.example.com/foo:1@{DIGEST}", ("a.example.com/foo", "1", DIGEST)),
    ],
)
def test_names_of_images_are_taken_apart(text: str, parts: tuple[str, str, str]) -> None:
    image = Image.parse(text)
    assert (image.repository, image.tag, image.digest) == parts
    assert str(image) == text


@pytest.mark.parametrize(
    "text",
    ["", ":1", "foo:", "foo bar", "foo:1:2", "foo@sha256:12", "-foo", "foo/", "foo:a/b c", "Foo:1", "a.com/Foo:1"],
)
def test_an_invalid_image_name_is_rejected(text: str) -> None:
    with pytest.raises(ValueError, match="is not the name of an image"):
        Image.parse(text)


@pytest.mark.promise("Packaging", "The flags in the Deployment are flags of `kubewright run`.")
@pytest.mark.parametrize("name", PROJECTS)
def test_the_flags_of_the_manager_are_those_of_the_command(name: str) -> None:
    container = manager(PROJECTS[name])
    assert container.command
    command = cli.get_command(click.Context(cli), "run")
    assert command is not None
    context = command.make_context("run", [*container.command[2:], *(container.args or ())])
    assert context.params["leader_elect"] is PROJECTS[name].leader_election
    assert str(context.params["health_bind"]).endswith(":8081")
    assert (context.params["metrics_bind"] is not None) is PROJECTS[name].metrics
    assert context.params["namespaces"] == PROJECTS[name].operator.namespaces
    secure = PROJECTS[name].metrics_secure if PROJECTS[name].metrics else None
    assert context.params["metrics_secure"] is secure  # explicit, so that it does not depend on the address


def test_program_that_serves_plain_metrics_needs_no_cluster_role_for_them() -> None:
    plain = project(operator=operator(namespaces=["team-a"], metrics_secure=False))
    assert plain.metrics_secure is False
    assert [one for one in objects(plain) if isinstance(one, rbac.ClusterRoleBinding)] == []


def test_readers_of_metrics_may_read_own_pages() -> None:
    with_pages = operator()

    @with_pages.page("/queue")
    async def queue(running: Running, request: PageRequest) -> Page:
        return Page(b"")

    [reader] = [
        one.rules
        for one in objects(project(operator=with_pages))
        if isinstance(one, rbac.ClusterRole) and one.metadata.name.endswith("-metrics-reader")
    ]
    assert to_dict(reader) == [{"nonResourceURLs": ["/metrics", "/queue"], "verbs": ["get"]}]


def test_users_get_roles_for_kinds_that_the_operator_defines_itself() -> None:
    own = project(operator=operator(install_crds=True), kinds=[Bar])
    names = {one.metadata.name for one in objects(own) if isinstance(one, rbac.ClusterRole)}
    assert {"foos.packages.example.com-viewer", "bars.packages.example.com-viewer"} <= names
    definitions = [one for one in objects(own) if isinstance(one, apiextensions.CustomResourceDefinition)]
    assert [one.metadata.name for one in definitions] == ["bars.packages.example.com"]


def test_secure_metrics_bring_roles_for_reviews_and_readers() -> None:
    roles = {one.metadata.name: one.rules for one in objects(FULL) if isinstance(one, rbac.ClusterRole)}
    assert to_dict(roles["foo-operator-metrics-auth"]) == [
        {"apiGroups": ["authentication.k8s.io"], "resources": ["tokenreviews"], "verbs": ["create"]},
        {"apiGroups": ["authorization.k8s.io"], "resources": ["subjectaccessreviews"], "verbs": ["create"]},
    ]
    assert to_dict(roles["foo-operator-metrics-reader"]) == [{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}]
    [binding] = [
        one
        for one in objects(FULL)
        if isinstance(one, rbac.ClusterRoleBinding) and one.metadata.name == "foo-operator-metrics-auth"
    ]
    assert [subject.name for subject in binding.subjects or ()] == ["foo-operator"]


def test_service_monitor_verifies_certificate_from_secret() -> None:
    token = "/var/run/secrets/kubernetes.io/serviceaccount/token"
    tls = {
        "everything": {"insecureSkipVerify": True},
        "metrics by files": {
            "ca": {"secret": {"name": "mine", "key": "ca.crt"}},
            "serverName": "foo-operator-metrics.foo-operator-system.svc",
        },
    }
    for name, expected in tls.items():
        [endpoint] = to_dict(only(ServiceMonitor, PROJECTS[name]))["spec"]["endpoints"]
        assert endpoint == {
            "port": "metrics",
            "path": "/metrics",
            "scheme": "https",
            "bearerTokenFile": token,
            "tlsConfig": expected,
        }
    [endpoint] = to_dict(only(ServiceMonitor, PROJECTS["plain metrics"]))["spec"]["endpoints"]
    assert endpoint == {"port": "metrics", "path": "/metrics"}
    certificate = metrics_cert_manager_objects(PROJECTS["metrics by cert-manager"])[-1]
    assert "foo-operator-metrics.foo-operator-system.svc" in to_dict(certificate)["spec"]["dnsNames"]


@pytest.mark.promise("Packaging", "A pod has longer to end than the operator has.")
def test_a_pod_has_longer_to_end_than_the_operator_has() -> None:
    pod = only(apps.Deployment, PROJECTS["no election"]).spec.template.spec
    assert pod.termination_grace_period_seconds == 135  # the operator has two minutes


@pytest.mark.promise("Packaging", "Two processes never overlap without leader election.")
def test_processes_never_overlap_without_a_leader() -> None:
    strategy = only(apps.Deployment, PROJECTS["no election"]).spec.strategy
    assert to_dict(strategy) == {"type": "Recreate"}
    leading = only(apps.Deployment, project()).spec.strategy
    assert to_dict(leading) == {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}


@pytest.mark.promise("Packaging", "Several replicas are spread over nodes and drained one by one.")
def test_several_replicas_are_spread_and_drained_one_by_one() -> None:
    one, three = project(), project(replicas=3)
    assert not any(isinstance(made, policy.PodDisruptionBudget) for made in objects(one))
    assert only(apps.Deployment, one).spec.template.spec.topology_spread_constraints is None
    assert only(policy.PodDisruptionBudget, three).spec.max_unavailable == 1
    (spread,) = only(apps.Deployment, three).spec.template.spec.topology_spread_constraints or []
    assert (spread.topology_key, spread.when_unsatisfiable) == ("kubernetes.io/hostname", "ScheduleAnyway")


def test_every_selector_finds_the_pods() -> None:
    pods = only(apps.Deployment, FULL).spec.template.metadata
    selectors = [
        only(policy.PodDisruptionBudget, FULL).spec.selector.match_labels,  # type: ignore[union-attr]
        only(networking.NetworkPolicy, FULL).spec.pod_selector.match_labels,  # type: ignore[union-attr]
        only(apps.Deployment, FULL).spec.selector.match_labels,
        *(service.spec.selector for service in objects(FULL) if isinstance(service, core.Service)),
    ]
    assert len(selectors) == 5
    for selector in selectors:
        assert selector
        assert selector.items() <= pods.labels.items()


def test_ports_that_are_named_are_ports_of_the_container() -> None:
    container = manager(FULL)
    named = {port.name: port.container_port for port in container.ports or ()}
    assert named == {"health": 8081, "metrics": 8080, "webhook": 9443}
    services = [one for one in objects(FULL) if isinstance(one, core.Service)]
    assert {port.target_port for one in services for port in one.spec.ports or ()} == {"metrics", "webhook"}
    for probe in (container.liveness_probe, container.readiness_probe):
        assert probe
        assert probe.http_get
        assert probe.http_get.port == "health"


@pytest.mark.promise("Packaging", "A network policy lets pass what the parts need, and no more.")
def test_traffic_is_limited_to_what_the_parts_need() -> None:
    def ports(rules: Any) -> list[Any]:
        return [port.port for rule in rules for port in rule.ports]

    policy_of_all = only(networking.NetworkPolicy, FULL).spec
    assert ports(policy_of_all.ingress) == [8080, 9443]
    assert ports(policy_of_all.egress) == [53, 53, 443, 6443, 5432]
    closed = only(networking.NetworkPolicy, PROJECTS["no metrics"]).spec
    assert closed.ingress == []
    assert closed.policy_types == ["Ingress", "Egress"]


def test_the_api_server_asks_only_after_everything_is_there() -> None:
    kinds = [one.kind for one in objects(FULL)]
    assert kinds[:2] == ["Namespace", "CustomResourceDefinition"]
    assert kinds[-2:] == ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"]
    assert kinds.index("ServiceAccount") < kinds.index("Deployment")


def test_objects_are_made_again_each_time() -> None:
    first = objects(FULL)
    for one in first:
        one.metadata.labels["changed"] = "yes"
        one.metadata.annotations["changed"] = "yes"
    assert not any("changed" in {**one.metadata.labels, **one.metadata.annotations} for one in objects(FULL))


def test_the_page_has_every_setting() -> None:
    page = (Path(__file__).parents[2] / "docs" / "packaging.md").read_text()
    assert [one.name for one in fields(Project) if one.init and f"`{one.name}`" not in page] == []
    assert f"| `certificates` | `{Project.certificates}` |" in page
    assert f"| `descriptions` | `{Project.descriptions}` |" in page
