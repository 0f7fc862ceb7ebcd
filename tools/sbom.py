"""Writes a software bill of materials of the runtime dependencies: `python -m tools.sbom build/kubewright.cdx.json`.

The format is CycloneDX 1.6 as JSON. It lists Kubewright and everything that `pip install kubewright` installs on this
platform, at the versions of this environment, which are those of `requirements/dev.lock`. The same environment always
gives the same file: there is no time in it, and the serial number follows from the content.
"""

from __future__ import annotations

import argparse
import json
import re
import uuid
from collections.abc import Sequence
from importlib.metadata import Distribution, distribution
from pathlib import Path
from typing import Any, Final

from packaging.requirements import Requirement

PACKAGE: Final = "kubewright"


def normal(name: str) -> str:
    """The name as package indexes compare it (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def required_by(package: Distribution, extras: Sequence[str] = ()) -> list[str]:
    """The names of its direct dependencies on this platform."""
    found = set()
    for text in package.requires or ():
        requirement = Requirement(text)
        environments: list[dict[str, str]] = [{"extra": extra} for extra in ("", *extras)]
        if requirement.marker is None or any(requirement.marker.evaluate(one) for one in environments):
            found.add(normal(requirement.name))
    return sorted(found)


def bill(root: str = PACKAGE) -> dict[str, Any]:
    """The bill of materials of an installed package."""
    packages: dict[str, Distribution] = {}
    graph: dict[str, list[str]] = {}
    waiting = [root]
    while waiting:
        name = waiting.pop()
        if name not in packages:
            packages[name] = distribution(name)
            graph[name] = required_by(packages[name])
            waiting += graph[name]
    components = {name: _component(name, packages[name]) for name in sorted(packages)}
    made = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": {**components.pop(root), "type": "application"}},
        "components": [*components.values()],
        "dependencies": [
            {
                "ref": _reference(name, packages[name]),
                "dependsOn": [_reference(one, packages[one]) for one in graph[name]],
            }
            for name in sorted(packages)
        ],
    }
    serial = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(made, sort_keys=True))
    return {**made, "serialNumber": f"urn:uuid:{serial}"}


def _reference(name: str, package: Distribution) -> str:
    return f"pkg:pypi/{name}@{package.version}"


def _component(name: str, package: Distribution) -> dict[str, Any]:
    reference = _reference(name, package)
    made: dict[str, Any] = {"type": "library", "bom-ref": reference, "name": name, "version": package.version}
    about = package.metadata.json
    if description := about.get("summary"):
        made["description"] = description
    if expression := about.get("license_expression"):
        made["licenses"] = [{"expression": expression}]
    elif (license_ := about.get("license")) and "\n" not in str(license_):
        made["licenses"] = [{"license": {"name": license_}}]
    return {**made, "purl": reference}


def main() -> None:
    """Write the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    file: Path = parser.parse_args().file
    file.parent.mkdir(parents=True, exist_ok=True)
    made = bill()
    file.write_text(json.dumps(made, indent=2) + "\n")
    print(f"{file}: {len(made['components'])} components")


if __name__ == "__main__":
    main()
