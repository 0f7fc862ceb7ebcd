"""What kubectl makes of a definition."""

import subprocess

import kubewright as kw
from kubewright.crd import crd_of, to_yaml
from kubewright.testing import ControlPlane


class Spec(kw.Model):
    size: int = 3
    """How large it is."""


class Status(kw.Model):
    ready: bool = False


@kw.resource(
    "kubectl.example.com/v1",
    short_names=["shn"],
    columns={"Size": ".spec.size", "Ready": ".status.ready", "Wide": kw.Column(".metadata.name", priority=1)},
)
class Shown(kw.Resource[Spec, Status]):
    """Is shown."""


def test_kubectl_applies_the_text_explains_the_fields_and_shows_the_columns(
    control_plane: ControlPlane, namespace: str
) -> None:
    def kubectl(*arguments: str, stdin: str | None = None) -> str:
        command = [str(control_plane.binaries / "kubectl"), "--kubeconfig", str(control_plane.kubeconfig)]
        done = subprocess.run([*command, *arguments], input=stdin, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""
        return done.stdout

    kubectl("apply", "-f", "-", stdin=to_yaml(crd_of(Shown)))
    kubectl("wait", "--for=condition=Established", "crd/showns.kubectl.example.com")
    thing = f"{{apiVersion: kubectl.example.com/v1, kind: Shown, metadata: {{name: one, namespace: {namespace}}}}}"
    kubectl("apply", "-f", "-", stdin=thing)
    lines = [line.split() for line in kubectl("get", "shn", "-n", namespace).splitlines()]
    assert lines == [["NAME", "SIZE", "READY"], ["one", "3"]]
    wide = kubectl("get", "shn", "-n", namespace, "-o", "wide").splitlines()[0].split()
    assert wide == ["NAME", "SIZE", "READY", "WIDE"]
    assert "How large it is." in kubectl("explain", "shn.spec.size")
    assert kubectl("apply", "-f", "-", stdin=to_yaml(crd_of(Shown))).endswith("unchanged\n")
