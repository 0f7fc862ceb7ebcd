"""Chooses the docstrings of classes and attributes."""

from __future__ import annotations

from collections.abc import Iterable

from kubewright.codegen._classes import Annotation, Field, Model

__all__ = ["attribute_doc", "choose_docs"]


def choose_docs(models: Iterable[Model]) -> None:
    """Gives each class the description of its uses, if they agree.

    A field with another description gets a docstring below the attribute. An element of a list, which cannot have one,
    gets a `Schema`, and so does a use without a description.
    """
    for model in models:
        if model.annotations:
            model.doc = _doc(model.annotations)
        for annotation in model.annotations:
            if annotation.description != model.doc and not (annotation.is_field and annotation.description):
                annotation.members["description"] = annotation.description


def _doc(annotations: list[Annotation]) -> str | None:
    descriptions = {annotation.description for annotation in annotations}
    if len(descriptions) == 1:
        return descriptions.pop()
    elements = {annotation.description for annotation in annotations if not annotation.is_field}
    return elements.pop() if len(elements) == 1 and None not in descriptions else None


def attribute_doc(field: Field) -> str | None:
    """Returns the docstring below an attribute; None if its class has the same description."""
    annotation = field.annotation
    if annotation.model is not None and annotation.model.doc == annotation.description:
        return None
    return annotation.description
