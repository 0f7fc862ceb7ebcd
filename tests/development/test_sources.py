"""Which files have changed, and which ones belong to a program."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

import pytest

from kubewright.clock import VirtualClock
from kubewright.development import Sources, check_targets, folders_of, paths_of, program_files
from kubewright.operator.loading import LoadError


@pytest.fixture
def sources() -> Sources:
    return Sources()


def test_a_change_is_reported_once(tmp_path: Path, sources: Sources) -> None:
    file, other = tmp_path / "a.py", tmp_path / "b.py"
    file.write_text("1")
    other.write_text("1")
    sources.watch([file, other], since=time.time_ns())
    assert sources.changed() == []
    file.write_text("12")
    assert sources.changed() == [file]
    assert sources.changed() == []


def test_a_file_in_the_place_of_another_is_a_change_also_when_it_looks_alike(tmp_path: Path, sources: Sources) -> None:
    file, fresh = tmp_path / "a.py", tmp_path / "fresh"
    file.write_text("1")
    sources.watch([file], since=time.time_ns())
    fresh.write_text("2")
    status = file.stat()
    os.utime(fresh, ns=(status.st_atime_ns, status.st_mtime_ns))
    fresh.replace(file)
    assert sources.changed() == [file]


def test_files_that_come_and_go_are_changes(tmp_path: Path, sources: Sources) -> None:
    file = tmp_path / "a.yaml"
    sources.watch([tmp_path / "later.py"], {tmp_path: (".yaml",)}, since=time.time_ns())
    (tmp_path / "a.txt").write_text("another suffix")
    file.write_text("1")
    assert sources.changed() == [file]
    (tmp_path / "later.py").write_text("1")
    file.unlink()
    assert sources.changed() == [file, tmp_path / "later.py"]


def test_a_folder_that_is_gone_is_not_an_error(tmp_path: Path, sources: Sources) -> None:
    sources.watch([], {tmp_path / "gone": (".py",)}, since=0)
    assert sources.changed() == []


@pytest.mark.promise(
    "Development",
    "Files that are saved together are one change, also those that are saved while they are read.",
)
def test_what_was_saved_while_the_program_was_read_counts_as_changed(tmp_path: Path, sources: Sources) -> None:
    known, new, old = tmp_path / "known.py", tmp_path / "new.py", tmp_path / "old.py"
    for file in (known, new, old):
        file.write_text("1")
        os.utime(file, ns=(1_000, 1_000))
    sources.watch([known], since=2_000)
    os.utime(known, ns=(3_000, 3_000))
    os.utime(new, ns=(3_000, 3_000))
    sources.watch([known, new, old], since=2_000)
    assert sources.changed() == [known, new]


@pytest.mark.promise(
    "Development",
    "Files that are saved together are one change, also those that are saved while they are read.",
)
async def test_many_files_that_are_saved_together_are_one_change(tmp_path: Path) -> None:
    clock = VirtualClock()
    sources = Sources(clock)
    first, second = tmp_path / "a.py", tmp_path / "b.py"
    sources.watch([first, second], since=time.time_ns())
    waiting = asyncio.ensure_future(sources.wait_for_change())
    await clock.advance(10)
    assert not waiting.done()
    first.write_text("1")
    await clock.advance(0.25)
    second.write_text("1")
    assert not waiting.done()  # it waits until nothing changes any more
    await clock.advance(0.1)
    assert await waiting == [first, second]


def test_a_program_consists_of_its_own_modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "part_of_a_program.py").write_text("import json\n")
    monkeypatch.syspath_prepend(tmp_path)
    import part_of_a_program  # type: ignore[import-not-found]  # it was just written

    assert str(tmp_path / "part_of_a_program.py") in program_files()
    assert not [file for file in program_files() if "site-packages" in file or "/json/" in file]
    assert not [file for file in program_files() if "/kubewright/" in file and "/src/" in file]
    assert part_of_a_program.json is not None


def test_a_module_that_cannot_be_imported_belongs_to_it_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "outer_module.py").write_text("import inner_module\n")
    (tmp_path / "inner_module.py").write_text("def broken(:\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(SyntaxError) as caught:
        import outer_module  # type: ignore[import-not-found]  # noqa: F401
    found = program_files(caught.value)
    assert {str(tmp_path / "outer_module.py"), str(tmp_path / "inner_module.py")} <= set(found)


def test_targets_are_found_before_anything_is_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "shop" / "parts"
    package.mkdir(parents=True)
    (tmp_path / "foo.py").write_text("raise RuntimeError\n")
    monkeypatch.chdir(tmp_path)
    assert paths_of(["foo.py:operator", "shop.parts", "shop"]) == [tmp_path / "foo.py", package, tmp_path / "shop"]
    assert folders_of([tmp_path / "foo.py", tmp_path / "shop"]) == [tmp_path, tmp_path / "shop", package]
    check_targets(["foo.py", "shop.parts", "json", "foo.py:operator"])
    (tmp_path / "foo.yaml").write_text("")
    for target, said in (
        ("fooo.py", "there is no file fooo.py"),
        ("foo.yaml", "foo.yaml is not a Python file; pass the file of the operator"),
        ("shopp", "there is no file or module 'shopp'"),
        ("shopp.parts", "there is no file or module 'shopp.parts'"),
        ("no-name", "there is no file or module 'no-name'"),
    ):
        with pytest.raises(LoadError, match=said):
            check_targets([target])
