"""The deployment of the operator, in the order of the tutorial.

    kubewright manifests deployment.py --package kustomize   # crd, rbac, manager, metrics, default
    python deployment.py                                      # configuration, Dockerfile
    docker build --tag postgres-operator:0.1.0 .

The definition of `postgresql` is not part of it: the operator installs it at its start.
"""

from pathlib import Path

from postgres_operator.kinds import CONFIGURATION_NAME, OperatorConfiguration
from postgres_operator.operator import operator
from postgres_operator.settings import VARIABLE

from kubewright.api import core, meta
from kubewright.console.manifests import BASE_IMAGE
from kubewright.manifests import File, Project, kustomization, objects, text_file, write, yaml_file
from kubewright.version import VERSION

CONFIG = Path(__file__).with_name("config")

project = Project(
    operator=operator,
    target="postgres_operator.operator",
    kinds=[OperatorConfiguration],
    env={
        "POD_NAMESPACE": core.EnvVarSource(field_ref=core.ObjectFieldSelector(field_path="metadata.namespace")),
        VARIABLE: CONFIGURATION_NAME,
    },
)


def dockerfile(package: str) -> str:
    """Returns the Dockerfile of an image with this project and a package: `kubewright`, maybe with extras.

    The image is built in the folder of the project.
    """
    return f"""FROM {BASE_IMAGE}
WORKDIR /app
COPY pyproject.toml ./
COPY postgres_operator postgres_operator
RUN pip install --no-cache-dir '{package}=={VERSION}' .
ENV PYTHONUNBUFFERED=1
USER 65532:65532
ENTRYPOINT ["kubewright"]
"""


def image_files() -> list[File]:
    """Returns the Dockerfile of the operator. `kubewright build` finds it in the folder of the project."""
    return [text_file("Dockerfile", dockerfile("kubewright"))]


def configuration_files() -> list[File]:
    """Returns the default configuration, with its namespace: the tutorial creates it before the operator."""
    [namespace] = (one for one in objects(project) if isinstance(one, core.Namespace))
    default = OperatorConfiguration(metadata=meta.ObjectMeta(name=CONFIGURATION_NAME, namespace=project.namespace))
    files = [
        yaml_file("configuration/configuration.yaml", default),
        yaml_file("configuration/namespace.yaml", namespace),
    ]
    return [*files, *kustomization("configuration", files)]


if __name__ == "__main__":
    write(CONFIG, configuration_files())
    write(CONFIG.parent, image_files())
