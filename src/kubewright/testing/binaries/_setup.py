"""Where the control plane's binaries come from.

For each binary the first source that has the right version wins: the folder in `KUBEBUILDER_ASSETS`; our cache
directory; the published envtest archive (it has no kube-controller-manager); a build from source. Right means: the
pinned minor release, as the binary itself answers when asked for its version. What is fetched or built goes into the
cache, so it happens once.
"""

from __future__ import annotations

import concurrent.futures
import hashlib
import os
import re
import subprocess
import tempfile
from collections.abc import Iterable, Mapping
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
    platform_name,
)

__all__ = ["binaries_folder", "find_binaries", "setup_binaries"]


def find_binaries(progress: Progress | None = None) -> Path | None:
    """The folder with all binaries if they are on this machine already, without fetching or building anything."""
    found = _look(progress or Progress(quiet=True))
    return _one_folder(found) if len(found) == len(BINARIES) else None


def setup_binaries(progress: Progress | None = None) -> Path:
    """The folder with all binaries; those that are missing are fetched or built first. Raises SetupError.

    Safe to call from several processes at once, and to interrupt.
    """
    progress = progress or Progress()
    found = _look(progress)
    if len(found) < len(BINARIES):
        folder = binaries_folder()
        with lock(folder, lambda: progress.say("waiting for another process that sets up the control plane")):
            # Whoever held the lock may have brought what was missing.
            quietly = Progress(quiet=True)
            found = _look(quietly)
            _provide([name for name in BINARIES if name not in found], folder, progress)
            found = _look(quietly)
    if missing := [name for name in BINARIES if name not in found]:
        raise SetupError(f"no source provides {', '.join(missing)} of Kubernetes {KUBERNETES_VERSION}")
    return _one_folder(found)


def binaries_folder() -> Path:
    """The folder in our cache for the pinned version on this platform."""
    return cache_directory() / "controlplane" / f"v{KUBERNETES_VERSION}-{platform_name()}"


def binary_version(binary: Path) -> str | None:
    """What the binary says that its version is; None when it is absent or does not say."""
    arguments = ["version", "--client"] if binary.name == KUBECTL else ["--version"]
    try:
        answer = subprocess.run(
            [binary, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = re.search(r"\bv?(\d+\.\d+\.\d+\S*)", answer.stdout)
    return match[1] if match and answer.returncode == 0 else None


def _look(progress: Progress) -> dict[str, Path]:
    """Every binary of the right version that is on this machine."""
    found: dict[str, Path] = {}
    if assets := os.environ.get("KUBEBUILDER_ASSETS"):
        found = _right_ones(Path(assets).absolute(), BINARIES, progress, "KUBEBUILDER_ASSETS")
    missing = [name for name in BINARIES if name not in found]
    return found | _right_ones(binaries_folder(), missing, progress, "the cache")


def _right_ones(folder: Path, names: Iterable[str], progress: Progress, source: str) -> dict[str, Path]:
    present = [folder / name for name in names if (folder / name).is_file()]
    if not present:
        return {}
    right = {}
    with concurrent.futures.ThreadPoolExecutor(len(present)) as pool:
        for binary, version in zip(present, pool.map(binary_version, present), strict=True):
            if version is not None and _is_right(binary.name, version):
                right[binary.name] = binary
            else:
                is_what = f"is {version}" if version else "does not tell its version"
                progress.say(f"skipping {binary.name} of {source}: it {is_what}, wanted is {_wanted(binary.name)}")
    return right


def _wanted(name: str) -> str:
    return (ETCD_VERSION if name == ETCD else KUBERNETES_VERSION).rpartition(".")[0] + ".x"


def _is_right(name: str, version: str) -> bool:
    return version.startswith(_wanted(name).removesuffix("x"))


def _provide(missing: list[str], folder: Path, progress: Progress) -> None:
    """Bring the missing binaries into the folder, from the archive as far as it has them, else from a build."""
    with scratch(folder) as new:
        if any(name in missing for name in BINARIES if name != "kube-controller-manager"):
            missing = _from_archive(missing, folder, new, progress)
        if missing:
            _install(build_binaries(missing, new, progress), missing, folder)


def _from_archive(missing: list[str], folder: Path, new: Path, progress: Progress) -> list[str]:
    """What is still missing after taking what the archive has. A bad archive is reported and not used."""
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
    """Move the wanted binaries into place, each in one step and only after it has told the right version."""
    installed = []
    for binary in binaries:
        if binary.name not in wanted:
            continue
        version = binary_version(binary)
        if version is None or not _is_right(binary.name, version):
            raise SetupError(f"the new {binary.name} says it is {version}, wanted is {_wanted(binary.name)}; refused")
        binary.rename(folder / binary.name)
        installed.append(binary.name)
    return installed


def _one_folder(found: Mapping[str, Path]) -> Path:
    """The folder that holds all of them. Binaries from several folders are linked together in a folder of their own."""
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
                # Another process was first; its links are the same.
                if not linked.is_dir():
                    raise
    return linked
