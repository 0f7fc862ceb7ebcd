"""The entry point of the database image on a process node: configures Patroni from the pod's variables, and runs it.

It stands for `/launch.sh` of upstream's image, with the PostgreSQL and the Patroni of this machine. It imports nothing
of the operator.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

_PROGRAMS: Final = Path("/usr/lib/postgresql")
_MAX_SOCKET_PATH: Final = 90  # a Unix socket's path has at most 107 bytes, with the name of PostgreSQL's socket
_REST_PORT: Final = 8008
_PORT: Final = 5432
_RULES: Final = (
    "local all all trust",  # the folder of the socket is private to this user
    "local replication all trust",
    "host replication {standby} all scram-sha-256",
    "host all all all scram-sha-256",
)


def main() -> None:
    """Writes Patroni's configuration, and replaces this process by Patroni."""
    os.umask(0o077)
    variables = os.environ
    root = Path(variables["PGROOT"])
    root.mkdir(parents=True, exist_ok=True)
    runtime = root / "run"
    if len(str(runtime)) > _MAX_SOCKET_PATH:
        runtime = Path(tempfile.mkdtemp(prefix="pg-"))
    runtime.mkdir(exist_ok=True)
    made = configuration(variables, programs(variables["PGVERSION"]), root, runtime)
    file = runtime / "patroni.yml"
    file.write_text(json.dumps(made))  # JSON is YAML
    os.execv(sys.executable, [sys.executable, "-m", "patroni", str(file)])


def programs(version: str, folder: Path = _PROGRAMS) -> Path:
    """Returns the folder of PostgreSQL's programs. Ends this process if the version is not installed."""
    found = folder / version / "bin"
    if not version.isdigit() or not (found / "postgres").exists():
        installed = sorted(each.name for each in folder.iterdir()) if folder.is_dir() else []
        sys.exit(f"PostgreSQL {version} is not installed in {folder}; installed: {', '.join(installed) or 'none'}")
    return found


def configuration(variables: Mapping[str, str], programs: Path, root: Path, runtime: Path) -> dict[str, Any]:
    """Returns Patroni's configuration of a pod."""
    address, superuser, standby = variables["POD_IP"], variables["PGUSER_SUPERUSER"], variables["PGUSER_STANDBY"]
    given = json.loads(variables.get("SPILO_CONFIGURATION") or "{}").get("bootstrap", {})
    initdb = [{"encoding": "UTF8"}, {"locale": "C.UTF-8"}, "data-checksums"]
    return {
        "scope": variables["SCOPE"],
        "name": variables["POD_NAME"],
        "restapi": {"listen": f"{address}:{_REST_PORT}", "connect_address": f"{address}:{_REST_PORT}"},
        "kubernetes": {
            "namespace": variables["POD_NAMESPACE"],
            "labels": json.loads(variables["KUBERNETES_LABELS"]),
            "scope_label": variables["KUBERNETES_SCOPE_LABEL"],
            "role_label": variables["KUBERNETES_ROLE_LABEL"],
            "leader_label_value": "master",
            "standby_leader_label_value": "master",
            "use_endpoints": True,
            "pod_ip": address,
            "ports": [{"name": "postgresql", "port": _PORT}],
        },
        "bootstrap": {
            "dcs": given.get("dcs", {}),
            "initdb": [*initdb, *given.get("initdb", ()), {"auth-local": "trust"}, {"auth-host": "scram-sha-256"}],
            **_clone(variables, programs),
        },
        "postgresql": {
            "listen": f"{address}:{_PORT}",
            "connect_address": f"{address}:{_PORT}",
            "use_unix_socket": True,
            "use_unix_socket_repl": True,
            "data_dir": str(root / "data"),
            "bin_dir": str(programs),
            "pgpass": str(runtime / "pgpass"),
            "basebackup": [{"checkpoint": "fast"}],  # a new replica does not wait for the next checkpoint
            "authentication": {
                "superuser": {"username": superuser, "password": variables["PGPASSWORD_SUPERUSER"]},
                "replication": {"username": standby, "password": variables["PGPASSWORD_STANDBY"]},
            },
            "parameters": {
                "unix_socket_directories": str(runtime),
                "unix_socket_permissions": "0700",
                "password_encryption": "scram-sha-256",
            },
            "pg_hba": [rule.format(standby=standby) for rule in _RULES],
        },
        "watchdog": {"mode": "off"},
    }


def _clone(variables: Mapping[str, str], programs: Path) -> dict[str, Any]:
    """Returns how Patroni creates the data of a clone; nothing for a new, empty cluster."""
    if variables.get("CLONE_METHOD") != "CLONE_WITH_BASEBACKUP":
        return {}
    command = shlex.join([sys.executable, str(Path(__file__).with_name("clone.py"))])
    return {"method": "clone", "clone": {"command": command, "programs": str(programs)}}


if __name__ == "__main__":
    main()
