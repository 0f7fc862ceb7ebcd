"""The Python in the documentation and in the README does what the text says it does.

`>>>` examples are run as doctests. The page of the client is run on the real server. Everything else is at least read
by Python's parser. A block is left out of a run by a comment before it that says why.
"""

from __future__ import annotations

import doctest
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from kubewright.api import apps, from_dict, is_condition_true, meta
from kubewright.api.apiextensions.v1 import CustomResourceDefinition
from kubewright.client import AlreadyExists, Client, load_config
from kubewright.testing import ControlPlane
from tests.docs.markdown import ROOT, Block, blocks, name
from tests.type_checks import mypy

PAGES = sorted(
    page
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    if not page.is_relative_to(ROOT / "docs" / "api") and not page.is_relative_to(ROOT / "docs" / "_build")
)


def pages_with_doctests() -> list[Path]:
    return [page for page in PAGES if any(block.is_doctest for block in blocks(page, "python"))]


def test_there_are_pages_with_examples() -> None:
    assert {"README.md", "docs/client.md", "docs/objects.md"} <= {
        name(page) for page in PAGES if blocks(page, "python")
    }
    assert ROOT / "docs" / "objects.md" in pages_with_doctests()


@pytest.mark.promise("The control plane for tests", "Pages of the documentation do what they say.")
@pytest.mark.parametrize("page", pages_with_doctests(), ids=name)
def test_the_examples_of_a_page_work(page: Path) -> None:
    test = doctest.DocTestParser().get_doctest(page.read_text(encoding="utf-8"), {}, page.name, str(page), 0)
    failed, attempted = doctest.DocTestRunner(WithoutSuggestions()).run(test)
    assert attempted > 0
    assert failed == 0


class WithoutSuggestions(doctest.OutputChecker):
    """Ignores the name that Python 3.13 suggests for a misspelled attribute."""

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        return super().check_output(want, re.sub(r"\. Did you mean: '\w+'\?", "", got), optionflags)


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_all_python_of_a_page_is_python(page: Path) -> None:
    for block in blocks(page, "python"):
        if not block.is_doctest:
            block.compiled()


def test_every_link_has_a_text() -> None:
    """Sphinx fills in an empty text, a plain Markdown viewer shows nothing."""
    texts = subprocess.run(["git", "grep", "-nF", "[](", "--", "*.md"], cwd=ROOT, capture_output=True, text=True).stdout
    assert texts == ""


@pytest.mark.promise("The control plane for tests", "Pages of the documentation do what they say.")
async def test_the_page_of_the_client_works_on_a_real_server(control_plane: ControlPlane, namespace: str) -> None:
    ran = 0
    config = load_config(kubeconfig=control_plane.kubeconfig)
    async with Client(config, namespace=namespace) as client:
        names: dict[str, Any] = {"client": client, "__name__": "client_page"}
        for block in blocks(ROOT / "docs" / "client.md", "python"):
            if not block.note:
                waiting = eval(block.compiled(), names)
                if waiting is not None:
                    await waiting
                ran += 1
    assert ran > 10


def test_the_plain_script_of_the_client_page_works(control_plane: ControlPlane) -> None:
    [script] = [block for block in blocks(ROOT / "docs" / "client.md", "python") if block.note == "run as a script"]
    done = subprocess.run(
        [sys.executable, "-c", script.code],
        env={"KUBECONFIG": str(control_plane.kubeconfig)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "kube-system" in done.stdout.split()


def readme_operator() -> Block:
    [block] = [block for block in blocks(ROOT / "README.md", "python") if "kw.Operator(" in block.code]
    return block


def check_types(source: str, folder: Path) -> subprocess.CompletedProcess[str]:
    file = folder / "readme_operator.py"
    file.write_text(source)
    return mypy(file)


@pytest.mark.timeout(300)  # without its cache, mypy reads all of Kubewright first
def test_the_operator_of_the_readme_has_strict_types_and_a_typo_is_found(tmp_path: Path) -> None:
    source = readme_operator().code
    right = check_types(source, tmp_path)
    assert right.returncode == 0, right.stdout + right.stderr
    misspelled = source.replace("FooStatus(available_replicas=", "FooStatus(available_replica=")
    assert misspelled != source
    wrong = check_types(misspelled, tmp_path)
    assert wrong.returncode == 1
    assert '"available_replica"' in wrong.stdout


@pytest.mark.promise("Running an operator", "The operator in one file reconciles on a real cluster.")
async def test_the_operator_of_the_readme_runs_a_deployment_and_keeps_its_size(client: Client, namespace: str) -> None:
    module: dict[str, Any] = {"__name__": "readme_operator"}
    exec(readme_operator().compiled(), module)
    await install_foos(client)
    foo_class, operator = module["Foo"], module["operator"]
    operator.namespaces = (namespace,)
    async with operator.running(client):
        foo = foo_class(
            metadata=meta.ObjectMeta(name="one", namespace=namespace),
            spec=module["FooSpec"](deployment_name="web", replicas=2),
        )
        foo = await client.create(foo)
        disturbed = False
        async for event in client.watch(apps.Deployment, namespace):
            made = event.object
            if made.spec.replicas == 7:
                continue
            assert made.spec.replicas == 2
            assert [owner.uid for owner in made.metadata.owner_references] == [foo.metadata.uid]
            if disturbed:
                break
            disturbed = True
            made.spec.replicas = 7
            await client.update(made)
        async for event in client.watch(foo_class, namespace):
            origin = event.object.metadata.origin
            if origin is not None and b'"availableReplicas":0' in origin.raw:
                break


async def install_foos(client: Client) -> None:
    definition = yaml.safe_load((ROOT / "examples/foo/config/crd/bases/example.com_foos.yaml").read_text())
    wanted = from_dict(CustomResourceDefinition, definition)
    try:
        await client.create(wanted)
    except AlreadyExists:
        return
    async for event in client.watch(CustomResourceDefinition, fields={"metadata.name": wanted.metadata.name}):
        if is_condition_true(event.object.status, "Established"):
            return


def test_the_readme_names_both_commands() -> None:
    text = (ROOT / "README.md").read_text()
    assert "make demo" in text
    assert "make test" in text


def test_features_name_only_tests_that_exist() -> None:
    named = set(re.findall(r"`(tests/[\w/.]*)`", (ROOT / "docs" / "features.md").read_text()))
    assert len(named) > 5
    found = {path for path in named if (ROOT / path).is_file() or any((ROOT / path).rglob("test_*.py"))}
    assert named - found == set()


def test_each_page_is_in_exactly_one_part_of_the_site() -> None:
    index = (ROOT / "docs" / "index.md").read_text()
    parts = dict(re.findall(r"```\{toctree\}\n:caption: (.*)\n:maxdepth: 1\n\n((?:.+\n)*)```", index))
    assert list(parts) == ["Tutorials", "How-to guides", "Reference", "Explanation"]
    listed = [re.sub(r".*<(.*)>", r"\1", line) for part in parts.values() for line in part.splitlines()]
    docs = ROOT / "docs"
    pages = {page.relative_to(docs).with_suffix("").as_posix() for page in PAGES if page.is_relative_to(docs)}
    expected = {page for page in pages if page.partition("/")[0] != "design"} - {"index"} | {
        "design/index",
        "api/index",
    }
    assert sorted(listed) == sorted(expected)


@pytest.mark.parametrize("page", sorted(ROOT.glob("*.md")), ids=name)
def test_links_of_pages_outside_the_site_lead_somewhere(page: Path) -> None:
    # Sphinx checks the links of its own pages; these it does not see.
    links = re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text())
    assert {link for link in links if not (ROOT / link).exists()} == set()


@pytest.mark.parametrize("page", sorted(ROOT.glob("*.md")), ids=name)
def test_links_of_pages_outside_the_site_lead_to_a_heading(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]*)#([^)]+)\)", page.read_text())
    assert {(path, anchor) for path, anchor in links if anchor not in anchors(ROOT / path if path else page)} == set()


def anchors(page: Path) -> set[str]:
    """Returns the anchors of the headings of a page, as repositories render it."""
    headings = re.findall(r"^#+ +(.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
