"""A webhook server for tests: TLS, loopback, responses as data."""

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
    """Answers reviews at `url/<path>` as `behaviors[path]` describes, and records them in `received[path]`.

    A behavior is the response with these additional keys: `patch`, a list of operations; `raw`, the whole body; `text`,
    the body as a string; `code`, the status; `hang`, never answers; `unless`, a label that allows objects; `version`,
    the version of the response; `omit`, fields of the review. Conversion reviews are converted; `fault` names an error
    to make.
    """

    def __init__(self, folder: Path) -> None:
        self._authority, self._folder = CertificateAuthority("webhooks"), folder
        self.renew()
        self._runner: web.ServerRunner | None = None
        self.url = ""
        self.port = 0
        """The port of the next start: any free one first, then the same."""
        self.peers: set[Any] = set()
        """The peer addresses of all connections that carried a review."""
        self.hosts: list[str] = []
        self.behaviors: dict[str, Any] = {}
        self.received: dict[str, list[Any]] = {}
        self.hanging = asyncio.Event()

    def renew(self) -> None:
        """Uses a new certificate of the same authority from the next start on."""
        pair = self._authority.issue("hooks", hosts=["127.0.0.1", "hooks.default.svc"])
        certificate, key = pair.write(self._folder, "hooks")
        self.certificate = Path(certificate).read_bytes()
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(certificate, key)

    @property
    def bundle(self) -> str:
        """Returns the CA bundle of a client configuration."""
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
        """Aborts all connections without a TLS shutdown."""
        for connection in self._server.connections:
            if connection.transport is not None:
                connection.transport.abort()

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        path = request.path.removeprefix("/")
        self.hosts.append(request.headers["Host"])
        self.peers.add(request.transport.get_extra_info("peername") if request.transport is not None else None)
        review = json.loads(await request.read())
        self.received.setdefault(path, []).append(review)
        behavior = self.behaviors.get(path, ALLOW)
        if callable(behavior):
            behavior = await behavior(review)
        if behavior.get("hang"):
            await self.hanging.wait()
        status = behavior.get("code", 200)
        if "text" in behavior:
            return web.Response(status=status, text=behavior["text"], content_type=behavior.get("type", "text/plain"))
        if "objects" in review["request"] and "raw" not in behavior:
            return web.json_response(converted(review, behavior.get("fault")), status=status)
        body = behavior["raw"] if "raw" in behavior else answer_to(review, behavior)
        return web.json_response(body, status=status)


def answer_to(review: dict[str, Any], behavior: dict[str, Any]) -> dict[str, Any]:
    """Returns the AdmissionReview of a behavior."""
    request = review["request"]
    response = {"uid": request["uid"], **behavior}
    for name in ("unless", "version", "omit", "code"):
        response.pop(name, None)
    if "patch" in response and isinstance(response["patch"], list):
        response["patch"] = base64.b64encode(json.dumps(response["patch"]).encode()).decode()
        response.setdefault("patchType", "JSONPatch")
    labels = ((request.get("object") or {}).get("metadata") or {}).get("labels") or {}
    if behavior.get("unless") in labels:
        response = {"uid": request["uid"], "allowed": True}
    version = behavior.get("version", review["apiVersion"])
    made = {"apiVersion": version, "kind": "AdmissionReview", "response": response}
    return {name: value for name, value in made.items() if name not in behavior.get("omit", ())}
