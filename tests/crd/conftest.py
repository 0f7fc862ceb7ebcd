"""Kinds with one field, installed on a server."""

import itertools
import logging
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest

import kubewright as kw
from kubewright.api import apiextensions, info_of
from kubewright.client import Cause, Client, Invalid
from kubewright.crd import install

_numbers = itertools.count()
ABSENT = object()


def kind_of(hint: Any, default: Any = ABSENT, **arguments: Any) -> type[kw.Object]:
    """Returns a kind whose spec has one field, `value`, of that type."""
    namespace: dict[str, Any] = {"__annotations__": {"value": hint}, "__module__": __name__}
    if default is not ABSENT:
        namespace["value"] = default
    metaclass: Any = type(kw.Model)
    spec = metaclass("Spec", (kw.Model,), namespace)
    return resource_of(spec, None, **arguments)


def resource_of(spec: Any, status: Any, **arguments: Any) -> type[kw.Object]:
    """Returns a kind with a unique name."""

    @kw.resource("table.example.com/v1", kind=f"Case{next(_numbers)}", **arguments)
    class Case(kw.Resource[spec, status]): ...

    return Case


class Cases:
    """Installs kinds, and sends plain JSON to the server."""

    def __init__(self, client: Client, namespace: str, caplog: pytest.LogCaptureFixture) -> None:
        self.client = client
        self.namespace = namespace
        self._caplog = caplog

    @asynccontextmanager
    async def installed(self, *kinds: type[kw.Object]) -> AsyncIterator[apiextensions.CustomResourceDefinition]:
        """Installs a definition, checks that the server does not warn about it, and deletes it afterwards."""
        [crd] = await install(self.client, *kinds)
        try:
            assert [c.type for c in crd.status.conditions or [] if c.type == "NonStructuralSchema"] == []
            assert [r.getMessage() for r in self._caplog.records if r.levelno >= logging.WARNING] == []
            yield crd
        finally:
            await self.client.delete(apiextensions.CustomResourceDefinition, crd.metadata.name)

    async def create(
        self, kind: type[kw.Object], content: dict[str, Any], *, dry_run: bool = True, validation: str = "Strict"
    ) -> dict[str, Any]:
        """Creates an object from plain JSON, and returns the object of the server."""
        info = info_of(kind)
        head = {"apiVersion": info.api_version, "kind": info.kind}
        query = {"fieldValidation": validation} | ({"dryRun": "All"} if dry_run else {})
        place = f"/namespaces/{self.namespace}" if info.namespaced else ""
        body = {"metadata": {"name": "one"}} | head | content
        raw = await self.client.request("POST", f"{info.path}{place}/{info.plural}", body=body, query=query)
        made: dict[str, Any] = msgspec.json.decode(raw)
        return made

    async def refused_paths(self, kind: type[kw.Object], content: dict[str, Any]) -> list[str]:
        """Returns the paths of the fields for which the server rejects an object; empty if it accepts it."""
        try:
            await self.create(kind, content)
        except Invalid as error:
            causes = (error.status.details and error.status.details.causes) or []
            return sorted({_path(cause) for cause in causes if "rules were not checked" not in (cause.message or "")})
        return []


def _path(cause: Cause) -> str:
    """Returns the invalid field, which the server names only in the message for some rules."""
    named = re.search(r'"(\S+)" must|in (\S+)$', cause.message or "") if cause.field == "<nil>" else None
    return (named[1] or named[2]) if named else cause.field or ""


@pytest.fixture
async def cases(client: Client, namespace: str, caplog: pytest.LogCaptureFixture) -> Cases:
    """The helper of the tests of the table."""
    return Cases(client, namespace, caplog)
