"""`kubewright dev` as people use it: a real process, a real file, saved again and again."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import stat
from pathlib import Path
from typing import Any

import pytest

from kubewright.api import Untyped, apiextensions, core
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


def said(dev: Dev, name: str = "sample") -> str:
    """What the operator says in a note's status."""
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
    "One command leads from a file to an operator at work, on a cluster that is gone afterwards.",
)
def test_one_command_leads_from_a_file_to_an_operator_at_work(program: Path) -> None:
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
        assert said(dev) == "first hello"
        with dev.client() as client:  # nodes without machines are there, for workloads
            assert len([*client.list(core.Node)]) == 2
        assert dev.end(signal.SIGTERM) == 0
    assert dev.messages[-1]["type"] == "stopped"
    assert not kubeconfig.exists()
    assert not answers(pages)


@pytest.mark.promise(
    "Development",
    "A save brings new behaviour and new fields; objects survive it, and memory does not.",
)
def test_a_save_brings_new_behavior_and_objects_survive_it(program: Path) -> None:
    with developing(program.parent, program.name, "--no-console") as dev:
        dev.wait_for("object", name="sample", state="Said=first hello")
        with dev.client() as client:
            uid = client.get(Note, "sample", "default").metadata.uid
            client.patch(Note, "sample", MergePatch({"spec": {"text": "by hand"}}), "default")
        dev.wait_for("object", name="sample", state="Said=first by hand")
        # A field more, in the definition and in what is said; and memory of the last process would show, too.
        changed = PROGRAM.replace('text: str = ""', 'text: str = ""\n    mood: str = "merry"')
        changed = changed.replace("first {note.spec.text}", "{note.spec.mood} {note.spec.text} {len(seen)}")
        dev.saves(program, changed)
        assert dev.wait_for("starting")["changed"] == ["notes.py"]
        dev.wait_for("object", name="sample", state="Said=merry by hand 1")
        with dev.client() as client:
            note = client.get(Note, "sample", "default")
            definition = client.get(apiextensions.CustomResourceDefinition, "notes.dev.example.com")
        assert note.metadata.uid == uid
        assert definition.spec.versions[0].schema is not None
        assert "mood" in str(definition.spec.versions[0].schema)


@pytest.mark.promise(
    "Development",
    "A mistake stops the operator, is shown with file and line, and the next save mends it.",
)
def test_a_syntax_error_is_shown_with_its_place_and_the_next_save_mends_it(program: Path) -> None:
    with developing(program.parent, program.name, "--no-console") as dev:
        old = dev.wait_for("ready")["address"]
        dev.saves(program, PROGRAM + "\n\nasync def broken(:\n")
        failed = dev.wait_for("failed", what="import")
        assert (failed["file"], failed["line"]) == (str(program), PROGRAM.count("\n") + 3)
        assert "SyntaxError" in failed["text"]
        assert "async def broken(:" in failed["text"]
        assert not answers(old)  # the old one does not go on as if nothing were
        dev.saves(program, PROGRAM.replace("first", "second"))
        dev.wait_for("object", name="sample", state="Said=second hello")


@pytest.mark.promise(
    "Development",
    "A mistake stops the operator, is shown with file and line, and the next save mends it.",
)
def test_a_module_that_is_missing_may_come_later(program: Path) -> None:
    program.write_text("import helper_of_notes\n" + PROGRAM.replace("first", "{helper_of_notes.WORD}"))
    with developing(program.parent, program.name, "--no-console") as dev:
        failed = dev.wait_for("failed", what="import")
        assert "No module named 'helper_of_notes'" in failed["text"]
        assert (failed["file"], failed["line"]) == (str(program), 1)
        assert "kubewright/" not in failed["text"]  # only lines of the program
        helper = program.with_name("helper_of_notes.py")
        dev.saves(helper, "WORD = 'helped'\n")
        dev.wait_for("object", name="sample", state="Said=helped hello")
        dev.saves(helper, "WORD = 'helped again'\n")  # a module of the program, as the program itself
        dev.wait_for("object", name="sample", state="Said=helped again hello")


@pytest.mark.promise("Development", "A definition that the cluster refuses is told once, and can be taken back.")
def test_a_definition_that_the_cluster_refuses_is_reported_and_can_be_taken_back(program: Path) -> None:
    with developing(program.parent, program.name, "--no-console") as dev:
        dev.wait_for("ready")
        dev.saves(program, PROGRAM.replace('"dev.example.com/v1"', '"dev.example.com/v1", scope="Cluster"'))
        failed = dev.wait_for("failed", what="definitions")
        assert "the scope cannot change from Namespaced to Cluster" in failed["text"]
        dev.saves(program, PROGRAM.replace("first", "third"))
        dev.wait_for("object", name="sample", state="Said=third hello")
    told = [message for message in dev.messages if "the scope cannot change" in str(message)]
    assert len(told) == 1  # and not once more by the log


def test_a_definition_that_cannot_be_made_is_reported_and_the_next_save_mends_it(program: Path) -> None:
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
    "A mistake stops the operator, is shown with file and line, and the next save mends it.",
)
def test_an_operator_that_ends_by_itself_is_reported_and_started_by_the_next_save(program: Path) -> None:
    program.write_text(PROGRAM + "\n    os._exit(7)\n")
    with developing(program.parent, program.name, "--no-console") as dev:
        dev.wait_for("ended", code=7)
        dev.saves(program, PROGRAM)
        dev.wait_for("reconciled", name="sample", result="success")


def test_a_reconcile_that_fails_is_reported_with_its_error(program: Path) -> None:
    program.write_text(PROGRAM + "    raise RuntimeError('no luck')\n")
    with developing(program.parent, program.name, "--no-console") as dev:
        failing = dev.wait_for("reconciled", name="sample", result="error")
        assert failing["error"] == "RuntimeError: no luck"
        logged = dev.wait_for("log", level="error")
        assert "raise RuntimeError('no luck')" in logged["traceback"]


@pytest.mark.promise("Development", "Samples are applied when they change, and undo nothing before.")
def test_samples_are_applied_again_when_they_change_and_not_before(program: Path) -> None:
    sample = program.with_name("example-note.yaml")
    with developing(program.parent, program.name, "--no-console") as dev:
        dev.wait_for("object", name="sample", state="Said=first hello")
        dev.saves(sample, SAMPLE.replace("hello", "good bye") + "---\nkind: Nothing\n")
        dev.wait_for("applied", name="sample")
        assert "has an apiVersion and a kind" in dev.wait_for("failed", what="sample")["text"]
        dev.wait_for("object", name="sample", state="Said=first good bye")
        dev.saves(sample, SAMPLE.replace("spec:", "spec:\n  colour: red"))
        refused = dev.wait_for("failed", what="sample")
        assert refused["file"] == "example-note.yaml"
        assert "colour" in refused["text"]
        dev.saves(sample, SAMPLE)
        dev.wait_for("applied", name="sample")
        with dev.client() as client:
            client.patch(Note, "sample", MergePatch({"spec": {"text": "by hand"}}), "default")
        dev.saves(program, PROGRAM.replace("first", "second"))
        dev.wait_for("object", name="sample", state="Said=second by hand")


@pytest.mark.promise("Development", "Samples are applied when they change, and undo nothing before.")
def test_samples_may_be_named_and_get_their_namespace(program: Path, tmp_path: Path) -> None:
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
    "Ctrl-C ends everything whatever the program does, the second time without waiting, and nothing outlives `dev`.",
)
def test_the_second_ctrl_c_does_not_wait(program: Path) -> None:
    blocking = (
        PROGRAM.replace("async def sync", "def sync")
        .replace("kw.Context", "kw.BlockingContext")
        .split("    seen.append")[0]
    )
    program.write_text(blocking + "    print('blocking')\n    import threading\n\n    threading.Event().wait()\n")
    with developing(program.parent, program.name, "--no-console") as dev:
        dev.wait_for("output", text="blocking")
        dev.process.send_signal(signal.SIGINT)
        assert dev.end(signal.SIGTERM) == 130  # another signal: two of one kind may become one on their way


@pytest.mark.promise(
    "Development",
    "Ctrl-C ends everything whatever the program does, the second time without waiting, and nothing outlives `dev`.",
)
def test_ctrl_c_ends_a_reconcile_that_never_ends_by_itself(program: Path) -> None:
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
    "Ctrl-C ends everything whatever the program does, the second time without waiting, and nothing outlives `dev`.",
)
def test_nothing_outlives_a_dev_that_was_killed(program: Path) -> None:
    environ = {"TMPDIR": str(program.parent)}  # which nobody tidies up after it
    with developing(program.parent, program.name, "--no-console", environ=environ) as dev:
        process = int(dev.wait_for("output")["text"].split()[1])
        dev.wait_for("ready")
        assert dev.end(signal.SIGKILL) == -signal.SIGKILL
        wait_until(lambda: is_gone(process), "the end of the operator")


@pytest.mark.promise("Development", "With `dev --rbac` the operator has its own roles and nothing else.")
def test_with_rbac_the_operator_may_do_what_its_roles_grant_and_no_more(program: Path) -> None:
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
        assert said(dev) == "allowed hello"


@pytest.mark.promise("Development", "Webhooks of a program in development are asked, also after a save.")
def test_webhooks_are_asked_also_after_a_save(program: Path) -> None:
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


@pytest.mark.promise("Development", "A cluster that is named is used and no other; variables do not name one.")
@pytest.mark.clusters
async def test_a_given_cluster_is_used_and_no_other(
    program: Path, cluster: Cluster | RealCluster, cluster_kind: str
) -> None:
    await cluster.serve()
    kubeconfig = str(cluster.kubeconfig())

    def work() -> None:
        with developing(program.parent, program.name, "--no-console", "--kubeconfig", kubeconfig) as dev:
            ready = dev.wait_for("cluster", embedded=False)
            assert (ready["server"], ready["kubeconfig"]) == (cluster.url, kubeconfig)
            dev.wait_for("object", name="sample", state="Said=first hello")

    await asyncio.to_thread(work)
    async with cluster.client() as client:
        kept = await client.get(Note, "sample", "default")  # it is not ours to remove
        await client.delete(apiextensions.CustomResourceDefinition, "notes.dev.example.com")
    assert kept.content["status"] == {"said": "first hello"}


@pytest.mark.promise("Development", "A cluster that is named is used and no other; variables do not name one.")
def test_a_kubeconfig_of_the_environment_is_not_touched(program: Path, tmp_path: Path) -> None:
    environ = {"KUBECONFIG": str(tmp_path / "no"), "KUBEWRIGHT_KUBECONFIG": "/no", "KUBEWRIGHT_CONTEXT": "production"}
    with developing(program.parent, program.name, "--no-console", environ=environ) as dev:
        dev.wait_for("object", name="sample", state="Said=first hello")
    assert not os.path.exists(tmp_path / "no")
