"""Creates the data directory of a clone on a process node: a copy of a running cluster, by `pg_basebackup`.

Patroni runs it instead of `initdb`, and then sets the passwords of its own users. It stands for
`/scripts/clone_with_basebackup.py` of upstream's image, and imports nothing of the operator.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

_OF_THE_SOURCE: Final = ("patroni.dynamic.json", "postmaster.opts")
"""Files of the other cluster that must not configure this one."""


def main() -> None:
    """Copies the cluster that the variables name to the data directory that Patroni names."""
    parser = argparse.ArgumentParser()
    for name in ("scope", "datadir", "programs"):
        parser.add_argument(f"--{name}", required=True)
    given = parser.parse_args()
    variables = os.environ
    if not variables.get("CLONE_PASSWORD"):
        sys.exit(f"the Secret with the password of {variables['CLONE_SCOPE']}'s standby user is missing")
    ended = subprocess.run(
        command(variables, Path(given.programs), Path(given.datadir)),
        env={**variables, "PGPASSWORD": variables["CLONE_PASSWORD"]},
        check=False,
    )
    for name in _OF_THE_SOURCE:
        (Path(given.datadir) / name).unlink(missing_ok=True)
    sys.exit(ended.returncode)


def command(variables: Mapping[str, str], programs: Path, folder: Path) -> list[str]:
    """Returns the command that copies a cluster. The password is in the environment, where `ps` does not show it."""
    return [
        str(programs / "pg_basebackup"),
        f"--pgdata={folder}",
        f"--host={host_of(variables['CLONE_HOST'], variables)}",
        f"--port={variables['CLONE_PORT']}",
        f"--username={variables['CLONE_USER']}",
        "--wal-method=stream",
        "--checkpoint=fast",
        "--no-password",
    ]


def host_of(service: str, variables: Mapping[str, str]) -> str:
    """Returns the address of a Service: from the variables of the pod, because a process node has no DNS."""
    return variables.get(f"{service}_SERVICE_HOST".upper().replace("-", "_"), service)


if __name__ == "__main__":
    main()
