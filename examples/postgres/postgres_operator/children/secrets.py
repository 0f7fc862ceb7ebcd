"""The Secrets of a cluster."""

from collections.abc import Mapping

from kubewright.api import core, meta
from postgres_operator.children.names import data_secret_name, labels_of, secret_name
from postgres_operator.kinds import GROUP, Postgresql

VERSION_ANNOTATION = f"{GROUP}/postgresql-version"
"""The major version of the data directory."""


def user_secret(cluster: Postgresql, user: str, password: str) -> core.Secret:
    """Returns the Secret of a user."""
    return core.Secret(
        metadata=meta.ObjectMeta(name=secret_name(user, cluster.metadata.name), labels=labels_of(cluster)),
        data={"username": user.encode(), "password": password.encode()},
        type="Opaque",
    )


def data_secret(cluster: Postgresql, passwords: Mapping[str, str], version: str) -> core.Secret:
    """Returns the Secret that is kept with the volumes: the passwords in the data directory, and its version.

    With it, a cluster that is created again on kept volumes can log in, and a lost Secret of the superuser is restored
    without a change in the database.
    """
    annotations = {VERSION_ANNOTATION: version}
    metadata = meta.ObjectMeta(name=data_secret_name(cluster), labels=labels_of(cluster), annotations=annotations)
    return core.Secret(metadata=metadata, data={user: word.encode() for user, word in passwords.items()}, type="Opaque")
