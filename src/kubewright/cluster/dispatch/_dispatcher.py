"""Handles one request: finds the resource and calls the code of the verb, for in-process and HTTP clients."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from kubewright.client import Request
from kubewright.cluster._state import State
from kubewright.cluster.access import Access, Admission
from kubewright.cluster.conversion._webhook import Unconverted, convert_entries
from kubewright.cluster.discovery._documents import Documents
from kubewright.cluster.machinery._calls import Call, User, header_of, parse_call
from kubewright.cluster.machinery._failures import Failure, PlainFailure, bad_request, internal, unsupported
from kubewright.cluster.machinery._responses import ApiResponse, NoResponse, error_response
from kubewright.cluster.machinery._unsupported import check_supported
from kubewright.cluster.output._format import output_format, wants_yaml
from kubewright.cluster.registry import _create, _delete, _patch, _read, _scale, _update
from kubewright.cluster.registry._decoding import parse_yaml_in_turns
from kubewright.cluster.registry._finalize import finalize
from kubewright.cluster.storage._storage import RevisionConflict
from kubewright.cluster.watch import _stream
from kubewright.turns import Turns

if TYPE_CHECKING:
    from kubewright.cluster.audit._log import AuditLog, AuditRecord

__all__ = ["Dispatcher", "Override"]

log = logging.getLogger("kubewright.cluster")

Override = Callable[[State, Call], Awaitable[ApiResponse | None]]
"""Handles a call in place of the dispatcher; None leaves it to the dispatcher."""


Interceptor = Callable[[Call, Callable[[Call], Awaitable[ApiResponse]]], Awaitable[ApiResponse]]
"""Wraps the handling of each call. May raise a `Failure` or `NoResponse` before or after it."""


class Dispatcher:
    """Handles requests. `overrides` are tried first, in order; `supported` exempts resources from `_unsupported`."""

    def __init__(self, state: State, *, rbac: bool = False) -> None:
        self.state = state
        self.access = Access(state, rbac=rbac)
        self.overrides: list[Override] = [self.access.override]
        self.supported: set[str] = set()
        self.interceptor: Interceptor | None = None
        self.audit: AuditLog | None = None
        self.metrics: Callable[[], bytes] | None = None
        """Returns the page `/metrics`. If None, the path is rejected with 501."""
        self.turns: Turns | None = None
        """Spreads the decoding of long bodies over turns of the event loop, if the cluster listens on a port."""
        self._documents = Documents(state)

    async def handle(self, request: Request, user: User, *, uri: str = "", source: str = "") -> ApiResponse:
        """Returns the response to a request. Errors are responses, too.

        `uri` is the URI as received and `source` the address of the client, for the audit log.
        """
        if self.audit is None:
            response = await self._respond(request, user, None, source)
        else:
            record = self.audit.begin(request, uri=uri or _uri(request), source=source)
            try:
                response = await self._respond(request, user, record, source)
            except NoResponse:
                record.dropped()
                raise
            record.responded(response)
            response.add_header("Audit-Id", record.id)
        if request.path.startswith("/api") and wants_yaml(header_of(request, "Accept")) and response.is_json:
            await response.in_yaml()
        return response

    def reject(self, request: Request, failure: Failure, user: User | None, *, uri: str, source: str) -> ApiResponse:
        """Returns the response to a request whose user or body was rejected before it could be handled."""
        response = error_response(failure)
        if self.audit is not None:
            record = self.audit.begin(request, uri=uri, source=source)
            record.admission.user = user
            record.responded(response)
            response.add_header("Audit-Id", record.id)
        return response

    async def _respond(self, request: Request, user: User, record: AuditRecord | None, source: str) -> ApiResponse:
        call: Call | None = None
        try:
            user = self.access.admit(request, user, record.admission if record is not None else Admission())
            call = parse_call(request, user, self.state.types)
            if record is not None:
                record.call = call
            if call is None:
                found = self.access.document(request) or self._metrics(request)
                return found or await self._documents.respond(request)
            call.source = source
            return await (
                self._handle_call(call) if self.interceptor is None else self.interceptor(call, self._handle_call)
            )
        except NoResponse:
            raise
        except (Failure, PlainFailure) as failure:
            return error_response(failure, call.warnings if call is not None else None)
        except RecursionError:
            return error_response(bad_request("the body of the request is nested too deeply"))
        except Exception as error:
            # A bug of the cluster must not end the program that embeds it, nor look like a mistake of the client.
            log.exception("the embedded cluster failed at %s %s", request.method, request.path)
            return error_response(internal(f"{type(error).__name__}: {error}"))

    def _metrics(self, request: Request) -> ApiResponse | None:
        if self.metrics is None or request.path != "/metrics" or request.method not in ("GET", "HEAD"):
            return None
        return ApiResponse(self.metrics(), content_type="text/plain; version=0.0.4; charset=utf-8")

    async def _handle_call(self, call: Call) -> ApiResponse:
        check_supported(call, frozenset(self.supported))
        if self.turns is not None and not call.proxied:
            await parse_yaml_in_turns(call, self.turns.next)
        if call.type.deprecation_warning:
            call.warnings.append(call.type.deprecation_warning)
        if call.verb not in ("get", "list", "watch") and not call.proxied:
            output_format(call)  # rejects an unsupported format before anything is written
        for override in self.overrides:
            if (response := await override(self.state, call)) is not None:
                return response
        if call.type.conversion is not None:
            await self._convert(call)
        if call.subresource:
            return await self._subresource(call)
        if call.verb in ("get", "list", "watch"):
            return await self._read(call)
        return await self.write(call)

    async def _read(self, call: Call) -> ApiResponse:
        while True:
            try:
                match call.verb:
                    case "get":
                        return await _read.get(self.state, call)
                    case "list":
                        return await _read.list_objects(self.state, call)
                    case _:
                        return await _stream.watch(self.state, call)
            except Unconverted as missing:  # written since the conversion, or evicted from its cache
                await missing.resolve()

    async def write(self, call: Call) -> ApiResponse:
        """Creates, updates, patches or deletes an object. Raises `Failure`.

        Admission may wait for webhooks. If the object changes during that time, the write starts over.
        """
        warned = len(call.warnings)
        while True:
            try:
                response = await self._write_once(call)
                await self.state.yield_to_watches()
                return response
            except RevisionConflict:
                await self._convert(call)
            except Unconverted as missing:  # evicted from the cache of conversions
                await missing.resolve()
            del call.warnings[warned:]

    async def _convert(self, call: Call) -> None:
        """Converts the objects of a call in advance, if that needs a webhook."""
        storage, type_ = self.state.storage, call.type
        if call.verb == "create":
            return
        if not call.name:
            await convert_entries(type_, storage.entries(type_.storage, call.namespace))
        elif (found := storage.get(type_.storage, call.namespace, call.name)) is not None:
            await convert_entries(type_, [found])

    async def _write_once(self, call: Call) -> ApiResponse:
        state = self.state
        if call.subresource == "scale":
            return await _scale.write_scale(state, call)
        if call.subresource == "finalize":
            return await finalize(state, call)
        match call.verb:
            case "create":
                return await _create.create(state, call)
            case "update":
                return await _update.update(state, call)
            case "patch":
                return await _patch.patch(state, call)
            case "delete":
                return await _delete.delete(state, call)
            case _:
                return await _delete.delete_collection(state, call)

    async def _subresource(self, call: Call) -> ApiResponse:
        state, name = self.state, call.subresource
        strategy = call.type.strategy
        holds_object = name in strategy.status_subresources or name in strategy.spec_subresources
        if holds_object and call.verb == "get":
            return await self._read(call)
        if name == "scale" and call.verb == "get":
            return _scale.get_scale(state, call)
        if holds_object or name in ("scale", "finalize"):
            return await self.write(call)
        raise unsupported(f"the subresource {name!r} of {call.type.qualified}")


def _uri(request: Request) -> str:
    return f"{request.path}?{urlencode(request.query)}" if request.query else request.path
