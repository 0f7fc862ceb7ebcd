"""Responses for /openapi: the negotiated form, ETags, and addresses that clients may cache forever."""

from __future__ import annotations

from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Final

from kubewright.client import Request
from kubewright.cluster.machinery._calls import header_of
from kubewright.cluster.machinery._failures import PlainFailure
from kubewright.cluster.machinery._responses import JSON, ApiResponse
from kubewright.cluster.openapi import Document, OpenApiDocuments, address_of, http_time

__all__ = ["openapi_response"]

_FAR_FUTURE: Final = "public, immutable"


async def openapi_response(documents: OpenApiDocuments, request: Request, path: str) -> ApiResponse:
    """Returns /openapi/v2, /openapi/v3, or the document of a group version below the latter."""
    if path == "/openapi/v2":
        return await _v2(documents, request)
    if path == "/openapi/v3":
        # The real server sends this type, and no ETag.
        headers = {"Content-Type": "text/plain; charset=utf-8"}
        return _conditional(request, await documents.v3_index(), headers)
    if path.startswith("/openapi/v3/"):
        return await _v3(documents, request, path.removeprefix("/openapi/v3/"))
    raise PlainFailure(404, "404 page not found\n")


async def _v2(documents: OpenApiDocuments, request: Request) -> ApiResponse:
    headers = {"Vary": "Accept-Encoding, Accept"}
    form = _negotiated(request, "v2")
    if form is None:
        return ApiResponse(status=406, headers=headers)
    protobuf = form != JSON
    document = await documents.v2(protobuf=protobuf)
    headers |= {"Content-Type": form, "Etag": f'"{document.etag}"'}
    response = _conditional(request, document, headers)
    if response.status == 200 and "gzip" in header_of(request, "Accept-Encoding"):
        response.body = (await documents.v2_gzip(protobuf=protobuf)).body
        response.add_header("Content-Encoding", "gzip")
    return response


async def _v3(documents: OpenApiDocuments, request: Request, name: str) -> ApiResponse:
    headers = {"Vary": "Accept"}
    form = _negotiated(request, "v3")
    if form is None:
        return ApiResponse(status=406, headers=headers)
    document = await documents.v3(name, protobuf=form != JSON)
    if document is None:
        raise PlainFailure(404, "")
    headers |= {"Content-Type": form, "Etag": f'"{document.etag}"'}
    if wanted := dict(request.query).get("hash"):
        if wanted != document.etag:
            return ApiResponse(status=301, headers=headers | {"Location": address_of(name, document.etag)})
        headers |= {"Cache-Control": _FAR_FUTURE, "Expires": http_time(_next_year(document.modified))}
    return _conditional(request, document, headers)


def _conditional(request: Request, document: Document, headers: dict[str, str]) -> ApiResponse:
    """Returns a document, or 304 if the client has it already."""
    modified = {"Last-Modified": http_time(document.modified)}
    if not _has(request, document, headers):
        return ApiResponse(document.body, headers=headers | modified)
    del headers["Content-Type"]
    return ApiResponse(status=304, headers=headers if "Etag" in headers else headers | modified)


def _has(request: Request, document: Document, headers: dict[str, str]) -> bool:
    known = [each.strip().removeprefix("W/") for each in header_of(request, "If-None-Match").split(",")]
    if known != [""]:
        return "*" in known or headers.get("Etag") in known
    try:
        since = parsedate_to_datetime(header_of(request, "If-Modified-Since"))
    except ValueError:
        return False
    return since.tzinfo is not None and document.modified.replace(microsecond=0) <= since


def _next_year(moment: datetime) -> datetime:
    try:
        return moment.replace(year=moment.year + 1)
    except ValueError:  # 29 February
        return moment.replace(year=moment.year + 1, day=28)


def _negotiated(request: Request, version: str) -> str | None:
    """Returns the media type of the response: the client's first choice that exists, None if there is none."""
    protobuf = f"application/com.github.proto-openapi.spec.{version}.v1.0+protobuf"
    # Clients also use an older name, which is not a valid media type.
    offered = {JSON: JSON, protobuf.replace(".v1.0+", "@v1.0+"): protobuf, protobuf: protobuf}
    for accepted in _by_preference(header_of(request, "Accept") or "*/*"):
        for name, form in offered.items():
            if accepted in (name, "application/*", "*/*"):
                return form
    return None


def _by_preference(accept: str) -> list[str]:
    """Returns the media types of an Accept header, the preferred one first."""
    found: list[tuple[float, str]] = []
    for clause in accept.split(","):
        name, *parameters = (part.strip() for part in clause.split(";"))
        quality = 1.0
        for parameter in parameters:
            if parameter.startswith("q="):
                try:
                    quality = float(parameter[2:])
                except ValueError:
                    quality = 0.0
        if quality > 0:
            found.append((-quality, name.lower()))
    return [name for _, name in sorted(found, key=lambda each: each[0])]
