"""Each tutorial does what it says, from scratch, in an empty folder."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from postgres_server import marks as needs_postgres

from kubewright.testing import setup_binaries
from tests.docs.environments import other_environment
from tests.docs.markdown import ROOT, blocks, name
from tests.docs.tutorials import Tutorial, TutorialError, steps
from tests.manifests.helm import helm_binary

TUTORIALS = sorted([*(ROOT / "docs" / "tutorials").glob("*.md"), *(ROOT / "docs" / "migration").glob("*.md")])


ON_A_REAL_CLUSTER = {
    "cluster start --workloads --run-pods --rbac": "controlplane start --with-controllers --run-pods",
    "cluster start --write-kubeconfig": "controlplane start --with-controllers --write-kubeconfig",
    "The embedded cluster is ready": "The control plane is ready",
    "\n  kubectl get namespaces\n": "\n  /binaries/kubectl get namespaces\n",
    "Ctrl-C stops the cluster; it deletes all its data.": "Press Ctrl-C to stop it and delete all its data.",
    "The cluster has stopped.": "The control plane has stopped.",
}
"""The commands and outputs that differ if a page starts a real control plane instead of an embedded cluster."""


def uses_kubectl(page: Path) -> bool:
    """Reports whether a page runs kubectl, which plain tests do not have."""
    return shows(page, "$ kubectl ")


def shows(page: Path, command: str) -> bool:
    return any(command in step.block.code for step in steps(page))


@pytest.mark.promise("The control plane for tests", "Tutorials print what they show, from an empty folder.")
@pytest.mark.timeout(900)
@pytest.mark.parametrize("page", [each for each in TUTORIALS if not uses_kubectl(each)], ids=name)
async def test_tutorial_prints_what_it_shows(page: Path, tmp_path: Path) -> None:
    async with Tutorial(page, tmp_path) as tutorial:
        assert await tutorial.run() > 3


@pytest.mark.promise("The control plane for tests", "The start in the README works in an empty folder.")
async def test_the_start_of_the_readme_prints_what_it_shows(tmp_path: Path) -> None:
    readme = ROOT / "README.md"
    [program] = [block for block in blocks(readme, "python") if "kw.Operator(" in block.code]
    [start] = [block for block in blocks(readme, "console") if "kubewright dev foo.py" in block.code]
    page = page_of(tmp_path, file("foo.py", program.code, "python"), console(start.code.rstrip(), start.note))
    async with Tutorial(page, tmp_path) as tutorial:
        assert await tutorial.run() == 2


AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="mount namespaces and the user postgres need root")


def runs_postgres(page: Path) -> bool:
    """Reports whether a page runs PostgreSQL in pods.

    Patroni writes the addresses of its pods to Endpoints. Process nodes have loopback addresses, which a real
    kube-apiserver rejects there.
    """
    return shows(page, "psql ")


WITH_KUBECTL = [
    pytest.param(
        page,
        cluster,
        marks=[*needs_postgres, AS_ROOT] if runs_postgres(page) else [],
        id=f"{name(page)}-{cluster}",
    )
    for page in TUTORIALS
    if uses_kubectl(page)
    for cluster in ("embedded", "real")
    if cluster == "embedded" or not runs_postgres(page)
]


@pytest.mark.promise("The control plane for tests", "Tutorials that deploy print the same on a real kube-apiserver.")
@pytest.mark.control_plane
@pytest.mark.timeout(900)
@pytest.mark.parametrize(("page", "cluster"), WITH_KUBECTL)
async def test_tutorial_with_kubectl_prints_what_it_shows(page: Path, cluster: str, tmp_path: Path) -> None:
    binaries = setup_binaries()
    programs = {"kubectl": binaries / "kubectl"}
    if shows(page, "$ helm "):
        programs["helm"] = helm_binary()
    variables = {"KUBEBUILDER_ASSETS": str(binaries)}  # the folder of the cache: HOME is another one
    folders = {"old": other_environment()} if shows(page, "$ old/bin/") else {}
    if shows(page, " kubewright/examples/"):
        folders["kubewright"] = ROOT
    replaced = ON_A_REAL_CLUSTER if cluster == "real" else {}
    async with Tutorial(
        page,
        tmp_path,
        programs=programs,
        folders=folders,
        variables=variables,
        replaced=replaced,
    ) as tutorial:
        assert await tutorial.run() > 3


@pytest.mark.parametrize("page", TUTORIALS, ids=name)
def test_tutorial_runs_each_block_or_says_why_not(page: Path) -> None:
    run = {step.block.line for step in steps(page)}
    skipped = [block for block in blocks(page) if block.line not in run and not block.note.startswith("not run: ")]
    assert [block.place for block in skipped if block.language in {"python", "console", "yaml", "toml"}] == []


def page_of(folder: Path, *parts: str) -> Path:
    page = folder / "page.md"
    page.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    return page


def console(text: str, note: str = "") -> str:
    return (f"<!-- {note} -->\n" if note else "") + f"```console\n{text}\n```"


def file(name: str, text: str, language: str = "text") -> str:
    return f"```{{code-block}} {language}\n:caption: {name}\n\n{text}\n```"


async def run(folder: Path, *parts: str) -> int:
    async with Tutorial(page_of(folder, *parts), folder) as tutorial:
        return await tutorial.run()


async def test_writes_files_and_keeps_folder_and_variables(tmp_path: Path) -> None:
    moved = console("$ mkdir site && cd site\n$ export SIZE=2")
    shown = console("$ cat pages/one.txt; echo $SIZE; pwd | sed 's,.*/,,'\nfirst\n2\nsite")
    assert await run(tmp_path, moved, file("pages/one.txt", "first"), shown) == 3


async def test_edits_a_file_by_a_diff(tmp_path: Path) -> None:
    edit = file("a.txt", " one\n-two\n+2\n three", "diff")
    assert await run(tmp_path, file("a.txt", "one\ntwo\nthree"), edit, console("$ cat a.txt\none\n2\nthree")) == 3


async def test_rejects_a_diff_that_does_not_fit(tmp_path: Path) -> None:
    with pytest.raises(TutorialError, match=r"page.md:\d+: the lines to change occur 0 times in a.txt"):
        await run(tmp_path, file("a.txt", "one"), file("a.txt", "-two\n+2", "diff"))


@pytest.mark.parametrize("name", ["/etc/motd", "../a", "a b"])
async def test_rejects_files_outside_of_the_folder(tmp_path: Path, name: str) -> None:
    with pytest.raises(TutorialError, match="is not the name of a file below the folder"):
        await run(tmp_path, file(name, "one"))


async def test_reports_other_output_with_page_and_line(tmp_path: Path) -> None:
    with pytest.raises(TutorialError, match=r"page\.md:2: `echo one` printed something else") as caught:
        await run(tmp_path, console("$ echo one\ntwo"))
    assert "--- the page\ntwo\n--- the run\none\n" in str(caught.value)


async def test_reports_output_that_the_page_does_not_show(tmp_path: Path) -> None:
    with pytest.raises(TutorialError, match="printed something else"):
        await run(tmp_path, console("$ echo one; echo two\none"))


async def test_skips_elided_lines_only(tmp_path: Path) -> None:
    assert await run(tmp_path, console("$ seq 9\n1\n…\n8\n9")) == 1
    (tmp_path / "again").mkdir()
    with pytest.raises(TutorialError, match="printed something else"):
        await run(tmp_path / "again", console("$ seq 9\n1\n…\n8"))


async def test_compares_exit_codes(tmp_path: Path) -> None:
    assert await run(tmp_path, console("$ (exit 4)", "exit: 4")) == 1
    (tmp_path / "again").mkdir()
    with pytest.raises(TutorialError, match=r"`\(exit 4\)` exited with 4, not 0"):
        await run(tmp_path / "again", console("$ (exit 4)"))


@pytest.mark.parametrize(
    ("mask", "shown", "printed"),
    [
        ("time", "10:31:20 ready", "09:00:01 ready"),
        ("duration", "done in 1ms, 2.5s", "done in 120µs, 3s"),
        ("duration", "4 passed in 9.30s", "4 passed in 69.49s (0:01:09)"),
        ("duration", "retried in 2s", "retried in 1m9s"),
        ("uid", "uid 0f6b9a0e-0000-4000-8000-000000000001", "uid 9c1b9a0e-1111-4000-8000-0000000000ff"),
        ("hash", "pod web-5d4f8c7b9-x2z4k", "pod web-6b5cf9dd4-bbbbb"),
        ("port", "https://127.0.0.1:45699", "https://127.0.0.1:1234"),
        ("path", "KUBECONFIG=/tmp/one/admin", "KUBECONFIG=/var/tmp/two/admin"),
    ],
)
async def test_masks_only_declared_parts(tmp_path: Path, mask: str, shown: str, printed: str) -> None:
    assert await run(tmp_path, console(f"$ echo '{printed}'\n{shown}", f"masks: {mask}")) == 1
    (tmp_path / "again").mkdir()
    with pytest.raises(TutorialError, match="printed something else"):
        await run(tmp_path / "again", console(f"$ echo '{printed}'\n{shown}"))


@pytest.mark.parametrize(
    ("note", "message"), [("masks: tiem", "unknown masks: tiem; known are time"), ("exits: 4", "unknown notes: exits")]
)
def test_rejects_unknown_notes(tmp_path: Path, note: str, message: str) -> None:
    with pytest.raises(TutorialError, match=message):
        steps(page_of(tmp_path, console("$ true", note)))


async def test_leaves_out_blocks_with_a_reason(tmp_path: Path) -> None:
    assert await run(tmp_path, console("$ false", "not run: it needs a network"), console("$ true")) == 1


async def test_follows_a_command_that_keeps_running(tmp_path: Path) -> None:
    server = (
        r"trap 'echo bye; exit 0' INT; echo ready; while [ ! -e go ]; do :; done; echo went; while :; do sleep 1; done"
    )
    assert (
        await run(
            tmp_path,
            file("server.sh", server),
            console("$ bash server.sh\nready", "terminal: server; keeps running"),
            console("$ touch go"),
            console("went", "terminal: server"),
            console("^C\nbye", "terminal: server"),
        )
        == 5
    )


async def test_retries_until_the_output_matches(tmp_path: Path) -> None:
    assert await run(tmp_path, console("$ echo x >> n; wc -l < n\n3", "retried")) == 1
