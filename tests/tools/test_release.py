"""A release: reproducible files, notes from the changelog, checksums, one version."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

import kubewright
from tools.release.build import NotReleasable, build, built_twice, checksums, release_notes
from tools.release.smoke import CHECKS

ROOT = Path(__file__).parents[2]
CHANGELOG = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def tracked(folder: Path) -> Path:
    """A copy of the files of this tree, as a clone has them: with other times and modes."""
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in names.rstrip("\0").split("\0"):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, folder / name)
    return folder


@pytest.mark.promise(
    "Packaging", "Two builds of a release, in different folders and at different times, are identical."
)
def test_builds_identical_files_in_another_folder_at_another_time(tmp_path: Path) -> None:
    trees = [tracked(tmp_path / "here"), tracked(tmp_path / "elsewhere" / "deeper")]
    for file in trees[1].rglob("*"):
        os.utime(file, (1e9, 1e9))
        file.chmod(0o700 if file.is_dir() else 0o600)
    sdist, wheel = sorted(
        built_twice(trees, [tmp_path / "first", tmp_path / "second"]), key=lambda file: file.suffix == ".whl"
    )
    assert sdist.name == f"kubewright-{kubewright.__version__}.tar.gz"
    assert wheel.name == f"kubewright-{kubewright.__version__}-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as archive:
        metadata = archive.read(f"kubewright-{kubewright.__version__}.dist-info/METADATA").decode()
    assert f"\nVersion: {kubewright.__version__}\n" in metadata


def test_rejects_builds_that_differ(tmp_path: Path) -> None:
    trees = [tmp_path / "here", tmp_path / "there"]
    for tree in trees:
        (tree / "src" / "kubewright").mkdir(parents=True)
        (tree / "src" / "kubewright" / "version.py").write_text('VERSION = "1.0"\n')
        for name in ("pyproject.toml", "README.md", "LICENSE"):
            shutil.copyfile(ROOT / name, tree / name)
    (trees[0] / "src" / "kubewright" / "__init__.py").write_text("a = 1\n")
    (trees[1] / "src" / "kubewright" / "__init__.py").write_text("a = 2\n")
    with pytest.raises(NotReleasable, match=r"two builds of kubewright-1\.0-py3-none-any\.whl differ"):
        built_twice(trees, [tmp_path / "first", tmp_path / "second"])


def test_reports_a_build_that_fails(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[project]\n")
    with pytest.raises(NotReleasable, match="hatchling failed"):
        build(tmp_path, tmp_path / "built")


def test_the_version_is_written_in_one_place() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert "version" not in settings["project"]
    assert settings["tool"]["hatch"]["version"]["path"] == "src/kubewright/version.py"
    done = subprocess.run(
        [sys.executable, "-m", "hatchling", "version"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == kubewright.__version__


def test_the_changelog_has_notes_for_this_version() -> None:
    notes = release_notes(CHANGELOG, kubewright.__version__)
    assert notes.startswith(f"# Kubewright {kubewright.__version__}")
    headings = re.findall(r"^## (.+)$", notes, re.MULTILINE)
    assert headings
    assert set(headings) <= {"Added", "Changed", "Fixed", "Security"}


def test_notes_have_only_the_section_of_the_version() -> None:
    text = "# Changelog\n\n## 0.2.0 (2027-01-01)\n\n### Added\n\n- b\n\n## 0.1.0\n\n### Fixed\n\n- a\n"
    assert release_notes(text, "0.2.0") == "# Kubewright 0.2.0 (2027-01-01)\n\n## Added\n\n- b\n"
    assert release_notes(text, "0.1.0") == "# Kubewright 0.1.0\n\n## Fixed\n\n- a\n"


@pytest.mark.parametrize(
    "text", ["# Changelog\n", "# Changelog\n\n## 0.1.0\n\n## 0.0.9\n\n- a\n", "## 0.1.01\n\n- a\n"]
)
def test_rejects_a_version_without_notes(text: str) -> None:
    with pytest.raises(NotReleasable, match=r"no section '## 0\.1\.0'"):
        release_notes(text, "0.1.0")


def test_checksums_are_those_that_sha256sum_checks(tmp_path: Path) -> None:
    (tmp_path / "b").write_bytes(b"2")
    (tmp_path / "a").write_bytes(b"1")
    lines = checksums([tmp_path / "b", tmp_path / "a"]).splitlines()
    assert lines == [f"{hashlib.sha256(c).hexdigest()}  {name}" for name, c in (("a", b"1"), ("b", b"2"))]


def test_every_extra_has_a_smoke_test() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert set(CHECKS) == {"", *extras}


def test_the_smoke_test_passes_in_this_environment(tmp_path: Path) -> None:
    smoke = str(ROOT / "tools" / "release" / "smoke.py")
    command = [sys.executable, smoke, kubewright.__version__, "test", "console", "otel", "pydantic"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
