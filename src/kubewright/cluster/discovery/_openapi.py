"""OpenAPI documents of built-in and custom kinds."""

from __future__ import annotations

from kubewright.cluster._state import State
from kubewright.cluster.machinery._failures import PlainFailure
from kubewright.cluster.machinery._responses import ApiResponse, encode

__all__ = ["openapi"]

# Clients request it by the first name, which is not a valid media type; the response uses the second.
_ASKED_FOR = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
_PROTOBUF = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"


def openapi(state: State, path: str, accept: str) -> ApiResponse:
    """Returns `/openapi/v2`, `/openapi/v3`, or the document of a group version below the latter."""
    from kubewright.cluster import schema

    custom = state.custom_kinds()
    if path == "/openapi/v2":
        document = schema.openapi_v2(custom)
        if _ASKED_FOR in accept or _PROTOBUF in accept:
            return ApiResponse(schema.openapi_v2_protobuf(document), content_type=_PROTOBUF)
        return ApiResponse(encode(document))
    if path == "/openapi/v3":
        paths = schema.openapi_v3_paths(custom).items()
        return ApiResponse(
            encode(
                {"paths": {name: {"serverRelativeURL": f"/openapi/v3/{name}?hash={digest}"} for name, digest in paths}}
            )
        )
    group_version = path.removeprefix("/openapi/v3/").removeprefix("apis/").removeprefix("api/")
    found = schema.openapi_v3(group_version, custom)
    if found is None:
        raise PlainFailure(404, "404 page not found\n")
    return ApiResponse(encode(found))
