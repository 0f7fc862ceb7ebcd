"""Strategic merge patches: merge patches that merge lists by key, with directives.

`$patch: replace` and `$patch: delete` apply to the object that contains them or, in a list, to the list or the element
with that key. `$deleteFromPrimitiveList/NAME` removes values from a list, `$setElementOrder/NAME` orders a list,
`$retainKeys` lists the only members that an object keeps.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from kubewright.cluster.machinery._json import copied
from kubewright.cluster.merge._errors import Refused, bad_request, refusing_depth
from kubewright.cluster.merge._go import go_type, plain, quoted
from kubewright.cluster.schema import Schema

__all__ = ["strategic_merge_patch"]

_PATCH: Final = "$patch"
_RETAIN: Final = "$retainKeys"
_DELETE_FROM: Final = "$deleteFromPrimitiveList"
_ORDER: Final = "$setElementOrder"
_BAD_ORDER: Final = "invalid patch format of setElementOrder list"
_BAD_RETAIN: Final = "invalid patch format of retainKeys"
_BAD_DELETE: Final = "invalid patch format of primitive list"

Object = dict[str, Any]


@refusing_depth
def strategic_merge_patch(document: Object, patch: Object, schema: Schema) -> Object:
    """Returns the patched document. Neither argument is changed. `schema` is that of the document's built-in kind.

    Raises `Refused`, with the code and message of the real server.
    """
    return _merge_maps(copied(document), copied(patch), schema)


def _failed(message: str) -> Refused:
    return Refused(500, "", message)


def _no_key(element: Object, key: str) -> Refused:
    return _failed(f"map: {plain(element)} does not contain declared merge key: {key}")


def _unknown_directive(directive: Any, element: Object) -> Refused:
    text = directive if isinstance(directive, str) else f"%!s({go_type(directive)}={plain(directive)})"
    return _failed(f"unknown patch type: {text} in map: {plain(element)}")


def _merge_maps(original: Object, patch: Object, schema: Schema) -> Object:
    if _PATCH in patch:
        directive = patch.pop(_PATCH)
        if directive == "replace":
            return patch
        if directive == "delete":
            return {}
        raise _unknown_directive(directive, patch | {_PATCH: directive})
    _retain_keys(original, patch)
    _set_element_orders(original, patch, schema)
    for name, value in patch.items():
        if name.startswith(_DELETE_FROM):
            target = _list_name(name, _DELETE_FROM, _BAD_DELETE)
            if value is None:
                original.pop(target, None)
            elif type(original.get(target)) is list and type(value) is list:
                items, _, _ = _list_at(schema, target)
                original[target] = _delete_from(original[target], value, items)
        elif value is None:
            original.pop(name, None)
        else:
            _merge_member(original, name, value, schema)
    return original


def _merge_member(original: Object, name: str, value: Any, schema: Schema) -> None:
    before = original.get(name)
    if type(before) is dict and type(value) is dict:
        field = _field_at(schema, name)
        original[name] = value if _strategy(field) == "replace" else _merge_maps(before, value, field)
    elif type(before) is list and type(value) is list:
        items, strategy, key = _list_at(schema, name)
        original[name] = _merge_lists(before, value, items, key) if strategy == "merge" else value
    elif name not in original or type(before) is not type(value):
        _drop_nulls(value)
        _set_plain(original, name, value)
    else:
        _set_plain(original, name, value)


def _set_plain(original: Object, name: str, value: Any) -> None:
    kept, value = _without_directives(value)
    if kept:
        original[name] = value
    else:
        original.pop(name, None)


def _without_directives(value: Any) -> tuple[bool, Any]:
    """Returns whether a new value is kept, and the value without directives, which have nothing to apply to."""
    if type(value) is dict:
        if _PATCH in value:
            return False, None
        results = {name: _without_directives(item) for name, item in value.items()}
        return True, {name: item for name, (kept, item) in results.items() if kept}
    if type(value) is list:
        return True, [item for kept, item in map(_without_directives, value) if kept]
    return True, value


def _drop_nulls(value: Any) -> None:
    if type(value) is dict:
        for name in [name for name, item in value.items() if item is None]:
            del value[name]
    for item in value.values() if type(value) is dict else value if type(value) is list else ():
        _drop_nulls(item)


def _retain_keys(original: Object, patch: Object) -> None:
    if _RETAIN not in patch:
        return
    kept = patch.pop(_RETAIN)
    if type(kept) is not list:
        raise bad_request(_BAD_RETAIN)
    for name, value in patch.items():
        if value is not None and not name.startswith((_DELETE_FROM, _ORDER)) and name not in kept:
            raise bad_request(_BAD_RETAIN)
    for name in [name for name in original if name not in kept]:
        del original[name]


def _set_element_orders(original: Object, patch: Object, schema: Schema) -> None:
    for directive in [name for name in patch if name.startswith(_ORDER)]:
        order = patch.pop(directive)
        if type(order) is not list:
            raise _failed(f"expected a []interface {{}}, but received a {go_type(order)}")
        name = _list_name(directive, _ORDER, _BAD_ORDER)
        before, wanted = original.get(name), patch.get(name)
        for found in (before, wanted):
            if found is not None and type(found) is not list:
                raise _failed(f"expected a []interface {{}}, but received a {go_type(found)}")
        items, strategy, key = _list_at(schema, name)
        _check_order(wanted or [], order, key)
        if before is None and wanted is None:
            continue
        if before is None:
            _, merged = _without_directives(wanted)
        elif wanted is None:
            merged = before
        else:
            merged = _merge_lists(list(before), wanted, items, key) if strategy == "merge" else wanted
        _element_type(before or [], wanted or [])
        original[name] = _in_order(merged, order, before or [], key)
        patch.pop(name, None)


def _check_order(patch: list[Any], order: list[Any], key: str) -> None:
    """Checks that the elements of the patch occur in the order list, in the same order."""
    if not patch or not order:
        return
    elements = patch if not key else [each for each in patch if not (_is_map(each) and each.get(_PATCH) == "delete")]
    at = 0
    for wanted in order:
        while at < len(elements) and _is_map(elements[at]) and _PATCH in elements[at]:
            at += 1
        if at < len(elements) and _identity(elements[at], key) == _identity(wanted, key):
            at += 1
    if at < len(elements):
        raise _failed(f"The order in patch list:\n{plain(patch)}\n doesn't match {_ORDER} list:\n{plain(order)}\n")


def _list_name(name: str, prefix: str, problem: str) -> str:
    found, slash, target = name.partition("/")
    if not slash or found != prefix:
        raise bad_request(problem)
    return target


def _delete_from(original: list[Any], values: list[Any], items: Schema) -> list[Any]:
    if not original and not values:
        return original
    if _element_type(original, values) is dict:
        raise _failed(f"cannot merge lists without merge key for {'struct' if items.known else 'map'}")
    gone = {_scalar(value) for value in values}
    return [value for value in original if _scalar(value) not in gone]


def _merge_lists(original: list[Any], patch: list[Any], items: Schema, key: str) -> list[Any]:
    if not original and not patch:
        return original
    if _element_type(original, patch) is not dict:
        merged = list({_scalar(value): value for value in [*original, *patch]}.values())
        return _in_order(merged, patch, original, "")
    if not key:
        raise _failed(f"cannot merge lists without merge key for {'struct' if items.known else 'map'}")
    original, patch = _with_special_elements(original, patch, key)
    merged = list(original)
    for element in patch:
        if key not in element:
            raise _no_key(element, key)
        at = _find(merged, key, element[key])
        if at is None:
            merged.append(element)
        else:
            merged[at] = _merge_maps(merged[at], element, items)
    return _in_order(merged, patch, original, key)


def _with_special_elements(original: list[Any], patch: list[Any], key: str) -> tuple[list[Any], list[Any]]:
    """Applies the directives in the patch. Returns the rest of both lists."""
    plain_elements, replace = [], False
    for element in patch:
        if _PATCH not in element:
            plain_elements.append(element)
            continue
        directive = element[_PATCH]
        if directive == "delete":
            if key not in element:
                raise _no_key(element, key)
            original = [each for each in original if not _has(each, key, element[key])]
        elif directive == "replace":
            replace = True
        elif directive == "merge":
            raise _failed("merging lists cannot yet be specified in the patch")
        else:
            raise _unknown_directive(directive, element)
    return (plain_elements, []) if replace else (original, plain_elements)


def _in_order(merged: list[Any], order: list[Any], live: list[Any], key: str) -> list[Any]:
    """Sorts the elements in the given order; other elements keep their position from the live list."""
    if key:
        for element in (*merged, *order, *live):
            if not _is_map(element):
                raise _failed(f"expected a map[string]interface {{}}, but received a {go_type(element)}")
            if key not in element:
                raise _no_key(element, key)
    rank = _ranks(order, key)
    lived = _ranks(live, key)
    named = sorted(
        (each for each in merged if _identity(each, key) in rank), key=lambda each: rank[_identity(each, key)]
    )
    others = [each for each in merged if _identity(each, key) not in rank]
    others.sort(key=lambda each: lived.get(_identity(each, key), -1))
    result, at = [], 0
    for element in named:
        here = lived.get(_identity(element, key))
        while here is not None and at < len(others) and -1 < lived.get(_identity(others[at], key), -1) < here:
            result.append(others[at])
            at += 1
        result.append(element)
    return [*result, *others[at:]]


def _ranks(elements: Iterable[Any], key: str) -> dict[Any, int]:
    ranks: dict[Any, int] = {}
    for index, element in enumerate(elements):
        ranks.setdefault(_identity(element, key), index)
    return ranks


def _identity(element: Any, key: str) -> Any:
    if not key:
        return _scalar(element)
    if not _is_map(element):
        raise _failed(f"expected a map[string]interface {{}}, but received a {go_type(element)}")
    if key not in element:
        raise _no_key(element, key)
    return _scalar(element[key])


def _scalar(value: Any) -> Any:
    """Returns a hashable value in which true is not 1."""
    if type(value) is dict or type(value) is list:
        raise _failed(f"runtime error: hash of unhashable type {go_type(value)}")
    return type(value), value


def _find(elements: list[Any], key: str, value: Any) -> int | None:
    return next((index for index, element in enumerate(elements) if _has(element, key, value)), None)


def _has(element: Any, key: str, value: Any) -> bool:
    found = element.get(key)
    return found is not None and type(found) is type(value) and bool(found == value)


def _is_map(value: Any) -> bool:
    return type(value) is dict


def _element_type(*lists: list[Any]) -> type:
    kinds = {type(element) for elements in lists for element in elements}
    if list in kinds:
        raise Refused(422, "Invalid", "the server rejected our request due to an error in our request")
    if len(kinds) > 1:
        raise _failed(f"list element types are not identical: {plain(list(lists))}")
    if not kinds:
        raise _failed("no elements in any of the given slices")
    return kinds.pop()


def _field_at(schema: Schema, name: str) -> Schema:
    if not schema.known:
        kind = "map" if schema.is_map else "string"
        raise _failed(f"merging an object in json but data type is not struct, instead is: {kind}")
    field = schema.fields[name]
    if field is None:
        struct = schema.name.rpartition(".")[2]
        raise _failed(f"unable to find api field in struct {struct} for the json field {quoted(name)}")
    return field


def _list_at(schema: Schema, name: str) -> tuple[Schema, str, str]:
    """Returns the schema of the elements, the strategy and the merge key of a list."""
    field = _field_at(schema, name)
    if not field.is_list or field.items is None:
        raise _failed("expected slice or array type, but got: struct")
    return field.items, _strategy(field), field.patch_merge_key


def _strategy(field: Schema) -> str:
    return next((each for each in field.patch_strategies if each != "retainKeys"), "")
