"""Kubewright: the Python SDK for Kubernetes operators.

The names that most programs need are here; each is imported when it is first used, so that `import kubewright` is
quick. The rooms: `kubewright.api` (typed objects), `kubewright.client`, `kubewright.queue`, `kubewright.testing`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

__version__ = "0.1.0.dev0"

if TYPE_CHECKING:
    from kubewright.api import Model as Model
    from kubewright.api import Object as Object
    from kubewright.api import Quantity as Quantity
    from kubewright.api import Resource as Resource
    from kubewright.api import Untyped as Untyped
    from kubewright.api._resource import resource as resource
    from kubewright.client import ApiError as ApiError
    from kubewright.client import BlockingClient as BlockingClient
    from kubewright.client import Client as Client
    from kubewright.client import ConfigError as ConfigError
    from kubewright.client import load_config as load_config

_HOMES = {
    "Model": "kubewright.api",
    "Object": "kubewright.api",
    "Quantity": "kubewright.api",
    "Resource": "kubewright.api",
    "Untyped": "kubewright.api",
    "resource": "kubewright.api._resource",
    "ApiError": "kubewright.client",
    "BlockingClient": "kubewright.client",
    "Client": "kubewright.client",
    "ConfigError": "kubewright.client",
    "load_config": "kubewright.client",
}

__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'kubewright' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted(__all__)
