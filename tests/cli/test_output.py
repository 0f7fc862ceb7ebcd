"""`--output json`: standard output is one document. A spinner writes nothing to a pipe."""

from __future__ import annotations

import asyncio
import io
import json
import os
import pty
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from kubewright.cli import CommandExit, Output, run
from kubewright.cluster import Cluster

pytestmark = pytest.mark.timeout(300)  # on a busy machine

PROGRAM = '''
import kubewright as kw

class Spec(kw.Model):
    size: int = 1

@kw.resource("output.example.com/v1")
class Page(kw.Resource[Spec, None]):
    """A Page."""

operator = kw.Operator("page-operator")

@operator.reconciles(Page)
async def sync(page: Page, ctx: kw.Context[Page]) -> None: ...
'''

Answer = Callable[..., Any]


@pytest.fixture
def answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Answer:
    """Runs a command in a folder with a program, and returns the document that it prints."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "page.py").write_text(PROGRAM)

    def ask(*arguments: str, code: int = 0) -> Any:
        assert run([*arguments, "--output", "json"]) == code, capsys.readouterr().err
        return json.loads(capsys.readouterr().out)

    return ask


@pytest.fixture
async def kubeconfig() -> AsyncIterator[str]:
    async with Cluster() as cluster:
        await cluster.serve()
        yield str(cluster.kubeconfig())


def test_version_prints_all_versions(answer: Answer) -> None:
    assert set(answer("version")) == {"kubewright", "kubernetes", "etcd", "python"}


@pytest.mark.promise(
    "Projects",
    "With `--output json`, standard output is one document; colors are only for terminals that support them.",
)
def test_init_and_create_list_their_files(answer: Answer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = answer("init", "book", "--domain", "my.domain")
    assert (made["folder"], "Makefile" in made["written"], made["changed"]) == ("book", True, [])
    assert answer("init", "book", "--domain", "my.domain")["written"] == []
    monkeypatch.chdir(tmp_path / "book")
    kind = ("--group", "web", "--version", "v1", "--kind", "Book")
    added = answer("create", "api", *kind)
    assert set(added["written"]) == {"config/samples/web_v1_book.yaml", "book/book.py", "tests/test_book.py"}
    assert added["changed"] == ["kubewright.toml", "book/__init__.py"]
    assert "book/book_webhook.py" in answer("create", "webhook", *kind, "--defaulting")["written"]


def test_generators_list_written_and_differing_files(answer: Answer, tmp_path: Path) -> None:
    written = answer("manifests", "page.py")
    assert (written["out"], written["files"]) == ("config", len(written["written"]))
    assert answer("manifests", "page.py", "--check")["differ"] == []
    (tmp_path / "config" / "rbac" / "role.yaml").unlink()
    [drift] = answer("manifests", "page.py", "--check", code=3)["differ"]
    assert (drift["path"], drift["what"]) == ("rbac/role.yaml", "missing")
    definition = "config/crd/bases/output.example.com_pages.yaml"
    assert answer("codegen", definition, "--out", "types.py", "--check", code=3)["differ"] == ["types.py"]
    made = answer("codegen", definition, "--out", "types.py")
    assert made == {"kinds": ["pages.output.example.com"], "written": ["types.py"]}
    assert answer("installer", "page.py") == {"written": ["dist/install.yaml"]}
    assert answer("chart", "page.py")["out"] == "dist/chart"


@pytest.mark.promise(
    "Projects",
    "With `--output json`, standard output is one document; colors are only for terminals that support them.",
)
async def test_cluster_commands_list_their_steps(answer: Answer, kubeconfig: str) -> None:
    async def ask(*arguments: str, code: int = 0) -> Any:
        whole = (*arguments, "page.py", "--kubeconfig", kubeconfig)
        return await asyncio.to_thread(answer, *whole, code=code)

    name = "pages.output.example.com"
    assert [one["state"] for one in (await ask("doctor", code=1))["findings"]][:2] == ["ok", "error"]
    assert await ask("install") == {"steps": [{"did": "installed", "what": name}]}
    removed = {"did": "removed", "what": f"CustomResourceDefinition {name}"}
    assert await ask("uninstall", "--yes") == {"steps": [removed]}
    assert await ask("uninstall", "--yes") == {"steps": [removed | {"did": "absent"}]}
    deployed = await ask("deploy", "--image", "registry.example.com/page:1.0.0")
    assert (deployed["namespace"], deployed["image"]) == ("page-operator-system", "registry.example.com/page:1.0.0")
    assert {"did": "applied", "what": "Deployment page-operator-system/page-operator"} in deployed["steps"]
    assert removed in (await ask("undeploy", "--yes"))["steps"]


def test_cluster_start_prints_its_address_and_kubeconfig(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "kubewright", "cluster", "start", "--output", "json", "--write-kubeconfig", "k"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        document = json.loads("".join(iter(process.stdout.readline, "}\n")) + "}")
        process.terminate()
        rest, _ = process.communicate()
    assert document["url"].startswith("https://127.0.0.1:")
    assert document["kubeconfig"] == str(tmp_path / "k")
    assert (process.returncode, rest) == (0, "")


@pytest.mark.parametrize("arguments", [["version"], ["version", "--output", "json"], ["--help"]])
def test_output_on_a_full_disk_is_a_failure(arguments: list[str]) -> None:
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "kubewright", *arguments]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    message = "cannot write the output: No space left on device. Free disk space, or redirect the output elsewhere"
    assert (done.returncode, done.stderr) == (CommandExit.FAILED, f"Error: {message}\n")


def test_an_error_message_that_cannot_be_written_keeps_the_exit_code() -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run([sys.executable, "-m", "kubewright", "versio"], stderr=full, check=False)
    assert done.returncode == CommandExit.WRONG_USE


def test_a_spinner_is_cleared_before_lines_and_absent_in_a_pipe(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    for stream in (Terminal(), io.StringIO()):
        monkeypatch.setattr(sys, "stderr", stream)
        output = Output()
        with output.waiting("Waiting"):
            output.step("applied", "Deployment a/b")
        # Once for the line and once at the end, and more often on a slow machine, where the spinner has turned.
        cleared = stream.getvalue().count("\r\x1b[K")
        assert cleared >= 2 if stream.isatty() else cleared == 0
        assert stream.getvalue().endswith("\r\x1b[K") or not stream.getvalue()
        assert capsys.readouterr().out == "applied Deployment a/b\n"


@pytest.mark.promise(
    "Projects",
    "With `--output json`, standard output is one document; colors are only for terminals that support them.",
)
def test_uses_colors_only_on_terminals_that_support_them(tmp_path: Path) -> None:
    """Runs the same command on a terminal: without NO_COLOR, with NO_COLOR, and on a dumb terminal."""
    (tmp_path / "page.py").write_text(PROGRAM)
    (tmp_path / "config").write_text(
        'apiVersion: v1\nkind: Config\nclusters: [{name: a, cluster: {server: "http://127.0.0.1:1"}}]\n'
        "contexts: [{name: a, context: {cluster: a}}]\ncurrent-context: a\n"
    )
    plain = {**os.environ, "TERM": "xterm", "KUBECONFIG": "config"}
    plain.pop("NO_COLOR", None)
    assert "\x1b[31merror" in on_a_terminal(tmp_path, plain)
    assert "\x1b" not in on_a_terminal(tmp_path, {**plain, "NO_COLOR": "1"})
    assert "\x1b" not in on_a_terminal(tmp_path, {**plain, "TERM": "dumb"})


def on_a_terminal(folder: Path, environment: dict[str, str]) -> str:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "kubewright", "doctor", "page.py"]
    with subprocess.Popen(command, cwd=folder, env=environment, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        output = b""
        while True:
            try:
                piece = os.read(ours, 4096)
            except OSError:  # the other side is closed
                break
            output += piece
        os.close(ours)
    assert process.returncode == 1
    assert b"does not answer" in output
    return output.decode()


@pytest.mark.parametrize("as_json", [False, True])
def test_finishes_its_work_after_the_reader_closes_the_pipe(as_json: bool, tmp_path: Path) -> None:
    """Regression: `kubewright deploy | head -2` left half of the operator in the cluster."""
    done = tmp_path / "done"
    program = f"""
from pathlib import Path
from kubewright.cli import Output
output = Output(json={as_json})
for number in range(3):
    output.step("applied", f"ConfigMap {{number}}")
output.document(steps=output.steps)
output.line("end")
Path({str(done)!r}).touch()
"""
    reader, writer = os.pipe()
    os.close(reader)
    ended = subprocess.run(
        [sys.executable, "-c", program], stdout=writer, stderr=subprocess.PIPE, text=True, check=False
    )
    os.close(writer)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert done.exists()
