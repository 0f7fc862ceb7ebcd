"""Webhooks: the API server asks the program before it stores an object, and to convert one between versions."""

from __future__ import annotations

from kubewright.webhook._certificates_protocol import CertificateSource, Served

__all__ = ["CertificateSource", "Served"]
