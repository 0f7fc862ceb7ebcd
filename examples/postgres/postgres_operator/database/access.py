"""The way into a database whose password is lost: `psql` in the pod of the primary, which needs none.

It needs the permission to execute commands in pods, as upstream's operator has it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kubewright.api import core
from kubewright.client import ApiError, Client
from postgres_operator.database.errors import DatabaseError
from postgres_operator.database.scram import verifier

_COMMAND: Final = ("psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-U", "postgres", "-d", "postgres")
_QUIET: Final = "SET log_statement = 'none';\nSET log_min_error_statement = 'panic';\n"
_MAX_MESSAGE: Final = 300


class AccessLost(DatabaseError):
    """The server rejects the password of the superuser, and it cannot be set in the pod either."""


async def set_passwords(client: Client, pod: core.Pod, container: str, passwords: Mapping[str, str]) -> None:
    """Sets the passwords of the operator's own users. Raises `AccessLost`.

    Verifiers are sent on standard input: they are neither arguments of a process, nor in the log of the server.
    """
    lines = [f"ALTER ROLE {user} PASSWORD '{verifier(word)}';\n" for user, word in passwords.items()]
    try:
        ended = await client.exec(
            pod.metadata.name,
            _COMMAND,
            pod.metadata.namespace,
            container=container,
            stdin=(_QUIET + "".join(lines)).encode(),
            max_output_bytes=1 << 16,
        )
    except (ApiError, OSError) as error:
        raise AccessLost(f"psql in pod {pod.metadata.name} cannot be started: {str(error)[:_MAX_MESSAGE]}") from None
    if ended.exit_code != 0:
        raise AccessLost(f"psql in pod {pod.metadata.name} failed with exit code {ended.exit_code}")
