"""The envtest archives that the controller-tools project publishes: etcd, kube-apiserver and kubectl in one file.

They are located like by setup-envtest: a YAML index has the URL and the SHA-512 of the archive for each Kubernetes
version and platform. An unreachable index is not an error, because there is another source. An archive with another
checksum is rejected.
"""

from __future__ import annotations

import hashlib
import http.client
import os
import re
import shutil
import tarfile
import threading
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path

from kubewright.durations import format_duration
from kubewright.progress import Progress
from kubewright.testing._errors import SetupError
from kubewright.testing.binaries._versions import BINARIES, kubernetes_version, platform_name
from kubewright.yaml import InvalidYAML, load_yaml

__all__ = ["Archive", "fetch_archive", "find_archive"]

_INDEX = "https://raw.githubusercontent.com/kubernetes-sigs/controller-tools/HEAD/envtest-releases.yaml"
_INDEX_SECONDS = 4.0
_STALL_SECONDS = 30.0
_LARGEST_INDEX = 8 * 1024 * 1024


@dataclass(frozen=True)
class Archive:
    """An archive: its Kubernetes version, URL and checksum."""

    version: str
    url: str
    sha512: str


def find_archive(progress: Progress) -> Archive | None:
    """Returns the archive of the wanted release for this platform; None if there is none or the index is unreachable.

    `KUBEWRIGHT_ENVTEST_INDEX` is the URL of another index, or empty to use none. Of several patch versions of the
    wanted minor release, the wanted one is used, otherwise the newest.
    """
    index_url = os.environ.get("KUBEWRIGHT_ENVTEST_INDEX", _INDEX)
    if not index_url:
        return None
    try:
        index = _read_index(index_url)
    except (OSError, ValueError, http.client.HTTPException) as error:
        progress.say(f"the index of envtest archives cannot be read ({_reason(error)}); continuing without it")
        return None
    return _choose(index)


def fetch_archive(archive: Archive, folder: Path, progress: Progress) -> list[Path]:
    """Downloads and verifies the archive, and unpacks its binaries into `folder`. Raises SetupError."""
    packed = folder / "envtest.tar.gz"
    try:
        with progress.step(f"download the envtest archive of Kubernetes {archive.version}") as step:
            digest = hashlib.sha512()
            with (
                _open(archive.url, _STALL_SECONDS) as response,
                packed.open("wb") as out,
            ):
                while block := response.read(1 << 18):
                    digest.update(block)
                    out.write(block)
                    step.detail = f"{out.tell() >> 20} MB"
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise SetupError(f"the envtest archive {archive.url} could not be downloaded: {_reason(error)}") from error
    if digest.hexdigest() != archive.sha512.lower():
        packed.unlink()
        raise SetupError(f"the envtest archive {archive.url} does not have the checksum of its index; rejected")
    try:
        return _unpack(packed, folder)
    except (OSError, EOFError, tarfile.TarError) as error:
        raise SetupError(f"the envtest archive {archive.url} cannot be unpacked: {error}") from error
    finally:
        packed.unlink(missing_ok=True)


def _read_index(url: str) -> object:
    """Returns the parsed index. Name resolution has no timeout, so it runs in a thread, which may be abandoned."""
    outcome: list[bytes | Exception] = []

    def read() -> None:
        try:
            with _open(url, _INDEX_SECONDS) as answer:
                outcome.append(answer.read(_LARGEST_INDEX))
        except Exception as error:
            outcome.append(error)

    reader = threading.Thread(target=read, name="kubewright-envtest-index", daemon=True)
    reader.start()
    reader.join(_INDEX_SECONDS)
    if not outcome:
        raise TimeoutError(f"no response within {format_duration(_INDEX_SECONDS)}")
    if isinstance(outcome[0], Exception):
        raise outcome[0]
    try:
        return load_yaml(outcome[0], strings_only=True)  # a checksum of only digits is not a number
    except InvalidYAML as error:
        raise ValueError("it is not YAML") from error


def _choose(index: object) -> Archive | None:
    releases = index.get("releases") if isinstance(index, dict) else None
    found: dict[tuple[int, ...], Archive] = {}
    minor = kubernetes_version().rpartition(".")[0]
    for release, files in releases.items() if isinstance(releases, dict) else ():
        # Anchored, to exclude release candidates.
        if not re.fullmatch(rf"v{re.escape(minor)}\.\d+", str(release)) or not isinstance(files, dict):
            continue
        entry = files.get(f"envtest-{release}-{platform_name()}.tar.gz")
        if isinstance(entry, dict) and entry.get("selfLink") and entry.get("hash"):
            version = release.removeprefix("v")
            found[tuple(map(int, version.split(".")))] = Archive(version, str(entry["selfLink"]), str(entry["hash"]))
    if not found:
        return None
    wanted = tuple(map(int, kubernetes_version().split(".")))
    return found.get(wanted) or found[max(found)]


def _unpack(packed: Path, folder: Path) -> list[Path]:
    unpacked = []
    with tarfile.open(packed, "r:gz") as archive:
        for member in archive:
            # Only the last part of a member's name is used, so that no name can escape the folder.
            name = member.name.rpartition("/")[2]
            content = archive.extractfile(member) if member.isfile() and name in BINARIES else None
            if content is not None:
                with content, (folder / name).open("wb") as out:
                    shutil.copyfileobj(content, out)
                (folder / name).chmod(0o755)
                unpacked.append(folder / name)
    return unpacked


def _open(url: str, timeout: float) -> http.client.HTTPResponse:
    if not url.startswith(("https://", "http://")):
        raise ValueError(f"not an http address: {url}")
    answer: http.client.HTTPResponse = urllib.request.urlopen(url, timeout=timeout)  # noqa: S310  (checked above)
    return answer


def _reason(error: Exception) -> str:
    if isinstance(error, urllib.error.URLError) and not isinstance(error, urllib.error.HTTPError):
        return str(error.reason)
    return str(error) or type(error).__name__
