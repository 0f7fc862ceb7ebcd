"""The codemod of `kubewright upgrade` rewrites renamed names of Kubewright, and nothing else."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from kubewright.scaffold import CURRENT
from kubewright.scaffold.codemod import RENAMES, Renames, python_files, renames_since, rewrite

TABLE = Renames(
    names={
        "kubewright.Old": "kubewright.New",
        "kubewright.client.Old": "kubewright.client.New",
        "kubewright.old": "kubewright.fresh",
        "kubewright.deep.old": "kubewright.flat",
        "kubewright.client.Moved": "kubewright.cache.Arrived",
        "kubewright.Result.LATER": "kubewright.Result.DELAYED",
    },
    keywords={"kubewright.New": {"every": "period"}},
    attributes={"requeue_object": "enqueue"},
    method_keywords={"enqueue": {"wait": "after"}},
)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("import kubewright as kw\nkw.Old(1)\n", "import kubewright as kw\nkw.New(1)\n"),
        ("import kubewright\nx: kubewright.Old\n", "import kubewright\nx: kubewright.New\n"),
        ("from kubewright import Old\nOld(Old)\n", "from kubewright import New\nNew(New)\n"),
        ("from kubewright import Old as O\nO()\n", "from kubewright import New as O\nO()\n"),
        (
            "from kubewright import (\n    Client,  # mine\n    Old,\n)\nOld()\n",
            "from kubewright import (\n    Client,  # mine\n    New,\n)\nNew()\n",
        ),
        ("import kubewright.old\nkubewright.old.f()\n", "import kubewright.fresh\nkubewright.fresh.f()\n"),
        ("import kubewright.old as o\no.f()\n", "import kubewright.fresh as o\no.f()\n"),
        ("from kubewright.old import f\nf()\n", "from kubewright.fresh import f\nf()\n"),
        ("from kubewright import old\nold.f()\n", "from kubewright import fresh\nfresh.f()\n"),
        ("import kubewright.deep.old\nkubewright.deep.old.f()\n", "import kubewright.flat\nkubewright.flat.f()\n"),
        (
            "from kubewright.client import Client, Moved\nMoved(Client)\n",
            "from kubewright.cache import Arrived\nfrom kubewright.client import Client\nArrived(Client)\n",
        ),
        (
            "from kubewright import client\nclient.Moved()\n",
            "from kubewright import client\nfrom kubewright.cache import Arrived\nArrived()\n",
        ),
        ("import kubewright as kw\nkw.Old(every=1)\n", "import kubewright as kw\nkw.New(period=1)\n"),
        ("from kubewright import Old\nOld(every=1, more=2)\n", "from kubewright import New\nNew(period=1, more=2)\n"),
        ("import kubewright as kw\nkw.Result.LATER\n", "import kubewright as kw\nkw.Result.DELAYED\n"),
        (
            "import kubewright as kw\nctx.requeue_object(1, wait=2)\n",
            "import kubewright as kw\nctx.enqueue(1, after=2)\n",
        ),
        ("if x:\n    from kubewright import Old\n    Old()\n", "if x:\n    from kubewright import New\n    New()\n"),
        ("import kubewright as kw\né = kw.Old, 'é', kw.Old\n", "import kubewright as kw\né = kw.New, 'é', kw.New\n"),
        (
            "import kubewright as kw\n\nclass A(kw.Old):\n    def f(self, x: kw.Old = kw.Old()) -> kw.Old: ...\n",
            "import kubewright as kw\n\nclass A(kw.New):\n    def f(self, x: kw.New = kw.New()) -> kw.New: ...\n",
        ),
        # The new name is taken: the old one stays in use.
        (
            "from kubewright import Old\nNew = Old()\n",
            "from kubewright import New as Old\nNew = Old()\n",
        ),
    ],
)
def test_rewrites_renamed_names(before: str, after: str) -> None:
    assert rewrite(before, TABLE) == after
    assert rewrite(after, TABLE) == after


@pytest.mark.parametrize(
    "source",
    [
        "from mine import Old\nOld()\n",
        "import mine as kw\nkw.Old()  # of kubewright\n",
        "from .kubewright import Old\nOld(every=1)\n",
        "import kubewright as kw\n\ndef f(kw):\n    return kw.Old\n",
        "from kubewright import Client\n\ndef Old(every): ...\nOld(every=1)\n",
        "import kubewright as kw\n'kw.Old'  # kw.Old\n",
        "import kubewright as kw\n[kw.Old for kw in range(3)]\n",
        "ctx.requeue_object(1, wait=2)  # kubewright is not imported here\n",
        "import kubewright as kw\nother(every=1, wait=2)\n",
    ],
)
def test_leaves_names_of_the_user_alone(source: str) -> None:
    assert rewrite(source, TABLE) == source


def test_reports_source_that_is_not_python() -> None:
    with pytest.raises(SyntaxError):
        rewrite("import kubewright as\n", TABLE)


def test_finds_the_python_files_of_a_project(tmp_path: Path) -> None:
    for name in (
        "b.py",
        "a/c.py",
        ".venv/x.py",
        "env/pyvenv.cfg",
        "env/x.py",
        "build/x.py",
        "a/__pycache__/x.py",
        "t.md",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    (tmp_path / "link.py").symlink_to(tmp_path / "b.py")
    assert list(python_files(tmp_path)) == ["b.py", "a/c.py"]


def test_tables_apply_to_older_projects_only() -> None:
    assert list(renames_since(0)) == [RENAMES[version] for version in sorted(RENAMES)]
    assert list(renames_since(CURRENT)) == []
    assert max(RENAMES) <= CURRENT


def found(path: str) -> object:
    """Returns what a full path names, imported as users import it."""
    parts = path.split(".")
    value: object = import_module(parts[0])
    for number, part in enumerate(parts[1:], start=2):
        if isinstance(value, ModuleType) and not hasattr(value, part):
            import_module(".".join(parts[:number]))
        value = getattr(value, part)
    return value


@pytest.mark.parametrize("version", sorted(RENAMES))
def test_the_last_names_of_each_table_exist(version: int) -> None:
    later = {old for newer, table in RENAMES.items() if newer > version for old in table.names}
    for new in RENAMES[version].names.values():
        if new not in later:
            assert found(new) is not None
    for function in RENAMES[version].keywords:
        assert callable(found(function))


@pytest.mark.parametrize("version", sorted(RENAMES))
def test_a_table_can_be_applied_twice(version: int) -> None:
    """An upgrade with conflicts is run again, on files that have the new names already."""
    table = RENAMES[version]
    assert not table.names.keys() & set(table.names.values())
    assert not table.attributes.keys() & set(table.attributes.values())
    for keywords in (*table.keywords.values(), *table.method_keywords.values()):
        assert not keywords.keys() & set(keywords.values())
