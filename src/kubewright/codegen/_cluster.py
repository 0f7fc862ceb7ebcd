"""Reads definitions from a live cluster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from kubewright.client import Client, Forbidden, NotFound
from kubewright.codegen._definition import KindSource, read_definition
from kubewright.codegen._errors import CodegenError, WrongRequest
from kubewright.codegen._openapi import kind_from_openapi
from kubewright.codegen._select import Selection

__all__ = ["from_cluster"]

_PATH: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_SOURCE: Final = "the cluster"


async def from_cluster(client: Client, kinds: Sequence[str] = (), *, descriptions: bool = True) -> list[KindSource]:
    """Returns the kinds of a cluster: all of them, or those named (`Certificate`, `certificates`,
    `certificates.cert-manager.io`).

    Reads the definitions, if the user is allowed to. Named kinds without a readable definition, such as those of
    aggregated servers, are read from the OpenAPI document, which every user can read. It has the schema, but not the
    columns. Raises CodegenError for a kind that does not exist.
    """
    selection = Selection(kinds)
    try:
        documents = await _definitions(client)
    except (Forbidden, NotFound):
        if not kinds:
            raise CodegenError(
                _SOURCE, "you are not allowed to list definitions; name the kinds with --kind to read them from OpenAPI"
            ) from None
        documents = []
    found = [
        read_definition(document, f"{_SOURCE}, {document['metadata']['name']}", descriptions=descriptions)
        for document in documents
        if selection.takes(
            document["spec"]["names"]["kind"], document["spec"]["names"]["plural"], document["spec"]["group"]
        )
    ]
    return found + [await _described(client, name, descriptions=descriptions) for name in selection.missing()]


async def _definitions(client: Client) -> list[dict[str, Any]]:
    documents: list[dict[str, Any]] = []
    query = {"limit": "100"}
    while True:
        try:
            page = msgspec.json.decode(await client.request("GET", _PATH, query=query))
        except msgspec.DecodeError:
            raise WrongRequest(_SOURCE, "the response is not from a Kubernetes API server; check the address") from None
        documents += [{"apiVersion": "apiextensions.k8s.io/v1"} | each for each in page["items"]]
        following = page["metadata"].get("continue")
        if not following:
            return documents
        query["continue"] = following


async def _described(client: Client, name: str, *, descriptions: bool) -> KindSource:
    selection = Selection([name])
    served = [
        resource
        for resource in await client.discovery.resources()
        if resource.info.group and selection.takes(resource.info.kind, resource.info.plural, resource.info.group)
    ]
    groups = sorted({f"{resource.info.plural}.{resource.info.group}" for resource in served})
    if not served:
        hint = selection.near(name)
        raise WrongRequest(_SOURCE, f"it serves no kind {name}{hint}; built-in kinds are in kubewright.api")
    if len(groups) > 1:
        raise WrongRequest(_SOURCE, f"{name} is ambiguous: {' or '.join(groups)}; name one of these")
    documents = {}
    for resource in served:
        info = resource.info
        raw = await client.request("GET", f"/openapi/v3/apis/{info.group}/{info.version}")
        documents[info.version] = msgspec.json.decode(raw)
    return kind_from_openapi(served, documents, _SOURCE, descriptions=descriptions)
