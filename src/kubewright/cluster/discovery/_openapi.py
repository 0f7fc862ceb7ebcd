"""OpenAPI documents, of the built-in kinds and of those that were added."""

from __future__ import annotations

from kubewright.cluster._state import State
from kubewright.cluster.machinery._answers import Answer, encode
from kubewright.cluster.machinery._failures import PlainFailure

__all__ = ["openapi"]

# Clients ask for it by its first name, which is no valid media type; the answer has the other one.
_ASKED_FOR = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
_PROTOBUF = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"


def openapi(state: State, path: str, accept: str) -> Answer:
    """`/openapi/v2`, `/openapi/v3`, and the documents of group versions below the latter."""
    from kubewright.cluster import schema

    custom = state.custom_kinds()
    if path == "/openapi/v2":
        document = schema.openapi_v2(custom)
        if _ASKED_FOR in accept or _PROTOBUF in accept:
            return Answer(schema.openapi_v2_protobuf(document), content_type=_PROTOBUF)
        return Answer(encode(document))
    if path == "/openapi/v3":
        paths = schema.openapi_v3_paths(custom).items()
        return Answer(
            encode(
                {"paths": {name: {"serverRelativeURL": f"/openapi/v3/{name}?hash={digest}"} for name, digest in paths}}
            )
        )
    group_version = path.removeprefix("/openapi/v3/").removeprefix("apis/").removeprefix("api/")
    found = schema.openapi_v3(group_version, custom)
    if found is None:
        raise PlainFailure(404, "404 page not found\n")
    return Answer(encode(found))
