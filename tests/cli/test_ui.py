"""`kubewright ui`, as a process and as a function."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.cookiejar import CookieJar
from pathlib import Path
from urllib.request import HTTPCookieProcessor, ProxyHandler, build_opener

import pytest

from kubewright.cli import run
from tests.cli.commands import write_kubeconfig
from tests.patience import PATIENCE
from tests.ports import unused_port

KUBEWRIGHT = Path(sys.executable).parent / "kubewright"


@pytest.fixture(scope="module")
def kubeconfig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The kubeconfig of a cluster in a separate process."""
    file = tmp_path_factory.mktemp("cluster") / "kubeconfig"
    command: list[str | Path] = [KUBEWRIGHT, "cluster", "start", "--write-kubeconfig", file]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            for line in process.stdout:
                if "Ctrl-C" in line:
                    break
            yield file
        finally:
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=PATIENCE)


@contextmanager
def serving(*arguments: str | Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Starts the command; yields its process and the first line of its output."""
    with subprocess.Popen([KUBEWRIGHT, "ui", *arguments], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process, process.stdout.readline()
        finally:
            if process.poll() is None:
                process.kill()


def test_the_printed_address_signs_in_and_ctrl_c_stops_the_console(kubeconfig: Path) -> None:
    arguments = ("--kubeconfig", kubeconfig, "--port", "0", "--output", "json", "--read-only")
    with serving(*arguments) as (process, line):
        document = json.loads(line)
        assert document["open"].startswith(f"{document['url']}/?invitation=")
        assert document["readOnly"] is True
        assert document["url"].startswith("http://127.0.0.1:")
        opener = build_opener(ProxyHandler({}), HTTPCookieProcessor(CookieJar()))
        with opener.open(document["open"], timeout=PATIENCE) as answer:
            assert answer.status == 200
            assert answer.url == f"{document['url']}/"
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=PATIENCE) == 0


@pytest.mark.promise(
    "Access to the console and its cost",
    "`kubewright ui` says in one line what is wrong, and what to install.",
)
def test_reports_a_port_in_use(kubeconfig: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert run(["ui", "--kubeconfig", str(kubeconfig), "--port", str(port)]) == 1
    assert f"cannot listen at 127.0.0.1:{port}: Address already in use; choose another" in capsys.readouterr().err


def test_reports_an_address_that_cannot_be_resolved(
    kubeconfig: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def unresolved(*_: object, **__: object) -> socket.socket:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    # The machine's resolver may ask a server, and decides the message.
    monkeypatch.setattr(socket, "create_server", unresolved)
    assert run(["ui", "--kubeconfig", str(kubeconfig), "--bind", "nosuch", "--port", "0"]) == 1
    assert "cannot listen at nosuch:0: Name or service not known" in capsys.readouterr().err


def test_ctrl_c_does_not_wait_for_a_silent_cluster(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        kubeconfig = write_kubeconfig(tmp_path / "config", f"http://127.0.0.1:{silent.getsockname()[1]}")
        command: list[str | Path] = [KUBEWRIGHT, "ui", "--no-open", "--kubeconfig", kubeconfig]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            connection, _ = silent.accept()
            with connection:
                connection.recv(1)  # the request was sent
                process.send_signal(signal.SIGINT)
                _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert "Error" not in errors


@pytest.mark.promise(
    "Access to the console and its cost",
    "`kubewright ui` says in one line what is wrong, and what to install.",
)
def test_reports_an_unreachable_cluster(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    port = unused_port()
    file = tmp_path / "config"
    cluster = f"{{name: a, cluster: {{server: 'http://127.0.0.1:{port}'}}}}"
    file.write_text(f"clusters: [{cluster}]\ncontexts: [{{name: a, context: {{cluster: a}}}}]\ncurrent-context: a\n")
    assert run(["ui", "--kubeconfig", str(file)]) == 1
    assert f"127.0.0.1:{port}" in capsys.readouterr().err


@pytest.mark.promise(
    "Access to the console and its cost",
    "`kubewright ui` says in one line what is wrong, and what to install.",
)
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--redonly"], "Did you mean '--read-only'?"),
        (["--kubeconfig", "nowhere"], "nowhere: the file does not exist"),
        (["--bind", "127.0.0.1:80"], "the port is --port"),
        (["--port", "http"], "'http' is not a valid whole number"),
        (["--operator", "foo"], "such as 127.0.0.1:8081"),
        (["--extension", "fleet.ui"], "use module:name, such as fleet.ui:fleet"),
        (["--extension", "no_such_module:ui"], "cannot import extension no_such_module:ui: ModuleNotFoundError"),
        (["--url", "console.example.com"], "is not an address such as https://console.example.com"),
        (["--kind", "Foo"], "is not a kind such as example.com/foos"),
        (["--namespace", "Shop"], "is not the name of a namespace"),
        (["--tls-key", __file__], "--tls-certificate and --tls-key require each other"),
        (["--viewer-server-ca", __file__], "--viewer-server-ca requires --viewer-server"),
        (["--image", "a"], "--image requires --manifests"),
        (["--secrets"], "--secrets requires --manifests"),
        (["--manifests", "x", "--base-image", "a b"], "is not the name of an image"),
        (["--manifests", "x", "--group", "Foo"], "is not an API group such as example.com"),
        (["--manifests", "x", "--group", "a.b", "--kind", "a.b/*"], "--group and --kind exclude each other"),
        (["--tls-self-signed", "--tls-certificate", __file__, "--tls-key", __file__], "exclude each other"),
        (["--output", "yaml"], "'yaml' is not one of 'text', 'json'"),
    ],
)
def test_reports_invalid_options_in_one_line(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["ui", *arguments]) == 2
    errors = capsys.readouterr().err
    assert message in errors
    assert errors.count("\n") == 1


@pytest.mark.promise(
    "Access to the console and its cost",
    "`kubewright ui` says in one line what is wrong, and what to install.",
)
def test_without_the_extra_names_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "nicegui", None)
    assert run(["ui"]) == 1
    assert "pip install 'kubewright[console]'" in capsys.readouterr().err


def test_writes_manifests_and_keeps_other_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["ui", "--manifests", str(tmp_path), "--image", "example.com/console:1", "--output", "json"]) == 0
    steps = json.loads(capsys.readouterr().out)["steps"]
    assert {Path(step["what"]).name for step in steps} == {
        *("Dockerfile", "deployment.yaml", "kustomization.yaml", "namespace.yaml", "network-policy.yaml"),
        *("rbac.yaml", "service.yaml"),
    }
    assert "image: example.com/console:1" in (tmp_path / "deployment.yaml").read_text()
    (tmp_path / "service.yaml").write_text("mine: true\n")
    assert run(["ui", "--manifests", str(tmp_path)]) == 1
    assert "service.yaml: not generated" in capsys.readouterr().err


def test_run_rejects_an_invalid_console_address(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    program = tmp_path / "served.py"
    program.write_text("import kubewright as kw\noperator = kw.Operator('served')\n")
    assert run(["run", str(program), "--console-bind", "here"]) == 2
    assert "--console-bind must be an address to listen at" in capsys.readouterr().err
