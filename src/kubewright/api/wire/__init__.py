"""Kubernetes objects as JSON: the parts of encoding and decoding that other packages need.

- `UNREADABLE` are the exceptions that msgspec raises for bytes that it cannot decode.
- `enc_hook` and `dec_hook` teach a msgspec encoder or decoder the types `Quantity`, `MicroTime` and pydantic models.
- `wire_name` returns the JSON name of a Python attribute.
- `cut_list` and `shallow` read JSON that is nested more deeply than msgspec decodes.
- `canonical_json`, `identical_json`, `equal_json` and `json_type` compare decoded JSON values.
- `is_kept` says whether finalizers or a grace period keep an object that is being deleted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kubewright.lazy import lazy_exports

if TYPE_CHECKING:
    from kubewright.api._model import wire_name
    from kubewright.api._values import dec_hook, enc_hook
    from kubewright.api.wire._comparison import canonical_json, equal_json, identical_json, json_type
    from kubewright.api.wire._deletion import is_kept
    from kubewright.api.wire._depth import cut_list, shallow
    from kubewright.api.wire._errors import UNREADABLE

_MODULES = {
    "UNREADABLE": "_errors",
    "canonical_json": "_comparison",
    "cut_list": "_depth",
    "dec_hook": "kubewright.api._values",
    "enc_hook": "kubewright.api._values",
    "equal_json": "_comparison",
    "identical_json": "_comparison",
    "is_kept": "_deletion",
    "json_type": "_comparison",
    "shallow": "_depth",
    "wire_name": "kubewright.api._model",
}

__all__ = [
    "UNREADABLE",
    "canonical_json",
    "cut_list",
    "dec_hook",
    "enc_hook",
    "equal_json",
    "identical_json",
    "is_kept",
    "json_type",
    "shallow",
    "wire_name",
]

if not TYPE_CHECKING:
    __getattr__ = lazy_exports(__name__, _MODULES)


def __dir__() -> list[str]:
    return sorted(__all__)
