"""Where the binaries come from, with small scripts in place of them and a real web server in place of the internet."""

from __future__ import annotations

import hashlib
import http.server
import io
import os
import subprocess
import sys
import tarfile
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from kubewright.progress import Progress
from kubewright.testing import ETCD_VERSION, KUBERNETES_VERSION, SetupError, find_binaries, setup_binaries
from kubewright.testing.binaries import BINARIES, binaries_folder, platform_name

ENVTEST_BINARIES = ("etcd", "kube-apiserver", "kubectl")


def script(name: str, version: str | None = None) -> str:
    """A program that answers like the binary when asked for its version."""
    if name == "etcd":
        return f"#!/bin/sh\necho etcd Version: {version or ETCD_VERSION}\n"
    word = "Client Version:" if name == "kubectl" else "Kubernetes"
    return f"#!/bin/sh\necho {word} v{version or KUBERNETES_VERSION}\n"


def write_scripts(folder: Path, names: Iterable[str], version: str | None = None) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / name).write_text(script(name, version))
        (folder / name).chmod(0o755)
    return folder


def write_go(folder: Path, log: Path, *, fails: bool = False) -> None:
    """A `go` that writes the scripts which it is asked to build, and notes each build in `log`."""
    written = write_scripts(folder.with_name("built-by-go"), BINARIES)
    program = f"""#!/bin/sh
if [ "$1" = env ]; then echo go1.26.0; exit 0; fi
echo "build $*" >> {log}
grep -q "k8s.io/kubernetes v{KUBERNETES_VERSION} h1:" go.sum || exit 9
{"echo 'cannot find module' >&2; exit 1" if fails else ""}
while [ "$1" != -o ]; do shift; done
out="$2"; shift 2
for package; do
  case "$package" in
    go.etcd.io/etcd/server/v3) cp {written}/etcd "$out";;
    *) cp {written}/"${{package##*/}}" "$out";;
  esac
done
"""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "go").write_text(program)
    (folder / "go").chmod(0o755)


@dataclass
class Publisher:
    """A web server with an index of archives."""

    url: str
    files: dict[str, bytes] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)

    def publish(self, names: Iterable[str], version: str = KUBERNETES_VERSION, *, checksum: str | None = None) -> None:
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w:gz") as archive:
            for name in names:
                content = script(name, None if name == "etcd" else version).encode()
                member = tarfile.TarInfo(f"controller-tools/envtest/{name}")
                member.size, member.mode = len(content), 0o755
                archive.addfile(member, io.BytesIO(content))
        file = f"envtest-v{version}-{platform_name()}.tar.gz"
        self.files[f"/{file}"] = packed.getvalue()
        digest = checksum or hashlib.sha512(packed.getvalue()).hexdigest()
        index = self.files.get("/index.yaml", b"releases:\n").decode()
        index += f"  v{version}:\n    {file}:\n      hash: {digest}\n      selfLink: {self.url}/{file}\n"
        self.files["/index.yaml"] = index.encode()


@pytest.fixture
def publisher(monkeypatch: pytest.MonkeyPatch) -> Iterator[Publisher]:
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            published.requests.append(self.path)
            content = published.files.get(self.path)
            self.send_response(200 if content is not None else 404)
            self.end_headers()
            self.wfile.write(content or b"")

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        published = Publisher(f"http://127.0.0.1:{server.server_port}")
        monkeypatch.setenv("KUBEWRIGHT_ENVTEST_INDEX", f"{published.url}/index.yaml")
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield published
        server.shutdown()
        thread.join()


@pytest.fixture(autouse=True)
def _nothing_there_yet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty cache, no index, and a PATH with the basic tools and without Go."""
    monkeypatch.setenv("KUBEWRIGHT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("KUBEWRIGHT_ENVTEST_INDEX", "")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)


def progress_of(text: io.StringIO) -> str:
    return text.getvalue()


@pytest.mark.promise(
    "The control plane for tests",
    "Binaries come from the given assets, the cache, an archive, or a build, in this order.",
)
def test_assets_of_the_right_version_are_used_where_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assets = write_scripts(tmp_path / "assets", BINARIES)
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(assets))

    assert setup_binaries() == assets
    assert find_binaries() == assets
    assert not (tmp_path / "cache").exists()


def test_assets_of_the_wrong_version_are_skipped_with_a_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(write_scripts(tmp_path / "assets", BINARIES, "1.29.0")))
    cached = write_scripts(binaries_folder(), BINARIES)
    text = io.StringIO()

    assert setup_binaries(Progress(text)) == cached

    assert "skipping kube-apiserver of KUBEBUILDER_ASSETS: it has version 1.29.0, expected 1.36.x" in progress_of(text)
    assert "skipping etcd of KUBEBUILDER_ASSETS: it has version 1.29.0, expected 3.6.x" in progress_of(text)


def test_a_binary_that_does_not_run_is_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assets = write_scripts(tmp_path / "assets", BINARIES)
    (assets / "etcd").write_bytes(b"\x7fELF of another world")
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(assets))
    text = io.StringIO()

    assert find_binaries(Progress(text)) is None

    assert "skipping etcd of KUBEBUILDER_ASSETS: it does not report its version" in progress_of(text)


def test_each_binary_runs_once_until_its_file_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assets, log = write_scripts(tmp_path / "assets", BINARIES), tmp_path / "log"
    for name in BINARIES:
        (assets / name).write_text(f"{script(name)}echo {name} >> {log}\n")
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(assets))

    assert find_binaries() == find_binaries() == assets
    assert sorted(log.read_text().split()) == sorted(BINARIES)

    (assets / "etcd").write_text(script("etcd", "2.0.0"))
    assert find_binaries() is None


def test_missing_assets_come_from_other_sources_in_one_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assets = write_scripts(tmp_path / "assets", ENVTEST_BINARIES)
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(assets))
    write_go(tmp_path / "bin", tmp_path / "builds")

    folder = setup_binaries(Progress(quiet=True))

    assert sorted(path.name for path in folder.iterdir()) == sorted(BINARIES)
    assert (folder / "etcd").resolve() == (assets / "etcd").resolve()
    (build,) = (tmp_path / "builds").read_text().splitlines()
    assert build.endswith(" k8s.io/kubernetes/cmd/kube-controller-manager")
    assert setup_binaries(Progress(quiet=True)) == folder == find_binaries()


@pytest.mark.promise(
    "The control plane for tests",
    "Binaries come from the given assets, the cache, an archive, or a build, in this order.",
)
def test_prefers_archive_to_build(tmp_path: Path, publisher: Publisher) -> None:
    publisher.publish(ENVTEST_BINARIES)
    write_go(tmp_path / "bin", tmp_path / "builds")

    folder = setup_binaries(Progress(quiet=True))

    assert folder == binaries_folder()
    assert sorted(path.name for path in folder.iterdir()) == sorted(BINARIES)
    (build,) = (tmp_path / "builds").read_text().splitlines()
    assert build.endswith(" k8s.io/kubernetes/cmd/kube-controller-manager")


@pytest.mark.promise(
    "The control plane for tests",
    "Binaries come from the given assets, the cache, an archive, or a build, in this order.",
)
def test_uses_cached_binaries(publisher: Publisher) -> None:
    publisher.publish(BINARIES)
    folder = setup_binaries(Progress(quiet=True))
    seen = len(publisher.requests)

    assert setup_binaries(Progress(quiet=True)) == folder

    assert len(publisher.requests) == seen == 2


def test_the_newest_patch_version_is_taken_when_the_pinned_one_is_not_published(publisher: Publisher) -> None:
    for version in ("1.36.0", "1.36.10", "1.36.9", "1.37.0", "1.36.11-rc.0"):
        publisher.publish(BINARIES, version)

    folder = setup_binaries(Progress(quiet=True))

    assert "1.36.10" in (folder / "kubectl").read_text()


@pytest.mark.promise("The control plane for tests", "An archive is checked before it is used.")
def test_rejects_archive_with_wrong_checksum(tmp_path: Path, publisher: Publisher) -> None:
    publisher.publish(BINARIES, checksum="0" * 128)
    write_go(tmp_path / "bin", tmp_path / "builds", fails=True)
    text = io.StringIO()

    with pytest.raises(SetupError, match="cannot find module"):
        setup_binaries(Progress(text))

    assert "does not have the checksum of its index; rejected" in progress_of(text)
    assert list(binaries_folder().iterdir()) == []


def test_rejects_archive_with_another_version(tmp_path: Path, publisher: Publisher) -> None:
    publisher.publish(BINARIES, "1.35.0")
    archive = publisher.files[f"/envtest-v1.35.0-{platform_name()}.tar.gz"]
    digest = hashlib.sha512(archive).hexdigest()
    file = f"envtest-v1.36.3-{platform_name()}.tar.gz"
    index = f"releases:\n  v1.36.3:\n    {file}:\n      hash: {digest}\n      selfLink: {publisher.url}/{file}\n"
    publisher.files |= {"/index.yaml": index.encode(), f"/{file}": archive}
    write_go(tmp_path / "bin", tmp_path / "builds")
    text = io.StringIO()

    setup_binaries(Progress(text))

    assert "has version 1.35.0, expected 1.36.x; rejected" in progress_of(text)


@pytest.mark.parametrize(
    "index",
    [b"", b"releases: 3", b"- 1", b"\xff\xfe", b"{", b"releases: {v1.36.3: {x: {hash: 1}}}", b"<html>no</html>"],
)
def test_ignores_invalid_index(tmp_path: Path, publisher: Publisher, index: bytes) -> None:
    publisher.files["/index.yaml"] = index
    write_go(tmp_path / "bin", tmp_path / "builds")

    setup_binaries(Progress(quiet=True))

    assert len((tmp_path / "builds").read_text().splitlines()) == 2


def test_reports_and_ignores_unreachable_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBEWRIGHT_ENVTEST_INDEX", "http://127.0.0.1:1/index.yaml")
    write_go(tmp_path / "bin", tmp_path / "builds")
    text = io.StringIO()

    setup_binaries(Progress(text))

    assert "cannot be read ([Errno 111] Connection refused); continuing without it" in progress_of(text)


def test_an_index_must_be_an_http_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBEWRIGHT_ENVTEST_INDEX", "file:///etc/passwd")
    write_go(tmp_path / "bin", tmp_path / "builds")
    text = io.StringIO()

    setup_binaries(Progress(text))

    assert "not an http address: file:///etc/passwd" in progress_of(text)


def test_failed_build_reports_output_of_go(tmp_path: Path) -> None:
    write_go(tmp_path / "bin", tmp_path / "builds", fails=True)

    with pytest.raises(SetupError, match=r"(?s)Go could not build etcd:.*cannot find module"):
        setup_binaries(Progress(quiet=True))

    assert list(binaries_folder().iterdir()) == []


def test_unwritable_cache_reports_the_fix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("KUBEWRIGHT_CACHE_DIR", str(tmp_path / "file"))
    with pytest.raises(SetupError, match="set KUBEWRIGHT_CACHE_DIR to a writable directory"):
        setup_binaries(Progress(quiet=True))


SETUP = "from kubewright.testing import setup_binaries; print(setup_binaries())"


@pytest.mark.promise("The control plane for tests", "An interrupted or concurrent set-up breaks nothing.")
def test_concurrent_setups_build_once(tmp_path: Path) -> None:
    write_go(tmp_path / "bin", tmp_path / "builds")
    processes = [
        subprocess.Popen([sys.executable, "-c", SETUP], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    answers = [process.communicate() for process in processes]

    assert [process.returncode for process in processes] == [0, 0, 0, 0], answers
    assert {output.strip() for output, _ in answers} == {str(binaries_folder())}
    assert len((tmp_path / "builds").read_text().splitlines()) == 2, "etcd, and Kubernetes"


@pytest.mark.promise("The control plane for tests", "An interrupted or concurrent set-up breaks nothing.")
def test_recovers_from_killed_setup(tmp_path: Path) -> None:
    fifo = tmp_path / "started"
    os.mkfifo(fifo)
    (tmp_path / "bin").mkdir()
    hanging = f'#!/bin/sh\nif [ "$1" = env ]; then echo go1.26.0; exit 0; fi\necho $$ > {fifo}\nexec cat {fifo}\n'
    (tmp_path / "bin" / "go").write_text(hanging)
    (tmp_path / "bin" / "go").chmod(0o755)
    with subprocess.Popen([sys.executable, "-c", SETUP], stderr=subprocess.DEVNULL) as first:
        builder = int(fifo.read_text())
        first.kill()
    os.kill(builder, 9)
    assert [path.name for path in binaries_folder().iterdir() if path.name.startswith(".partial-")]

    write_go(tmp_path / "bin", tmp_path / "builds")
    folder = setup_binaries(Progress(quiet=True))

    assert sorted(path.name for path in folder.iterdir()) == sorted(BINARIES), "what was left behind is gone"


OTHER = "1.35.4"


def write_go_for_other(folder: Path, log: Path) -> None:
    """A `go` that describes, resolves and builds another version, and notes each module that it builds in `log`."""
    write_scripts(folder.with_name("built-by-go"), BINARIES, OTHER)
    source = folder.with_name("kubernetes")
    source.mkdir()
    staging = '{"Old": {"Path": "k8s.io/api"}, "New": {"Path": "./staging/src/k8s.io/api"}}'
    described = f'{{"Go": "1.25.0", "Replace": [{staging}]}}'
    program = f"""#!/bin/sh
case "$1 $2" in
  "env GOVERSION") echo go1.26.0;;
  "mod download") echo '{{"Dir": "{source}"}}';;
  "mod edit") echo '{described}';;
  "mod tidy") touch go.sum;;
  build*) cat go.mod >> {log}
    while [ "$1" != -o ]; do shift; done
    out="$2"; shift 2
    for package; do cp {folder.with_name("built-by-go")}/"${{package##*/}}" "$out"; done;;
  *) exit 9;;
esac
"""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "go").write_text(program)
    (folder / "go").chmod(0o755)


@pytest.mark.promise(
    "The control plane for tests", "Other versions of Kubernetes are built from their published modules, and cached."
)
def test_builds_another_version_with_the_pinned_etcd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pinned = write_scripts(binaries_folder(), ["etcd"])
    monkeypatch.setenv("KUBEWRIGHT_KUBERNETES_VERSION", OTHER)
    write_go_for_other(tmp_path / "bin", tmp_path / "modules")

    folder = setup_binaries(Progress(quiet=True))

    assert OTHER in str(folder)
    assert (folder / "etcd").resolve() == (pinned / "etcd").resolve()
    assert OTHER in subprocess.check_output([folder / "kube-apiserver"], text=True)
    module = (tmp_path / "modules").read_text()
    assert f"require k8s.io/kubernetes v{OTHER}\n" in module
    assert "\tk8s.io/api => k8s.io/api v0.35.4\n" in module
    (tmp_path / "bin" / "go").unlink()
    assert setup_binaries(Progress(quiet=True)) == folder


def test_rejects_a_version_that_is_not_a_release(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBEWRIGHT_KUBERNETES_VERSION", "../1.35")
    with pytest.raises(SetupError, match=r"KUBEWRIGHT_KUBERNETES_VERSION is '\.\./1\.35', expected a release"):
        find_binaries()


def test_does_not_use_binaries_of_the_pinned_version_for_another(monkeypatch: pytest.MonkeyPatch) -> None:
    write_scripts(binaries_folder(), BINARIES)
    monkeypatch.setenv("KUBEWRIGHT_KUBERNETES_VERSION", OTHER)
    assert find_binaries(Progress(quiet=True)) is None
