"""`kubewright dev` as users run it: a real process, and a real file that is saved repeatedly."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kubewright.api import Untyped, apiextensions, core
from kubewright.api.meta import ObjectMeta
from kubewright.client import MergePatch
from kubewright.cluster import Cluster
from kubewright.testing import RealCluster
from tests.development.dev_process import PROGRAM, SAMPLE, Dev, developing, wait_until
from tests.patience import PATIENCE

pytestmark = pytest.mark.timeout(900)

BLOCKING = PROGRAM.replace("async def sync", "def sync").replace("kw.Context", "kw.BlockingContext")
BLOCKING = BLOCKING.partition("    seen.append")[0]
BLOCKING += "    import threading\n\n    print('blocking')\n    threading.Event().wait()\n"
Note = Untyped.kind_of("dev.example.com/v1", "Note", plural="notes")


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "notes.py"
    path.write_text(PROGRAM)
    (tmp_path / "example-note.yaml").write_text(SAMPLE)
    return path


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Dev, Path]]:
    """A run with the program, which tests break and repair."""
    path = tmp_path_factory.mktemp("shared") / "notes.py"
    path.write_text(PROGRAM)
    path.with_name("example-note.yaml").write_text(SAMPLE)
    with developing(path.parent, path.name, "--no-console") as dev:
        dev.wait_for("ready")
        yield dev, path


def status_text(dev: Dev, name: str = "sample") -> str:
    """Returns the text that the operator wrote to a note's status."""
    with dev.client() as client:
        return str(client.get(Note, name, "default").content.get("status", {}).get("said"))


def is_gone(process: int) -> bool:
    try:
        return (Path("/proc") / str(process) / "stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def answers(address: str) -> bool:
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host, int(port)), timeout=PATIENCE):
            return True
    except ConnectionError:
        return False


@pytest.mark.promise(
    "Development",
    "One command runs the operator of a file on a cluster that is removed afterwards.",
)
def test_one_command_runs_the_operator_of_a_file(program: Path) -> None:
    kubeconfig = program.parent / "it's a kubeconfig"
    options = ("--no-console", "--write-kubeconfig", str(kubeconfig), "--nodes", "2")
    with developing(program.parent, program.name, *options) as dev:
        ready = dev.wait_for("cluster", embedded=True)
        assert ready["kubeconfig"] == str(kubeconfig)
        assert stat.S_IMODE(kubeconfig.stat().st_mode) == 0o600
        assert dev.wait_for("installed")["definitions"] == ["notes.dev.example.com"]
        pages = dev.wait_for("ready", operator="notes")["address"]
        assert answers(pages)
        dev.wait_for("applied", kind="Note", namespace="default", name="sample")
        dev.wait_for("object", name="sample", state="Said=first hello")
        assert dev.wait_for("reconciled", kind="Note", name="sample", result="success")["error"] == ""
        assert status_text(dev) == "first hello"
        with dev.client() as client:  # simulated nodes for workloads
            assert len([*client.list(core.Node)]) == 2
        assert dev.end(signal.SIGTERM) == 0
    assert dev.messages[-1]["type"] == "stopped"
    assert not kubeconfig.exists()
    assert not answers(pages)


def test_runs_pods_of_mapped_images(program: Path) -> None:
    (program.parent / "images.toml").write_text(
        '[images.hello]\ncommand = ["/bin/sh", "-c", "cat \\"$KUBEWRIGHT_POD_ROOT\\"/shared/greeting"]\n'
    )
    (program.parent / "greeting").write_text("hello from a pod")
    volume = core.Volume(name="shared", host_path=core.HostPathVolumeSource(path="/"))
    main = core.Container(
        name="c", image="hello", volume_mounts=[core.VolumeMount(name="shared", mount_path="/shared")]
    )
    pod = core.Pod(
        metadata=ObjectMeta(name="hello", namespace="default"),
        spec=core.PodSpec(containers=[main], volumes=[volume], restart_policy="Never"),
    )
    options = ["--run-pods", "--images", "images.toml", "--host-root", str(program.parent)]
    with developing(program.parent, program.name, "--no-console", *options) as dev:
        dev.wait_for("ready", operator="notes")
        with dev.client() as client:
            client.create(pod)
            wait_until(lambda: client.get(core.Pod, "hello", "default").status.phase == "Succeeded", "the pod's end")
            assert [*client.logs("hello", "default")] == ["hello from a pod"]


@pytest.mark.promise(
    "Development",
    "A save applies new code and new fields; objects survive it, the memory of the process does not.",
)
def test_a_save_applies_new_code_and_keeps_objects(program: Path) -> None:
    with developing(program.parent, program.name, "--no-console") as dev:
        dev.wait_for("object", name="sample", state="Said=first hello")
        with dev.client() as client:
            uid = client.get(Note, "sample", "default").metadata.uid
            client.patch(Note, "sample", MergePatch({"spec": {"text": "edited"}}), "default")
        dev.wait_for("object", name="sample", state="Said=first edited")
        # Adds a field to the definition and the status. `seen` would show the memory of the last process.
        changed = PROGRAM.replace('text: str = ""', 'text: str = ""\n    mood: str = "merry"')
        changed = changed.replace("first {note.spec.text}", "{note.spec.mood} {note.spec.text} {len(seen)}")
        dev.saves(program, changed)
        assert dev.wait_for("starting")["changed"] == ["notes.py"]
        changes = dev.wait_for("installed")["changes"]
        assert changes == {"notes.dev.example.com": ["+ spec.mood: string, default merry"]}
        dev.wait_for("object", name="sample", state="Said=merry edited 1")
        with dev.client() as client:
            note = client.get(Note, "sample", "default")
            definition = client.get(apiextensions.CustomResourceDefinition, "notes.dev.example.com")
        assert note.metadata.uid == uid
        assert definition.spec.versions[0].schema is not None
        assert "mood" in str(definition.spec.versions[0].schema)


@pytest.mark.promise(
    "Development",
    "A mistake stops the operator, is shown with file and line, and the next save fixes it.",
)
def test_shows_file_and_line_of_a_syntax_error_and_restarts_after_the_next_save(shared: tuple[Dev, Path]) -> None:
    dev, program = shared
    dev.saves(program, PROGRAM.replace("first", "zeroth"))
    old = dev.wait_for("ready")["address"]
    dev.saves(program, PROGRAM + "\n\nasync def broken(:\n")
    failed = dev.wait_for("failed", what="import")
    assert (failed["file"], failed["line"]) == (str(program), PROGRAM.count("\n") + 3)
    assert "SyntaxError" in failed["text"]
    assert "async def broken(:" in failed["text"]
    assert not answers(old)  # the old process has stopped
    dev.saves(program, PROGRAM.replace("first", "second"))
    dev.wait_for("object", name="sample", state="Said=second hello")


@pytest.mark.promise(
    "Development",
    "A mistake stops the operator, is shown with file and line, and the next save fixes it.",
)
def test_restarts_when_a_missing_module_is_created(program: Path) -> None:
    program.write_text("import helper_of_notes\n" + PROGRAM.replace("first", "{helper_of_notes.WORD}"))
    environ = {"PYTHONDONTWRITEBYTECODE": ""}
    with developing(program.parent, program.name, "--no-console", environ=environ) as dev:
        failed = dev.wait_for("failed", what="import")
        assert "No module named 'helper_of_notes'" in failed["text"]
        assert (failed["file"], failed["line"]) == (str(program), 1)
        assert "kubewright/" not in failed["text"]  # only lines of the program
        helper = program.with_name("helper_of_notes.py")
        dev.saves(helper, "WORD = 'helped'\n")
        dev.wait_for("object", name="sample", state="Said=helped hello")
        dev.saves(helper, "WORD = 'helped again'\n")  # imported modules are watched too
        dev.wait_for("object", name="sample", state="Said=helped again hello")
        # A save in the same second, with the same size: Python would run the compiled form of the last save.
        dev.saves(helper, "WORD = 'helped twice'\n", changed_at=helper.stat().st_mtime)
        dev.wait_for("object", name="sample", state="Said=helped twice hello")


@pytest.mark.promise(
    "Development", "A definition that the cluster rejects is reported once, and the next save can revert it."
)
def test_reports_a_rejected_definition_once_and_accepts_its_revert(shared: tuple[Dev, Path]) -> None:
    dev, program = shared
    dev.saves(program, PROGRAM.replace('"dev.example.com/v1"', '"dev.example.com/v1", scope="Cluster"'))
    failed = dev.wait_for("failed", what="definitions")
    assert "the scope cannot change from Namespaced to Cluster" in failed["text"]
    dev.saves(program, PROGRAM.replace("first", "third"))
    dev.wait_for("object", name="sample", state="Said=third hello")
    reports = [message for message in dev.messages if "the scope cannot change" in str(message)]
    assert len(reports) == 1  # the log does not repeat it


def test_reports_an_invalid_definition_and_restarts_after_the_next_save(program: Path) -> None:
    program.write_text(PROGRAM.replace('"dev.example.com/v1"', '"dev.example.com/v1", storage=False'))
    with developing(program.parent, program.name, "--no-console") as dev:
        failed = dev.wait_for("failed", what="definitions")
        assert failed["text"].startswith("ValueError: Note (dev.example.com/v1) is not stored: add")
        assert "Traceback" not in failed["text"]
        dev.saves(program, PROGRAM)
        dev.wait_for("object", name="sample", state="Said=first hello")
    assert "Traceback" not in f"{dev.errors}{dev.messages}"


@pytest.mark.promise(
    "Development",
    "A mistake stops the operator, is shown with file and line, and the next save fixes it.",
)
def test_reports_an_operator_that_exits_and_restarts_it_after_the_next_save(shared: tuple[Dev, Path]) -> None:
    dev, program = shared
    dev.saves(program, PROGRAM + "\n    os._exit(7)\n")
    dev.wait_for("ended", code=7)
    dev.saves(program, PROGRAM)
    dev.wait_for("reconciled", name="sample", result="success")


def test_reports_a_failed_reconcile_with_its_error(shared: tuple[Dev, Path]) -> None:
    dev, program = shared
    dev.saves(program, PROGRAM + "    raise RuntimeError('no luck')\n")
    failing = dev.wait_for("reconciled", name="sample", result="error")
    assert failing["error"] == "RuntimeError: no luck"
    logged = dev.wait_for("log", level="error")
    assert "raise RuntimeError('no luck')" in logged["traceback"]


@pytest.mark.promise("Development", "Samples are applied again only when they change.")
def test_applies_samples_again_only_when_they_change(program: Path) -> None:
    sample = program.with_name("example-note.yaml")
    with developing(program.parent, program.name, "--no-console") as dev:
        dev.wait_for("object", name="sample", state="Said=first hello")
        dev.saves(sample, SAMPLE.replace("hello", "good bye") + "---\nkind: Nothing\n")
        dev.wait_for("applied", name="sample")
        assert "every object needs an apiVersion and a kind" in dev.wait_for("failed", what="sample")["text"]
        dev.wait_for("object", name="sample", state="Said=first good bye")
        dev.saves(sample, SAMPLE.replace("spec:", "spec:\n  color: red"))
        refused = dev.wait_for("failed", what="sample")
        assert refused["file"] == "example-note.yaml"
        assert "color" in refused["text"]
        dev.saves(sample, SAMPLE)
        dev.wait_for("applied", name="sample")
        with dev.client() as client:
            client.patch(Note, "sample", MergePatch({"spec": {"text": "edited"}}), "default")
        dev.saves(program, PROGRAM.replace("first", "second"))
        dev.wait_for("object", name="sample", state="Said=second edited")


@pytest.mark.promise("Development", "Samples are applied again only when they change.")
def test_applies_given_samples_and_creates_their_namespace(program: Path, tmp_path: Path) -> None:
    folder = tmp_path / "others"
    folder.mkdir()
    (folder / "b.yaml").write_text(SAMPLE.replace("name: sample", "name: other\n  namespace: shop"))
    (folder / "kustomization.yaml").write_text("resources: [b.yaml]\n")
    with developing(program.parent, program.name, "--no-console", "--samples", str(folder)) as dev:
        dev.wait_for("object", namespace="shop", name="other", state="Said=first hello")
        (folder / "c.yaml").write_text(SAMPLE.replace("name: sample", "name: late"))
        dev.wait_for("object", namespace="default", name="late", state="Said=first hello")
    assert not [message for message in dev.messages if message["type"] in ("failed", "ended")]


@pytest.mark.promise(
    "Development",
    "Ctrl-C stops everything, a second Ctrl-C without waiting, and no process outlives `dev`.",
)
def test_a_second_ctrl_c_does_not_wait(program: Path) -> None:
    blocking = (
        PROGRAM.replace("async def sync", "def sync")
        .replace("kw.Context", "kw.BlockingContext")
        .split("    seen.append")[0]
    )
    program.write_text(blocking + "    print('blocking')\n    import threading\n\n    threading.Event().wait()\n")
    with developing(program.parent, program.name, "--no-console") as dev:
        dev.wait_for("output", text="blocking")
        dev.process.send_signal(signal.SIGINT)
        assert (
            dev.end(signal.SIGTERM) == 130
        )  # another signal, because two equal pending signals may be delivered as one


@pytest.mark.promise(
    "Development",
    "Ctrl-C stops everything, a second Ctrl-C without waiting, and no process outlives `dev`.",
)
def test_ctrl_c_stops_a_blocked_reconcile(program: Path) -> None:
    blocking = (
        PROGRAM.replace("async def sync", "def sync")
        .replace("kw.Context", "kw.BlockingContext")
        .split("    seen.append")[0]
    )
    program.write_text(blocking + "    print('blocking')\n    import threading\n\n    threading.Event().wait()\n")
    with developing(program.parent, program.name, "--no-console") as dev:
        process = int(dev.wait_for("output")["text"].split()[1])
        dev.wait_for("output", text="blocking")
        assert dev.end() == 0
        assert is_gone(process)


@pytest.mark.promise(
    "Development",
    "Ctrl-C stops everything, a second Ctrl-C without waiting, and no process outlives `dev`.",
)
def test_no_process_outlives_a_killed_dev(program: Path) -> None:
    environ = {"TMPDIR": str(program.parent)}  # a killed process does not clean up
    with developing(program.parent, program.name, "--no-console", environ=environ) as dev:
        process = int(dev.wait_for("output")["text"].split()[1])
        dev.wait_for("ready")
        assert dev.end(signal.SIGKILL) == -signal.SIGKILL
        wait_until(lambda: is_gone(process), "the end of the operator")


@pytest.mark.promise("Development", "With `dev --rbac` the operator has only its own roles.")
def test_with_rbac_the_operator_has_only_its_own_roles(program: Path) -> None:
    asks = "from kubewright.api import core\n" + PROGRAM
    asks += '    await ctx.client.get(core.ConfigMap, "kube-root-ca.crt", "default")\n'
    with developing(program.parent, program.name, "--no-console", "--rbac") as dev:
        dev.wait_for("object", name="sample", state="Said=first hello")
        dev.saves(program, asks)
        error = dev.wait_for("reconciled", name="sample", result="error")["error"]
        assert "configmaps" in error
        needs = '@operator.needs(core.ConfigMap, verbs=["get"])\n@operator.reconciles(Note)'
        dev.saves(program, asks.replace("@operator.reconciles(Note)", needs).replace("first", "allowed"))
        dev.wait_for("ready")
        dev.wait_for("reconciled", name="sample", result="success")
        assert status_text(dev) == "allowed hello"


@pytest.mark.promise("Development", "Webhooks of a program in development are called, also after a save.")
def test_calls_webhooks_also_after_a_save(program: Path) -> None:
    hook = '\n\n@operator.defaults(Note)\ndef fill_in(note: Note) -> None:\n    note.spec.text += " filled in"\n'
    program.write_text(PROGRAM + hook)
    with developing(program.parent, program.name, "--no-console", "--rbac") as dev:
        dev.wait_for("object", name="sample", state="Said=first hello filled in")
        dev.saves(program, PROGRAM + hook.replace("filled in", "again"))
        dev.wait_for("ready")
        with dev.client() as client:
            made = client.create(_note("second"))
        assert made.content["spec"]["text"] == "hello again"


def _note(name: str) -> Any:
    note = Note()
    note.metadata.name, note.metadata.namespace = name, "default"
    note.content = {"spec": {"text": "hello"}}
    return note


@pytest.mark.promise(
    "Development", "Only a cluster that is given as an option is used; environment variables are ignored."
)
@pytest.mark.clusters
async def test_uses_only_the_given_cluster(program: Path, cluster: Cluster | RealCluster, cluster_kind: str) -> None:
    await cluster.serve()
    kubeconfig = str(cluster.kubeconfig())

    def work() -> None:
        with developing(program.parent, program.name, "--no-console", "--kubeconfig", kubeconfig) as dev:
            ready = dev.wait_for("cluster", embedded=False)
            assert (ready["server"], ready["kubeconfig"]) == (cluster.url, kubeconfig)
            dev.wait_for("object", name="sample", state="Said=first hello")

    await asyncio.to_thread(work)
    async with cluster.client() as client:
        kept = await client.get(Note, "sample", "default")  # `dev` does not remove objects from such a cluster
        await client.delete(apiextensions.CustomResourceDefinition, "notes.dev.example.com")
    assert kept.content["status"] == {"said": "first hello"}


@pytest.mark.promise(
    "Development", "Only a cluster that is given as an option is used; environment variables are ignored."
)
def test_ignores_the_kubeconfig_of_the_environment(program: Path, tmp_path: Path) -> None:
    environ = {"KUBECONFIG": str(tmp_path / "no"), "KUBEWRIGHT_KUBECONFIG": "/no", "KUBEWRIGHT_CONTEXT": "production"}
    with developing(program.parent, program.name, "--no-console", environ=environ) as dev:
        dev.wait_for("object", name="sample", state="Said=first hello")
    assert not os.path.exists(tmp_path / "no")
