"""The console's colors, for the light and the dark theme, as CSS custom properties.

There is one accent color, and one color per state. A state is never shown by color alone: an icon and a word accompany
it. Every text color has a contrast of at least 4.5:1 against its surfaces (WCAG 2.2, AA); tests compute it.
"""

from __future__ import annotations

from typing import Final

from kubewright.console.objects import State

__all__ = ["DARK", "ICONS", "LIGHT", "SURFACES", "TEXT_COLORS", "custom_properties"]

LIGHT: Final = {
    "page": "#f5f7f9",
    "surface": "#ffffff",
    "raised": "#eef2f5",
    "hover": "#e8eff2",
    "selected": "#d8ecee",
    "line": "#d7dee5",
    "text": "#1b2430",
    "muted": "#556270",
    "accent": "#0b666e",
    "on-accent": "#ffffff",
    "ready": "#146c3f",
    "progressing": "#1a56b0",
    "failing": "#b3211a",
    "suspended": "#5b4a9e",
    "terminating": "#7d4e00",
    "unknown": "#556270",
    "flash": "#cfe8ea",
}
"""The colors of the light theme."""

DARK: Final = {
    "page": "#11161c",
    "surface": "#181f27",
    "raised": "#1f2831",
    "hover": "#232e38",
    "selected": "#15383c",
    "line": "#303b47",
    "text": "#e4e9ef",
    "muted": "#a3afbc",
    "accent": "#62c9ce",
    "on-accent": "#08272a",
    "ready": "#66d196",
    "progressing": "#8ab6ff",
    "failing": "#ff9a91",
    "suspended": "#b9a9f2",
    "terminating": "#ecbf66",
    "unknown": "#a3afbc",
    "flash": "#1d4a4e",
}
"""The colors of the dark theme."""

SURFACES: Final = ("page", "surface", "raised", "hover", "selected")
"""The colors of backgrounds."""

TEXT_COLORS: Final = ("text", "muted", "accent", *(str(state) for state in State))
"""The colors of text."""

ICONS: Final = {
    State.READY: "check_circle",
    State.PROGRESSING: "hourglass_top",
    State.FAILING: "error",
    State.SUSPENDED: "pause_circle",
    State.TERMINATING: "delete_sweep",
    State.UNKNOWN: "help",
}
"""The icon of each state, from the Material font that NiceGUI bundles."""


def custom_properties() -> str:
    """Returns both themes as CSS. `body--dark` is Quasar's class for dark pages."""
    light = "".join(f"--kw-{name}:{color};" for name, color in LIGHT.items())
    dark = "".join(f"--kw-{name}:{color};" for name, color in DARK.items())
    return f"body{{{light}color-scheme:light}}\nbody.body--dark{{{dark}color-scheme:dark}}\n"
