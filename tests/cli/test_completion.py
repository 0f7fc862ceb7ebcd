"""Completion in real shells: commands, options and values, and never an error on the terminal."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kubewright.cli import COMMANDS, run
from kubewright.scaffold import carry_out, new_api, new_project

pytestmark = pytest.mark.timeout(300)  # on a busy machine


def has(shell: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(shutil.which(shell) is None, reason=f"{shell} is not installed")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    carry_out(new_project("guestbook", "my.domain"), tmp_path)
    carry_out(new_api(tmp_path, group="web", version="v1", kind="Guestbook"), tmp_path)
    carry_out(new_api(tmp_path, group="web", version="v2beta1", kind="Guestbook"), tmp_path)
    carry_out(new_api(tmp_path, group="web", version="v1", kind="Page"), tmp_path)
    contexts = "".join(f"- {{name: {name}, context: {{}}}}\n" for name in ("staging", "production", "stable"))
    (tmp_path / "config-a").write_text(f"apiVersion: v1\nkind: Config\ncontexts:\n{contexts}")
    return tmp_path


def environment(folder: Path) -> dict[str, str]:
    """Returns an environment with `kubewright` on the path, as after an installation."""
    program = folder / "bin" / "kubewright"
    program.parent.mkdir(exist_ok=True)
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m kubewright "$@"\n')
    program.chmod(0o755)
    path = f"{program.parent}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "HOME": str(folder), "KUBECONFIG": str(folder / "config-a")}


def ask(shell: str, script: str, folder: Path) -> list[str]:
    flags = {"bash": ["--norc"], "zsh": ["--no-rcs"], "fish": ["--no-config"]}[shell]
    done = subprocess.run(
        [shell, *flags, "-c", script], cwd=folder, env=environment(folder), capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


def bash(folder: Path, *cases: list[str]) -> list[list[str]]:
    """Returns the completions of bash for each case. The last word of a case is being typed."""
    script = ['eval "$(kubewright completion bash)"']
    for words in cases:
        quoted = " ".join(f"'{word}'" for word in ("kubewright", *words))
        script.append(f"COMPREPLY=(); COMP_WORDS=({quoted}); COMP_CWORD={len(words)}")
        script.append('_kubewright_completion kubewright; echo "${COMPREPLY[@]}"')
    return [line.split() for line in ask("bash", "\n".join(script), folder)]


@pytest.mark.promise("Projects", "Real shells complete commands, options and values, and never show an error.")
@has("bash")
def test_bash_completes_commands_options_and_values(project: Path) -> None:
    offered = {
        "un": ["undeploy", "uninstall"],
        "controlplane st": ["start"],
        "manifests --ch": ["--check"],
        "manifests --package ": ["kustomize", "helm"],
        "run --log-format ": ["json", "pretty"],
        "install --context sta": ["stable", "staging"],
        "run --context p": ["production"],
        "create webhook --kind ": ["Guestbook", "Page"],
        "create webhook --kind Page --version ": ["v1"],
        "create api --group w": ["web.my.domain"],
        "create api --owns deploy": ["Deployment"],
        "why G": ["Guestbook/"],
        "completion ": ["bash", "zsh", "fish"],
    }
    assert dict(zip(offered, bash(project, *(words.split(" ") for words in offered)), strict=True)) == offered


@pytest.mark.promise("Projects", "Real shells complete commands, options and values, and never show an error.")
@has("bash")
@pytest.mark.parametrize("content", ["{", "contexts: 7", "[]", "\x00"])
def test_invalid_files_offer_nothing_and_print_nothing(content: str, project: Path) -> None:
    for name in ("config-a", "kubewright.toml"):
        (project / name).write_text(content)
    assert bash(project, ["install", "--context", ""], ["create", "webhook", "--kind", ""]) == [[], []]


@pytest.mark.promise("Projects", "Real shells complete commands, options and values, and never show an error.")
@has("fish")
def test_fish_completes_commands_and_values(project: Path) -> None:
    script = "kubewright completion fish | source; complete --do-complete 'kubewright {}'"
    offered = ask("fish", script.format("un"), project)
    assert [line.split("\t")[0] for line in offered] == ["undeploy", "uninstall"]
    assert offered[0].split("\t")[1] == COMMANDS["undeploy"].summary
    assert ask("fish", script.format("install --context sta"), project) == ["stable", "staging"]


@has("zsh")
def test_zsh_loads_the_script(project: Path) -> None:
    output = ask(
        "zsh",
        'autoload -U compinit; compinit -u; eval "$(kubewright completion zsh)"; whence -w _kubewright_completion',
        project,
    )
    assert output == ["_kubewright_completion: function"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_prints_a_script_for_each_shell(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert f"_KUBEWRIGHT_COMPLETE={shell}_complete" in script
    assert "_kubewright_completion" in script


def test_requires_a_shell(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["completion"]) == 2
    message = (
        "Error: Missing argument '{bash|zsh|fish}'. Choose from: bash, zsh, fish (see `kubewright completion --help`)"
    )
    assert capsys.readouterr().err == f"{message}\n"


def test_rejects_an_unknown_shell(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["completion", "csh"]) == 2
    assert "'csh' is not one of 'bash', 'zsh', 'fish'" in capsys.readouterr().err


def test_completes_commands_without_importing_them() -> None:
    program = (
        "import sys\nfrom kubewright.cli import run\nrun()\n"
        "heavy = ('kubewright.api.', 'kubewright.operator', 'aiohttp', 'yaml')\n"
        "print([name for name in sys.modules if name.startswith(heavy)], file=sys.stderr)"
    )
    asking = {"_KUBEWRIGHT_COMPLETE": "bash_complete", "COMP_WORDS": "kubewright ", "COMP_CWORD": "1"}
    done = subprocess.run(
        [sys.executable, "-c", program], env={**os.environ, **asking}, capture_output=True, text=True, check=True
    )
    assert (done.stdout.split(), done.stderr) == ([f"plain,{name}" for name in sorted(COMMANDS)], "[]\n")
