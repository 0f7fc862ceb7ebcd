"""`kubewright run` before it reaches a cluster: what its options mean, and what it says when they cannot work."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

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
- {name: nobody, context: {cluster: here, user: ghost}}
current-context: here
"""


def run(folder: Path, operator: str, *options: str) -> subprocess.CompletedProcess[str]:
    file = folder / "made_for_this_test.py"
    file.write_text(operator)
    command = [sys.executable, "-m", "kubewright.cli", "run", str(file), *options]
    environment = {name: value for name, value in os.environ.items() if name != "KUBECONFIG"}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


def test_the_options_reach_the_operator(tmp_path: Path) -> None:
    kubeconfig = tmp_path / "config"
    kubeconfig.write_text(KUBECONFIG)
    options = ["--kubeconfig", str(kubeconfig), "--context", "here", "--master", "https://other:6443"]
    done = run(tmp_path, RECORDER, *options, "-n", "left", "--namespace", "right")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.strip() == str(
        [
            ("context", "here"),
            ("kubeconfig", str(kubeconfig)),
            ("master", "https://other:6443"),
            ("namespaces", "['left', 'right']"),
        ]
    )


@pytest.mark.parametrize(
    ("content", "context", "said"),
    [
        ("", "here", "empty"),
        ("{", "here", "YAML"),
        (KUBECONFIG, "her", "'here'"),
        (KUBECONFIG, "stray", "nowhere"),
        (KUBECONFIG, "nobody", "ghost"),
    ],
    ids=["empty", "no YAML", "unknown context", "unknown cluster", "unknown user"],
)
def test_a_kubeconfig_that_cannot_work_is_one_line_and_a_failure(
    tmp_path: Path, content: str, context: str, said: str
) -> None:
    kubeconfig = tmp_path / "config"
    kubeconfig.write_text(content)
    done = run(tmp_path, OPERATOR, "--kubeconfig", str(kubeconfig), "--context", context)
    assert done.returncode == 1
    [line] = done.stderr.splitlines()
    assert said in line
    assert str(kubeconfig) in line


def test_a_kubeconfig_that_is_missing_is_a_failure_that_names_it(tmp_path: Path) -> None:
    done = run(tmp_path, OPERATOR, "--kubeconfig", str(tmp_path / "absent"))
    assert done.returncode != 0
    assert "absent" in done.stderr
    assert "Traceback" not in done.stderr
