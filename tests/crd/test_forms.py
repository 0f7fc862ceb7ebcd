"""Forms that a kind declares for the console."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
import pytest

import kubewright as kw
from kubewright.crd import crd_of


class Volume(kw.Model):
    size: str = "1Gi"


class BoatSpec(kw.Model):
    team: str
    version: Literal["9.6", "17", "16"]
    grade: Annotated[str, kw.Choices("a", "b")] = "a"
    seats: int = 0
    sails: bool = False
    volume: Volume = msgspec.field(default_factory=Volume)
    crew: list[str] = msgspec.field(default_factory=list)


def boat(form: kw.Form | None) -> type[kw.Resource[BoatSpec, None]]:
    @kw.resource("example.com/v1", form=form)
    class Boat(kw.Resource[BoatSpec, None]):
        pass

    return Boat


def test_form_is_an_annotation_of_the_definition() -> None:
    form = kw.Form(
        sections=[kw.FormSection("Hull", [".spec.volume.size"], collapsed=True)],
        initial={".spec.seats": 2, ".spec.crew": ["cook"]},
        newest=[".spec.version", ".spec.grade"],
        labels={".spec.team": "Owner"},
        confirm_deletion="namespace/name",
    )
    text = crd_of(boat(form)).metadata.annotations["console.kubewright.dev/form"]
    assert msgspec.json.decode(text) == {
        "sections": [{"title": "Hull", "fields": [".spec.volume.size"], "collapsed": True}],
        "initial": {".spec.seats": 2, ".spec.crew": ["cook"]},
        "newest": [".spec.version", ".spec.grade"],
        "labels": {".spec.team": "Owner"},
        "confirm_deletion": "namespace/name",
    }
    assert "confirm_deletion" not in kw.Form(newest=[".spec.version"]).annotation()
    assert not crd_of(boat(None)).metadata.annotations


@pytest.mark.parametrize(
    ("form", "message"),
    [
        (kw.Form(newest=[".spec.team"]), r"\.spec\.team has no choices"),
        (kw.Form(labels={".spec.steam": "Team"}), r"does not exist; did you mean team\?"),
        (kw.Form(initial={".spec.seats": "2"}), r"initial value of \.spec\.seats must be of type integer, not '2'"),
        (kw.Form(initial={".spec.sails": 1}), "must be of type boolean, not 1"),
        (kw.Form(initial={".spec.version": "18"}), "must be one of '9.6', '17', '16', not '18'"),
        ({"newest": []}, "form of Boat must be a Form"),
    ],
)
def test_rejects_form_that_does_not_fit_the_kind(form: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        boat(form)


def test_rejects_invalid_form() -> None:
    with pytest.raises(ValueError, match=r"use a path below \.spec"):
        kw.Form(labels={".metadata.name": "Name"})
    with pytest.raises(ValueError, match="leads into a list"):
        kw.Form(labels={".spec.crew[0]": "Cook"})
    with pytest.raises(ValueError, match="is not a path such as"):
        kw.Form(newest=["spec.version"])
    with pytest.raises(ValueError, match="is in FormSection 'A' and in FormSection 'B'"):
        kw.Form([kw.FormSection("A", [".spec.team"]), kw.FormSection("B", [".spec.team"])])
    with pytest.raises(ValueError, match="both initial and newest"):
        kw.Form(initial={".spec.version": "17"}, newest=[".spec.version"])
    with pytest.raises(ValueError, match="confirm_deletion of Form must be 'name' or 'namespace/name', not 'uid'"):
        kw.Form(confirm_deletion="uid")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="newest of Form must be a tuple"):
        kw.Form(newest=".spec.version")
    with pytest.raises(TypeError, match="fields of FormSection 'A' are paths"):
        kw.FormSection("A", ".spec.team")
