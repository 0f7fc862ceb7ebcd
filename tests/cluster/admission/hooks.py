"""A webhook server for tests: over TLS, on loopback, with answers that are data."""

from __future__ import annotations

import asyncio
import base64
import json
import ssl
from pathlib import Path
from typing import Any, Self

from aiohttp import web

from kubewright.certificates import CertificateAuthority
from tests.cluster.admission.converter import converted

ALLOW: dict[str, Any] = {"allowed": True}


class HookServer:
    """Answers reviews at `url/<path>` as `behaviours[path]` says, and keeps what it was asked in `asked[path]`.

    A behaviour is the response, with these keys of its own: `patch` is a list of operations; `raw` is the whole body,
    `text` the same as it stands; `code` the status; `hang` answers never; `unless` (a label) allows objects that have
    it; `version` the version of the answer; `omit` fields of the review. Whoever is asked to convert does so; `fault`
    says what it does wrong.
    """

    def __init__(self, folder: Path) -> None:
        self._authority = CertificateAuthority("webhooks")
        certificate, key = self._authority.issue("hooks", hosts=["127.0.0.1", "hooks.default.svc"]).write(
            folder, "hooks"
        )
        self.certificate = Path(certificate).read_bytes()
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(certificate, key)
        self._runner: web.ServerRunner | None = None
        self.url = ""
        self.port = 0
        """Of the next start: any free one, then the same again."""
        self.peers: set[Any] = set()
        """The other ends of all connections on which a review came."""
        self.hosts: list[str] = []
        self.behaviours: dict[str, Any] = {}
        self.asked: dict[str, list[Any]] = {}
        self.hanging = asyncio.Event()

    @property
    def bundle(self) -> str:
        """The CA bundle of a client configuration."""
        return base64.b64encode(self._authority.pair.certificate).decode()

    @property
    def address(self) -> str:
        return self.url.removeprefix("https://")

    async def __aenter__(self) -> Self:
        self._server = web.Server(self._handle, access_log=None)
        self._runner = web.ServerRunner(self._server, shutdown_timeout=1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self.port, ssl_context=self._context, reuse_address=True).start()
        self.port = self._runner.addresses[0][1]
        self.url = f"https://127.0.0.1:{self.port}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self.hanging.set()
        assert self._runner is not None
        self.cut()
        await self._runner.cleanup()

    def cut(self) -> None:
        """End all connections, and not in an orderly way: nobody at the other end may be there to say good-bye."""
        for connection in self._server.connections:
            if connection.transport is not None:
                connection.transport.abort()

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        path = request.path.removeprefix("/")
        self.hosts.append(request.headers["Host"])
        self.peers.add(request.transport.get_extra_info("peername") if request.transport is not None else None)
        review = json.loads(await request.read())
        self.asked.setdefault(path, []).append(review)
        behaviour = self.behaviours.get(path, ALLOW)
        if callable(behaviour):
            behaviour = await behaviour(review)
        if behaviour.get("hang"):
            await self.hanging.wait()
        status = behaviour.get("code", 200)
        if "text" in behaviour:
            return web.Response(status=status, text=behaviour["text"], content_type=behaviour.get("type", "text/plain"))
        if "objects" in review["request"] and "raw" not in behaviour:
            return web.json_response(converted(review, behaviour.get("fault")), status=status)
        body = behaviour["raw"] if "raw" in behaviour else answer_to(review, behaviour)
        return web.json_response(body, status=status)


def answer_to(review: dict[str, Any], behaviour: dict[str, Any]) -> dict[str, Any]:
    """The AdmissionReview that a behaviour answers with."""
    request = review["request"]
    response = {"uid": request["uid"], **behaviour}
    for name in ("unless", "version", "omit", "code"):
        response.pop(name, None)
    if "patch" in response and isinstance(response["patch"], list):
        response["patch"] = base64.b64encode(json.dumps(response["patch"]).encode()).decode()
        response.setdefault("patchType", "JSONPatch")
    labels = ((request.get("object") or {}).get("metadata") or {}).get("labels") or {}
    if behaviour.get("unless") in labels:
        response = {"uid": request["uid"], "allowed": True}
    version = behaviour.get("version", review["apiVersion"])
    made = {"apiVersion": version, "kind": "AdmissionReview", "response": response}
    return {name: value for name, value in made.items() if name not in behaviour.get("omit", ())}
