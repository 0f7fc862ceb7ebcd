"""Messages and exit codes if the cluster is unreachable, is not a Kubernetes cluster, or rejects a request."""

from __future__ import annotations

import asyncio
import io
import socket
import threading
from collections.abc import AsyncIterator, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

from kubewright.cli import run
from kubewright.cluster import Cluster
from tests.cli.commands import OBJECT, PROGRAM, STAYING, WITH_CLUSTER, write_kubeconfig

pytestmark = pytest.mark.timeout(300)  # on a busy machine

COMMANDS = list(WITH_CLUSTER.values())


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "page.py").write_text(PROGRAM)
    (tmp_path / "page.yaml").write_text(OBJECT)
    return tmp_path


@pytest.fixture
def refused() -> Iterator[str]:
    """An address that refuses connections. It is bound, so that no other process can take it."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}"


def printed(capsys: pytest.CaptureFixture[str]) -> str:
    """Returns the single line of an error, or the standard output of a command without one, such as doctor."""
    shown = capsys.readouterr()
    assert "Traceback" not in shown.err
    if not shown.err:
        return shown.out
    [line] = shown.err.splitlines()
    return line


@pytest.mark.promise(
    "Projects",
    "No cluster, a wrong kubeconfig, a misspelled context and a refusal are one line that says what to do.",
)
@pytest.mark.parametrize("command", COMMANDS, ids=WITH_CLUSTER)
def test_an_unreachable_cluster_is_a_failure(
    command: list[str], refused: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_kubeconfig(folder / "config", refused)
    assert run([*command, "--kubeconfig", "config"]) == 1
    output = printed(capsys)
    assert refused.removeprefix("http://") in output
    assert "refused" in output.lower() or "Connect call failed" in output


@pytest.mark.promise(
    "Projects",
    "No cluster, a wrong kubeconfig, a misspelled context and a refusal are one line that says what to do.",
)
@pytest.mark.parametrize("command", [*COMMANDS, *STAYING.values()], ids=[*WITH_CLUSTER, *STAYING])
@pytest.mark.parametrize(
    ("content", "context", "message"),
    [
        (None, [], "absent"),
        ("", [], "empty"),
        ("{", [], "YAML"),
        ("staging", ["--context", "stagign"], "context 'stagign' does not exist; did you mean 'staging'?"),
    ],
    ids=["missing", "empty", "invalid YAML", "misspelled context"],
)
def test_an_unusable_kubeconfig_is_wrong_use(
    command: list[str],
    content: str | None,
    context: list[str],
    message: str,
    folder: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    config = folder / ("absent" if content is None else "config")
    if content == "staging":
        write_kubeconfig(config, "http://127.0.0.1:1")
    elif content is not None:
        config.write_text(content)
    assert run([*command, "--kubeconfig", config.name, *context]) == 2
    assert message in printed(capsys)


@pytest.mark.parametrize("command", COMMANDS, ids=WITH_CLUSTER)
def test_reports_a_server_that_is_not_kubernetes(
    command: list[str], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    class Page(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            self.send_response(200)
            self.send_header("Content-Length", "18")
            self.end_headers()
            self.wfile.write(b"<html>hello</html>")

        do_GET = do_POST = do_PATCH = do_DELETE = _answer

        def log_message(self, *_: object) -> None:
            """Logs nothing."""

    with HTTPServer(("127.0.0.1", 0), Page) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        write_kubeconfig(folder / "config", f"http://127.0.0.1:{server.server_port}")
        code = run([*command, "--kubeconfig", "config"])
        server.shutdown()
    assert code != 0
    output = printed(capsys)
    hints = ("is the address right?", "is this the address of an API server?", "check the address")
    assert any(hint in output for hint in hints), output


@pytest.fixture
async def cluster() -> AsyncIterator[Cluster]:
    async with Cluster(rbac=True) as cluster:
        await cluster.serve()
        yield cluster


def kubeconfig_of(cluster: Cluster, folder: Path, user: dict[str, str] | None = None) -> str:
    """Writes the administrator's kubeconfig with other credentials, and returns its name."""
    found: dict[str, Any] = yaml.safe_load(Path(cluster.kubeconfig()).read_text())
    found["users"][0]["user"] = found["users"][0]["user"] | user if user and "as" in user else user
    (folder / "config").write_text(yaml.safe_dump(found))
    return "config"


FORBIDDEN = {
    "install": 'cannot get resource "customresourcedefinitions"',
    "uninstall": 'cannot delete resource "customresourcedefinitions"',
    "deploy": 'cannot patch resource "namespaces"',
    "undeploy": 'cannot delete resource "customresourcedefinitions"',
}


@pytest.mark.promise(
    "Projects",
    "No cluster, a wrong kubeconfig, a misspelled context and a refusal are one line that says what to do.",
)
async def test_a_forbidden_request_names_verb_resource_and_account(
    cluster: Cluster, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = kubeconfig_of(cluster, folder, {"as": "restricted-user"})
    for name, refusal in FORBIDDEN.items():
        assert await asyncio.to_thread(run, [*WITH_CLUSTER[name], "--kubeconfig", config]) == 1
        output = printed(capsys)
        assert output.startswith("Error: your account is not allowed to do this: ")
        assert f'User "restricted-user" {refusal}' in output
    assert await asyncio.to_thread(run, [*WITH_CLUSTER["codegen"], "--kubeconfig", config]) == 1
    assert "you are not allowed to list definitions; name the kinds with --kind" in printed(capsys)
    assert await asyncio.to_thread(run, [*WITH_CLUSTER["doctor"], "--kubeconfig", config]) == 1
    assert "this account is not allowed to watch pages.errors.example.com" in printed(capsys)


async def test_unknown_credentials_are_wrong_use(
    cluster: Cluster, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = kubeconfig_of(cluster, folder, {"token": "not-a-token-of-this-cluster"})
    for name in ("install", "uninstall", "deploy", "undeploy", "codegen"):
        assert await asyncio.to_thread(run, [*WITH_CLUSTER[name], "--kubeconfig", config]) == 2
        output = printed(capsys)
        assert "Unauthorized: the server does not accept the credentials; renew the token" in output
        assert "not-a-token" not in output


@pytest.mark.promise(
    "Projects",
    "No cluster, a wrong kubeconfig, a misspelled context and a refusal are one line that says what to do.",
)
async def test_names_a_kind_that_is_not_defined(
    cluster: Cluster, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = str(cluster.kubeconfig())
    assert await asyncio.to_thread(run, ["doctor", "page.py", "--kubeconfig", config]) == 1
    assert "pages.errors.example.com is not defined\n        run `kubewright install`" in printed(capsys)
    assert await asyncio.to_thread(run, ["uninstall", "page.py", "--yes", "--kubeconfig", config]) == 0
    assert "absent CustomResourceDefinition pages.errors.example.com" in printed(capsys)
    assert await asyncio.to_thread(run, ["install", "page.py", "--kubeconfig", config]) == 0
    capsys.readouterr()
    command = ["codegen", "--cluster", "--out", "types.py", "--kubeconfig", config, "--kind"]
    assert await asyncio.to_thread(run, [*command, "Pgae"]) == 2
    assert "it serves no kind Pgae; did you mean Page?" in printed(capsys)


async def test_a_second_run_changes_nothing(cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    config = str(cluster.kubeconfig())
    for name in ("install", "uninstall", "deploy", "undeploy"):
        for _ in range(2):
            assert await asyncio.to_thread(run, [*WITH_CLUSTER[name], "--kubeconfig", config]) == 0, printed(capsys)


def test_nothing_is_removed_without_an_answer(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write_kubeconfig(folder / "config", "http://127.0.0.1:1")
    monkeypatch.setattr("sys.stdin", io.StringIO())
    for name in ("uninstall", "undeploy"):
        assert run([name, "page.py", "--kubeconfig", "config"]) == 130
        assert "all objects of" in capsys.readouterr().err
