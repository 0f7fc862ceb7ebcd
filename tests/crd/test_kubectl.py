"""kubectl with a generated definition."""

import re
import subprocess
from typing import Literal

import msgspec
import pytest

import kubewright as kw
from kubewright.api import Time
from kubewright.crd import crd_of, to_yaml
from kubewright.testing import ControlPlane


class Spec(kw.Model):
    size: int = 3
    """How large it is."""
    ratio: float = 0.5
    color: Literal["red", "blue"] = "red"
    tags: list[str] = msgspec.field(default_factory=lambda: ["a", "b"])
    made: Time | None = None


class Status(kw.Model):
    ready: bool = False


@kw.resource(
    "kubectl.example.com/v1",
    short_names=["shn"],
    columns={
        "Size": ".spec.size",
        "Ratio": ".spec.ratio",
        "Color": ".spec.color",
        "First": ".spec.tags[0]",
        "Made": ".spec.made",
        "Ready": ".status.ready",
        "Wide": kw.Column(".metadata.name", priority=1),
    },
)
class Shown(kw.Resource[Spec, Status]):
    """A kind with columns."""


@pytest.mark.promise(
    "Definitions from types",
    "Columns, scale and selectable fields work as `kubectl` and clients use them.",
)
def test_kubectl_applies_explains_and_shows_columns(control_plane: ControlPlane, namespace: str) -> None:
    def kubectl(*arguments: str, stdin: str | None = None) -> str:
        command = [str(control_plane.binaries / "kubectl"), "--kubeconfig", str(control_plane.kubeconfig)]
        done = subprocess.run([*command, *arguments], input=stdin, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""
        return done.stdout

    kubectl("apply", "-f", "-", stdin=to_yaml(crd_of(Shown)))
    kubectl("wait", "--for=condition=Established", "crd/showns.kubectl.example.com")
    thing = f"""
        apiVersion: kubectl.example.com/v1
        kind: Shown
        metadata: {{name: one, namespace: {namespace}}}
        spec: {{made: "2020-01-01T00:00:00Z"}}
    """
    kubectl("apply", "-f", "-", stdin=thing)
    ready = '{"status": {"ready": true}}'
    kubectl("patch", "shn", "one", "-n", namespace, "--subresource=status", "--type=merge", "-p", ready)
    head, row = [line.split() for line in kubectl("get", "shn", "-n", namespace).splitlines()]
    assert head == ["NAME", "SIZE", "RATIO", "COLOR", "FIRST", "MADE", "READY"]
    assert [*row[:5], row[6]] == ["one", "3", "0.5", "red", "a", "true"]
    assert re.fullmatch(r"\d+y(\d+d)?", row[5])  # an age
    head, row = [line.split() for line in kubectl("get", "shn", "-n", namespace, "-o", "wide").splitlines()]
    assert (head[-1], row[-1]) == ("WIDE", "one")
    assert "How large it is." in kubectl("explain", "shn.spec.size")
    assert kubectl("apply", "-f", "-", stdin=to_yaml(crd_of(Shown))).endswith("unchanged\n")
