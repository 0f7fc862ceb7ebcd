"""Documents that are not resources: API discovery, OpenAPI, the version and health endpoints."""

from __future__ import annotations
