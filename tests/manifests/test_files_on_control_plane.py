"""The generated files, as kubectl takes them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
import yaml

from kubewright.cli import run
from kubewright.testing import ControlPlane

EXAMPLE = Path(__file__).parents[2] / "examples" / "foo" / "foo.py"


def test_kubectl_applies_both_folders_and_then_has_nothing_to_do(
    control_plane: ControlPlane, namespace: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def kubectl(*arguments: str) -> str:
        command = [str(control_plane.binaries / "kubectl"), "--kubeconfig", str(control_plane.kubeconfig)]
        done = subprocess.run([*command, *arguments], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    assert run(["manifests", str(EXAMPLE), "--out", str(tmp_path), "--namespace", namespace]) == 0
    capsys.readouterr()
    rendered = list(yaml.safe_load_all(kubectl("kustomize", str(tmp_path / "rbac"))))
    assert sorted(document["kind"] for document in rendered) == [
        *["ClusterRole"] * 4,  # the operator's, and viewer, editor and admin
        "ClusterRoleBinding",
        "Role",  # for its lease
        "RoleBinding",
        "ServiceAccount",
    ]
    for folder in ("crd", "rbac"):
        # On this server other tests may have installed the same definition, in their own name.
        server_side = ("--server-side", "--force-conflicts", "-k", str(tmp_path / folder))
        applied = kubectl("apply", *server_side).splitlines()
        assert applied
        assert all(line.endswith(" serverside-applied") for line in applied)
        diff = kubectl("diff", *server_side)
        assert diff == ""
