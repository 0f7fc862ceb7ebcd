"""`kubewright run` before it connects to a cluster: its options, and its messages for invalid ones."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from kubewright.cli import run as run_here
from kubewright.operator import ExitCode

RECORDER = """
import kubewright as kw

class Recorder(kw.Operator):
    def run(self, **options):
        print(sorted((name, str(value)) for name, value in options.items()))

operator = Recorder("recorder")
"""
OPERATOR = """
import kubewright as kw
from kubewright.api import core

operator = kw.Operator("unlucky")

@operator.reconciles(core.ConfigMap)
async def sync(obj: core.ConfigMap, ctx: kw.Context[core.ConfigMap]) -> None: ...
"""
KUBECONFIG = """
apiVersion: v1
kind: Config
clusters: [{name: here, cluster: {server: "http://127.0.0.1:1"}}]
contexts:
- {name: here, context: {cluster: here}}
- {name: stray, context: {cluster: nowhere}}
- {name: userless, context: {cluster: here, user: ghost}}
current-context: here
"""


def run(folder: Path, operator: str, *options: str) -> subprocess.CompletedProcess[str]:
    file = folder / "made_for_this_test.py"
    file.write_text(operator)
    command = [sys.executable, "-m", "kubewright.cli", "run", str(file), *options]
    environment = {name: value for name, value in os.environ.items() if name != "KUBECONFIG"}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


@pytest.mark.promise("Running an operator", "Its options reach the operator.")
def test_passes_its_options_to_the_operator(tmp_path: Path) -> None:
    options = ["--kubeconfig", "config", "--context", "here", "--master", "https://other:6443", "-n", "left"]
    options += ["--namespace", "right", "--concurrency", "3", "--grace", "1m30s", "--leader-elect", "--resync", "0"]
    done = run(tmp_path, RECORDER, *options, "--lease-name", "mine", "--health-bind", "8081", "-v")
    assert (done.returncode, done.stderr) == (0, "")
    assert dict(ast.literal_eval(done.stdout)) == {
        "concurrency": "3",
        "context": "here",
        "grace": "90.0",
        "health_bind": "8081",
        "kubeconfig": "config",
        "leader_elect": "True",
        "lease_name": "mine",
        "log_level": "debug",
        "namespaces": "('left', 'right')",
        "resync": "None",
        "server": "https://other:6443",
    }


def test_passes_no_option_that_was_not_given(tmp_path: Path) -> None:
    assert run(tmp_path, RECORDER).stdout.strip() == "[]"


@pytest.mark.promise("Running an operator", "A wrong value names the setting and what is valid.")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--log-level", "inof"], "--log-level must be one of debug, info, warning, error, not 'inof'"),
        (["--log-format", "yaml"], "--log-format must be one of pretty, json, not 'yaml'"),
        (
            ["--grace", "30x"],
            "--grace must be a duration, such as 30s, 1m30s, 500ms, or a number of seconds, not '30x'",
        ),
        (["--concurrency", "some"], "--concurrency must be a whole number, at least 1, not 'some'"),
        (
            ["-n", "Here", "-n", "no"],
            "--namespace must be a list of namespace names (lower case letters, digits and '-'), not 'Here', 'no'",
        ),
        (["--grcae", "1"], "No such option '--grcae'. Did you mean '--grace'?"),
    ],
)
def test_a_typo_in_a_flag_lists_the_valid_values(
    options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_here(["run", "never-loaded.py", *options]) == 2
    assert capsys.readouterr().err.startswith(f"Error: {message}")


@pytest.mark.promise("Running an operator", "A wrong value names the setting and what is valid.")
def test_a_typo_in_a_variable_is_one_line_with_the_valid_values(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBEWRIGHT_LOG_LEVEL", "inof")
    done = run(tmp_path, OPERATOR)
    assert done.returncode == ExitCode.CONFIGURATION
    [line] = done.stderr.splitlines()
    assert "KUBEWRIGHT_LOG_LEVEL must be one of debug, info, warning, error, not 'inof'" in json.loads(line)["message"]


@pytest.mark.parametrize("command", ["run", "manifests"])
def test_shows_only_the_users_frames_of_an_import_error(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / f"raises_for_{command}.py"
    file.write_text("def twice(what):\n    return what.size * 2\n\ntwice(None)\n")
    assert run_here([command, str(file)]) == 1
    shown = capsys.readouterr().err
    assert f'File "{file}", line 4, in <module>' in shown
    assert "AttributeError: 'NoneType' object has no attribute 'size'" in shown
    assert shown.endswith(f"Error: {file} cannot be imported, see above\n")
    assert "importlib" not in shown
    assert "_load.py" not in shown


def test_shows_the_users_line_of_a_rejected_call(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    refused, meant = tmp_path / "refused_option.py", tmp_path / "meant_another.py"
    refused.write_text("import kubewright as kw\n\noperator = kw.Operator('a', concurency=3)\n")
    meant.write_text("import kubewright as kw\n\nkw.Operator('a').reconcile(None)\n")
    assert run_here(["run", str(refused)]) == 1
    shown = capsys.readouterr().err
    assert f'File "{refused}", line 3' in shown
    assert shown.count("File ") == 1
    assert "TypeError: Operator has no option 'concurency'. Did you mean 'concurrency'?" in shown
    assert run_here(["run", str(meant)]) == 1
    assert "has no attribute 'reconcile'. Did you mean: 'reconciles'?" in capsys.readouterr().err
    monkeypatch.setenv("KUBEWRIGHT_DEBUG", "1")
    assert run_here(["run", str(tmp_path / "refused_option.py")]) == 1
    assert "_settings.py" in capsys.readouterr().err


def test_a_module_without_an_operator_is_a_usage_error(tmp_path: Path) -> None:
    done = run(tmp_path, "nothing = 1")
    assert done.returncode == 2
    assert "has no Operator: create one with" in done.stderr


@pytest.mark.promise(
    "Configuration and credentials",
    "A kubeconfig that cannot work gets one sentence, and a program one line and a failure.",
)
@pytest.mark.promise("Running an operator", "Exit codes tell why.")
@pytest.mark.parametrize(
    ("content", "context", "message"),
    [
        ("", "here", "empty"),
        ("{", "here", "YAML"),
        (KUBECONFIG, "her", "'here'"),
        (KUBECONFIG, "stray", "nowhere"),
        (KUBECONFIG, "userless", "ghost"),
    ],
    ids=["empty", "invalid YAML", "unknown context", "unknown cluster", "unknown user"],
)
def test_an_unusable_kubeconfig_is_one_line_and_a_failure(
    tmp_path: Path, content: str, context: str, message: str
) -> None:
    kubeconfig = tmp_path / "config"
    kubeconfig.write_text(content)
    kubeconfig.chmod(0o600)  # a kubeconfig that other users can read causes a warning
    done = run(tmp_path, OPERATOR, "--kubeconfig", str(kubeconfig), "--context", context)
    assert done.returncode == ExitCode.CONFIGURATION
    [line] = done.stderr.splitlines()
    assert message in line
    assert str(kubeconfig) in line


def test_names_a_missing_kubeconfig(tmp_path: Path) -> None:
    done = run(tmp_path, OPERATOR, "--kubeconfig", str(tmp_path / "absent"))
    assert done.returncode != 0
    assert "absent" in done.stderr
    assert "Traceback" not in done.stderr


def kubeconfig_for(folder: Path, server: str, user: str = "{}") -> Path:
    file = folder / "config"
    file.write_text(f"""
apiVersion: v1
kind: Config
clusters: [{{name: here, cluster: {{server: "{server}"}}}}]
users: [{{name: me, user: {user}}}]
contexts: [{{name: here, context: {{cluster: here, user: me}}}}]
current-context: here
""")
    return file


def test_a_server_that_is_not_kubernetes_is_a_failure(tmp_path: Path) -> None:
    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"<html>hello</html>")

        def log_message(self, *_: object) -> None:
            """Logs nothing."""

    with HTTPServer(("127.0.0.1", 0), Page) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        kubeconfig = kubeconfig_for(tmp_path, f"http://127.0.0.1:{server.server_port}")
        done = run(tmp_path, OPERATOR, "--kubeconfig", str(kubeconfig))
        server.shutdown()
    assert done.returncode == ExitCode.CONFIGURATION
    assert "not that of a Kubernetes API server; is the address right?" in done.stderr
    assert "Traceback" not in done.stderr


def test_names_a_missing_credential_plugin(tmp_path: Path) -> None:
    plugin = "{exec: {apiVersion: client.authentication.k8s.io/v1, command: no-such-plugin, interactiveMode: Never}}"
    kubeconfig = kubeconfig_for(tmp_path, "https://127.0.0.1:1", plugin)
    done = run(tmp_path, OPERATOR, "--kubeconfig", str(kubeconfig))
    assert done.returncode == ExitCode.CONFIGURATION
    assert "no-such-plugin" in done.stderr
    assert "Traceback" not in done.stderr
