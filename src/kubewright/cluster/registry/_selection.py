"""Label and field selectors of lists and watches."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from kubewright.api import FieldSelector, Selector, SelectorError
from kubewright.cluster.conversion._stored import decoded
from kubewright.cluster.conversion._webhook import AsyncConversion, retry_converting
from kubewright.cluster.machinery._calls import Call
from kubewright.cluster.machinery._failures import bad_request
from kubewright.cluster.machinery._resources import ResourceType
from kubewright.cluster.machinery._responses import encode
from kubewright.cluster.machinery._selector_errors import field_selector_problem, label_selector_problem
from kubewright.cluster.storage._storage import Entry

__all__ = ["Selection", "selection_of"]

T = TypeVar("T")
_NAME, _NAMESPACE = "metadata.name", "metadata.namespace"
_SHARED_RULE = '{quoted} is not a known field selector: only "metadata.name", "metadata.namespace"'


class Selection:
    """The selectors of a request. `name` is set if a field selector selects exactly one name."""

    __slots__ = ("_fields", "_labels", "_names_only", "_type", "name", "selects_all")

    def __init__(self, type_: ResourceType, labels: Selector, fields: FieldSelector, name: str = "") -> None:
        self._type = type_
        self._labels = labels
        self._fields = fields
        self._names_only = all(each.field in (_NAME, _NAMESPACE) for each in fields.requirements)
        self.name = name or next((each.value for each in fields.requirements if each.field == _NAME and each.equal), "")
        if name:
            self._fields = fields & FieldSelector.from_fields({_NAME: name})
        self.selects_all = labels.selects_everything and self._fields.selects_everything

    @property
    def decodes(self) -> bool:
        """Whether `matches` decodes objects."""
        return not self._names_only

    async def matches_converted(self, entry: Entry) -> bool:
        """Returns whether an object matches, after a webhook has converted it if necessary. Raises `Failure`."""
        if not isinstance(self._type.conversion, AsyncConversion):
            return self.matches(entry)
        return await retry_converting(partial(self.matches, entry))

    def matches(self, entry: Entry) -> bool:
        """Returns whether an object matches. Decodes it only for fields that are not in its entry."""
        if self._labels.requirements and not self._labels.matches(entry.labels):
            return False
        if not self._fields.requirements:
            return True
        values = {_NAME: entry.name, _NAMESPACE: entry.namespace}
        if not self._names_only:
            values |= self._type.strategy.selectable_fields(decoded(self._type, entry))
        return self._fields.matches(values)


def selection_of(call: Call) -> Selection:
    """Returns the selectors of a query. Raises `Failure` for invalid ones."""
    labels = _parsed(Selector.parse, call.query.get("labelSelector", ""))
    text = call.query.get("fieldSelector", "")
    for term in filter(None, re.split(r"(?<!\\),", text)):
        if "=" not in term:
            raise bad_request(f"invalid selector: '{text}'; can't understand '{term}'")
    type_ = call.type
    # Built-in kinds without selectable fields share a rule that accepts the namespace of every kind.
    shared = not type_.custom and not type_.strategy.selectable
    known = {_NAME, *type_.strategy.selectable} | ({_NAMESPACE} if type_.namespaced or shared else set())
    if problem := field_selector_problem(text):
        raise bad_request(problem)
    unnamed = re.search(r"(?:^|,)!?=", text) is not None  # as in `=a`
    fields = FieldSelector() if unnamed else _parsed(FieldSelector.parse, text)
    for field in [""] if unnamed else [each.field for each in fields.requirements]:
        if field not in known:
            rule = _SHARED_RULE if shared else type_.strategy.unselectable
            raise bad_request(rule.format(field, quoted=encode(field).decode()))
    return Selection(type_, labels, fields, call.name)


def _parsed(parse: Callable[[str], T], text: str) -> T:
    try:
        return parse(text)
    except SelectorError as error:
        raise bad_request(label_selector_problem(text) or f"unable to parse requirement: {error}") from None
