"""kubectl of the releases before and after the pinned one, built from the Go modules in `kubectl_modules/`.

`make kubectls` builds all of them; each takes a minute on a quiet machine.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Final

from tests.go_programs import GoMissing, GoProgram

__all__ = ["KUBECTLS"]

_MODULES: Final = Path(__file__).parent / "kubectl_modules"


def _kubectl(module: Path) -> GoProgram:
    found = re.search(r"k8s.io/kubectl v0\.(\S+)", (module / "go.mod").read_text())
    assert found is not None, f"{module}/go.mod requires no k8s.io/kubectl"
    version = f"v1.{found[1]}"
    return GoProgram(
        name="kubectl",
        module=module,
        main=_MODULES / "main.go",
        version=version,
        values={
            "k8s.io/component-base/version.gitVersion": version,
            "k8s.io/client-go/pkg/version.gitVersion": version,
        },
    )


KUBECTLS: Final = {module.name: _kubectl(module) for module in sorted(_MODULES.iterdir()) if module.is_dir()}
"""The programs by release, such as `1.32`."""


def main() -> None:
    """Builds the releases that are named, or all."""
    for release in sys.argv[1:] or KUBECTLS:
        try:
            print(f"kubectl {release}: {KUBECTLS[release].binary()}")
        except GoMissing as error:
            raise SystemExit(f"error: {error}") from None


if __name__ == "__main__":
    main()
