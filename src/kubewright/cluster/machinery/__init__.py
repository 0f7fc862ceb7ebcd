"""Shared types of the API server: resource types, parsed requests, responses, errors, and the codecs of bodies.

Everything here is independent of the state of a server; `_resources` is the contract that the other folders share.
"""

from __future__ import annotations
