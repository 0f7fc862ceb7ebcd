"""The proxy that disturbs connections, without a control plane."""

from __future__ import annotations

import contextlib
import gc
import socket
import warnings

from kubewright.testing import Proxy
from tests.patience import PATIENCE


def is_closed(connection: socket.socket) -> bool:
    connection.settimeout(PATIENCE)
    with contextlib.suppress(ConnectionResetError):
        return connection.recv(1) == b""
    return True


def test_closes_connections_that_arrive_while_it_ends() -> None:
    with warnings.catch_warnings(record=True) as found, socket.create_server(("127.0.0.1", 0), backlog=500) as target:
        warnings.simplefilter("always")
        for number in range(40):
            with contextlib.ExitStack() as clients:
                with Proxy(target.getsockname()[1]) as proxy:
                    made = [
                        clients.enter_context(socket.create_connection(("127.0.0.1", proxy.port)))
                        for _ in range(number % 4 + 1)
                    ]
                assert [is_closed(one) for one in made] == [True] * len(made)
        gc.collect()
    assert [str(one.message) for one in found] == []
