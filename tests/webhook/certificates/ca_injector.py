"""cert-manager's CA injector, built once from the Go module beside this file and kept in the cache."""

from __future__ import annotations

import functools
from pathlib import Path

from tests.go_programs import GoProgram

CERT_MANAGER = ("github.com/cert-manager/cert-manager", "v1.17.1")
CA_INJECTOR = GoProgram(
    name="ca-injector",
    module=Path(__file__).parent / "ca_injector_module",
    version=CERT_MANAGER[1],
    digest_of_sources=True,
)


@functools.cache
def ca_injector() -> Path:
    """The program, built if it is not there. Skips the test where there is no Go and none can be installed."""
    return CA_INJECTOR.binary_for_test()
