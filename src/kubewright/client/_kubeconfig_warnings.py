"""Warnings about insecure kubeconfig files, logged once per file and process."""

from __future__ import annotations

import functools
import logging
import os
import shlex
import stat
from typing import Final

__all__ = ["warn_if_readable_by_others", "warn_of_unverified_server"]

logger = logging.getLogger("kubewright.client")

_FILES: Final = 1_000
_OTHERS: Final = stat.S_IRGRP | stat.S_IROTH


def warn_if_readable_by_others(file: str) -> None:
    """Logs a warning if the group or all users of the machine may read the file."""
    try:
        mode = os.stat(file).st_mode
    except OSError:
        return
    if os.name == "posix" and stat.S_ISREG(mode) and mode & _OTHERS and _is_first(file, "readable"):
        logger.warning(
            "kubeconfig %s is readable by other users (mode %04o) and may contain credentials; run: chmod 600 %s",
            file,
            stat.S_IMODE(mode),
            shlex.quote(file),
        )


def warn_of_unverified_server(file: str, cluster: str) -> None:
    """Logs a warning for a cluster with `insecure-skip-tls-verify`."""
    if _is_first(file, "unverified"):
        logger.warning(
            "kubeconfig %s: cluster %r: the certificate of the server is not verified (insecure-skip-tls-verify), so "
            "others in the network can read and use your credentials; set certificate-authority-data instead",
            file,
            cluster,
        )


def _is_first(file: str, what: str) -> bool:
    logged = _logged(os.path.abspath(file))
    first = what not in logged
    logged.add(what)
    return first


@functools.lru_cache(_FILES)
def _logged(_file: str) -> set[str]:
    """Returns the warnings of a file that were logged in this process."""
    return set()
