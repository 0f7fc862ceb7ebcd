"""Record the scaffold's templates as a version: `make scaffold`.

`kubewright upgrade` merges what the scaffold of a release has changed since the one that made a project. So the
templates of every version stay: in `src/kubewright/scaffold/versions/`, one file for each, with a digest of what they
make of a project with everything in it. A version that was released is never written again.

    python -m tools.scaffold_version            # the templates of today are a new version
    python -m tools.scaffold_version --amend    # they are the last version, which no release has had yet
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from kubewright.scaffold import _versions
from kubewright.scaffold._record import Kind, Record
from kubewright.scaffold._replay import scaffolded

FOLDER = Path(_versions.__file__).parent / "versions"

_GROUP = "webapp.my.domain"
REFERENCE = Record(
    name="guest-book",
    domain="my.domain",
    repo="https://code.example.com/guest-book",
    kinds=(
        Kind(
            _GROUP, "v1", "Guestbook", "guestbook", owns=("apps.Deployment", "core.Service"), webhooks=("validation",)
        ),
        Kind(_GROUP, "v1", "Note", "note", controller=False, webhooks=("defaulting", "validation", "conversion")),
        Kind(_GROUP, "v1", "Page", "page", namespaced=False),
        Kind(_GROUP, "v2beta1", "Note", "note_v2beta1", controller=False),
    ),
)
"""A project with everything that can be created."""


def digest(version: int) -> str:
    """Of all that a version makes of two projects: the reference, and one with nothing in it."""
    plain = Record(name="plain", domain="my.domain")
    made = [scaffolded(record, scaffold=version, kubewright="0.0.0") for record in (REFERENCE, plain)]
    return hashlib.sha256(json.dumps(made, sort_keys=True).encode()).hexdigest()


def write(version: int, templates: Mapping[str, str]) -> Path:
    """The file of a version."""
    for name, text in templates.items():
        if text and not text.endswith("\n"):
            sys.exit(f"{name} does not end with a line's end")
    file = FOLDER / f"{version}.json"
    lines = {name: text.splitlines() for name, text in templates.items()}
    content = {"version": version, "digest": "", "templates": lines}
    file.write_text(_text(content))
    # A new interpreter, since this one has begun with another version as the present one.
    ask = f"from tools.scaffold_version import digest; print(digest({version}))"
    asked = subprocess.run([sys.executable, "-c", ask], check=True, capture_output=True, text=True)
    file.write_text(_text(content | {"digest": asked.stdout.strip()}))
    return file


def _text(content: Mapping[str, object]) -> str:
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--amend", action="store_true", help="write the last version again, which was not released yet")
    amend = parser.parse_args().amend
    last = max(_versions.versions())
    templates = _versions.present_templates()
    if templates == _versions.frozen_templates(last) and not amend:
        print(f"The templates are those of version {last}: there is nothing to record.")
        return
    print(f"wrote {write(last if amend else last + 1, templates)}")


if __name__ == "__main__":
    main()
