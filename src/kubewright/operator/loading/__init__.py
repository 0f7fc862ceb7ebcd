"""Finds the operator of a program: in a file (`foo.py`), a module (`package.module`), or by name (`foo.py:operator`).

`load_operator(target)` imports the program and returns its `Operator`. Every failure that the user can fix is a
`LoadError` with a one-sentence message; an exception that the program itself raises on import propagates unchanged.
"""

from __future__ import annotations

from kubewright.operator.loading._modules import (
    LoadError,
    check_file,
    is_file,
    load_module,
    load_operator,
    not_found_message,
    operator_in,
    split_target,
)
from kubewright.operator.loading._samples import samples_beside

__all__ = [
    "LoadError",
    "check_file",
    "is_file",
    "load_module",
    "load_operator",
    "not_found_message",
    "operator_in",
    "samples_beside",
    "split_target",
]
