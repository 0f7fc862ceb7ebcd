"""Opens a WebSocket to a subresource of a pod."""

from __future__ import annotations

from collections.abc import Sequence

from kubewright.client._errors import ApiError, Status, error_from_loss
from kubewright.client._sender import Sender
from kubewright.client._transport import ConnectionLost, Request, Upgradable
from kubewright.streaming import HandshakeError, WebSocket, check_upgrade, upgrade_headers

__all__ = ["open_socket"]


async def open_socket(sender: Sender, request: Request, protocols: Sequence[str]) -> tuple[WebSocket, str]:
    """Returns the WebSocket and its subprotocol. Raises `ApiError` if the server refuses it or does not support it.

    The request's timeout is for the handshake. Nothing is retried after the server may have started a command.
    """
    asked = upgrade_headers(protocols)
    request.headers.update(asked)
    request.upgrade = request.stream = True
    response = await sender.open(request)
    try:
        if response.status != 101 or not isinstance(response, Upgradable):
            message = f"the server answered with status {response.status} and did not open a WebSocket"
            raise ApiError(Status(code=response.status, reason="UpgradeRefused", message=message), str(request))
        chosen = check_upgrade(asked, response.headers)
        return WebSocket(response.upgraded(), is_client=True), chosen
    except HandshakeError as error:
        response.close()
        raise ApiError(Status(code=101, reason="UpgradeFailed", message=str(error)), str(request)) from error
    except ConnectionLost as error:
        raise error_from_loss(error, str(request)) from error
    except ApiError:
        response.close()
        raise
