"""States that a kind declares for tools."""

from __future__ import annotations

from typing import Any

import pytest

import kubewright as kw
from kubewright.crd import crd_of


class GateStatus(kw.Model):
    phase: str = ""


def gate(states: kw.States | None, version: str = "v1", **options: Any) -> type[kw.Resource[None, GateStatus]]:
    @kw.resource(f"example.com/{version}", states=states, kind="Gate", **options)
    class Gate(kw.Resource[None, GateStatus]):
        pass

    return Gate


UP = kw.States(".status.phase", ready=("Up",), failing=("Down",))


def test_states_are_an_annotation_of_the_definition() -> None:
    both = gate(UP, annotations={"note": "b"})
    assert crd_of(both).metadata.annotations == {
        "console.kubewright.dev/states": '{"path":".status.phase","ready":["Up"],"failing":["Down"]}',
        "note": "b",
    }
    assert not crd_of(gate(None)).metadata.annotations


def test_versions_agree_on_their_states() -> None:
    with pytest.raises(ValueError, match=r"disagree on the value of console.kubewright.dev/states"):
        crd_of(gate(UP, storage=True), gate(kw.States(".status.phase", ready=("On",)), "v2"))


def test_rejects_invalid_states() -> None:
    with pytest.raises(ValueError, match=r"below \.status"):
        kw.States(".spec.phase", ready=("Up",))
    with pytest.raises(ValueError, match="'Up' is both ready and failing"):
        kw.States(".status.phase", ready=("Up",), failing=("Up",))
    with pytest.raises(ValueError, match="names no value"):
        kw.States(".status.phase")
    with pytest.raises(TypeError, match=r'ready=\("InSync",\)'):
        kw.States(".status.phase", ready="Up")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="phrase"):
        gate(kw.States(".status.phrase", ready=("Up",)))
    with pytest.raises(TypeError, match="states of Gate must be a States"):
        gate({"ready": "Up"})  # type: ignore[arg-type]
