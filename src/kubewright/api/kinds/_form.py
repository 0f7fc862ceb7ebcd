"""`Form`: the layout of a kind's form in the console, the initial values, and the confirmation of a deletion."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Literal, get_args

import msgspec

from kubewright.api.schema._paths import parse_path

__all__ = ["FORM_ANNOTATION", "DeletionConfirmation", "Form", "FormSection"]

FORM_ANNOTATION: Final = "console.kubewright.dev/form"
"""The annotation of the CustomResourceDefinition that declares the form, as JSON."""

DeletionConfirmation = Literal["name", "namespace/name"]
"""The string that a user types to confirm a deletion: `acid-shop`, or `default/acid-shop`."""

_NOT_EDITED: Final = ("apiVersion", "kind", "metadata", "status")


class FormSection(msgspec.Struct, frozen=True):
    """A part of a form: a title, and the fields below it.

    Args:
        title: the heading.
        fields: the paths of the fields, in the order in which they are shown: `(".spec.team", ".spec.volume.size")`.
        description: one sentence below the heading.
        collapsed: whether the section starts collapsed. A section with an invalid field is expanded.
    """

    title: str
    fields: Sequence[str]
    description: str = ""
    collapsed: bool = False

    def __post_init__(self) -> None:
        given: object = self.fields
        title: object = self.title
        if not isinstance(title, str) or not title:
            raise TypeError(f"the title of a FormSection is a string that is not empty, not {title!r}")
        if not isinstance(given, tuple | list) or not given:
            raise TypeError(f'the fields of FormSection {self.title!r} are paths: (".spec.size",), not {given!r}')


class Form(msgspec.Struct, frozen=True):
    """The form with which users of the console create and change objects of a kind.

        @kw.resource("example.com/v1", form=kw.Form(initial={".spec.replicas": 2}, newest=(".spec.version",)))

    Everything is optional. Without a `Form`, the console shows all fields in the order of the schema, and a new object
    starts with the required fields that have an obvious value. Paths consist of members, below `.spec`.

    Args:
        sections: the parts of the form. Fields that no section names follow in a section "Other fields".
        initial: the values of a new object by path. Unlike a default of the schema, the user sees them in the YAML and
            can change them before the object is created.
        newest: paths of fields with choices. A new object starts with the greatest one; numbers in strings are compared
            as numbers, so "17" is newer than "9.6".
        labels: what the form shows instead of the name of a field, by path.
        confirm_deletion: what users type on the page that deletes an object: its name, or `NAMESPACE/NAME`. The
            namespace protects users who have equal names in several namespaces from deleting the wrong object.
    """

    sections: Sequence[FormSection] = ()
    initial: Mapping[str, Any] = {}
    newest: Sequence[str] = ()
    labels: Mapping[str, str] = {}
    confirm_deletion: DeletionConfirmation = "name"

    def __post_init__(self) -> None:
        for what, given in (("sections", self.sections), ("newest", self.newest)):
            if not isinstance(given, tuple | list):
                raise TypeError(f"{what} of Form must be a tuple, not {given!r}")
        for what, mapped in (("initial", self.initial), ("labels", self.labels)):
            if not isinstance(mapped, Mapping):
                raise TypeError(f"{what} of Form are values by path, not {mapped!r}")
        confirmations = get_args(DeletionConfirmation)
        if self.confirm_deletion not in confirmations:
            choices = " or ".join(map(repr, confirmations))
            raise ValueError(f"confirm_deletion of Form must be {choices}, not {self.confirm_deletion!r}")
        for section in self.sections:
            if not isinstance(section, FormSection):
                raise TypeError(f'sections of Form are FormSection("Title", (".spec.size",)), not {section!r}')
        labels: Mapping[str, object] = self.labels
        for path, label in labels.items():
            if not isinstance(label, str) or not label:
                raise TypeError(f"the label of {path} must be a string that is not empty, not {label!r}")
        for what, path in self.paths():
            _check_path(what, path)
        placed: dict[str, str] = {}
        for section in self.sections:
            for path in section.fields:
                if path in placed:
                    raise ValueError(f"{path} is in FormSection {placed[path]!r} and in FormSection {section.title!r}")
                placed[path] = section.title
        for path in self.newest:
            if path in self.initial:
                raise ValueError(f"{path} of Form is both initial and newest: a new object starts with one of them")

    def paths(self) -> Iterator[tuple[str, str]]:
        """Yields each path with the part of the form that names it, for messages."""
        for section in self.sections:
            yield from ((f"FormSection {section.title!r}", path) for path in section.fields)
        for part in ("initial", "newest", "labels"):
            yield from ((f"{part} of Form", path) for path in getattr(self, part))

    def annotation(self) -> str:
        """Returns the value of the annotation. Raises TypeError for an initial value that JSON cannot express."""
        parts = {key: value for key, value in msgspec.to_builtins(self).items() if value}
        parts["sections"] = [
            {key: value for key, value in section.items() if value} for section in parts.get("sections", ())
        ]
        if self.confirm_deletion == "name":
            del parts["confirm_deletion"]
        return msgspec.json.encode({key: value for key, value in parts.items() if value}).decode()


def _check_path(what: str, path: object) -> None:
    if not isinstance(path, str):
        raise TypeError(f"{what} has paths such as .spec.size, not {path!r}")
    steps = [step.member for step in parse_path(path)]
    if None in steps:
        raise ValueError(f"{path} of {what} leads into a list: name the list itself")
    if steps[0] in _NOT_EDITED:
        raise ValueError(f"{path} of {what} is not a part of the form: use a path below .spec")
