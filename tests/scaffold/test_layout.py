"""A new project passes its own linter, whatever the names of its kinds."""

from __future__ import annotations

import random
import string
import subprocess
import sys
from pathlib import Path

import pytest

from kubewright.scaffold import carry_out, new_api, new_project, new_webhook
from kubewright.scaffold._layout import WIDTH, laid_out  # private: a property test of the formatter alone

LONGEST_KIND = 60


def kind_of_length(length: int, chance: random.Random) -> str:
    """Returns a random name, which is not a reserved word."""
    letters = string.ascii_letters + string.digits
    return "X" + "".join(chance.choice(letters) for _ in range(length - 1))


def add_kind(folder: Path, kind: str, turn: int) -> None:
    """Creates a kind and its webhooks with one of the combinations of options."""
    owns = ["Deployment", "core/Service"] if turn % 2 else []
    carry_out(new_api(folder, group="webapp", version="v1", kind=kind, namespaced=turn % 4 != 0, owns=owns), folder)
    if turn % 3 == 0:
        options = {"defaulting": True, "validation": True}
    else:
        carry_out(new_api(folder, group="webapp", version="v2beta1", kind=kind, namespaced=turn % 4 != 0), folder)
        options = {"defaulting": turn % 3 == 1, "validation": True, "conversion": True}
    if turn % 5 == 0:  # without the example field, the webhooks differ
        module = folder / "guestbook" / f"{kind.lower()}.py"
        module.write_text(module.read_text().replace("foo: str", "title: str").replace("spec.foo", "spec.title"))
    carry_out(new_webhook(folder, group="webapp", version="v1", kind=kind, **options), folder)


def ruff(folder: Path, *arguments: str) -> None:
    command = [sys.executable, "-m", "ruff", *arguments, "--no-cache", "."]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("seed", [1, 2])
def test_linter_and_formatter_accept_kind_names_of_every_length(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    carry_out(new_project("guestbook", "my.domain"), tmp_path)
    for length in range(1, LONGEST_KIND + 1):
        add_kind(tmp_path, kind_of_length(length, chance), turn=length + seed)
    ruff(tmp_path, "check", "--output-format", "concise")
    ruff(tmp_path, "format", "--diff")


def test_linter_and_formatter_accept_names_that_the_templates_use_too(tmp_path: Path) -> None:
    carry_out(new_project("guestbook", "my.domain"), tmp_path)
    kinds = ["BackupSchedule", "Path", "Stored", "Kw", "Meta", "Sample", "Named", "Namespace", "Foo2", "Foo10", "Foo"]
    for turn, kind in enumerate(kinds):
        add_kind(tmp_path, kind, turn)
    ruff(tmp_path, "check", "--output-format", "concise")
    ruff(tmp_path, "format", "--diff")


def test_does_not_change_a_line_that_fits() -> None:
    code = f"call({'a' * (WIDTH - 6)})\n"
    assert laid_out(code) == code


def test_does_not_break_lines_inside_strings() -> None:
    long = "x" * 80
    assert laid_out(f'found = call("a, (b", {long}, f"[{{c}}, d", {long})\n') == (
        f'found = call(\n    "a, (b",\n    {long},\n    f"[{{c}}, d",\n    {long},\n)\n'
    )
