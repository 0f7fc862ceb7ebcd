"""Which class has which docstring, and where a text must stand below an attribute instead."""

from __future__ import annotations

from collections.abc import Iterable

from kubewright.codegen._classes import Annotation, Field, Model

__all__ = ["attribute_doc", "choose_docs"]


def choose_docs(models: Iterable[Model]) -> None:
    """Give each class the description of the places where it is used, as far as these agree.

    A place that says something else has its text below the attribute. Where no text can stand (an element of a list),
    or where a text must not come from the class, a `Schema` says so.
    """
    for model in models:
        if model.places:
            model.doc = _doc(model.places)
        for place in model.places:
            if place.description != model.doc and not (place.is_field and place.description):
                place.members["description"] = place.description


def _doc(places: list[Annotation]) -> str | None:
    texts = {place.description for place in places}
    if len(texts) == 1:
        return texts.pop()
    elements = {place.description for place in places if not place.is_field}
    return elements.pop() if len(elements) == 1 and None not in texts else None


def attribute_doc(field: Field) -> str | None:
    """The text below an attribute."""
    annotation = field.annotation
    if annotation.model is not None and annotation.model.doc == annotation.description:
        return None
    return annotation.description
