"""Builds the control plane's binaries from source, through Go's module proxy.

The small Go module in `_gomodule/` pins every module by version and checksum, with Kubernetes' staging modules replaced
by their published versions (`go install` rejects Kubernetes because of those replacements). Nothing is resolved at
build time, so the same sources are built everywhere.

For another version than the pinned one, the module is generated: it requires that version, and Go resolves the rest and
verifies it with its checksum database.
"""

from __future__ import annotations

import collections
import json
import shutil
import subprocess
from collections.abc import Iterable
from importlib import resources
from pathlib import Path

from kubewright.progress import Progress, Step
from kubewright.testing._errors import SetupError
from kubewright.testing.binaries._go import Go, download_module, find_go
from kubewright.testing.binaries._versions import BINARIES, ETCD, KUBERNETES_VERSION, kubernetes_version

__all__ = ["build_binaries"]

_ETCD_PACKAGE = "go.etcd.io/etcd/server/v3"
# Kubernetes' components have their version in the first package, kubectl and client-go in the second.
_VERSION_PACKAGES = ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")
_LAST_LINES = 15


def build_binaries(names: Iterable[str], folder: Path, progress: Progress) -> list[Path]:
    """Builds binaries into `folder`, which also has the working files. Raises SetupError."""
    go = find_go(progress)
    module = folder / "module"
    with resources.as_file(resources.files("kubewright.testing.binaries") / "_gomodule") as template:
        shutil.copytree(template, module)
    wanted = list(names)
    built = []
    # One call for all of Kubernetes: its binaries share most packages, and Go compiles them in parallel.
    kubernetes = [name for name in wanted if name != ETCD]
    for group in ([ETCD] if ETCD in wanted else [], kubernetes):
        if group:
            with progress.step(f"build {', '.join(group)} with Go {go.version}") as step:
                other = group != [ETCD] and kubernetes_version() != KUBERNETES_VERSION
                source = _module_of(kubernetes_version(), folder / "generated", go) if other else module
                _go_build(go, group, source, folder, step)
            built += [folder / name for name in group]
    return built


def _module_of(version: str, folder: Path, go: Go) -> Path:
    """Writes a module that builds Kubernetes of a version, and resolves its requirements. Raises SetupError."""
    folder.mkdir()
    source = download_module("k8s.io/kubernetes", f"v{version}", go)
    described = json.loads(_go(go, folder, "mod", "edit", "-json", str(source / "go.mod")))
    # Kubernetes replaces its staging modules by folders, which a published module does not have.
    staging = [one["Old"]["Path"] for one in described.get("Replace") or () if one["New"]["Path"].startswith("./")]
    published = f"v0.{version.partition('.')[2]}"
    tools = "".join(f"\tk8s.io/kubernetes/cmd/{name}\n" for name in BINARIES if name != ETCD)
    replaced = "".join(f"\t{path} => {path} {published}\n" for path in staging)
    (folder / "go.mod").write_text(
        f"module kubewright/controlplane\n\ngo {described['Go']}\n\ntool (\n{tools})\n\n"
        f"require k8s.io/kubernetes v{version}\n\nreplace (\n{replaced})\n"
    )
    _go(go, folder, "mod", "tidy")
    return folder


def _go(go: Go, folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        [go.executable, *arguments],
        cwd=folder,
        env=go.environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        last = "\n".join(done.stderr.splitlines()[-_LAST_LINES:])
        raise SetupError(f"go {' '.join(arguments[:2])} failed for Kubernetes {kubernetes_version()}:\n{last}")
    return done.stdout


def _go_build(go: Go, names: list[str], module: Path, folder: Path, step: Step) -> None:
    etcd = names == [ETCD]
    packages = [_ETCD_PACKAGE] if etcd else [f"k8s.io/kubernetes/cmd/{name}" for name in names]
    # A file name for etcd, whose package has another name; a folder for several packages.
    output = str(folder / ETCD) if etcd else f"{folder}/"
    flags = ["-mod=readonly", "-trimpath", "-buildvcs=false", "-v", f"-ldflags={_ldflags()}"]
    process = subprocess.Popen(
        [go.executable, "build", *flags, "-o", output, *packages],
        cwd=module,
        env=go.environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
    )
    try:
        last = _follow(process, step)
    except BaseException:
        process.kill()
        raise
    finally:
        process.wait()
        if process.stderr:
            process.stderr.close()
    if process.returncode:
        raise SetupError(f"Go could not build {', '.join(names)}:\n" + "\n".join(last))


def _follow(process: subprocess.Popen[str], step: Step) -> collections.deque[str]:
    """Converts the output of `go build -v` to progress. Returns the last lines, for an error message."""
    last: collections.deque[str] = collections.deque(maxlen=_LAST_LINES)
    downloaded = compiled = 0
    assert process.stderr is not None
    for line in process.stderr:
        last.append(line.rstrip())
        if line.startswith("go: downloading"):
            downloaded += 1
        else:
            compiled += 1
        step.detail = f"{downloaded} modules downloaded, {compiled} packages compiled"
    return last


def _ldflags() -> str:
    major, minor, _ = kubernetes_version().split(".")
    values = {
        "gitVersion": f"v{kubernetes_version()}",
        "gitMajor": major,
        "gitMinor": minor,
        "gitTreeState": "archive",
        # The published modules do not name their commit.
        "gitCommit": "",
    }
    settings = [f"-X {package}.{name}={value}" for package in _VERSION_PACKAGES for name, value in values.items()]
    return " ".join(["-s", "-w", *settings])
