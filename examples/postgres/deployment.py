"""The deployment of the operator, in the order of the tutorial.

    kubewright manifests deployment.py --package kustomize   # crd, rbac, manager, metrics, default
    python deployment.py                                      # configuration

The definition of `postgresql` is not part of it: the operator installs it at its start.
"""

from pathlib import Path

from postgres_operator.kinds import CONFIGURATION_NAME, OperatorConfiguration
from postgres_operator.operator import operator
from postgres_operator.settings import VARIABLE

from kubewright.api import core, meta
from kubewright.manifests import File, Project, kustomization, objects, write, yaml_file

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
