"""The deployment of the web page: `python deployment_ui.py` writes `config/ui`.

    docker build --file config/ui/Dockerfile --tag postgres-operator-ui:latest .
    kubectl apply -k config/ui
    kubectl port-forward svc/postgres-operator-ui 8081:80   # then open http://localhost:8081

Users sign in with their own token, and see what it allows. The account of the page only fills its caches.
"""

from deployment import CONFIG, dockerfile, project
from postgres_operator.publishing import API_NAME, CERTIFICATE_KEY

from kubewright.api import Object, Quantity, apps, core, meta, rbac
from kubewright.manifests import File, kustomization, text_file, write, yaml_file

NAME = "postgres-operator-ui"
PORT = 8081
SHOWN = {
    "": ["pods", "services", "endpoints", "persistentvolumeclaims"],
    "apps": ["statefulsets"],
    "policy": ["poddisruptionbudgets"],
    "acid.zalan.do": ["postgresqls", "operatorconfigurations"],
}
"""The kinds of the page, by API group. Secrets are not among them."""
ALWAYS = {"": ["namespaces", "events"], "apiextensions.k8s.io": ["customresourcedefinitions"]}
LABELS = {"application": NAME}
API_PORT = 8080
API_FOLDER = "/operator"

_ACCOUNT = rbac.Subject(kind="ServiceAccount", name=NAME, namespace=project.namespace)


def _metadata(namespaced: bool = True) -> meta.ObjectMeta:
    return meta.ObjectMeta(name=NAME, namespace=project.namespace if namespaced else "", labels=dict(LABELS))


def _arguments() -> list[str]:
    kinds = [f"{group or 'core'}/{plural}" for group, plurals in SHOWN.items() for plural in plurals]
    options = ["--bind=0.0.0.0", f"--port={PORT}", "--extension=postgres_operator.ui:postgres"]
    return ["ui", *options, *(f"--kind={kind}" for kind in kinds)]


def _access() -> list[Object]:
    reading = ["get", "list", "watch"]
    rules = [
        rbac.PolicyRule(api_groups=[group], resources=plurals, verbs=reading)
        for resources in (SHOWN, ALWAYS)
        for group, plurals in resources.items()
    ]
    return [
        core.ServiceAccount(metadata=_metadata()),
        rbac.ClusterRole(metadata=_metadata(namespaced=False), rules=rules),
        rbac.ClusterRoleBinding(
            metadata=_metadata(namespaced=False),
            role_ref=rbac.RoleRef(api_group="rbac.authorization.k8s.io", kind="ClusterRole", name=NAME),
            subjects=[_ACCOUNT],
        ),
        rbac.ClusterRoleBinding(  # the worker queues
            metadata=meta.ObjectMeta(name=f"{NAME}-metrics-reader", labels=dict(LABELS)),
            role_ref=rbac.RoleRef(
                api_group="rbac.authorization.k8s.io", kind="ClusterRole", name=f"{project.prefix}-metrics-reader"
            ),
            subjects=[_ACCOUNT],
        ),
    ]


def _deployment() -> apps.Deployment:
    container = core.Container(
        name="ui",
        image="postgres-operator-ui:latest",
        command=["kubewright"],
        args=_arguments(),
        env=[
            core.EnvVar(name="OPERATOR_API_URL", value=f"https://{project.prefix}:{API_PORT}"),
            core.EnvVar(name="OPERATOR_API_CERTIFICATE", value=f"{API_FOLDER}/{CERTIFICATE_KEY}"),
        ],
        ports=[core.ContainerPort(name="http", container_port=PORT)],
        readiness_probe=core.Probe(tcp_socket=core.TCPSocketAction(port=PORT)),
        resources=core.ResourceRequirements(
            requests={"cpu": Quantity("100m"), "memory": Quantity("200Mi")}, limits={"memory": Quantity("500Mi")}
        ),
        security_context=core.SecurityContext(
            allow_privilege_escalation=False,
            capabilities=core.Capabilities(drop=["ALL"]),
            read_only_root_filesystem=True,
        ),
        volume_mounts=[
            core.VolumeMount(name="tmp", mount_path="/tmp"),
            core.VolumeMount(name="operator", mount_path=API_FOLDER, read_only=True),
        ],
    )
    pod = core.PodSpec(
        service_account_name=NAME,
        containers=[container],
        volumes=[
            core.Volume(name="tmp", empty_dir=core.EmptyDirVolumeSource()),
            # The operator creates it.
            core.Volume(name="operator", config_map=core.ConfigMapVolumeSource(name=API_NAME, optional=True)),
        ],
        security_context=core.PodSecurityContext(
            run_as_non_root=True, run_as_user=65532, seccomp_profile=core.SeccompProfile(type="RuntimeDefault")
        ),
    )
    return apps.Deployment(
        metadata=_metadata(),
        spec=apps.DeploymentSpec(
            replicas=1,  # sessions are in memory
            selector=meta.LabelSelector(match_labels=dict(LABELS)),
            template=core.PodTemplateSpec(metadata=meta.ObjectMeta(labels=dict(LABELS)), spec=pod),
        ),
    )


def _service() -> core.Service:
    ports = [core.ServicePort(name="http", port=80, target_port=PORT)]
    return core.Service(metadata=_metadata(), spec=core.ServiceSpec(selector=dict(LABELS), ports=ports))


def _api_service() -> core.Service:
    """Returns the Service of the operator's REST API, as upstream has it."""
    ports = [core.ServicePort(name="api", port=API_PORT, target_port="metrics")]
    metadata = meta.ObjectMeta(name=project.prefix, namespace=project.namespace, labels=dict(LABELS))
    return core.Service(metadata=metadata, spec=core.ServiceSpec(selector=project.selector, ports=ports))


def objects() -> list[Object]:
    """Returns all objects of the page."""
    return [*_access(), _deployment(), _service(), _api_service()]


def ui_files() -> list[File]:
    """Returns the files of `config/ui`."""
    files = [
        yaml_file("ui/rbac.yaml", *_access()),
        yaml_file("ui/deployment.yaml", _deployment()),
        yaml_file("ui/service.yaml", _service(), _api_service()),
    ]
    return [*files, *kustomization("ui", files), text_file("ui/Dockerfile", dockerfile("kubewright[console]"))]


if __name__ == "__main__":
    write(CONFIG, ui_files())
