"""Kubewright: the Python SDK for Kubernetes operators."""

__version__ = "0.1.0.dev0"
