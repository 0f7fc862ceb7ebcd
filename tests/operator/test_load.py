from __future__ import annotations

import sys
from pathlib import Path

import pytest

from kubewright.operator.loading import LoadError, load_operator

ONE = 'import kubewright as kw\noperator = kw.Operator("one")\n'


@pytest.fixture(autouse=True)
def _leave_no_modules(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    monkeypatch.chdir(tmp_path)


def test_loads_file_that_imports_its_neighbors(tmp_path: Path) -> None:
    (tmp_path / "neighbor.py").write_text('NAME = "from-the-neighbor"\n')
    (tmp_path / "foo.py").write_text("import kubewright as kw\nfrom neighbor import NAME\nmine = kw.Operator(NAME)\n")
    assert load_operator(str(tmp_path / "foo.py")).name == "from-the-neighbor"


def test_file_of_a_package_is_loaded_as_its_module(tmp_path: Path) -> None:
    package = tmp_path / "loaded_shop"
    package.mkdir()
    (package / "__init__.py").write_text("from loaded_shop.operator import operator\n")
    (package / "operator.py").write_text("import kubewright as kw\noperator = kw.Operator('shop')\n")
    (package / "loaded_shop.py").write_text("from loaded_shop.operator import operator\n")
    for file in ("operator.py", "loaded_shop.py", "__init__.py"):
        assert load_operator(str(package / file)) is sys.modules["loaded_shop.operator"].operator
    assert sys.modules["operator"].__name__ == "operator", "Python's own is still there"
    assert not hasattr(sys.modules["operator"], "operator")


def test_the_operator_of_a_module_is_found(tmp_path: Path) -> None:
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "main.py").write_text(ONE)
    assert load_operator("shop.main").name == "one"


def test_accepts_one_operator_with_two_names(tmp_path: Path) -> None:
    (tmp_path / "foo.py").write_text(ONE + "alias = operator\n")
    assert load_operator("foo.py").name == "one"


def test_several_operators_require_a_name(tmp_path: Path) -> None:
    (tmp_path / "foo.py").write_text(ONE + 'second = kw.Operator("two")\n')
    with pytest.raises(LoadError, match=r"has several operators; choose one: foo\.py:operator or foo\.py:second"):
        load_operator("foo.py")
    assert load_operator("foo.py:second").name == "two"
    with pytest.raises(LoadError, match=r"foo\.py has no Operator named 'third'; its operators are: operator, second"):
        load_operator("foo.py:third")


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("missing.py", r"there is no file missing\.py"),
        ("missing.module", "there is no file or module 'missing.module'$"),
        ("emty.py", r"there is no file emty\.py; did you mean empty\.py\?"),
        ("nosuch.py", r"there is no file nosuch\.py$"),  # conch.py has little in common with it but the suffix
        ("emty", r"there is no file or module 'emty'; did you mean empty\?"),
        ("empty.yaml", r"empty\.yaml is not a Python file; pass the file of the operator"),
        ("empty.py", r"empty\.py has no Operator: create one with"),
        (".", r"'\.' is neither a Python file nor the name of a module"),
        ("my-operator", "'my-operator' is neither a Python file nor the name of a module"),
    ],
)
def test_missing_target_is_named(tmp_path: Path, target: str, message: str) -> None:
    (tmp_path / "empty.py").write_text("")
    (tmp_path / "empty.yaml").write_text("")
    (tmp_path / "conch.py").write_text("")
    with pytest.raises(LoadError, match=message):
        load_operator(target)


def test_exceptions_of_the_module_propagate(tmp_path: Path) -> None:
    (tmp_path / "broken_program.py").write_text("import no_such_library\n")
    with pytest.raises(ModuleNotFoundError, match="no_such_library"):
        load_operator("broken_program")


PROGRAM = """
import kubewright as kw
from helpers import seen
operator = kw.Operator("again")
seen.append(operator)
"""


@pytest.mark.promise("Running an operator", "A program that is loaded again has new module state, as in a new process.")
def test_loads_a_program_again_with_new_module_state(tmp_path: Path) -> None:
    (tmp_path / "again.py").write_text(PROGRAM)
    (tmp_path / "helpers.py").write_text("seen = []\n")
    first = load_operator(tmp_path / "again.py")
    helpers = sys.modules["helpers"]
    second = load_operator(f"{tmp_path / 'again.py'}:operator")
    assert first is not second
    assert sys.modules["helpers"] is not helpers
    assert helpers.seen == [first]
    assert sys.modules["helpers"].seen == [second]
    assert sys.path.count(str(tmp_path)) == 1


def test_loads_a_package_again_with_new_module_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "againpackage"
    (package / "parts").mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "parts" / "__init__.py").write_text("seen = []\n")
    (package / "main.py").write_text(PROGRAM.replace("helpers", "againpackage.parts"))
    monkeypatch.chdir(tmp_path)
    operators = [load_operator(target) for target in (package / "main.py", "againpackage.main")]
    assert operators[0] is not operators[1]
    assert sys.modules["againpackage.parts"].seen == [operators[1]]


def test_shares_installed_packages_between_loads(tmp_path: Path) -> None:
    installed = tmp_path / ".venv" / "site-packages"
    installed.mkdir(parents=True)
    (installed / "installed_once.py").write_text("")
    lines = f"import sys; sys.path.append({str(installed)!r}); import installed_once\n"
    (tmp_path / "again.py").write_text(lines + PROGRAM)
    (tmp_path / "helpers.py").write_text("seen = []\n")
    load_operator(tmp_path / "again.py")
    shared = sys.modules["installed_once"]
    load_operator(tmp_path / "again.py")
    assert sys.modules["installed_once"] is shared
