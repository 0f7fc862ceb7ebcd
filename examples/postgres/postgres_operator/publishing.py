"""Publishes the certificate of the REST API in a ConfigMap, so that the web page can verify the operator.

The certificate is self-signed, and its key stays in memory. Clients trust it because the API server has it.
"""

import asyncio
import contextlib
import logging
import os
from collections.abc import AsyncIterator

import kubewright as kw
from kubewright.api import core, meta
from kubewright.client import ApiError

API_NAME = "postgres-operator-api"
CERTIFICATE_KEY = "tls.crt"
SECONDS = 60.0
"""How soon a new certificate is published, and a failed attempt is repeated."""

logger = logging.getLogger("postgres_operator")


def add_publishing(operator: kw.Operator) -> None:
    """Lets the leader publish its certificate. Only a pod does that, because it knows its namespace."""
    operator.attach(_publish, stage="leader")
    operator.needs(core.ConfigMap, verbs=["create"], namespace=".")
    operator.needs(core.ConfigMap, verbs=["patch"], names=[API_NAME], namespace=".")


@contextlib.asynccontextmanager
async def _publish(running: kw.Running) -> AsyncIterator[None]:
    namespace = os.environ.get("POD_NAMESPACE")
    if not namespace or _certificate_of(running) is None:
        yield
        return
    task = asyncio.create_task(_keep_published(running, namespace))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def _certificate_of(running: kw.Running) -> bytes | None:
    return next((server.certificate for server in running.servers if server.certificate is not None), None)


async def _keep_published(running: kw.Running, namespace: str) -> None:
    published: bytes | None = None
    while True:
        current = _certificate_of(running)
        if current is not None and current != published:
            metadata = meta.ObjectMeta(name=API_NAME, namespace=namespace)
            try:
                await running.client.apply(core.ConfigMap(metadata=metadata, data={CERTIFICATE_KEY: current.decode()}))
                published = current
            except ApiError as error:
                logger.warning("the certificate of the REST API cannot be published: %s", error)
        await running.clock.sleep(SECONDS)
