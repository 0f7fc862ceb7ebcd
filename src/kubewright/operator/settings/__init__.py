"""The settings of a run, defined once: arguments of `Operator`, environment variables, and flags of `kubewright run`.

`SETTINGS` is the table that all three are made from, by name. `Settings` holds the checked values of one run. An
invalid value is a `SettingError` that names the setting as the user wrote it, and the valid values.
"""

from __future__ import annotations

from kubewright.operator.settings._settings import (
    SETTINGS,
    Options,
    Setting,
    SettingError,
    Settings,
    check_options,
    from_environment,
    misspelled,
)
from kubewright.operator.settings._values import split_address

__all__ = [
    "SETTINGS",
    "Options",
    "Setting",
    "SettingError",
    "Settings",
    "check_options",
    "from_environment",
    "misspelled",
    "split_address",
]
