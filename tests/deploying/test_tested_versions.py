"""`doctor` warns about versions of Kubernetes that Kubewright is not tested with."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from kubewright.client import Client
from kubewright.deployment import Finding, examine
from kubewright.version import TESTED_KUBERNETES

PAGE = Path(__file__).parents[2] / "docs" / "compatibility.md"
(_, OLDEST), (_, NEWEST) = TESTED_KUBERNETES


async def examined(minor: str) -> Finding:
    """Returns the finding about a server of this version. Sends no other request."""
    version = SimpleNamespace(git_version=f"v1.{minor}.0", minor=minor)

    async def server_version() -> SimpleNamespace:
        return version

    client = cast("Client", SimpleNamespace(server_version=server_version))
    async for finding in examine(client, [], []):
        return finding
    raise AssertionError("no finding")


@pytest.mark.parametrize("minor", [str(NEWEST), f"{NEWEST}+", str(OLDEST)])
async def test_accepts_tested_version(minor: str) -> None:
    assert (await examined(minor)).state == "ok"


@pytest.mark.parametrize(("minor", "age"), [(NEWEST + 1, "newer"), (OLDEST - 1, "older")])
async def test_warns_about_version_outside_tested_range(minor: int, age: str) -> None:
    found = await examined(str(minor))
    assert found.state == "warning"
    assert found.advice.startswith(f"it is {age} than the versions that Kubewright is tested with: 1.")


async def test_warns_about_version_that_lacks_features() -> None:
    found = await examined("28")
    assert found.state == "warning"
    assert "lack features" in found.advice


def test_page_lists_tested_versions() -> None:
    rows = re.findall(r"^\| (1)\.(\d+)\.\d+ \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    listed = sorted((int(major), int(minor)) for major, minor in rows)
    assert (listed[0], listed[-1]) == TESTED_KUBERNETES
