"""The two ways into the server: a transport for clients in this process, and HTTP with TLS on a port."""

from __future__ import annotations
