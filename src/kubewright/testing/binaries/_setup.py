"""Finds, downloads or builds the control plane's binaries.

For each binary, the first source with the right version is used: the folder in `KUBEBUILDER_ASSETS`; the cache
directory; the published envtest archive (it has no kube-controller-manager); a build from source. The right version is
the minor release of `kubernetes_version`, as the binary reports it. Downloaded and built binaries are stored in the
cache.
"""

from __future__ import annotations

import concurrent.futures
import hashlib
import os
import re
import subprocess
import tempfile
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path

from kubewright.progress import Progress
from kubewright.testing._errors import SetupError
from kubewright.testing.binaries._archive import fetch_archive, find_archive
from kubewright.testing.binaries._build import build_binaries
from kubewright.testing.binaries._cache import cache_directory, lock, scratch
from kubewright.testing.binaries._versions import (
    BINARIES,
    ETCD,
    ETCD_VERSION,
    KUBECTL,
    KUBERNETES_VERSION,
    kubernetes_version,
    platform_name,
)

__all__ = ["binaries_folder", "find_binaries", "setup_binaries"]


def find_binaries(progress: Progress | None = None) -> Path | None:
    """Returns the folder of all binaries if they are on this machine, without a download or a build."""
    found = _find(progress or Progress(quiet=True))
    return _one_folder(found) if len(found) == len(BINARIES) else None


def setup_binaries(progress: Progress | None = None) -> Path:
    """Returns the folder of all binaries. Downloads or builds missing ones. Raises SetupError.

    It is safe to call from several processes concurrently, and to interrupt.
    """
    progress = progress or Progress()
    found = _find(progress)
    if len(found) < len(BINARIES):
        folder = binaries_folder()
        with lock(folder, lambda: progress.say("waiting for another process that sets up the control plane")):
            # The previous holder of the lock may have provided the missing ones.
            quietly = Progress(quiet=True)
            found = _find(quietly)
            _provide([name for name in BINARIES if name not in found], folder, progress)
            found = _find(quietly)
    if missing := [name for name in BINARIES if name not in found]:
        raise SetupError(f"no source provides {', '.join(missing)} of Kubernetes {kubernetes_version()}")
    return _one_folder(found)


def binaries_folder() -> Path:
    """Returns the folder in the cache for the version of the control plane on this platform."""
    return _folder_of(kubernetes_version())


def _folder_of(version: str) -> Path:
    return cache_directory() / "controlplane" / f"v{version}-{platform_name()}"


def binary_version(binary: Path) -> str | None:
    """Returns the version that a binary reports; None if it does not exist or reports none.

    Runs a binary only once per process, and again if it reported no version or the file has changed.
    """
    try:
        status = binary.stat()
        return _reported_version(binary, (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns))
    except (OSError, subprocess.TimeoutExpired, ValueError):
        return None


@lru_cache(maxsize=64)
def _reported_version(binary: Path, identity: tuple[int, ...]) -> str:
    """Returns the version that a binary reports. Raises ValueError if it reports none."""
    arguments = ["version", "--client"] if binary.name == KUBECTL else ["--version"]
    answer = subprocess.run(
        [binary, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False
    )
    match = re.search(r"\bv?(\d+\.\d+\.\d+\S*)", answer.stdout)
    if match is None or answer.returncode != 0:
        raise ValueError(f"{binary} does not report its version")
    return match[1]


def _find(progress: Progress) -> dict[str, Path]:
    """Returns every binary of the right version on this machine."""
    found: dict[str, Path] = {}
    if assets := os.environ.get("KUBEBUILDER_ASSETS"):
        found = _matching_binaries(Path(assets).absolute(), BINARIES, progress, "KUBEBUILDER_ASSETS")
    missing = [name for name in BINARIES if name not in found]
    found |= _matching_binaries(binaries_folder(), missing, progress, "the cache")
    if ETCD not in found and kubernetes_version() != KUBERNETES_VERSION:
        # All versions of Kubernetes are tested with the same etcd.
        found |= _matching_binaries(_folder_of(KUBERNETES_VERSION), [ETCD], progress, "the cache")
    return found


def _matching_binaries(folder: Path, names: Iterable[str], progress: Progress, source: str) -> dict[str, Path]:
    present = [folder / name for name in names if (folder / name).is_file()]
    if not present:
        return {}
    right = {}
    with concurrent.futures.ThreadPoolExecutor(len(present)) as pool:
        for binary, version in zip(present, pool.map(binary_version, present), strict=True):
            if version is not None and _is_right(binary.name, version):
                right[binary.name] = binary
            else:
                is_what = f"has version {version}" if version else "does not report its version"
                progress.say(f"skipping {binary.name} of {source}: it {is_what}, expected {_expected(binary.name)}")
    return right


def _expected(name: str) -> str:
    return (ETCD_VERSION if name == ETCD else kubernetes_version()).rpartition(".")[0] + ".x"


def _is_right(name: str, version: str) -> bool:
    return version.startswith(_expected(name).removesuffix("x"))


def _provide(missing: list[str], folder: Path, progress: Progress) -> None:
    """Provides the missing binaries: from the archive if it has them, otherwise from a build."""
    with scratch(folder) as new:
        if any(name in missing for name in BINARIES if name != "kube-controller-manager"):
            missing = _from_archive(missing, folder, new, progress)
        if missing:
            _install(build_binaries(missing, new, progress), missing, folder)


def _from_archive(missing: list[str], folder: Path, new: Path, progress: Progress) -> list[str]:
    """Installs binaries of the archive, and returns those still missing. An invalid archive is reported and ignored."""
    archive = find_archive(progress)
    if archive is None:
        return missing
    try:
        installed = _install(fetch_archive(archive, new, progress), missing, folder)
    except SetupError as error:
        progress.say(str(error))
        return missing
    return [name for name in missing if name not in installed]


def _install(binaries: Iterable[Path], wanted: Iterable[str], folder: Path) -> list[str]:
    """Moves the wanted binaries into place, each atomically and only after it reported the right version."""
    installed = []
    for binary in binaries:
        if binary.name not in wanted:
            continue
        version = binary_version(binary)
        if version is None or not _is_right(binary.name, version):
            raise SetupError(
                f"the new {binary.name} has version {version}, expected {_expected(binary.name)}; rejected"
            )
        binary.rename(folder / binary.name)
        installed.append(binary.name)
    return installed


def _one_folder(found: Mapping[str, Path]) -> Path:
    """Returns the folder of all binaries. Binaries of several folders are linked in a new one."""
    folders = {binary.parent for binary in found.values()}
    if len(folders) == 1:
        return folders.pop()
    key = hashlib.sha256("\n".join(str(found[name]) for name in BINARIES).encode()).hexdigest()[:12]
    linked = binaries_folder() / f"linked-{key}"
    if not linked.is_dir():
        linked.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=linked.parent) as scratch_folder:
            new = Path(scratch_folder) / "links"
            new.mkdir()
            for name, binary in found.items():
                (new / name).symlink_to(binary)
            try:
                new.rename(linked)
            except OSError:
                # Another process was faster; its links are the same.
                if not linked.is_dir():
                    raise
    return linked
