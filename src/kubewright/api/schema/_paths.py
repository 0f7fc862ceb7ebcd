"""JSON paths of printer columns and selectable fields: `.status.conditions[?(@.type=="Ready")].status`."""

from __future__ import annotations

import re
from typing import Any, Final

import msgspec

from kubewright.api._pydantic import members_of
from kubewright.api.schema._shapes import Shape, fields_of, shape_of
from kubewright.suggestions import nearest

__all__ = ["Step", "parse_path", "shape_at"]

_STEP: Final = (
    r"\.(?P<member>(?:[A-Za-z0-9_$/-]|\\.)+)"
    r"|\[(?P<quote>['\"])(?P<quoted>[^'\"]+)(?P=quote)\]"
    r"|\[(?P<index>-?\d+|\*)\]"
    r"|\[\?\(@\.(?P<filter>[A-Za-z0-9_.-]+)\s*(?:==|!=|<=|>=|<|>)\s*(?:'[^']*'|\"[^\"]*\"|[\w.-]+)\)\]"
)


class Step(msgspec.Struct, frozen=True):
    """One step of a path: into a member of an object or, if `member` is None, into the elements of a list."""

    text: str
    member: str | None
    filter: str | None = None


def parse_path(path: str) -> list[Step]:
    """Returns the steps of a path. Raises ValueError unless it consists of members, indices and simple filters."""
    step = re.compile(_STEP)  # cached by `re`; most kinds have no paths
    steps: list[Step] = []
    at = 0
    while at < len(path):
        match = step.match(path, at)
        if match is None:
            raise ValueError(
                f"{path!r} is not a path such as .status.replicas or "
                f'.status.conditions[?(@.type=="Ready")].status: see {path[at:]!r}'
            )
        member = match["quoted"] or (re.sub(r"\\(.)", r"\1", match["member"]) if match["member"] else None)
        steps.append(Step(match[0], member, match["filter"]))
        at = match.end()
    if not steps or not path.startswith("."):
        raise ValueError(f"a path starts with a dot, as in .spec.replicas, not {path!r}")
    return steps


def shape_at(type_: Any, path: str, where: str) -> Shape:
    """Returns the shape at a path below a type. Raises TypeError, which names the step that does not exist."""
    return _walk(type_, parse_path(path), f"{where} {path}")


def _walk(type_: Any, steps: list[Step], where: str) -> Shape:
    shape = shape_of(type_, where)
    walked = ""
    for step in steps:
        if shape.category == "any":
            return shape
        walked += step.text
        shape = shape_of(_next(shape, step, f"{where}: {walked}"), where)
    return shape


def _next(shape: Shape, step: Step, where: str) -> Any:
    if step.member is None:
        if shape.category != "array":
            raise TypeError(f"{where} selects elements of a list, but this is {shape.type or shape.category}")
        if step.filter:
            _walk(shape.element, parse_path("." + step.filter), where)
        return shape.element
    members: dict[str, Any] = {}
    for model in (shape.model, *shape.variants):
        if model is not None:
            members |= {field.encode_name: field.type for field in fields_of(model)}
            if model.__struct_config__.tag is not None:
                members[str(model.__struct_config__.tag_field)] = str
    if shape.pydantic_model is not None:
        members |= members_of(shape.pydantic_model)
    if members:
        if step.member not in members:
            meant = nearest(step.member, members) or nearest(step.member.replace("_", ""), members)
            did = f"; did you mean {meant}?" if meant else f"; there are {', '.join(members)}"
            raise TypeError(f"{where} does not exist{did}")
        return members[step.member]
    if shape.category == "object" and shape.model is None and shape.pydantic_model is None:
        return shape.element
    raise TypeError(f"{where} does not exist: its parent is {shape.type or shape.category}, which has no members")
