"""`kubewright build`: the command lines of each tool, recorded by fake executables."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path

import pytest

from kubewright.cli import run
from kubewright.development import Build, BuildError, commands
from kubewright.scaffold import Record, carry_out, new_project

# Logs its name, its arguments and the files of its folder, and exits with the code of a matching rule.
TOOL = """#!{python}
import json, os, sys
from pathlib import Path

name, arguments = Path(sys.argv[0]).name, sys.argv[1:]
rules = json.loads(os.environ.get("TOOL_RULES", "{{}}"))
with open(os.environ["TOOL_LOG"], "a") as log:
    files = sorted(path.name for path in Path(arguments[-1]).iterdir()) if arguments[0] == "build" else []
    log.write(json.dumps({{"line": [name, *arguments], "files": files}}) + "\\n")
for part, (code, message) in rules.items():
    if part in " ".join([name, *arguments]):
        print(message, file=sys.stderr)
        sys.exit(code)
print(f"{{name}} has done it")
"""


class Machine:
    """A machine with some container tools."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.programs = folder / "programs"
        self.programs.mkdir()
        self._log = folder / "log"
        self._monkeypatch = monkeypatch
        monkeypatch.setenv("PATH", str(self.programs))
        monkeypatch.setenv("TOOL_LOG", str(self._log))

    def has(self, *tools: str) -> None:
        for tool in tools:
            program = self.programs / tool
            program.write_text(TOOL.format(python=sys.executable))
            program.chmod(0o755)

    def answers(self, part: str, code: int, message: str = "") -> None:
        """Makes a tool exit with `code` if its command line contains `part`."""
        rules = json.loads(os.environ.get("TOOL_RULES", "{}"))
        self._monkeypatch.setenv("TOOL_RULES", json.dumps({**rules, part: [code, message]}))

    @property
    def lines(self) -> list[str]:
        """The command lines that were run, except the check for docker's engine."""
        entries = [json.loads(line) for line in self._log.read_text().splitlines()] if self._log.exists() else []
        lines = [" ".join(one["line"]) for one in entries]
        return [line for line in lines if not line.startswith("docker version")]

    @property
    def seen(self) -> list[str]:
        """The files in the folder of the last build."""
        entries = [json.loads(line) for line in self._log.read_text().splitlines()]
        found: list[str] = [one["files"] for one in entries if one["line"][1] == "build"][-1]
        return found


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(tmp_path, monkeypatch)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "guestbook"
    folder.mkdir()
    carry_out(new_project("guestbook", "my.domain"), folder)
    monkeypatch.chdir(folder)
    return folder


ONE = "--tag guestbook:0.1.0 --file Dockerfile ."
TWO = "--platform linux/amd64,linux/arm64"


@pytest.mark.promise("Development", "Each container tool gets its own command lines, for one platform and for several.")
@pytest.mark.parametrize(
    ("tool", "lines"),
    [
        ("docker", [f"docker build {ONE}", "docker push guestbook:0.1.0"]),
        ("podman", [f"podman build {ONE}", "podman push guestbook:0.1.0"]),
        ("buildah", [f"buildah build --layers {ONE}", "buildah push guestbook:0.1.0 docker://guestbook:0.1.0"]),
    ],
)
def test_builds_and_pushes_one_platform(
    machine: Machine, project: Path, tool: str, lines: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    machine.has(tool)
    assert run(["build"]) == 0
    assert machine.lines == lines[:1]
    assert "Dockerfile" in machine.seen
    output = capfd.readouterr().out
    assert f"{tool} has done it" in output  # the output of the tool
    assert "Built guestbook:0.1.0" in output
    assert run(["build", "--push", "--platform", "linux/arm64"]) == 0
    assert machine.lines[1:] == [lines[0].replace(" .", " --platform linux/arm64 ."), lines[1]]


@pytest.mark.promise("Development", "Each container tool gets its own command lines, for one platform and for several.")
def test_builds_several_platforms_with_dockers_buildx(
    machine: Machine, project: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    machine.has("docker")
    machine.answers("buildx inspect", 1)
    assert run(["build", "--platform", "linux/amd64,linux/arm64", "--push", "--build-arg", "A=1 2"]) == 0
    create = "docker buildx create --name kubewright --driver docker-container"
    build = f"docker buildx build --builder kubewright {TWO} --tag guestbook:0.1.0 --file Dockerfile"
    assert machine.lines[1:] == ["docker buildx inspect kubewright", create, f"{build} --build-arg A=1 2 --push ."]
    assert run(["build", "--platform", "linux/amd64,linux/arm64"]) == 2
    assert "only in a registry: add --push" in capfd.readouterr().err
    machine.answers("buildx version", 1)
    assert run(["build", "--platform", "linux/amd64,linux/arm64", "--push"]) == 1
    assert "docker needs buildx for several platforms, which is not installed" in capfd.readouterr().err


@pytest.mark.promise("Development", "Each container tool gets its own command lines, for one platform and for several.")
@pytest.mark.parametrize("tool", ["podman", "buildah"])
def test_builds_several_platforms_as_a_manifest_list(machine: Machine, project: Path, tool: str) -> None:
    machine.has(tool)
    assert run(["build", "--platform", "linux/amd64,linux/arm64", "--push"]) == 0
    asked = [f"{tool} manifest exists guestbook:0.1.0", f"{tool} manifest rm guestbook:0.1.0"]
    build = f"{tool} build {TWO} --manifest guestbook:0.1.0 --file Dockerfile ."
    push = f"{tool} manifest push --all guestbook:0.1.0 docker://guestbook:0.1.0"
    assert machine.lines == [*asked, build, push]
    machine.answers("manifest exists", 1)
    assert run(["build", "--platform", "linux/amd64,linux/arm64"]) == 0
    assert machine.lines[4:] == [asked[0], build]


def test_dry_run_prints_shell_commands_and_runs_nothing(
    machine: Machine, project: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    arguments = [
        "build",
        "--dry-run",
        "--tool",
        "podman",
        "--platform",
        "linux/amd64,linux/arm64",
        "--build-arg",
        "A=1 2",
    ]
    assert run([*arguments, "--image", "team/guestbook:1.0.0"]) == 0
    assert capfd.readouterr().out.splitlines() == [
        "podman manifest exists team/guestbook:1.0.0 && podman manifest rm team/guestbook:1.0.0",
        f"podman build {TWO} --manifest team/guestbook:1.0.0 --file Dockerfile --build-arg 'A=1 2' .",
    ]
    assert machine.lines == []
    assert Record.read(project).image == ""


def test_dry_run_needs_no_engine_and_no_tool(
    machine: Machine, project: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(["build", "--dry-run"]) == 0
    assert capfd.readouterr().out == f"docker build {ONE}\n"
    machine.has("docker")
    machine.answers("docker version", 1, "Cannot connect to the Docker daemon at unix:///var/run/docker.sock.")
    assert run(["build", "--dry-run"]) == 0
    assert capfd.readouterr().out == f"docker build {ONE}\n"
    machine.has("podman")  # a build would use it instead
    assert run(["build", "--dry-run"]) == 0
    assert capfd.readouterr().out == f"podman build {ONE}\n"
    assert machine.lines == []


def test_builds_from_the_dockerfile_if_there_is_a_containerfile_too(machine: Machine, project: Path) -> None:
    machine.has("docker")
    (project / "Containerfile").write_text("FROM scratch\n")
    assert run(["build"]) == 0
    (project / "Dockerfile").unlink()
    assert run(["build"]) == 0
    assert run(["build", "--containerfile", "Containerfile"]) == 0  # the former name of the option
    assert [line.split()[5] for line in machine.lines] == ["Dockerfile", "Containerfile", "Containerfile"]


@pytest.mark.promise(
    "Development", "A container tool that is missing, has no engine or fails is reported with the fix."
)
def test_uses_the_first_tool_that_works(machine: Machine, project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    machine.has("docker", "buildah")
    machine.answers("docker version", 1, "Cannot connect to the Docker daemon at unix:///var/run/docker.sock.")
    assert run(["build"]) == 0
    assert [line.split()[0] for line in machine.lines] == ["buildah"]
    assert run(["build", "--tool", "docker"]) == 1
    error = capfd.readouterr().err.splitlines()[-1]
    assert "docker is installed, but its engine does not answer (Cannot connect to the Docker daemon" in error
    assert "podman or buildah, which need none" in error


@pytest.mark.promise(
    "Development", "A container tool that is missing, has no engine or fails is reported with the fix."
)
def test_reports_a_machine_without_a_tool(machine: Machine, project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["build"]) == 1
    expected = "Error: no tool to build images is installed: install docker, podman or buildah\n"
    assert capfd.readouterr().err == expected
    machine.has("podman")
    assert run(["build", "--tool", "docker"]) == 1
    assert "docker is not installed; installed: podman" in capfd.readouterr().err


@pytest.mark.promise(
    "Development", "A container tool that is missing, has no engine or fails is reported with the fix."
)
def test_shows_the_output_of_a_failed_tool_and_reports_its_code(
    machine: Machine, project: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    machine.has("podman")
    machine.answers("podman build", 125, "the base image cannot be pulled")
    assert run(["build", "--push"]) == 1
    errors = capfd.readouterr().err
    assert "the base image cannot be pulled\n" in errors
    assert errors.endswith("Error: podman build ended with 125; see its output above\n")
    assert len(machine.lines) == 1  # nothing is pushed


@pytest.mark.promise("Development", "The deployment uses the image name that was given to the build.")
def test_the_deployment_uses_the_image_name_of_the_build(
    machine: Machine, project: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    machine.has("podman")
    (project / "guestbook/guestbook.py").write_text(KIND)
    (project / "guestbook/__init__.py").write_text("from guestbook.guestbook import Guestbook, operator\n")
    assert run(["build", "--image", "registry.example.com/guestbook:1.0.0"]) == 0
    assert Record.read(project).image == "registry.example.com/guestbook:1.0.0"
    assert "Saved in kubewright.toml" in capfd.readouterr().out
    assert run(["build"]) == 0
    assert machine.lines[-1] == machine.lines[0]
    assert run(["installer"]) == 0
    written = (project / "dist/install.yaml").read_text()
    assert "image: registry.example.com/guestbook:1.0.0" in written
    assert "imagePullPolicy: IfNotPresent" in written


KIND = '''
import kubewright as kw
from guestbook.operator import operator


class GuestbookSpec(kw.Model):
    foo: str = ""


@kw.resource("webapp.my.domain/v1")
class Guestbook(kw.Resource[GuestbookSpec, None]):
    """A guestbook."""


@operator.reconciles(Guestbook)
async def sync(guestbook: Guestbook, ctx: kw.Context[Guestbook]) -> None: ...
'''


def test_prints_one_json_document(machine: Machine, project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    machine.has("podman")
    assert run(["build", "--output", "json", "--push"]) == 0
    document = json.loads(capfd.readouterr().out)
    assert (document["image"], document["tool"]) == ("guestbook:0.1.0", "podman")
    assert (document["pushed"], document["built"]) == (True, True)
    assert document["commands"][1] == ["podman", "push", "guestbook:0.1.0"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--image", "Not An Image"], "'Not An Image' is not the name of an image"),
        (["--image", f"a@sha256:{'0' * 64}"], "has a digest"),
        (["--platform", "arm64"], "'arm64' is not a platform, such as linux/amd64"),
        (["--platform", "linux/amd64,linux/amd64"], "a platform is named twice"),
        (["--build-arg", "1=2"], "'1=2' is not a build argument"),
        (["--file", "no/such"], "there is no file no/such"),
        (["--tool", "kaniko"], "'kaniko' is not one of 'docker', 'podman', 'buildah'"),
        (["--imgae", "a:1"], "--image"),
    ],
)
def test_rejects_invalid_options_before_a_tool_runs(
    machine: Machine, project: Path, arguments: list[str], message: str, capfd: pytest.CaptureFixture[str]
) -> None:
    machine.has("podman")
    assert run(["build", *arguments]) == 2
    assert message in capfd.readouterr().err
    assert machine.lines == []


def test_names_a_folder_without_a_dockerfile(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    machine.has("podman")
    assert run(["build", "--image", "a:1"]) == 2
    assert f"there is no Dockerfile or Containerfile in {tmp_path}" in capfd.readouterr().err
    (tmp_path / "Dockerfile").write_text("FROM scratch\n")
    assert run(["build", "--image", "a:1"]) == 0
    assert machine.lines == ["podman build --tag a:1 --file Dockerfile ."]


def test_warns_about_the_tag_latest(machine: Machine, project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    machine.has("podman")
    for name in ("team/guestbook", "team/guestbook:latest"):
        assert run(["build", "--image", name]) == 0
        assert "Warning: the image team/guestbook:latest has the tag latest" in capfd.readouterr().err
    assert Record.read(project).image == "team/guestbook:latest"


def test_commands_rejects_what_a_tool_cannot_do(project: Path) -> None:
    several = Build(image="a:1", containerfile=Path("Dockerfile"), platforms=["linux/amd64", "linux/arm64"])
    with pytest.raises(BuildError, match="add --push"):
        commands(several, "docker")


# The Dockerfile


def instructions(text: str) -> list[tuple[str, str]]:
    """Returns the instructions of a Dockerfile, without comments and with joined continuations."""
    lines = re.sub(r"\\\n", " ", "".join(f"{line}\n" for line in text.splitlines() if not line.startswith("#")))
    parts = [line.split(maxsplit=1) for line in lines.splitlines() if line.strip()]
    return [(word.upper(), rest) for word, rest in parts]


@pytest.mark.promise("Development", "The image of a project has two stages and no root.")
def test_the_dockerfile_has_two_stages_and_no_root(project: Path) -> None:
    found = instructions((project / "Dockerfile").read_text())
    assert {word for word, _ in found} <= {"ARG", "FROM", "WORKDIR", "RUN", "COPY", "ENV", "USER", "ENTRYPOINT", "CMD"}
    starts = [number for number, (word, _) in enumerate(found) if word == "FROM"]
    assert len(starts) == 2
    first, last = found[starts[0] : starts[1]], found[starts[1] :]
    assert first[0][1].endswith("AS build")
    assert not [rest for word, rest in last if word == "RUN"]  # only the files of the first stage
    assert [rest for word, rest in last if word == "COPY"] == ["--from=build /opt/operator /opt/operator"]
    [user] = [rest for word, rest in last if word == "USER"]
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", user)  # a number, because the kubelet cannot check whether a name is root
    entry = [json.loads(rest) for word, rest in last if word in ("ENTRYPOINT", "CMD")]
    assert entry == [["kubewright"], ["run", "guestbook"]]
    copied = {name.rstrip("/") for word, rest in first if word == "COPY" for name in rest.split()[:-1]}
    assert all((project / name).exists() for name in copied)
    ignored = (project / ".dockerignore").read_text().splitlines()  # all three tools read it
    assert ignored[0] == "*"
    assert copied <= {line[1:] for line in ignored if line.startswith("!")}
