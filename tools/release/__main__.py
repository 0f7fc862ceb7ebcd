"""`python -m tools.release`: see the package."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path

from kubewright.version import VERSION
from tools.release.build import NotReleasable, built_twice, checksums, exported, release_notes
from tools.sbom import bill

ROOT = Path(__file__).parents[2]
SMOKE = Path(__file__).with_name("smoke.py")


def main() -> int:
    """Runs all steps. Returns 1 and prints the reason if one fails."""
    parser = argparse.ArgumentParser(description="Build and check a release.")
    parser.add_argument("--dist", type=Path, default=ROOT / "dist")
    parser.add_argument("--extra", action="append", help="Install only this extra, not all. Repeatable.")
    options = parser.parse_args()
    try:
        with tempfile.TemporaryDirectory(prefix="kubewright-release-") as scratch:
            release(options.dist.absolute(), Path(scratch), options.extra)
    except NotReleasable as error:
        print(f"Not released: {error}", file=sys.stderr)
        return 1
    return 0


def release(dist: Path, scratch: Path, extras: list[str] | None) -> None:
    """Builds, checks and describes the release of the last commit."""
    if changed := subprocess.run(
        ["git", "status", "--porcelain"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout:
        raise NotReleasable(f"commit or remove these changes first:\n{changed}")
    notes = release_notes((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), VERSION)
    trees = [exported(ROOT, scratch / "first"), exported(ROOT, scratch / "the-second")]
    files = built_twice(trees, [scratch / "built", scratch / "built-again"])
    print(f"built twice, identical: {', '.join(one.name for one in files)}", flush=True)
    sdist, wheel = sorted(files, key=lambda one: one.suffix == ".whl")
    for what in requirements(sdist, wheel, extras):
        check_installed(what, scratch)
    materials = scratch / f"kubewright-{VERSION}.cdx.json"
    materials.write_text(json.dumps(bill_of_release(), indent=2) + "\n")
    (scratch / "RELEASE-NOTES.md").write_text(notes, encoding="utf-8")
    published = [*files, materials, scratch / "RELEASE-NOTES.md"]
    dist.mkdir(exist_ok=True)
    for file in published:
        shutil.copyfile(file, dist / file.name)
    (dist / "SHA256SUMS").write_text(checksums(published))
    print(f"wrote {', '.join(sorted(one.name for one in published))} and SHA256SUMS to {dist}")


def requirements(sdist: Path, wheel: Path, extras: list[str] | None) -> Iterator[tuple[str, str]]:
    """Yields what is installed alone, and its extra: the sdist, the wheel, and the wheel with each extra."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    if extras is None:
        yield str(sdist), ""
        yield str(wheel), ""
    for extra in extras or settings["optional-dependencies"]:
        yield f"{wheel}[{extra}]", extra


def check_installed(what: tuple[str, str], scratch: Path) -> None:
    """Installs one requirement into an empty environment, and runs the smoke test there in an empty folder."""
    requirement, extra = what
    home, empty = scratch / "environment", scratch / "empty"
    empty.mkdir(exist_ok=True)
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "KUBEWRIGHT_"))}
    python = str(home / "bin" / "python")
    name = requirement.removeprefix(f"{scratch}/built/")
    for command in (
        [sys.executable, "-m", "venv", str(home)],
        [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", requirement],
        [python, "-m", "pip", "check"],
        [python, str(SMOKE), VERSION, *([extra] if extra else [])],
    ):
        done = subprocess.run(command, cwd=empty, env=clean, capture_output=True, text=True, check=False)
        if done.returncode:
            raise NotReleasable(f"{name} alone in an empty environment: {command}\n{done.stdout}{done.stderr}")
    shutil.rmtree(home)
    print(f"installed alone, smoke test passed: {name}", flush=True)


def bill_of_release() -> dict[str, object]:
    """Returns the bill of materials. Its versions are those of `requirements/dev.lock`, from this environment."""
    made = bill()
    if (installed := made["metadata"]["component"]["version"]) != VERSION:
        raise NotReleasable(f"this environment has Kubewright {installed}, not {VERSION}; run make setup")
    return made


if __name__ == "__main__":
    sys.exit(main())
