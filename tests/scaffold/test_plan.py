"""A plan is carried out as a whole or not at all, and twice is as good as once."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubewright.scaffold import Plan, ScaffoldError, carry_out, new_api, new_project
from kubewright.scaffold._init_module import with_import  # private: a table of modules, without a project for each


def tree(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.promise(
    "Projects",
    "A file of the user's is never overwritten without `--force`; a failed command leaves the tree as it was; twice"
    " is harmless.",
)
def test_to_do_the_same_twice_is_harmless(tmp_path: Path) -> None:
    plan = new_project("guestbook", "my.domain")
    assert set(carry_out(plan, tmp_path).written) == set(plan.files)
    before = tree(tmp_path)
    assert carry_out(plan, tmp_path).unchanged == tuple(plan.files)
    carry_out(new_api(tmp_path, group="web", version="v1", kind="Guestbook"), tmp_path)
    again = carry_out(new_api(tmp_path, group="web", version="v1", kind="Guestbook"), tmp_path)
    assert (again.written, again.changed) == ((), ())
    assert {path for path in tree(tmp_path) if path not in before} == {
        "guestbook/guestbook.py",
        "tests/test_guestbook.py",
        "config/samples/web_v1_guestbook.yaml",
    }
    carry_out(new_api(tmp_path, group="web", version="v2", kind="Guestbook"), tmp_path)
    for version in ("v1", "v2"):
        again = carry_out(new_api(tmp_path, group="web", version=version, kind="Guestbook"), tmp_path)
        assert (again.written, again.changed) == ((), ())


@pytest.mark.promise(
    "Projects",
    "A file of the user's is never overwritten without `--force`; a failed command leaves the tree as it was; twice"
    " is harmless.",
)
def test_a_file_of_the_users_own_is_never_overwritten_without_force(tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_text("mine")
    plan = new_project("guestbook", "my.domain")
    with pytest.raises(ScaffoldError, match="nothing was written: Makefile would be overwritten"):
        carry_out(plan, tmp_path)
    assert tree(tmp_path) == {"Makefile": "mine"}
    assert carry_out(plan, tmp_path, force=True).changed == ("Makefile",)


@pytest.mark.promise(
    "Projects",
    "A file of the user's is never overwritten without `--force`; a failed command leaves the tree as it was; twice"
    " is harmless.",
)
def test_invalid_input_written_leaves_the_tree_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("old")
    (tmp_path / "blocked").write_text("a file, where a folder is needed")
    plan = Plan(files={"new/b.txt": "b"}, changes={"a.txt": "new"})
    broken = Plan(files={**plan.files, "long/" + "x" * 300: "the name is too long"}, changes=plan.changes)
    before = tree(tmp_path)
    with pytest.raises(OSError, match="too long"):
        carry_out(broken, tmp_path)
    with pytest.raises(ScaffoldError, match="blocked is not a folder"):
        carry_out(Plan(files={"blocked/c.txt": "c"}), tmp_path)
    assert tree(tmp_path) == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.txt", "blocked"]
    assert carry_out(plan, tmp_path).written == ("new/b.txt",)


def test_the_package_keeps_what_the_user_wrote_in_it() -> None:
    text = '"""Mine."""\n\nfrom x.operator import operator\n\n__all__ = ["operator"]\n\nEXTRA = 1\n'
    made = with_import(text, "x.page", "Page")
    assert made == (
        '"""Mine."""\n\nfrom x.operator import operator\nfrom x.page import Page\n\n'
        '__all__ = ["Page", "operator"]\n\nEXTRA = 1\n'
    )
    assert with_import(made, "x.page", "Page") == made
    webhooks = with_import(text, "x", "a_webhook")
    assert "from x import a_webhook\nfrom x.operator" in webhooks
    assert "from x import a_webhook, b_webhook\nfrom x.operator" in with_import(webhooks, "x", "b_webhook")
    assert with_import(webhooks, "x", "a_webhook") == webhooks
    for name in "cdefghijkl":
        webhooks = with_import(webhooks, "x", f"{name}_webhook")
    assert "from x import (\n    a_webhook,\n" in webhooks
    assert '__all__ = [\n    "a_webhook",\n' in webhooks
    assert all(len(line) <= 120 for line in webhooks.splitlines())


@pytest.mark.parametrize("text", ["x = 1\n", "def broken(:\n", "from a import b\n"])
def test_a_package_that_is_no_longer_ours_is_reported_about(text: str) -> None:
    with pytest.raises(ScaffoldError, match=r"__init__\.py"):
        with_import(text, "x.page", "Page")
