"""Subresources: scale, eviction, tokens, logs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from kubewright.api import Object, encode, info_of
from kubewright.client._lines import Lines
from kubewright.client._patches import MergePatch
from kubewright.client._requests import Requests, delete_options, query_of, with_body

if TYPE_CHECKING:  # the groups are imported on first use
    from kubewright.api.authentication.v1 import TokenRequest
    from kubewright.api.autoscaling.v1 import Scale

__all__ = ["Subresources"]

_MAX_LINE_BYTES = 2**20


class Subresources(Requests):
    """The verbs for subresources."""

    async def get_scale(self, kind: type[Object], name: str, namespace: str | None = None) -> Scale:
        """Returns the desired and actual replicas of an object."""
        from kubewright.api.autoscaling.v1 import Scale

        request = self._for_object("GET", "get", info_of(kind), namespace, name, subresource="scale", repeatable=True)
        return await self._object(Scale, request)

    async def set_scale(
        self, kind: type[Object], name: str, replicas: int, namespace: str | None = None, *, dry_run: bool = False
    ) -> Scale:
        """Sets the number of replicas."""
        from kubewright.api.autoscaling.v1 import Scale

        request = self._for_object(
            "PATCH",
            "patch",
            info_of(kind),
            namespace,
            name,
            subresource="scale",
            query=self._write_query(dry_run=dry_run),
        )
        patch = MergePatch({"spec": {"replicas": replicas}})
        return await self._object(Scale, with_body(request, encode(patch.body), patch.content_type))

    async def evict(
        self, name: str, namespace: str | None = None, *, grace_period_seconds: int | None = None, dry_run: bool = False
    ) -> None:
        """Evicts a pod, which respects disruption budgets. Raises `TooManyRequests` if one forbids it."""
        from kubewright.api.core.v1 import Pod

        request = self._for_object("POST", "create", info_of(Pod), namespace, name, subresource="eviction")
        body = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": name, "namespace": request.namespace},
            "deleteOptions": delete_options(None, grace_period_seconds, dry_run=dry_run),
        }
        await self._sender.read(with_body(request, encode(body)))

    async def create_token(
        self,
        service_account: str,
        namespace: str | None = None,
        *,
        audiences: Sequence[str] = (),
        expiration_seconds: int | None = None,
    ) -> TokenRequest:
        """Returns a token for a service account, in `status.token`."""
        from kubewright.api.authentication.v1 import TokenRequest, TokenRequestSpec
        from kubewright.api.core.v1 import ServiceAccount

        request = self._for_object(
            "POST", "create", info_of(ServiceAccount), namespace, service_account, subresource="token"
        )
        asked = TokenRequest(spec=TokenRequestSpec(audiences=[*audiences], expiration_seconds=expiration_seconds))
        return await self._object(TokenRequest, with_body(request, encode(asked)))

    async def logs(
        self,
        name: str,
        namespace: str | None = None,
        *,
        container: str | None = None,
        follow: bool = False,
        previous: bool = False,
        timestamps: bool = False,
        tail_lines: int | None = None,
        since_seconds: int | None = None,
        since: datetime | None = None,
        limit_bytes: int | None = None,
    ) -> AsyncIterator[str]:
        """Yields the log lines of a pod's container as they arrive; with `follow`, until it ends.

        A line of more than 1 MiB is split.
        """
        from kubewright.api.core.v1 import Pod

        query = query_of(
            container=container,
            follow="true" if follow else None,
            previous="true" if previous else None,
            timestamps="true" if timestamps else None,
            tailLines=tail_lines,
            sinceSeconds=since_seconds,
            sinceTime=since.isoformat() if since else None,
            limitBytes=limit_bytes,
        )
        request = self._for_object(
            "GET", "get", info_of(Pod), namespace, name, subresource="log", query=query, repeatable=True
        )
        request.headers["Accept"] = "*/*"
        request.stream, request.timeout = True, None
        response = await self._sender.open(request)
        buffer = Lines()
        try:
            async for chunk in response.chunks():
                for line in buffer.feed(chunk):
                    yield line[:-1].decode("utf-8", "replace")
                if buffer.pending > _MAX_LINE_BYTES:
                    yield buffer.rest().decode("utf-8", "replace")
            if buffer.pending:
                yield buffer.rest().decode("utf-8", "replace")
        finally:
            response.close()
