"""cert-manager's CA injector, built once from the Go module beside this file and kept in the cache."""

from __future__ import annotations

import functools
import hashlib
import shutil
import subprocess
from pathlib import Path

from kubewright.testing._cache import cache_directory, lock, scratch
from kubewright.testing._go import find_go
from kubewright.testing._versions import platform_name

MODULE = Path(__file__).parent / "ca_injector_module"
CERT_MANAGER = ("github.com/cert-manager/cert-manager", "v1.17.1")


@functools.cache
def ca_injector() -> Path:
    """The program, built if it is not there."""
    sources = b"".join((MODULE / name).read_bytes() for name in ("go.mod", "go.sum", "main.go"))
    digest = hashlib.sha256(sources).hexdigest()[:12]
    folder = cache_directory() / "ca-injector" / f"{CERT_MANAGER[1]}-{digest}-{platform_name()}"
    binary = folder / "ca-injector"
    if not binary.is_file():
        go = find_go()
        with lock(folder, lambda: None):
            if not binary.is_file():
                with scratch(folder) as new:
                    shutil.copytree(MODULE, new / "module")
                    flags = ["-mod=readonly", "-trimpath", "-buildvcs=false", "-ldflags=-s -w"]
                    done = subprocess.run(
                        [go.executable, "build", *flags, "-o", str(new / binary.name), "."],
                        cwd=new / "module",
                        env=go.environment(),
                        stdin=subprocess.DEVNULL,
                        capture_output=True,
                        text=True,
                        check=False,
                    )
                    assert done.returncode == 0, done.stderr
                    (new / binary.name).rename(binary)
    return binary
