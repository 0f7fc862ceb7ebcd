"""Get and list: the revision, the page, and the objects."""

from __future__ import annotations

import base64
import re
from typing import Final

import msgspec

from kubewright.cluster._state import State
from kubewright.cluster.machinery._calls import Call
from kubewright.cluster.machinery._failures import (
    Failure,
    bad_request,
    expired,
    invalid_options,
    not_found,
    too_large_revision,
)
from kubewright.cluster.machinery._field_errors import FieldError, forbidden, invalid, not_supported
from kubewright.cluster.machinery._json_syntax import syntax_problem
from kubewright.cluster.machinery._resources import JSONObject
from kubewright.cluster.machinery._responses import ApiResponse
from kubewright.cluster.machinery._work_budget import PROCESSED, SCANNED, WorkBudget
from kubewright.cluster.output._format import output_format
from kubewright.cluster.output._lists import encode_list
from kubewright.cluster.registry._selection import Selection, selection_of
from kubewright.cluster.storage._storage import Compacted, Entry

__all__ = [
    "check_list_options",
    "get",
    "horizon_of",
    "list_objects",
    "requested_revision",
    "select",
    "wait_for_revision",
]

_WAIT_SECONDS: Final = 3.0
_NOT_BASE64: Final = re.compile(r"[^A-Za-z0-9_-]")
_TOO_OLD: Final = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without "
    "the continue parameter, or use the continue token in this response to retrieve the remainder of the results. "
    "Continuing with the provided token results in an inconsistent list - objects that were created, modified, or "
    "deleted between the time the first chunk was returned and now may show up in the list."
)


class _Token(msgspec.Struct):
    v: str = ""
    rv: int = 0
    start: str = ""


async def get(state: State, call: Call) -> ApiResponse:
    """Handles GET of one object."""
    output = output_format(call)
    requested = requested_revision(call)
    await wait_for_revision(state, requested, call)
    horizon = horizon_of(state, call)
    if horizon is None:
        found = state.storage.get(call.type.storage, call.namespace, call.name)
    else:
        try:
            found = state.storage.get_at(call.type.storage, call.namespace, call.name, horizon)
        except Compacted as error:
            raise expired(f"too old resource version: {horizon} ({error.oldest})") from error
    if found is None:
        raise not_found(call.type, call.name)
    return ApiResponse(output.encode_entry(state, found), warnings=call.warnings)


def requested_revision(call: Call) -> int:
    """Returns the resourceVersion of the query; 0 if there is none."""
    text = call.query.get("resourceVersion", "")
    if not text:
        return 0
    if not (text.isascii() and text.isdigit()):
        error = invalid("resourceVersion", text, f'strconv.ParseUint: parsing "{text}": invalid syntax')
        if call.verb == "list":
            raise bad_request(f"invalid resource version: {error}")
        raise Failure(500, "", str(error))
    return int(text)


def horizon_of(state: State, call: Call) -> int | None:
    """Returns the revision of the cache that serves a read; None for the newest. Only a laboratory makes it lag.

    Gets and lists without a resourceVersion are consistent: they do not use the cache, or wait for it.
    """
    if state.gate is None or (call.verb != "watch" and not call.query.get("resourceVersion")):
        return None
    return state.gate.horizon(call.type.storage, call.user.name, call.header("User-Agent"))


async def wait_for_revision(state: State, revision: int, call: Call) -> None:
    """Waits for a future revision. Raises the server's timeout error if it does not appear."""
    for last in (False, True):
        horizon = horizon_of(state, call)
        newest = state.storage.revision if horizon is None else horizon
        if revision <= newest:
            return
        if last:
            raise too_large_revision(revision, newest)
        # Only this server creates revisions, so none will appear; the delay is that of the real server.
        await state.clock.sleep(_WAIT_SECONDS)


def check_list_options(call: Call) -> None:
    """Raises `Failure` for invalid combinations of options."""
    query = call.query
    call.number("timeoutSeconds")
    match, initial = query.get("resourceVersionMatch", ""), "sendInitialEvents" in query
    errors: list[FieldError] = []
    if initial and call.verb != "watch":
        errors.append(forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"))
    elif call.verb == "watch":
        errors = _watch_match_errors(match, initial)
    elif match:
        errors = _list_match_errors(match, query.get("resourceVersion", ""), bool(query.get("continue")))
    if errors:
        raise invalid_options("ListOptions", errors)


def _watch_match_errors(match: str, initial: bool) -> list[FieldError]:
    field = "resourceVersionMatch"
    errors = []
    if not initial and match:
        text = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
        errors.append(forbidden(field, text))
    elif initial and match != "NotOlderThan":
        errors.append(forbidden(field, "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"))
    return [*errors, not_supported(field, match, ["NotOlderThan"])] if match not in ("", "NotOlderThan") else errors


def _list_match_errors(match: str, revision: str, continued: bool) -> list[FieldError]:
    field = "resourceVersionMatch"
    errors = []
    if not revision:
        errors.append(forbidden(field, "resourceVersionMatch is forbidden unless resourceVersion is provided"))
    if continued:
        errors.append(forbidden(field, "resourceVersionMatch is forbidden when continue is provided"))
    if match not in ("Exact", "NotOlderThan"):
        errors.append(not_supported(field, match, ["Exact", "NotOlderThan", ""]))
    if match == "Exact" and revision == "0":
        errors.append(forbidden(field, 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'))
    return errors


async def list_objects(state: State, call: Call) -> ApiResponse:
    """Handles GET of a collection."""
    output = output_format(call)
    check_list_options(call)
    if not call.query.get("continue"):
        await wait_for_revision(state, requested_revision(call), call)
    entries, metadata = await select(state, call)
    return ApiResponse(await encode_list(state, output, entries, metadata), warnings=call.warnings)


async def select(state: State, call: Call) -> tuple[list[Entry], JSONObject]:
    """Returns the objects of a list, and its metadata."""
    selection = selection_of(call)
    limit = max(call.number("limit") or 0, 0)
    if token := call.query.get("continue", ""):
        return await _next_page(state, call, selection, token, limit)
    requested = requested_revision(call)
    match = call.query.get("resourceVersionMatch", "")
    exact = match == "Exact" or (not match and limit > 0 and requested > 0)
    horizon = horizon_of(state, call) if call.verb == "list" else None
    revision = requested if exact else state.storage.revision if horizon is None else horizon
    try:
        return await _page(state, call, selection, revision, "", limit)
    except Compacted as error:
        text = "The resourceVersion for the provided list is too old."
        raise expired(text) from error


async def _next_page(
    state: State, call: Call, selection: Selection, text: str, limit: int
) -> tuple[list[Entry], JSONObject]:
    token = _read_token(text)
    if call.query.get("resourceVersion"):
        raise bad_request("specifying resource version is not allowed when using continue")
    revision = token.rv if token.rv > 0 else state.storage.revision
    prefix = f"{call.namespace}/" if call.namespace else ""
    after = prefix + token.start.removesuffix("\0")
    try:
        return await _page(state, call, selection, revision, after, limit)
    except Compacted as error:
        raise expired(_TOO_OLD, _write_token(-1, token.start)) from error


async def _page(
    state: State, call: Call, selection: Selection, revision: int, after: str, limit: int
) -> tuple[list[Entry], JSONObject]:
    metadata: JSONObject = {"resourceVersion": str(min(revision, state.storage.revision))}
    # All at once, as they are at this revision. Further writes may come while they are selected.
    entries = list(state.storage.entries(call.type.storage, call.namespace, after=after, revision=revision))
    page, read = await _selected(entries, selection, limit)
    # As on the real server, objects that are not selected count: the next page may be empty.
    if limit and len(page) == limit and read < len(entries):
        start = page[-1].key.removeprefix(f"{call.namespace}/" if call.namespace else "")
        metadata["continue"] = _write_token(revision, f"{start}\0")
        if selection.selects_all:
            metadata["remainingItemCount"] = len(entries) - read
    return page, metadata


async def _selected(entries: list[Entry], selection: Selection, limit: int) -> tuple[list[Entry], int]:
    """Returns the first selected objects, all without a limit, and how many objects were read."""
    if selection.selects_all:
        page = entries[:limit] if limit else entries
        return page, len(page)
    page, budget, cost = [], WorkBudget(), PROCESSED if selection.decodes else SCANNED
    for read, entry in enumerate(entries, 1):
        if await selection.matches_converted(entry):
            page.append(entry)
            if len(page) == limit:
                return page, read
        await budget.spend(cost)
    return page, len(entries)


def _write_token(revision: int, start: str) -> str:
    content = msgspec.json.encode(_Token("meta.k8s.io/v1", revision, start))
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def _read_token(text: str) -> _Token:
    problem = ""
    wrong = _NOT_BASE64.search(text)
    if wrong is not None or len(text) % 4 == 1:
        raise _bad_token(f"illegal base64 data at input byte {wrong.start() if wrong else len(text) - 1}")
    content = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    try:
        token = msgspec.json.decode(content, type=_Token)
    except (msgspec.DecodeError, ValueError) as error:
        raise _bad_token(syntax_problem(content) or str(error)) from None
    if token.v != "meta.k8s.io/v1":
        problem = f"server does not recognize this encoded version {token.v}"
    elif not token.rv:
        problem = "incorrect encoded start resourceVersion (version meta.k8s.io/v1)"
    elif not token.start:
        problem = "encoded start key empty (version meta.k8s.io/v1)"
    elif {"", ".", ".."} & set(token.start.removeprefix("/").split("/")):
        problem = token.start
    if problem:
        raise _bad_token(problem)
    return token


def _bad_token(problem: str) -> Failure:
    return bad_request(f"invalid continue token: continue key is not valid: {problem}")
