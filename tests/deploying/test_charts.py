"""The Helm charts of the examples, as `kubewright chart` writes them: Helm renders what `deploy` deploys."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import yaml

from kubewright.cli import run
from tests.manifests.helm import BUILD_SECONDS, helm

EXAMPLES = Path(__file__).parents[2] / "examples"
IMAGE = "registry.example.com/operators:1.0.0"


def named(documents: Iterable[Any]) -> set[tuple[str, str, str]]:
    """Returns the API version, kind and name of each object."""
    return {(one["apiVersion"], one["kind"], one["metadata"]["name"]) for one in documents}


@pytest.mark.promise("Projects", "Helm accepts the chart of a program, and renders what `deploy` deploys.")
@pytest.mark.control_plane
@pytest.mark.timeout(BUILD_SECONDS)
@pytest.mark.parametrize(
    ("example", "release"), [("memcached", "memcached-operator"), ("password", "password-operator")]
)
def test_helm_accepts_the_chart_and_renders_what_is_deployed(
    example: str, release: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(EXAMPLES / example)
    for command, out in (("chart", tmp_path / "chart"), ("installer", tmp_path / "install.yaml")):
        assert run([command, f"{example}.py", "--image", IMAGE, "--out", str(out)]) == 0
    linted = helm("lint", "--strict", tmp_path / "chart")
    assert linted.returncode == 0, linted.stdout + linted.stderr
    assert "0 chart(s) failed" in linted.stdout

    where = ("--namespace", f"{release}-system", "--set", "namespace.create=true")
    rendered = helm("template", release, tmp_path / "chart", *where)
    assert rendered.returncode == 0, rendered.stderr
    documents = [one for one in yaml.safe_load_all(rendered.stdout) if one]
    assert named(documents) == named(yaml.safe_load_all((tmp_path / "install.yaml").read_text()))
    [deployment] = [one for one in documents if one["kind"] == "Deployment"]
    [container] = deployment["spec"]["template"]["spec"]["containers"]
    assert (container["image"], container["command"]) == (IMAGE, ["kubewright", "run", f"{example}.py"])
